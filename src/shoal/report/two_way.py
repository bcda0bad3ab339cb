"""Two-way tables: how many records have what in two attributes at once, before and after masking.

Each attribute is counted in a few bands: numbers, dates, ordered categories and those of a hierarchy, in its order, in
runs that hold about equal shares of the original, other categories by themselves as long as they are frequent. A
released cell counts evenly for all original values that it admits. The pairs whose attributes depend most on each other
(Cramér's V of the original) say most: theirs is what an analyst would look for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded
from shoal.report.distributions import admitted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BANDS = 5
TABLES = 3  # drawn


@dataclass(frozen=True)
class TwoWay:
    """Shares of all records; a row a band of the first attribute, a column a band of the second."""

    names: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    before: Floats
    after: Floats

    @property
    def moved(self) -> float:
        """The share of records that is counted elsewhere than before."""
        return float(np.abs(self.before - self.after).sum()) / 2


def two_way_tables(quasi: Sequence[Coded], columns: Sequence[MaskedColumn]) -> list[TwoWay]:
    """Of the pairs that depend most on each other, the strongest first."""
    banded = [_Banded.of(coded) for coded in quasi]
    before = {(i, j): _before(banded[i], banded[j]) for i, j in combinations(range(len(quasi)), 2)}
    strength = {pair: _cramers_v(table) for pair, table in before.items()}
    strongest = sorted(before, key=lambda pair: -strength[pair])[:TABLES]
    shown = {i: banded[i].released(quasi[i], columns[i]) for i in {i for pair in strongest for i in pair}}
    return [
        _table((quasi[i].name, quasi[j].name), banded[i], banded[j], before[i, j], _after(shown[i], shown[j]))
        for i, j in strongest
    ]


def _table(names: tuple[str, str], down: _Banded, across: _Banded, before: Floats, after: Floats) -> TwoWay:
    """With a band for missing only where something is."""
    rows, columns = (
        len(labels) - (not mass)
        for labels, mass in ((down.labels, (before + after)[-1].sum()), (across.labels, (before + after)[:, -1].sum()))
    )
    return TwoWay(names, down.labels[:rows], across.labels[:columns], before[:rows, :columns], after[:rows, :columns])


# ---- bands


@dataclass(frozen=True)
class _Banded:
    labels: tuple[str, ...]  # missing is the last
    of_code: Ints  # code -> band
    of_record: Ints  # record -> band

    @classmethod
    def of(cls, coded: Coded) -> _Banded:
        unordered = coded.is_nominal and coded.attribute.hierarchy is None
        of_code, labels = (_frequent if unordered else _runs)(coded)
        missing = len(labels)
        of_record = np.append(of_code, missing)[coded.codes]  # the code of missing, -1, points to the last
        return cls((*labels, "(missing)"), of_code, of_record)

    def released(self, coded: Coded, column: MaskedColumn) -> tuple[npt.NDArray[np.int32], Floats]:
        """Record -> cell, and cell -> share of each band: every original value that it admits counts the same."""
        over = admitted(coded, column)
        shares = np.zeros((len(over.column.text), len(self.labels)))
        shares[np.isnan(over.column.low), -1] = 1.0
        if len(coded.values):
            first, last = over.codes(coded)
            for band in range(len(self.labels) - 1):
                below = np.append(0, np.cumsum(self.of_code == band))
                part = over.part * (below[last + 1] - below[first]) / (last - first + 1)
                shares[:, band] += np.bincount(over.cell, part, len(shares))
        return over.column.index, shares


def _runs(coded: Coded) -> tuple[Ints, tuple[str, ...]]:
    """Values in order, cut where each band has its share of the records."""
    if len(coded.values) <= BANDS + 1:
        band = np.arange(len(coded.values))
    else:
        middle = (np.cumsum(coded.counts) - coded.counts / 2) / max(int(coded.counts.sum()), 1)
        _, band = np.unique(np.minimum(middle * BANDS, BANDS - 1).astype(np.int64), return_inverse=True)
    starts = np.flatnonzero(np.diff(band, prepend=-1))
    ends = np.append(starts[1:], len(band))[: len(starts)] - 1
    least, most = (coded.values.cast(pl.String).gather(codes).to_list() for codes in (starts, ends))
    return band, tuple(low if low == high else f"{low} to {high}" for low, high in zip(least, most, strict=True))


def _frequent(coded: Coded) -> tuple[Ints, tuple[str, ...]]:
    """The most frequent categories, and all others together."""
    count = len(coded.values)
    first = np.argsort(-coded.counts, kind="stable")[: count if count <= BANDS + 1 else BANDS]
    band = np.full(count, len(first))
    band[first] = np.arange(len(first))
    others = (f"{count - len(first):,} others",) if count > len(first) else ()
    return band, (*coded.values.cast(pl.String).gather(first).to_list(), *others)


# ---- tables


def _before(down: _Banded, across: _Banded) -> Floats:
    width = len(across.labels)
    counts = np.bincount(down.of_record * width + across.of_record, minlength=len(down.labels) * width)
    return counts.reshape(-1, width) / max(len(down.of_record), 1)


def _after(down: tuple[npt.NDArray[np.int32], Floats], across: tuple[npt.NDArray[np.int32], Floats]) -> Floats:
    """The bands of both cells of a record are taken as independent: the release says no more."""
    (index, shares), (index_2, shares_2) = down, across
    pair, records = np.unique(index.astype(np.int64) * len(shares_2) + index_2, return_counts=True)
    joint: Floats = shares[pair // len(shares_2)].T @ (shares_2[pair % len(shares_2)] * records[:, None])
    return joint / max(len(index), 1)


def _cramers_v(table: Floats) -> float:
    """0 where the attributes are independent, 1 where one follows from the other."""
    expected = np.outer(table.sum(1), table.sum(0))
    there = expected > 0
    degrees = min(np.count_nonzero(table.sum(1)), np.count_nonzero(table.sum(0))) - 1
    if degrees < 1:
        return 0.0
    return float(np.sqrt(((table - expected)[there] ** 2 / expected[there]).sum() / degrees))
