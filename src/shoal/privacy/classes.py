"""The classes of a table of any size, counted without ever listing them.

Records are of one class if they show the same in every quasi-identifier. In memory they are grouped by the values
themselves. Where a table comes in chunks, a class is known by what its records show, as one text, and no hash stands
for it: each batch tells of its classes how many records they have and what else adds up; what several batches tell of a
class is brought together in one chunk. Of each chunk only counts are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.table import Batch, Table
from shoal.engines.whole import LISTED
from shoal.errors import InputError
from shoal.privacy.model import as_told_apart

CLASS = "@class"
RECORDS = "@records"

_SEED = 1  # every task must send a class to the same chunk


class Sizes(NamedTuple):
    """How many classes there are of each size, the smallest first: all that most risks depend on."""

    size: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, sizes: npt.NDArray[np.int64]) -> Sizes:
        """From the size of each class."""
        size, classes = np.unique(sizes, return_counts=True)
        return cls(size.astype(np.int64), classes.astype(np.int64))

    @property
    def smallest(self) -> int:
        """The size of the smallest class, 0 where there is none."""
        return int(self.size[0]) if len(self.size) else 0

    @property
    def number(self) -> int:
        """How many classes there are."""
        return int(self.classes.sum())

    @property
    def records(self) -> int:
        """How many records all classes hold together."""
        return int(self.size @ self.classes)


def class_sizes(table: Table, quasi: Sequence[str], records: int, *, nan_is_missing: bool = True) -> Sizes:
    """How many classes there are of each size; `records`: no fewer than the table has."""
    return sizes_of(counted(table, quasi, NOTHING, count_sizes, records, nan_is_missing=nan_is_missing))


# ---- what adds up over the records of a class


How = Literal["sum", "min", "max"]


class PerRecord(Protocol):
    """Columns that a batch tells of its records, and how each adds up over the records of a class."""

    @property
    def adds(self) -> Mapping[str, tuple[pl.DataType, How]]:
        """The columns that it adds to classes: the type of each, and how those of several batches are joined."""
        ...

    def __call__(self, frame: pl.DataFrame) -> list[pl.Series]:
        """The added columns of these records, in the order of `adds`."""
        ...


@dataclass(frozen=True)
class _Nothing:
    adds: Mapping[str, tuple[pl.DataType, How]]

    def __call__(self, frame: pl.DataFrame) -> list[pl.Series]:
        return []


NOTHING = _Nothing({})  # the number of records alone


def by_class(
    table: Table,
    quasi: Sequence[str],
    per_record: PerRecord,
    finish: Callable[[pl.DataFrame], pl.DataFrame],
    schema: pl.Schema,
    records: int,
    *,
    nan_is_missing: bool = True,
) -> pl.DataFrame:
    """What `finish` makes of the classes, each with its `RECORDS` and what adds up: of all chunks, below each other.

    `schema` is that of what `finish` makes; `records`: no fewer than the table has.
    """
    if (frame := table.whole) is not None:
        return (
            finish(_grouped(frame, quasi, per_record, nan_is_missing)) if frame.height else pl.DataFrame(schema=schema)
        )
    chunks = table.chunks(records)
    work = _InBatch(tuple(quasi), per_record, nan_is_missing)
    together = table.map(work, work.schema).exchange(ByHash(chunks), chunks)
    return all_of(together.map(_Together(per_record, finish), schema))


def _grouped(frame: pl.DataFrame, quasi: Sequence[str], per_record: PerRecord, nan_is_missing: bool) -> pl.DataFrame:
    """The classes of a table in memory."""
    cells = shown(frame, quasi) if nan_is_missing else frame
    keys = [f"@{number}" for number in range(len(quasi))]
    apart = as_told_apart(cells.schema, quasi)
    keyed = cells.lazy().select(cell.alias(key) for key, cell in zip(keys, apart, strict=True))
    counts = keyed.with_columns(per_record(frame)).group_by(keys).agg(_LEN, *_aggregates(per_record))
    return counts.drop(keys).collect(engine="streaming")


_LEN = pl.len().cast(pl.Int64).alias(RECORDS)


def _aggregates(per_record: PerRecord) -> list[pl.Expr]:
    how = {"sum": pl.Expr.sum, "min": pl.Expr.min, "max": pl.Expr.max}
    return [how[kind](pl.col(name)) for name, (_, kind) in per_record.adds.items()]


@dataclass(frozen=True)
class _InBatch:
    """What a batch tells of its classes."""

    quasi: tuple[str, ...]
    per_record: PerRecord
    nan_is_missing: bool

    def __call__(self, batch: Batch) -> pl.DataFrame:
        frame = shown(batch.frame, self.quasi) if self.nan_is_missing else batch.frame
        classes = in_classes(frame, self.quasi).with_columns(self.per_record(batch.frame))
        return classes.group_by(CLASS).agg(_LEN, *_aggregates(self.per_record))

    @property
    def schema(self) -> pl.Schema:
        adds = {name: dtype for name, (dtype, _) in self.per_record.adds.items()}
        return pl.Schema({CLASS: pl.String(), RECORDS: pl.Int64(), **adds})


@dataclass(frozen=True)
class _Together:
    """What all batches tell of a chunk's classes."""

    per_record: PerRecord
    finish: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        return self.finish(frame.group_by(CLASS).agg(pl.col(RECORDS).sum(), *_aggregates(self.per_record)).drop(CLASS))


