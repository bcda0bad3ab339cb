"""Two tables whose records stand in the same order, brought side by side: a release and its original.

Records carry their places and meet in chunks that are drawn by these, so that each is like the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.engines.table import Batch, Table, records_of
from shoal.errors import InputError

ORIGINAL = f"{OWN}original "  # begins the name of an original column that stands beside the released ones
_PLACE, _SIDE = f"{OWN}place", f"{OWN}side"
_SEED = 2  # of the random chunks: who is beside whom, nobody chooses


@dataclass(frozen=True)
class AtRandom:
    """The chunk of a record, drawn by its position: the same each time it is asked."""

    chunks: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        """The number of the chunk that each record of a batch goes to."""
        return _drawn(pl.Series(batch.positions()), self.chunks)


def _drawn(places: pl.Series, chunks: int) -> npt.NDArray[np.int64]:
    return (places.hash(seed=_SEED) % chunks).cast(pl.Int64).to_numpy()


def side_by_side(released: Table, original: Table, records: int) -> Table:
    """Record i of the release with the columns of record i of the original, named `ORIGINAL` and their name."""
    own = pl.Schema({f"{ORIGINAL}{name}": dtype for name, dtype in original.schema.items()})
    schema = pl.Schema({**released.schema, **own})
    travelling = pl.Schema({**schema, _PLACE: pl.Int64(), _SIDE: pl.Int8()})
    renamed = {name: f"{ORIGINAL}{name}" for name in original.schema}
    left = released.map(_Sent({}, travelling, 0), travelling)
    right = original.map(_Sent(renamed, travelling, 1), travelling)
    chunks = released.chunks(2 * records)
    return left.union(right).exchange(_ByPlace(chunks), chunks).map(_Met(tuple(released.schema), tuple(own)), schema)


@dataclass(frozen=True)
class _Sent:
    """A table's records with their places, on the way to those of another."""

    renamed: Mapping[str, str]
    schema: pl.Schema
    side: int

    def __call__(self, batch: Batch) -> pl.DataFrame:
        own = batch.frame.rename(self.renamed).with_columns(
            pl.Series(_PLACE, batch.positions()), pl.lit(self.side, pl.Int8).alias(_SIDE)
        )
        lacking = (pl.lit(None, dtype).alias(name) for name, dtype in self.schema.items() if name not in own.columns)
        return own.with_columns(lacking).select(self.schema.names())


@dataclass(frozen=True)
class _ByPlace:
    """The chunk of a record, drawn by its place: of both tables the same."""

    chunks: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return _drawn(batch.frame[_PLACE], self.chunks)


@dataclass(frozen=True)
class _Met:
    """A chunk's records of both tables, side by side."""

    released: tuple[str, ...]
    original: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        left, right = (frame.filter(pl.col(_SIDE) == side).sort(_PLACE) for side in (0, 1))
        if not left[_PLACE].equals(right[_PLACE]):
            raise InputError("The tables cannot be paired: one was written to while they were read.")
        return left.select(self.released).hstack(right.select(self.original))


def records_alike(released: Table, original: Table) -> int:
    """How many records both tables have; refused where they cannot be paired by their order."""
    if not (released.ordered and original.ordered):
        raise InputError(
            f"The engine {released.engine!r} reads records in whatever order suits it, so that no record can be paired "
            "with its original: use the disk engine."
        )
    records = records_of(released)
    need_as_many(records_of(original), records)
    return records


def need_as_many(original: int, released: int) -> None:
    """Refuses to pair tables of different lengths."""
    if original != released:
        raise InputError(
            f"The tables cannot be paired: the original has {original:,} records, the release {released:,}."
        )
