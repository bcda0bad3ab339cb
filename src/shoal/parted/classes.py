"""The classes of a large table, counted without ever listing them.

A class is known by what its records show, as one text; no hash stands for it. Each batch tells of its classes how many
records they have, and what else is asked of them; what several batches tell of a class is brought together in one part
and added up. Of each part only counts are left: how many classes there are of each size, and sums over classes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.table import Batch, Table
from shoal.parted import grouped
from shoal.privacy.model import as_told_apart
from shoal.risk.disclosure import without_nan

CLASS = "@class"

_SEED = 1  # every task must send a class to the same part


class Sizes(NamedTuple):
    """How many classes there are of each size: all that most risks depend on."""

    size: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]

    @property
    def smallest(self) -> int:
        return int(self.size[0]) if len(self.size) else 0

    @property
    def records(self) -> int:
        return int(self.size @ self.classes)


def class_sizes(table: Table, quasi: Sequence[str], records: int, *, nan_is_missing: bool = True) -> Sizes:
    """How many classes there are of each size; `records`: no fewer than the table has."""
    return sizes_of(added_up(table, _Count(tuple(quasi), nan_is_missing), _Count.schema, _add, records))


@dataclass(frozen=True)
class _Count:
    quasi: tuple[str, ...]
    nan_is_missing: bool

    def __call__(self, batch: Batch) -> pl.DataFrame:
        frame = shown(batch.frame, self.quasi) if self.nan_is_missing else batch.frame
        return in_classes(frame, self.quasi).group_by(CLASS).agg(RECORDS)

    schema = pl.Schema({CLASS: pl.String(), "@records": pl.Int64()})


RECORDS = pl.len().cast(pl.Int64).alias("@records")


def _add(frame: pl.DataFrame, part: int) -> pl.DataFrame:
    return count_sizes(frame.group_by(CLASS).agg(pl.col("@records").sum()))


# ---- classes


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
class ByHash:
    """The part of a record, by a hash of one of its columns: what is equal there comes together."""

    parts: int
    key: str = CLASS

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return part_of(batch.frame[self.key], self.parts)


@dataclass(frozen=True)
class ByClass:
    """The part of a record, by its class."""

    quasi: tuple[str, ...]
    parts: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return part_of(in_classes(batch.frame, self.quasi)[CLASS], self.parts)


def part_of(keys: pl.Series, parts: int) -> npt.NDArray[np.int64]:
    number = keys.hash(seed=_SEED).to_numpy()
    return ((number >> np.uint64(32)) * np.uint64(parts) >> np.uint64(32)).astype(np.int64)


def parts_of(records: int) -> int:
    return max(1, -(-records // grouped.PART))


def records_of(table: Table) -> int:
    return table.fold(_height, operator.add) or 0


def _height(batch: Batch) -> int:
    return batch.frame.height


# ---- what parts tell


TOLD = pl.Schema({"what": pl.String(), "key": pl.Int64(), "count": pl.Int64()})  # of what, how many of which kind


def added_up(
    table: Table,
    work: Callable[[Batch], pl.DataFrame],
    schema: pl.Schema,
    add: Callable[[pl.DataFrame, int], pl.DataFrame],
    records: int,
) -> pl.DataFrame:
    """What `work` tells of the classes of a batch, added up part by part: `TOLD`."""
    parts = parts_of(records)
    return told_by(table.map(work, schema).exchange(ByHash(parts), parts).map(add, TOLD))


def told_by(parts: Table) -> pl.DataFrame:
    """The counts of all parts."""
    found = parts.fold(frame_of, _summed)
    return pl.DataFrame(schema=TOLD) if found is None else _summed(found)


def frame_of(batch: Batch) -> pl.DataFrame:
    return batch.frame


def _summed(*told: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(told).group_by("what", "key").agg(pl.col("count").sum())


def rows(what: str, counted: pl.DataFrame) -> pl.DataFrame:
    return counted.select(pl.lit(what).alias("what"), pl.col("key", "count").cast(pl.Int64))


def of_told(told: pl.DataFrame, what: str) -> pl.DataFrame:
    return told.filter(pl.col("what") == what).sort("key")


def count_sizes(classes: pl.DataFrame) -> pl.DataFrame:
    """Of each class its `@records`."""
    return rows("sizes", classes.group_by(pl.col("@records").alias("key")).agg(pl.len().alias("count")))


def sizes_of(told: pl.DataFrame) -> Sizes:
    found = of_told(told, "sizes")
    return Sizes(found["key"].to_numpy(), found["count"].to_numpy())
