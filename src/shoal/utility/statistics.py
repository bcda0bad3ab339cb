"""What measures by name are made of: statistics of an original table and of a masked one, each written once.

They are taken over the engine protocol. A pair is two tables of positions in memory; what an engine keeps stands where
each batch places it. Moments are those of attributes whose values stand in an order, and vary in the original.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Protocol, TypeVar

import numpy as np
import polars as pl

from shoal.data.schema import Attribute, Kind
from shoal.engines.memory import MemoryTable
from shoal.engines.paired import ORIGINAL
from shoal.engines.table import Batch, Table
from shoal.errors import InputError
from shoal.measure import Matrix, Pair, nothing_in_order
from shoal.utility.correlations import Floats, Ints, Products, blocks, moments_of, standardised

T = TypeVar("T")

_BINS = 10
_AT_ONCE = 1 << 19  # records whose places are held together
_CELLS = 1 << 24  # of a two-way table whose records are never together


class Column(Protocol):
    """Where a column's records stand on a line, NaN where nothing is known."""

    @property
    def attribute(self) -> Attribute:
        """What it is called, and of which kind."""
        ...

    @property
    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation of where its records stand, or what is near them."""
        ...

    def __call__(self, column: pl.Series) -> Floats:
        """Where each record of a batch stands."""
        ...


class Counted(Column, Protocol):
    """The same of a column of which it is known how many records stand where."""

    @property
    def place(self) -> Floats:
        """The places that occur."""
        ...

    @property
    def records(self) -> Ints:
        """How many records stand at each."""
        ...


@dataclass(frozen=True)
class Moments:
    """Of the attributes of one table whose values stand in an order and vary in the original."""

    mean: Floats
    deviation: Floats
    correlation: Matrix  # 0 where an attribute does not vary, its diagonal too


@dataclass(frozen=True)
class Statistics:
    """Of two tables, and of records beside their originals."""

    columns: Sequence[tuple[Counted, Counted]]
    tables: tuple[Table, Table]
    paired: Callable[[], Table]  # each masked record with its original, whose columns are named `ORIGINAL` and so on

    @classmethod
    def of(cls, pair: Pair | Statistics) -> Statistics:
        """Those of a pair; statistics are what they are."""
        if isinstance(pair, Statistics):
            return pair
        names = [attribute.name for attribute in pair.attributes]
        columns = [
            tuple(_Stands(attribute, table[:, j]) for table in (pair.original, pair.masked))
            for j, attribute in enumerate(pair.attributes)
        ]
        tables = (_positions(pair.original, names), _positions(pair.masked, names))
        return cls([(before, after) for before, after in columns], tables, lambda: _side_by_side(pair, names))

    @cached_property
    def ordered(self) -> list[tuple[Counted, Counted]]:
        """The attributes of which moments can be asked."""
        ordered = [both for both in self.columns if _varies(both[0])]
        if not ordered:
            raise nothing_in_order()
        return ordered

    @cached_property
    def moments(self) -> tuple[Moments, Moments]:
        """Of both tables."""
        before, after = (_moments(table, columns) for table, columns in self._sides(self.ordered))
        return before, after

    def _sides(self, columns: Sequence[tuple[T, T]]) -> Iterator[tuple[Table, tuple[T, ...]]]:
        """Each table with its own of these."""
        return zip(self.tables, zip(*columns, strict=True), strict=True)

    @property
    def squares(self) -> tuple[float, float]:
        """Of standardised records the squared distances to their masked ones, and their squares: sums over all.

        A cell that shows nothing is at the mean.
        """
        squares = self.paired().fold(_Square(tuple(self.ordered)), operator.add)
        assert squares is not None
        lost, total = squares.tolist()
        return lost, total

    @cached_property
    def _bins(self) -> list[tuple[_Binned, _Binned]]:
        edges = [None if both[0].attribute.kind is Kind.NOMINAL else _edges(both[0]) for both in self.columns]
        return [(_Binned(b, e), _Binned(a, e)) for (b, a), e in zip(self.columns, edges, strict=True)]

    @property
    def counted(self) -> list[tuple[Ints, Ints]]:
        """Of each attribute, how many records of both tables each bin counts."""
        return [(before.counts(after.last), after.counts(before.last)) for before, after in self._bins]

    @property
    def crossed(self) -> list[tuple[Ints, Ints]]:
        """Of every two attributes, how many records of both tables each two bins count."""
        widths = tuple(1 + max(before.last, after.last) for before, after in self._bins)
        if self.tables[0].whole is None:
            self._refuse_many(widths)
        before, after = (table.fold(_Cross(bins, widths), _added) for table, bins in self._sides(self._bins))
        assert before is not None
        assert after is not None
        return [_beside(before[pair], after[pair]) for pair in before]

    def _refuse_many(self, widths: Sequence[int]) -> None:
        for i, j in combinations(range(len(widths)), 2):
            if widths[i] * widths[j] > _CELLS:
                names = " and ".join(self.columns[each][0].attribute.name for each in (i, j))
                raise InputError(f"The two-way table of {names} has more than {_CELLS:,} cells: measure it in memory.")


def _varies(column: Counted) -> bool:
    known = column.place[(column.records > 0) & ~np.isnan(column.place)]
    return column.attribute.kind is not Kind.NOMINAL and len(known) > 0 and bool(known.max() > known.min())


# ---- a pair as two tables


@dataclass(frozen=True)
class _Stands:
    """A column that holds positions."""

    attribute: Attribute
    place: Floats = field(repr=False)

    @property
    def records(self) -> Ints:
        return np.ones(len(self.place), np.int64)

    @cached_property
    def scale(self) -> tuple[float, float]:
        return moments_of(self.place, self.records)

    def __call__(self, column: pl.Series) -> Floats:
        return column.to_numpy()


def _positions(matrix: Matrix, names: Sequence[str]) -> MemoryTable:
    return MemoryTable(pl.DataFrame(dict(zip(names, matrix.T, strict=True))))


def _side_by_side(pair: Pair, names: Sequence[str]) -> Table:
    """Each original record with what is shown of it; of one that was suppressed, nothing."""
    shown = pair.masked
    if pair.kept is not None:
        shown = np.full_like(pair.original, np.nan)
        shown[pair.kept] = pair.masked
    return _positions(np.hstack([shown, pair.original]), [*names, *(f"{ORIGINAL}{name}" for name in names)])


# ---- sums over all records


@dataclass(frozen=True)
class Multiply:
    """The sums of a batch."""

    columns: tuple[Column, ...]

    def __call__(self, batch: Batch) -> Products:
        """Of its standardised records."""
        sums = Products.of(np.zeros((len(self.columns), 0)))
        for frame in batch.frame.iter_slices(_AT_ONCE):
            z = [standardised(each(frame[each.attribute.name]), *each.scale) for each in self.columns]
            for block in blocks(frame.height):
                sums = sums.plus(Products.of(np.array([column[block] for column in z])))
        return sums


def summed(table: Table, columns: Sequence[Column]) -> tuple[Floats, Floats]:
    """The correlation of every two columns, and the mean of each, by one pass."""
    products = table.fold(Multiply(tuple(columns)), Products.plus)
    assert products is not None
    with np.errstate(invalid="ignore"):
        shift = np.diag(products.total) / np.diag(products.count)
    mean, deviation = np.array([column.scale for column in columns]).T
    return products.correlations(), mean + shift * np.where(deviation == 0.0, 1.0, deviation)


def _moments(table: Table, columns: Sequence[Counted]) -> Moments:
    mean, deviation = np.array([column.scale for column in columns]).T
    return Moments(mean, deviation, np.nan_to_num(summed(table, columns)[0]))


@dataclass(frozen=True)
class _Square:
    """The squares of a batch of records beside their originals."""

    columns: tuple[tuple[Counted, Counted], ...]

    def __call__(self, batch: Batch) -> Floats:
        squares = np.zeros(2)
        for before, after in self.columns:
            name = before.attribute.name
            own = standardised(before(batch.frame[f"{ORIGINAL}{name}"].alias(name)), *before.scale)
            shown = np.nan_to_num(standardised(after(batch.frame[name]), *before.scale))
            known = ~np.isnan(own)
            squares += ((own - shown)[known] ** 2).sum(), (own[known] ** 2).sum()
        return squares


# ---- bins


@dataclass(frozen=True)
class _Binned:
    """A column's records by the bin that counts them."""

    column: Counted
    edges: Floats | None

    def __call__(self, batch: Batch) -> Ints:
        return _bins_of(self.column(batch.frame[self.column.attribute.name]), self.edges)

    @cached_property
    def _places(self) -> Ints:
        return _bins_of(self.column.place, self.edges)

    @property
    def last(self) -> int:
        """The last bin that occurs."""
        return int(self._places.max())

    def counts(self, last: int) -> Ints:
        """How many records each bin counts, up to this one at the least."""
        return np.bincount(self._places, self.column.records, minlength=last + 1).astype(np.int64)


