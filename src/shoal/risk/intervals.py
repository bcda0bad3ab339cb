"""Interval disclosure by ranks: whoever knows a masked value knows the original one to within a few ranks.

(Pagliuca & Seri 1999, Domingo-Ferrer & Torra 2001.) Around each masked value lies the interval of those masked values
whose ranks differ by at most p percent of the records; the measure is the share of original values that lie in theirs,
averaged over p = 1, ..., 10 as those authors do. Cells where either value is missing disclose nothing to within ranks
and are left out.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.catalogue import Chunks
from shoal.engines.paired import ORIGINAL
from shoal.engines.table import Batch
from shoal.errors import InputError, require
from shoal.measure import Pair, measure
from shoal.utility.correlations import Floats, Ints
from shoal.utility.statistics import Counted, Statistics

_PERCENT = tuple(range(1, 11))


@measure(
    "risk", "riskier", needs_pairs=True, promised=False, of_statistics=True,
    in_chunks=Chunks("on disk, beside an original in the same order"),
)  # fmt: skip
def interval_disclosure(pair: Pair | Statistics, *, percent: Sequence[float] = _PERCENT) -> float:
    """Share of values that lie within a few percent of ranks around their masked value (mean of 1% to 10%)."""
    good = bool(percent) and all(0 <= p <= 100 for p in percent)
    require("interval_disclosure", "percent", percent, "numbers from 0 to 100", holds=good)
    statistics = Statistics.of(pair)
    columns, together = tuple(statistics.ordered), statistics.paired()
    shown = together.fold(_Shown(columns), _joined)
    assert shown is not None
    cells = sum(int(line.records.sum()) for line in shown)
    if not cells:
        raise InputError("No value is shown both before and after masking: there are no intervals to look into.")
    inside = together.fold(_Inside(columns, tuple(line.intervals(percent) for line in shown)), operator.add)
    assert inside is not None
    return float(inside / (cells * len(percent)))


@dataclass(frozen=True)
class _Intervals:
    """Around each masked value, the least and the greatest within each width: a row a width."""

    values: Floats
    low: Floats
    high: Floats

    def hold(self, original: Floats, masked: Floats) -> int:
        """How many original values lie in the interval of theirs, over all widths."""
        place = np.searchsorted(self.values, masked)
        return int(((self.low[:, place] <= original) & (original <= self.high[:, place])).sum())


@dataclass(frozen=True)
class _Line:
    """The masked values of an attribute, ascending, and how many records show each."""

    values: Floats
    records: Ints

    @classmethod
    def of(cls, values: Floats, records: Ints) -> _Line:
        """Of values that may occur again."""
        distinct, place = np.unique(values + 0.0, return_inverse=True)
        return cls(distinct, np.bincount(place, records, len(distinct)).astype(np.int64))

    def plus(self, line: _Line) -> _Line:
        """Of both."""
        return _Line.of(np.append(self.values, line.values), np.append(self.records, line.records))

    def intervals(self, percent: Sequence[float]) -> _Intervals:
        """Those of so many percent of the ranks; tied values share their average rank."""
        rank = np.cumsum(self.records) - (self.records - 1) / 2
        reach = [p / 100 * int(self.records.sum()) for p in percent]
        low = [self.values[np.searchsorted(rank, rank - each, "left")] for each in reach]
        high = [self.values[np.searchsorted(rank, rank + each, "right") - 1] for each in reach]
        return _Intervals(self.values, np.array(low), np.array(high))


def _joined(left: Sequence[_Line], right: Sequence[_Line]) -> list[_Line]:
    return [own.plus(more) for own, more in zip(left, right, strict=True)]


def _both(batch: Batch, before: Counted, after: Counted) -> tuple[Floats, Floats]:
    """Where the records of a batch stand that are known before and after."""
    name = before.attribute.name
    x, y = before(batch.frame[f"{ORIGINAL}{name}"].alias(name)), after(batch.frame[name])
    both: npt.NDArray[np.bool_] = ~(np.isnan(x) | np.isnan(y))
    return x[both], y[both]


@dataclass(frozen=True)
class _Shown:
    """What is shown of each attribute by a batch of records beside their originals."""

    columns: tuple[tuple[Counted, Counted], ...]

    def __call__(self, batch: Batch) -> list[_Line]:
        shown = (_both(batch, *column)[1] for column in self.columns)
        return [_Line.of(values, np.ones(len(values), np.int64)) for values in shown]


@dataclass(frozen=True)
class _Inside:
    """How many original values of a batch lie in the interval of their masked one."""

    columns: tuple[tuple[Counted, Counted], ...]
    intervals: tuple[_Intervals, ...]

    def __call__(self, batch: Batch) -> int:
        each = zip(self.columns, self.intervals, strict=True)
        return sum(intervals.hold(*_both(batch, *column)) for column, intervals in each)
