"""Whether confidential attributes depend on each other (paper 2, Section 3.1; SPEC 3.3).

Tables of attributes that depend on each other must share one partition: whoever is in both could be recognised by what
goes together. Tables of independent ones need not. Each pair is judged by an association in [0, 1]:

| pair                | association                                                                        |
|---------------------|------------------------------------------------------------------------------------|
| both in an order    | largest of |Pearson|, |Spearman| and Cramer's V of tenths: also what is no line     |
| both nominal        | bias-corrected Cramer's V (Bergsma, 2013)                                           |
| one of each         | correlation ratio eta, bias-corrected (Kelley, 1935)                                |

A pair is dependent from an association of `TAU` on; from `FAINT` on where also a permutation test of the mutual
information rejects independence, at level `ALPHA` over all pairs (Benjamini and Hochberg, 1995). To permute records is
to draw a table with the same margins, so no sample is needed (Patefield, 1981). Missing is a value of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import MISSING, Coded
from shoal.errors import InputError
from shoal.sheet import Sheet, for_notebook, for_terminal
from shoal.utility.correlations import Placed, correlation_table, place_original

if TYPE_CHECKING:
    from rich.console import Group

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

TAU, FAINT, ALPHA = 0.1, 0.05, 0.01
_TENTHS = 10
_CATEGORIES = 20  # the most frequent; all others count as one
_DRAWS = 999  # permutations at least
_SEED = 1  # the same table gets the same answer


@dataclass(frozen=True)
class Pair:
    """How two attributes go together."""

    one: str
    other: str
    measure: str
    association: float
    information: float  # mutual, in bits
    p: float  # of the permutation test, adjusted for the number of pairs

    @property
    def dependent(self) -> bool:
        return self.association >= TAU or (self.association >= FAINT and self.p <= ALPHA)


@dataclass(frozen=True)
class Dependence:
    names: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def components(self) -> list[tuple[str, ...]]:
        """Attributes that must share a partition: all that a chain of dependent pairs links."""
        label = {name: i for i, name in enumerate(self.names)}
        for pair in self.pairs:
            if pair.dependent:
                joined, left = sorted((label[pair.one], label[pair.other]))
                label = {name: joined if i == left else i for name, i in label.items()}
        return [tuple(n for n in self.names if label[n] == i) for i in sorted(set(label.values()))]

    @property
    def rule(self) -> str:
        """What follows, in words."""
        if len(self.names) < 2:
            return "There is one confidential attribute: nothing to depend on."
        apart = self.components
        if len(apart) == len(self.names):
            return (
                "No confidential attribute depends on another: their tables may be anonymized independently, "
                "but then must not be merged."
            )
        linked = "; ".join(", ".join(repr(name) for name in names) for names in apart if len(names) > 1)
        return f"Dependent, so that their tables must share one partition: {linked}."

    def to_dict(self) -> dict[str, object]:
        pairs = [
            {
                "attributes": [pair.one, pair.other],
                "measure": pair.measure,
                "association": pair.association,
                "mutual_information": pair.information,
                "p": pair.p,
                "dependent": pair.dependent,
            }
            for pair in self.pairs
        ]
        return {"pairs": pairs, "share_a_partition": [list(names) for names in self.components], "rule": self.rule}

    def __rich__(self) -> Group:
        return for_terminal([self.sheet()])

    def _repr_html_(self) -> str:
        return for_notebook([self.sheet()])

    def sheet(self) -> Sheet:
        rows = [
            (
                f"{pair.one}, {pair.other}",
                f"{pair.association:.3f}",
                f"{pair.information:.4f}",
                f"{pair.p:.4f}",
                pair.measure,
                "dependent" if pair.dependent else "independent",
            )
            for pair in self.pairs
        ]
        heads = ("attributes", "association", "bits", "p", "by", "")
        return Sheet("Do confidential attributes depend on each other?", heads, rows, numbers=3)


def dependence(attributes: Sequence[Coded]) -> Dependence:
    """Every pair of these attributes, judged over all records."""
    if not attributes:
        raise InputError("No attribute is named whose dependence could be judged: name the confidential ones.")
    names = tuple(coded.name for coded in attributes)
    chosen = list(combinations(range(len(attributes)), 2))
    levels = [_levels(coded) for coded in attributes]
    lines = _correlations(attributes)
    draws = max(_DRAWS, 2 * ceil(len(chosen) / ALPHA) - 1)  # enough that one pair among all can be significant
    found = []
    for i, j in chosen:
        table = contingency(levels[i], levels[j])
        measure, association = _association(attributes[i], attributes[j], table, lines[i, j])
        found.append((i, j, measure, association, *_test(table, draws)))
    adjusted = _benjamini_hochberg(np.array([p for *_, p in found]))
    pairs = (
        Pair(names[i], names[j], measure, association, information, float(p))
        for (i, j, measure, association, information, _), p in zip(found, adjusted, strict=True)
    )
    return Dependence(names, tuple(pairs))


# ---- association


def _association(one: Coded, other: Coded, table: Counts, line: float) -> tuple[str, float]:
    if one.is_nominal and other.is_nominal:
        return "Cramer's V", cramers_v(table)
    if not one.is_nominal and not other.is_nominal:
        tenths = cramers_v(table)
        return ("correlation", line) if line >= tenths else ("Cramer's V of tenths", tenths)
    category, number = (one, other) if one.is_nominal else (other, one)
    return "correlation ratio", correlation_ratio(category, number)


def _correlations(attributes: Sequence[Coded]) -> Floats:
    """The larger of |Pearson| and |Spearman| of every pair; nothing where an attribute does not vary."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers whose squares have no number: their ranks decide
        pearson = correlation_table([place_original(coded) for coded in attributes])
    spearman = correlation_table([Placed(coded.name, coded.codes, _ranks(coded)) for coded in attributes])
    return np.nan_to_num(np.fmax(np.abs(pearson), np.abs(spearman)))