# ---- counts


COUNTS = pl.Schema({"what": pl.String(), "key": pl.Int64(), "count": pl.Int64()})  # of what, how many of which kind


def counted(
    table: Table,
    quasi: Sequence[str],
    per_record: PerRecord,
    count: Callable[[pl.DataFrame], pl.DataFrame],
    records: int,
    *,
    nan_is_missing: bool = True,
) -> pl.DataFrame:
    """The `COUNTS` that are made of the classes of each chunk, summed."""
    return summed(by_class(table, quasi, per_record, count, COUNTS, records, nan_is_missing=nan_is_missing))


def all_of(table: Table) -> pl.DataFrame:
    """The few records of a table, wherever they are."""
    records = table.fold(frame_of, lambda left, right: pl.concat([left, right]))
    return pl.DataFrame(schema=table.schema) if records is None else records


def frame_of(batch: Batch) -> pl.DataFrame:
    """The records of a batch, as they are."""
    return batch.frame


def summed(counts: pl.DataFrame) -> pl.DataFrame:
    """Counts of several chunks brought together: one row for each `what` and `key`."""
    return counts.group_by("what", "key").agg(pl.col("count").sum())


def rows(what: str, counts: pl.DataFrame) -> pl.DataFrame:
    """Counts by `key` as rows of one table for all sorts of counts; `what` names the sort."""
    return counts.select(pl.lit(what).alias("what"), pl.col("key", "count").cast(pl.Int64))


def counts_of(counts: pl.DataFrame, what: str) -> pl.DataFrame:
    """What was counted of one thing, by ascending key."""
    return counts.filter(pl.col("what") == what).sort("key")


def count_sizes(classes: pl.DataFrame) -> pl.DataFrame:
    """How many classes have each number of `RECORDS`."""
    return rows("sizes", classes.group_by(pl.col(RECORDS).alias("key")).agg(pl.len().alias("count")))


def sizes_of(counts: pl.DataFrame) -> Sizes:
    """The class sizes among all counts."""
    sizes = counts_of(counts, "sizes")
    return Sizes(sizes["key"].to_numpy(), sizes["count"].to_numpy())


# ---- what records show


def without_nan(column: pl.Series) -> pl.Series:
    """NaN is missing; Polars would count it as greater than any number."""
    return column.fill_nan(None) if column.dtype.is_float() else column


def shown(frame: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """What an intruder sees of each record; NaN is missing."""
    return frame.select(without_nan(frame[name]) for name in quasi)


def in_classes(frame: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """Each record's class, as one text that only records of the same class have: its cells, each after its length."""
    cells = as_told_apart(frame.schema, quasi)
    texts = frame.select(
        _as_text(cell, frame.schema[name]).alias(name) for name, cell in zip(quasi, cells, strict=True)
    )
    parts = (pl.concat_str(pl.col(name).str.len_bytes(), pl.lit(":"), name).fill_null("-") for name in quasi)
    return texts.select(pl.concat_str(list(parts)).alias(CLASS))


def _as_text(cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Different values have different texts."""
    if dtype == pl.Binary:
        return cell.bin.encode("hex")
    return (cell.to_physical() if dtype.is_temporal() else cell).cast(pl.String)


@dataclass(frozen=True)
class _Shown:
    quasi: tuple[str, ...]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return shown(batch.frame, self.quasi)


def list_classes(table: Table, quasi: Sequence[str]) -> pl.DataFrame:
    """What each class shows, and how many records it has (`COUNTED`)."""
    schema = pl.Schema({name: table.schema[name] for name in quasi})
    return table.map(_Shown(tuple(quasi)), schema).counts(quasi)


def classes_to_fit(table: Table, quasi: Sequence[str], number: int) -> pl.DataFrame:
    """The same, where people are to be counted who fit each; refused where there are too many to be listed."""
    if number > LISTED:
        raise InputError(
            f"The people who fit each class are counted for at most {LISTED:,} classes, and there are {number:,}: give "
            "the sampling fraction instead."
        )
    return list_classes(table, quasi)


# ---- chunks


@dataclass(frozen=True)
class ByHash:
    """The chunk of a record, by a hash of one of its columns: what is equal there comes together."""

    chunks: int
    key: str = CLASS

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        """Record -> the chunk that its class belongs to."""
        return chunk_of(batch.frame[self.key], self.chunks)


@dataclass(frozen=True)
class ByClass:
    """The chunk of a record, by its class: no class is divided."""

    quasi: tuple[str, ...]
    chunks: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        """Record -> the chunk that its class belongs to."""
        return chunk_of(in_classes(batch.frame, self.quasi)[CLASS], self.chunks)


def chunk_of(keys: pl.Series, chunks: int) -> npt.NDArray[np.int64]:
    """Key -> the chunk that it belongs to, the same in every task."""
    number = keys.hash(seed=_SEED).to_numpy()
    return ((number >> np.uint64(32)) * np.uint64(chunks) >> np.uint64(32)).astype(np.int64)
