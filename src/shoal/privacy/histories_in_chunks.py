"""Whose histories are shown alike in a table of any size: the rows of each owner come into one chunk.

There each owner becomes one text, of what his rows show, sorted; how many owners have each text is then counted as the
sizes of classes are. No hash stands for any of them. Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.identity import identity_text
from shoal.engines.table import Batch, Table, selected
from shoal.privacy.classes import CLASS, class_sizes, in_classes
from shoal.privacy.people_in_chunks import text_of_person

_OWNER, _HISTORY = "@owner", "@history"


@dataclass(frozen=True)
class ByOwner:
    """The chunk of a record, by whose it is; one that names nobody is alone, and goes by its position."""

    column: str
    chunks: int
    seed: int = 1  # every task must send an owner to the same chunk

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        """Record -> the chunk of its owner."""
        owner = identity_text(batch.frame[self.column])
        drawn = owner.hash(seed=self.seed).to_numpy()
        alone = pl.Series(batch.positions()).hash(seed=self.seed).to_numpy()
        number = np.where(owner.is_null().to_numpy(), alone, drawn)
        return ((number >> np.uint64(32)) * np.uint64(self.chunks) >> np.uint64(32)).astype(np.int64)


def fewest_alike(table: Table, quasi: Sequence[str], column: str, records: int) -> int:
    """The owners of the history that fewest show, by what the column shows; 0 where there are no rows."""
    chunks = table.chunks(records)
    together = selected(table, [*quasi, column]).exchange(ByOwner(column, chunks), chunks)
    histories = together.map(_Histories(tuple(quasi), column), pl.Schema({_HISTORY: pl.String()}))
    return class_sizes(histories, [_HISTORY], records).smallest


@dataclass(frozen=True)
class _Histories:
    """What the rows of each owner show, as one text: a class's text says itself where it ends."""

    quasi: tuple[str, ...]
    column: str

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        owner = text_of_person(frame[self.column], np.arange(frame.height))
        rows = in_classes(frame, self.quasi).with_columns(owner.alias(_OWNER))
        owners = rows.group_by(_OWNER).agg(pl.col(CLASS).sort().str.join().alias(_HISTORY))
        return owners.select(_HISTORY)