def _edges(column: Counted) -> Floats:
    """Where bins begin, the first excepted: at each of a few values, otherwise at the deciles."""
    known = (column.records > 0) & ~np.isnan(column.place)
    values, number = np.unique(column.place[known], return_inverse=True)
    if len(values) <= _BINS:
        return values
    last = np.cumsum(np.bincount(number, column.records[known])) - 1  # value -> the place of its last record, in order
    place = last[-1] * (np.arange(1, _BINS) / _BINS)
    below, above = (values[np.searchsorted(last, end(place))] for end in (np.floor, np.ceil))
    step, share = above - below, place - np.floor(place)
    nearest = np.where(share < 0.5, below + step * share, above - step * (1 - share))  # as np.quantile rounds
    return np.unique(nearest)


def _bins_of(values: Floats, edges: Floats | None) -> Ints:
    """Missing is 0, the others count from 1; nominal values by their codes."""
    bins = values if edges is None else np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), 0, bins + 1).astype(np.int64)


_Cells = dict[tuple[int, int], pl.DataFrame]  # two attributes -> (cell, records)


@dataclass(frozen=True)
class _Cross:
    """The two-way tables of a batch."""

    columns: tuple[_Binned, ...]
    widths: tuple[int, ...]

    def __call__(self, batch: Batch) -> _Cells:
        bins = [column(batch) for column in self.columns]
        return {(i, j): _counted(bins[i] * self.widths[j] + bins[j]) for i, j in combinations(range(len(bins)), 2)}


def _counted(cells: Ints) -> pl.DataFrame:
    return pl.DataFrame({"cell": cells}).group_by("cell").agg(pl.len().cast(pl.Int64).alias("records"))


def _added(left: _Cells, right: _Cells) -> _Cells:
    return {
        pair: pl.concat([cells, right[pair]]).group_by("cell").agg(pl.col("records").sum())
        for pair, cells in left.items()
    }


def _beside(before: pl.DataFrame, after: pl.DataFrame) -> tuple[Ints, Ints]:
    """The same cells of both tables in the same order."""
    both = before.join(after, on="cell", how="full", suffix=" after").fill_null(0)
    return both["records"].to_numpy(), both["records after"].to_numpy()
