"""What an engine must be able to do with a table, be it in memory or never there as a whole. All else is written above.

A table is read in batches; a batch knows the position of its first record, so that ties are broken by position
whatever the engine. `exchange` brings the records of one part together: blocks of records, packed column by column,
travel instead of single rows. A part is worked on by the very code that works on a table in memory.
"""

from __future__ import annotations

import io
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN

T = TypeVar("T")

# Columns that travel beside a user's own
FACTS = f"{OWN}facts"  # what a part's work has to tell, as text in the part's first record
COUNTED = f"{OWN}records"  # how many records have a combination of values

CHUNK = 1 << 19  # records that are brought together and worked on at once, where not all are


def chunks_of(records: int) -> int:
    """How many chunks hold so many records."""
    return max(1, -(-records // CHUNK))


class Batch(NamedTuple):
    """Some records that follow each other, and the position of the first of them."""

    frame: pl.DataFrame
    position: int

    def positions(self) -> npt.NDArray[np.int64]:
        """The position of each of its records in the whole table."""
        return np.arange(self.position, self.position + self.frame.height)


class Block(NamedTuple):
    """Records on their way to a part; blocks of a part are put together in order of position."""

    part: int
    position: int
    records: int
    packed: bytes


@runtime_checkable
class Table(Protocol):
    """A table of any size."""

    engine: str
    ordered: bool  # whether positions follow the order of the input

    @property
    def schema(self) -> pl.Schema:
        """The names and types of the columns, known before any record is read."""
        ...

    @property
    def whole(self) -> pl.DataFrame | None:
        """All records, where they are in memory; None where they never are."""
        ...

    def inputs(self) -> list[Path]:
        """The files and folders of this machine that are read, as far as they are known."""
        ...

    def chunks(self, records: int) -> int:
        """Into how many chunks so many records are divided where they must be brought together; in memory, one."""
        ...

    def select(self, names: Sequence[str]) -> Table:
        """Only these columns; those left out need not be read."""
        ...

    def map(self, work: Callable[[Batch], pl.DataFrame], schema: pl.Schema) -> Table:
        """Batch by batch, as many records out as in or fewer; nothing is done before it is asked for."""
        ...

    def like(self, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> Table:
        """Other records, on the same engine: the frames are taken one by one, at once, and never held together here."""
        ...

    def union(self, added: Table) -> Table:
        """The records of both, which are on the same engine and have the same columns."""
        ...

    def fold(self, work: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T | None:
        """The small results of all batches, merged; the order of merging is the engine's. None: no records."""
        ...

    def counts(self, by: Sequence[str]) -> pl.DataFrame:
        """How many records (`COUNTED`) have each combination of these columns' values."""
        ...

    def exchange(self, part_of: Callable[[Batch], npt.NDArray[np.int64]], parts: int) -> Parts:
        """The records of each part together."""
        ...

    def kept(self) -> tuple[Table, list[str]]:
        """The same, worked out and put where reading it again is cheap; and what the works have told (`FACTS`)."""
        ...

    def write(
        self, folder: str, kind: str, check: Callable[[Table, list[str]], dict[str, bytes]], *, overwrite: bool = False
    ) -> Table:
        """As a folder of files: written under another name, checked there as it stands, then renamed.

        `check` gets what was written and what the works have told; it raises to withhold the name, and gives the files
        that go beside. `_SUCCESS` comes last. The table is the one that then stands in the folder.
        """
        ...

    def place(self, folder: str) -> Path | None:
        """Where `write` would put the folder on this machine; None: in another store, where no name is taken back."""
        ...

    def frames(self) -> Iterator[pl.DataFrame]:
        """The records here, some at a time, parts in their order."""
        ...

    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file of what was written, by its name."""
        ...

    def native(self) -> Any:
        """The frame as the engine's own users know it."""
        ...


def first_records(table: Table) -> pl.DataFrame:
    """Some records at the beginning of the table, as many as come at once."""
    return next(iter(table.frames()), pl.DataFrame(schema=table.schema))


class Parts(Protocol):
    """Records divided into parts, each small enough to be held in memory, in order of position."""

    def sizes(self) -> npt.NDArray[np.int64]:
        """How many records each part holds, parts without any included."""
        ...

    def moved(self, heads: npt.NDArray[np.int64], order: Callable[[pl.DataFrame], npt.NDArray[np.int64]]) -> Parts:
        """So many records of each part, the first in the order given, join the last part before that keeps some."""
        ...

    def map(self, work: Callable[[pl.DataFrame, int], pl.DataFrame], schema: pl.Schema) -> Table:
        """Each part, with its number; parts without records are left out."""
        ...


def selected(table: Table, names: Sequence[str]) -> Table:
    """Only these columns, in the table's order."""
    kept = set(names)
    return table.select([name for name in table.schema if name in kept])


def records_of(table: Table) -> int:
    """How many records a table has, by one pass."""
    return table.fold(_height, operator.add) or 0


def _height(batch: Batch) -> int:
    return batch.frame.height


# ---- blocks


def pack(batch: Batch, part: npt.NDArray[np.int64]) -> Iterator[Block]:
    """The batch's records, one block a part."""
    order = np.argsort(part, kind="stable")
    sorted_part = part[order]
    starts = np.flatnonzero(np.append(True, sorted_part[1:] != sorted_part[:-1])[: len(part)])
    frame = batch.frame[order]
    for start, end in zip(starts, np.append(starts[1:], len(part)), strict=True):
        yield Block(int(sorted_part[start]), batch.position, int(end - start), packed(frame[start:end]))


def packed(frame: pl.DataFrame) -> bytes:
    """The records as bytes that travel between processes or wait in a file: Arrow's stream format, compressed."""
    target = io.BytesIO()
    frame.write_ipc_stream(target, compression="zstd")
    return target.getvalue()


def unpacked(blocks: Sequence[bytes]) -> pl.DataFrame:
    """The blocks' records, one block after the other."""
    frames = [pl.read_ipc_stream(block) for block in blocks]
    return pl.concat(frames, rechunk=True) if len(frames) > 1 else frames[0]


# ---- parts of a line


class Line(NamedTuple):
    """Where a line of records is cut: part p begins at key[p - 1], and there at that position."""

    key: npt.NDArray[np.uint64]
    position: npt.NDArray[np.int64]

    @classmethod
    def of(cls, key: npt.NDArray[np.uint64], position: npt.NDArray[np.int64], parts: int) -> Line:
        """Cut into parts of about the same size, as a sample of records shows it."""
        order = np.lexsort((position, key))
        cuts = order[np.arange(1, parts) * len(order) // parts] if len(order) else order
        return cls(key[cuts], position[cuts])

    def part_of(self, key: npt.NDArray[np.uint64], position: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The part of each record; among equal keys its position decides, so that every engine cuts alike."""
        first, last = (np.searchsorted(self.key, key, side=side) for side in ("left", "right"))
        part: npt.NDArray[np.int64] = first.copy()
        tied = np.flatnonzero(first < last)  # the key is that of a cut, or of several: the position decides
        for cut in np.unique(first[tied]):
            here = tied[first[tied] == cut]
            part[here] += np.searchsorted(self.position[cut : last[here[0]]], position[here], side="right")
        return part


def heads(sizes: npt.NDArray[np.int64], k: int, *, exactly: bool) -> npt.NDArray[np.int64]:
    """How many records of each part join the part before it, so that every part left has at least k.

    `exactly`: so that each but the last has a multiple of k, and cutting each into runs of k is cutting all of them.
    """
    if not exactly:
        return _joined(sizes, k)
    begin = np.append(0, np.cumsum(sizes))
    n = int(begin[-1])
    own = np.minimum(-(-begin[:-1] // k) * k, begin[1:])  # from the next multiple of k on
    own[(n - own < k) & (own > 0)] = n  # what is left over at the end makes no part of its own
    taken: npt.NDArray[np.int64] = np.minimum(own, begin[1:]) - begin[:-1]
    return taken


def _joined(sizes: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """A part of fewer than k goes as a whole; the first, with none before it, takes in what it lacks."""
    taken = np.zeros_like(sizes)
    held = 0  # records of the part that is open
    for p, size in enumerate(sizes.tolist()):
        lacking = max(0, k - held) if held else 0
        rest = size - min(size, lacking)
        if held and rest < k:
            taken[p], held = size, held + size
        elif size:
            taken[p], held = size - rest, rest
    return taken
