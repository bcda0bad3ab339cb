"""Whether confidential attributes depend on each other (paper 2, Section 3.1; docs/spec.md#dependence).

Tables of attributes that depend on each other must share one partition: whoever is in both could be recognised by what
goes together. Tables of independent ones need not. Each pair is judged by an association in [0, 1]:

| pair                | association                                                                        |
|---------------------|------------------------------------------------------------------------------------|
| both in an order    | largest of |Pearson|, |Spearman| and Cramer's V of tenths: also what is no line     |
| both nominal        | bias-corrected Cramer's V (Bergsma, 2013)                                           |
| one of each         | correlation ratio eta, bias-corrected (Kelley, 1935)                                |

An association of `TAU` or more is a dependence. So is whatever a permutation test of the mutual information finds, of
two attributes, in all the table and among people alike in one known attribute, and of one attribute beside all others
together (the third of three may follow from two of which neither tells anything: an exclusive or), at level `ALPHA`
over all of these tests (Benjamini and Hochberg, 1995). Information has no direction and needs no line: attributes are
cut into quantiles at several resolutions, missing is a value of its own, and the statistic is the largest excess of
information over what chance gives, so that what counts is what shows at any of them. Records are permuted, and the
statistic is computed anew each time: p = (1 + as large) / (1 + permutations).

A test that finds nothing proves nothing. `detectable` says how many bits it would have found nine times in ten; less,
or what shows only in values finer than the finest quantiles, can be there all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil

import numpy as np

from shoal.data.microdata import MISSING, Coded
from shoal.errors import InputError
from shoal.risk.contingency import ALPHA, SEED, Counts, Floats, contingency, detectable, excess_test, mutual_information
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.utility.correlations import Placed, correlation_table, place_original

TAU = 0.1
_TENTHS = 10
_CATEGORIES = 20  # the most frequent; all others count as one
_DRAWS, _MOST_DRAWS = 999, 19_999  # permutations
_FEW_DRAWS = 199  # where an association has decided already
_TESTED = 10_000  # records, drawn at random where there are more
_RESOLUTIONS = (2, 4, 8, 16, 32, 64)  # quantiles, and most frequent categories
_TOGETHER = (2, 4, 8)  # of each of several attributes
_STRATA = 8  # of an attribute that is known


@dataclass(frozen=True)
class Pair:
    """How two attributes go together."""

    first: str
    second: str
    measure: str
    association: float
    information: float  # mutual, in bits
    p: float  # of the permutation test, adjusted for the number of tests
    detectable: float = 0.0  # bits that the test would have found nine times in ten

    @property
    def dependent(self) -> bool:
        """Whether the two are taken to depend on each other."""
        return self.association >= TAU or self.p <= ALPHA


@dataclass(frozen=True)
class Together:
    """How much all other attributes together tell of one."""

    name: str
    information: float  # in bits, less what chance gives
    p: float  # adjusted likewise

    @property
    def dependent(self) -> bool:
        """Whether it is taken to depend on all others together."""
        return self.p <= ALPHA


@dataclass(frozen=True)
class Dependence(Result):
    """Which attributes depend on each other, by tests of pairs and of each beside all others."""

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    together: tuple[Together, ...] = ()  # where there are three or more

    @property
    def components(self) -> list[tuple[str, ...]]:
        """Attributes that must share a partition: all that a chain of dependent pairs links.

        Where one depends on others together and on no other alone, which of them it takes is not known: all share.
        """
        linked = {name for pair in self.pairs if pair.dependent for name in (pair.first, pair.second)}
        if any(each.dependent and each.name not in linked for each in self.together):
            return [self.names]
        label = {name: i for i, name in enumerate(self.names)}
        for pair in self.pairs:
            if pair.dependent:
                joined, left = sorted((label[pair.first], label[pair.second]))
                label = {name: joined if i == left else i for name, i in label.items()}
        return [tuple(n for n in self.names if label[n] == i) for i in sorted(set(label.values()))]

    @property
    def rule(self) -> str:
        """What follows, in words."""
        if len(self.names) < 2:
            return "There is one confidential attribute: nothing to depend on."
        apart = self.components
        if len(apart) == len(self.names):
            least = max((pair.detectable for pair in self.pairs), default=0.0)
            return (
                "No dependence was found between confidential attributes, which does not prove that there is none: of "
                f"{least:.2g} bits or more the test would have found nine in ten, and none that shows only in values "
                f"finer than {_RESOLUTIONS[-1]} quantiles. Their tables may have classes of their own, but then must "
                "not be merged."
            )
        linked = "; ".join(", ".join(repr(name) for name in names) for names in apart if len(names) > 1)
        return f"Dependent, so that their tables must share one partition: {linked}."

    def to_dict(self) -> dict[str, object]:
        """All tests, ready for JSON."""
        pairs = [
            {
                "attributes": [pair.first, pair.second],
                "measure": pair.measure,
                "association": pair.association,
                "mutual_information": pair.information,
                "p": pair.p,
                "dependent": pair.dependent,
                "detectable": pair.detectable,
            }
            for pair in self.pairs
        ]
        together = [
            {"attribute": each.name, "mutual_information": each.information, "p": each.p, "dependent": each.dependent}
            for each in self.together
        ]
        return {
            "pairs": pairs,
            "together": together,
            "share_a_partition": [list(names) for names in self.components],
            "rule": self.rule,
        }

    def remarks(self) -> tuple[str, ...]:
        """The rule by which it was decided."""
        return (self.rule,)

    def charts(self) -> list[Chart]:
        """How much each pair of attributes tells of each other."""
        labels = [f"{pair.first}, {pair.second}" for pair in self.pairs]
        bits = Series("bits", [pair.information for pair in self.pairs])
        return [Bars("Mutual information, in bits", labels, (bits,), "number")]

    def sheets(self) -> list[Sheet]:
        """As tables: every pair, and each attribute beside all others."""
        rows = [
            (
                f"{pair.first}, {pair.second}",
                f"{pair.association:.3f}",
                f"{pair.information:.4f}",
                f"{pair.p:.4f}",
                pair.measure,
                "dependent" if pair.dependent else "none found",
            )
            for pair in self.pairs
        ]
        rows += [
            (
                f"{each.name}, all others",
                "",
                f"{each.information:.4f}",
                f"{each.p:.4f}",
                "information",
                "dependent" if each.dependent else "none found",
            )
            for each in self.together
        ]
        heads = ("attributes", "association", "bits", "p", "by", "")
        return [Sheet("Do confidential attributes depend on each other?", heads, rows, numbers=3)]


def dependence(attributes: Sequence[Coded], known: Sequence[Coded] = ()) -> Dependence:
    """Every pair of these attributes and each beside all others, judged over all records.

    And every pair among people who are alike in one of the attributes `known` to an intruder: what is independent in
    the whole table may go together at every age.
    """
    if not attributes:
        raise InputError("No attribute is named whose dependence could be judged: name the confidential ones.")
    names = tuple(coded.name for coded in attributes)
    chosen = list(combinations(range(len(attributes)), 2))
    levels = [levels_of(coded) for coded in attributes]
    lines = _correlations(attributes)
    some = _some_records(len(attributes[0].codes))
    tests = len(chosen) * (1 + len(known)) + (len(attributes) if len(attributes) > 2 else 0)
    draws = min(_MOST_DRAWS, max(_DRAWS, 2 * ceil(tests / ALPHA) - 1))  # enough that one among all can be significant
    measured, p = [], []
    for i, j in chosen:
        table = contingency(levels[i], levels[j])
        measure, association = _association(attributes[i], attributes[j], table, lines[i, j])
        cut = [(_cut(attributes[i], r)[some], _cut(attributes[j], r)[some]) for r in _RESOLUTIONS]
        if association >= TAU:  # dependent whatever the test says: its p is for the eye
            p.append(excess_test(cut, None, _FEW_DRAWS)[1])
        else:
            chance = excess_test(cut, None, draws)[1]
            for given in known if chance > 1 / (1 + draws) else ():  # no test can find it less likely
                chance = min(chance, excess_test(*_given(attributes[i], attributes[j], given, some), draws)[1])
            p.append(min(1.0, (1 + len(known)) * chance))
        measured.append((i, j, measure, association, float(mutual_information(table)), detectable(table, len(some))))
    linked = {k for i, j, _, association, *_ in measured if association >= TAU for k in (i, j)}
    rest = []
    for i, coded in enumerate(attributes if len(attributes) > 2 else []):
        others = [attribute for j, attribute in enumerate(attributes) if j != i]
        cut = [(_cut(coded, r)[some], _joint([_cut(attribute, r)[some] for attribute in others])) for r in _TOGETHER]
        information, chance = excess_test(cut, None, _FEW_DRAWS if i in linked else draws)
        p.append(chance)
        rest.append((coded.name, information))
    adjusted = _benjamini_hochberg(np.array(p))
    pairs = (
        Pair(names[i], names[j], measure, association, information, float(chance), detectable)
        for (i, j, measure, association, information, detectable), chance in zip(measured, adjusted, strict=False)
    )
    together = (
        Together(name, information, float(chance))
        for (name, information), chance in zip(rest, adjusted[len(measured) :], strict=True)
    )
    return Dependence(names, tuple(pairs), tuple(together))


def _given(first: Coded, second: Coded, known: Coded, some: Counts) -> tuple[list[tuple[Counts, Counts]], Counts]:
    """The first beside the second together with what is known, and the strata within which records may be exchanged.

    What is known tells of the first whatever the permutation: only what the second adds can make a difference.
    """
    strata = _cut(known, _STRATA)[some]
    return [(_cut(first, r)[some], _joint([_cut(second, r)[some], strata])) for r in _TOGETHER], strata


def _some_records(n: int) -> Counts:
    if n <= _TESTED:
        return np.arange(n)
    return np.sort(np.random.default_rng(SEED).choice(n, _TESTED, replace=False))


# ---- association


def _association(first: Coded, second: Coded, table: Counts, line: float) -> tuple[str, float]:
    if first.is_nominal and second.is_nominal:
        return "Cramer's V", cramers_v(table)
    if not first.is_nominal and not second.is_nominal:
        tenths = cramers_v(table)
        return ("correlation", line) if line >= tenths else ("Cramer's V of tenths", tenths)
    category, number = (first, second) if first.is_nominal else (second, first)
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


def levels_of(coded: Coded) -> Counts:
    """record -> level, 0 for missing: tenths of what has an order, the most frequent of other categories."""
    return _cut(coded, _CATEGORIES if coded.is_nominal else _TENTHS)


def _cut(coded: Coded, resolution: int) -> Counts:
    """record -> level, 0 for missing: so many quantiles of what has an order, so many categories with a rest."""
    values = len(coded.counts)
    if coded.is_nominal:
        level = np.full(values, min(values, resolution))
        frequent = np.argsort(-coded.counts, kind="stable")[: resolution - 1]
        level[frequent] = np.arange(len(frequent))
    elif values <= resolution:
        level = np.arange(values)
    else:
        below = np.cumsum(coded.counts) - coded.counts / 2
        level = (below * resolution / coded.counts.sum()).astype(np.int64)
    return np.append(level + 1, 0)[coded.codes]


def _joint(levels: Sequence[Counts]) -> Counts:
    """record -> a number for what all of these show together."""
    together = np.zeros(len(levels[0]), np.int64)
    for level in levels:
        together = np.unique(together * (int(level.max(initial=0)) + 1) + level, return_inverse=True)[1]
    return together


def _benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted so that comparing each with alpha bounds the share of false discoveries by alpha."""
    order = np.argsort(p)[::-1]
    rank = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / rank)
    return np.minimum(adjusted, 1.0)