def _ranks(coded: Coded) -> Floats:
    """code -> rank among the records, the same for ties; the last, for missing, none."""
    return np.append(np.cumsum(coded.counts) - (coded.counts - 1) / 2, np.nan)


def cramers_v(table: Counts) -> float:
    """Bias-corrected: 0 on average where there is no association, however many categories."""
    n = int(table.sum())
    expected = table.sum(axis=1, keepdims=True) * (table.sum(axis=0, keepdims=True) / n)
    rows, columns = table.shape
    if min(rows, columns) < 2 or n < 2:
        return 0.0
    squared = float(((table - expected) ** 2 / expected).sum()) / n
    squared = max(0.0, squared - (rows - 1) * (columns - 1) / (n - 1))
    rows_left, columns_left = (size - (size - 1) ** 2 / (n - 1) for size in (rows, columns))
    least = min(rows_left, columns_left) - 1
    return float(min(1.0, np.sqrt(squared / least))) if least > 0 else 0.0


def correlation_ratio(category: Coded, number: Coded) -> float:
    """Eta: how much of the number's variance lies between categories; what chance alone explains is taken off."""
    there = number.codes != MISSING
    group = category.codes[there] + 1
    value = number.positions[number.codes[there]]
    size = np.bincount(group)
    n, groups = len(value), int((size > 0).sum())
    value = value / (np.abs(value).max(initial=0.0) or 1.0)  # so that squares of the largest numbers are numbers
    value = value - value.mean() if n else value
    total = float(value @ value)
    if n <= groups or groups < 2 or total <= 0.0:
        return 0.0
    sums = np.bincount(group, value)
    between = float((sums[size > 0] ** 2 / size[size > 0]).sum())
    return float(np.sqrt(max(0.0, 1 - (1 - between / total) * (n - 1) / (n - groups))))


# ---- the test


def _levels(coded: Coded) -> Counts:
    """record -> level, 0 for missing: tenths of what has an order, the most frequent of other categories."""
    values = len(coded.counts)
    if coded.is_nominal:
        level = np.full(values, min(values, _CATEGORIES))
        frequent = np.argsort(-coded.counts, kind="stable")[: _CATEGORIES - 1]
        level[frequent] = np.arange(len(frequent))
    elif values <= _TENTHS:
        level = np.arange(values)
    else:
        below = np.cumsum(coded.counts) - coded.counts / 2
        level = (below * _TENTHS / coded.counts.sum()).astype(np.int64)
    return np.append(level + 1, 0)[coded.codes]


def contingency(one: Counts, other: Counts) -> Counts:
    """How often each level of one meets each of the other; levels that nobody has are left out."""
    width = int(other.max(initial=0)) + 1
    cells = np.bincount(one * width + other, minlength=(int(one.max(initial=0)) + 1) * width)
    table = cells.reshape(-1, width)
    return table[table.any(axis=1)][:, table.any(axis=0)]


def mutual_information(tables: Counts) -> Floats:
    """In bits, of one contingency table or of several."""
    share = tables / tables.sum(axis=(-2, -1), keepdims=True)
    rows, columns = share.sum(axis=-1), share.sum(axis=-2)
    return np.asarray(_entropy(rows, -1) + _entropy(columns, -1) - _entropy(share, (-2, -1)))


def _entropy(share: Floats, axis: int | tuple[int, int]) -> Floats:
    from scipy.special import entr

    return np.asarray(entr(share).sum(axis=axis) / np.log(2))


def _test(table: Counts, draws: int) -> tuple[float, float]:
    """The mutual information, and how often it is as large when records are permuted."""
    from scipy.stats import random_table

    found = float(mutual_information(table))
    if min(table.shape) < 2:
        return found, 1.0
    law = random_table(table.sum(axis=1), table.sum(axis=0))
    drawn = law.rvs(draws, method="patefield", random_state=np.random.default_rng(_SEED))
    as_large = int((mutual_information(drawn) >= found - 1e-12).sum())
    return found, (1 + as_large) / (1 + draws)


def _benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted so that comparing each with alpha bounds the share of false discoveries by alpha."""
    order = np.argsort(p)[::-1]
    rank = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / rank)
    return np.minimum(adjusted, 1.0)
