"""Distances in ranks from people to the nearest of all masked records of a large table (paper 5, Eq. 2; SPEC 6.2).

Ranks are those of `shoal.risk.linkage`, over all records. Of a column whose values can be listed they are exact. Of
others the records are counted in bins between the values of a sample, and a rank lies somewhere in its bin: what the
bins leave open is taken off every distance, so that none counts as longer than it is. People are all of the original,
or some drawn evenly; each batch of masked records tells how near it comes to them, and the least is kept. Nobody needs
to know whose record is whose: it is measured on what stands there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.masked import read_cells
from shoal.data.schema import Kind
from shoal.engines.table import Batch, Table
from shoal.engines.whole import Summary
from shoal.errors import InputError
from shoal.masking.perturbing.columns import positions
from shoal.measure import Pair
from shoal.parted.source import Attributes, Source

PEOPLE = 100_000  # linked at most, as in memory
_BETWEEN = 8  # bins between two values of a sample

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ranks:
    """Where a value stands among all of a column, which are counted in bins: of one value each, or of a stretch."""

    begins: Numbers  # bin -> its least value
    single: npt.NDArray[np.bool_]  # bin -> whether that is its only one
    counts: npt.NDArray[np.int64]
    records: int  # as many as the ranks are stretched to

    def of(self, values: Numbers) -> Numbers:
        """Average ranks; what is missing, or a value alone, stands in the middle."""
        middle = (self.records + 1) / 2
        if self.counts.sum() < 2:
            return np.full(len(values), middle)
        at = np.maximum(np.searchsorted(self.begins, values, "right") - 1, 0)
        width = np.append(np.diff(self.begins), 0.0)[at]
        along = np.divide(values - self.begins[at], width, out=np.full(len(values), 0.5), where=width > 0)
        along = np.where(self.single[at], 0.5, np.clip(along, 0.0, 1.0))
        before = np.cumsum(self.counts) - self.counts
        rank = before[at] + 0.5 + self.counts[at] * along
        return np.where(np.isnan(values), middle, 1.0 + (rank - 1.0) * self._stretch)

    @property
    def open(self) -> float:
        """By how much a rank may be off."""
        return float(self.counts[~self.single].max(initial=0)) * self._stretch

    @property
    def _stretch(self) -> float:
        return (self.records - 1) / max(int(self.counts.sum()) - 1, 1)


@dataclass(frozen=True)
class Shown:
    """The masked attributes of a batch as numbers: positions, ranges by their middle."""

    attributes: Attributes
    types: pl.Schema  # of the original
    names: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame) -> dict[str, Numbers]:
        cells = {name: read_cells(frame[name], self.attributes.schema[name], self._ends(name)) for name in self.names}
        nobody = self.attributes.microdata(pl.DataFrame(schema={name: self.types[name] for name in self.names}))
        middles = Pair.of(nobody, cells).masked
        ordered = [name for name in self.attributes.schema.names if name in self.names]
        return {name: middles[:, j] for j, name in enumerate(ordered)}

    def _ends(self, name: str) -> pl.Series:
        """All values, or the least and the greatest."""
        whole = self.attributes.whole[name]
        if whole.values is not None:
            return whole.values
        line = pl.Series(name, [whole.least, whole.greatest])
        return line.cast(pl.Int64).cast(self.types[name]) if self.types[name].is_temporal() else line


@dataclass(frozen=True)
class Original:
    """The original attributes of a batch as numbers."""

    attributes: Attributes
    names: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame) -> dict[str, Numbers]:
        microdata = self.attributes.microdata(frame)
        return {name: positions(microdata, name) for name in self.names}


def distances(source: Source, table: Table, *, largest: bool) -> Numbers:
    """Of each person to the nearest masked record; `largest` takes the largest difference of ranks (see linkage)."""
    names = _ordered(source)
    drawn = source.summary.sample.sort("@draw").head(PEOPLE)
    original, shown = Original(source.attributes, names), Shown(source.attributes, source.table.schema, names)
    before, after = _ranks(source.table, original, source.records), _ranks(table, shown, source.records)
    people = np.column_stack([before[name].of(values) for name, values in original(drawn).items()])
    squares = table.fold(_Nearest(shown, after, people, largest), np.minimum)
    assert squares is not None
    open_ = np.array([before[name].open + after[name].open for name in names])
    unsure = open_.max() if largest else np.sqrt((open_**2).sum())
    sure: Numbers = np.maximum(np.sqrt(squares) - unsure, 0.0)
    return sure


def rank_linkage(source: Source, table: Table) -> float:
    """`shoal.risk.linkage.rank_linkage` of all records."""
    return float(np.log1p(distances(source, table, largest=False)).mean() / len(_ordered(source)))


def permutation_distance(source: Source, table: Table) -> float:
    """`shoal.risk.permutation.permutation_distance` of all records."""
    return float(distances(source, table, largest=True).mean())


def _ordered(source: Source) -> tuple[str, ...]:
    """The quasi-identifiers whose values stand in an order, and vary."""
    found = []
    for name in source.schema.quasi_identifiers:
        whole = source.attributes.whole[name]
        varies = whole.values is None or np.count_nonzero(whole.counts) > 1
        if source.schema[name].kind is not Kind.NOMINAL and varies:
            found.append(name)
    if not found:
        raise InputError("No attribute is numeric, ordinal or a date and varies: there is nothing to measure.")
    return tuple(found)


@dataclass(frozen=True)
class _Nearest:
    """How near a batch of masked records comes to each person, squared."""

    shown: Shown
    ranks: dict[str, Ranks]
    people: Numbers
    largest: bool

    def __call__(self, batch: Batch) -> Numbers:
        from shoal.kernels.neighbours import nearest

        values = self.shown(batch.frame)
        masked = np.column_stack([self.ranks[name].of(values[name]) for name in self.shown.names])
        return nearest(self.people, masked, largest=self.largest)


# ---- ranks of a column


def _ranks(table: Table, numbers: Shown | Original, records: int) -> dict[str, Ranks]:
    """One pass over the table; a second one for columns of too many values."""
    found = table.fold(partial(_summary, numbers), Summary.plus)
    if found is None:
        raise InputError("No record is released: there is nothing to measure.")
    long = {name: one.least for name, one in found.marginals.items() if one.counts is None}
    bins = {name: _bins(found.sample[name].to_numpy(), least) for name, least in long.items()}
    counts = table.fold(_InBins(numbers, {name: begins for name, (begins, _) in bins.items()}), _sums) if bins else {}
    assert counts is not None
    ranks = {name: Ranks(*bins[name], counts[name], records) for name in bins}
    for name, one in found.marginals.items():
        if one.counts is not None:
            listed = one.counts.sort("value")
            begins = listed["value"].to_numpy()
            ranks[name] = Ranks(begins, np.ones(len(begins), np.bool_), listed["records"].to_numpy(), records)
    return ranks


def _summary(numbers: Shown | Original, batch: Batch) -> Summary:
    return Summary.of(numbers.names, Batch(pl.DataFrame(numbers(batch.frame)) + 0.0, batch.position))


def _bins(sample: Numbers, least: float) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Between the values of a sample; one that it holds twice may be common, and gets a bin of its own."""
    values, times = np.unique(sample[~np.isnan(sample)], return_counts=True)
    common = values[times > 1]
    between = values[:-1, None] + np.diff(values)[:, None] * (np.arange(_BETWEEN) / _BETWEEN)
    ends = [min(least, values[0]), values[-1]]
    begins = np.unique(np.concatenate([between.ravel(), np.nextafter(common, np.inf), ends]))
    return begins, np.isin(begins, common)


@dataclass(frozen=True)
class _InBins:
    numbers: Shown | Original
    begins: dict[str, Numbers] = field(repr=False)

    def __call__(self, batch: Batch) -> dict[str, npt.NDArray[np.int64]]:
        found = self.numbers(batch.frame)
        return {name: _counted(found[name], begins) for name, begins in self.begins.items()}


def _counted(values: Numbers, begins: Numbers) -> npt.NDArray[np.int64]:
    at = np.searchsorted(begins, values[~np.isnan(values)], "right") - 1
    return np.bincount(at, minlength=len(begins))


def _sums(
    one: dict[str, npt.NDArray[np.int64]], other: dict[str, npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.int64]]:
    return {name: counts + other[name] for name, counts in one.items()}
