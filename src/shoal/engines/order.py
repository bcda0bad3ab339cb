"""Records of a large table released in the order of the input: each carries its position, and is brought back by it.

A chunk takes the records of a range of positions and sorts them; chunks follow each other as their ranges do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.table import Batch, Table
from shoal.engines.whole import POSITION
from shoal.errors import InputError


def refuse_order(table: Table) -> None:
    """Refuses an engine whose tables have no order that could be kept."""
    if not table.ordered:
        raise InputError(
            f"The engine {table.engine!r} cannot keep the order of the input: it reads files in whatever order suits "
            "it. Let the records be shuffled, or use --engine disk."
        )


def with_positions(table: Table) -> Table:
    """The table with each record's position beside its columns."""
    return table.map(_numbered, pl.Schema({**table.schema, POSITION: pl.Int64()}))


def _numbered(batch: Batch) -> pl.DataFrame:
    return batch.frame.with_columns(pl.Series(POSITION, batch.positions()))


def put_in_order(table: Table, records: int, size: int) -> Table:
    """The table, whose records carry positions below `records`, sorted by them and without them, `size` at once."""
    schema = pl.Schema({name: dtype for name, dtype in table.schema.items() if name != POSITION})
    return table.exchange(_ByPosition(size), -(-records // size)).map(_sorted, schema)


@dataclass(frozen=True)
class _ByPosition:
    """The chunk of a record, by the range in which its position lies."""

    size: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return batch.frame[POSITION].to_numpy() // self.size


def _sorted(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    return frame.sort(POSITION).drop(POSITION)
