"""The engine of a table that fits in memory: one chunk, handed out as it is, without packing or copying.

What is judged, measured and audited is written over the protocol of `shoal.engines.table`; here it runs on the frame
itself. A release in memory is written by its job (one file of any format); `write` is there for who asks for a folder.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.disk import Disk, DiskTable
from shoal.engines.table import COUNTED, FACTS, Batch, Table

T = TypeVar("T")


@dataclass(frozen=True)
class MemoryTable:
    """A frame as a table of one chunk; works are done at once, not when they are asked for."""

    frame: pl.DataFrame = field(repr=False)
    files: tuple[Path, ...] = ()  # that it was read from

    engine = "memory"
    ordered = True

    @property
    def schema(self) -> pl.Schema:
        """The columns and types of the frame."""
        return self.frame.schema

    @property
    def whole(self) -> pl.DataFrame:
        """The frame itself."""
        return self.frame

    def inputs(self) -> list[Path]:
        """The files it was read from, if it came from files."""
        return list(self.files)

    def chunks(self, records: int) -> int:
        """One, whatever the size: all records are together already."""
        return 1

    def select(self, names: Sequence[str]) -> MemoryTable:
        """Only these columns, which are not copied."""
        return MemoryTable(self.frame.select(names), self.files)

    def map(self, work: Callable[[Batch], pl.DataFrame], schema: pl.Schema) -> MemoryTable:
        """The work is done at once, on the whole frame; without records it is not done at all."""
        done = work(Batch(self.frame, 0)) if self.frame.height else pl.DataFrame(schema=schema)
        return MemoryTable(done, self.files)

    def like(self, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> MemoryTable:
        """All frames as one."""
        return MemoryTable(pl.concat([pl.DataFrame(schema=schema), *frames]))

    def union(self, added: Table) -> MemoryTable:
        """This table's records, then the others, with the columns in this table's order."""
        assert isinstance(added, MemoryTable)
        return MemoryTable(pl.concat([self.frame, added.frame.select(self.frame.columns)]), self.files + added.files)

    def fold(self, work: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T | None:
        """There is one batch, so that nothing has to be merged."""
        return work(Batch(self.frame, 0)) if self.frame.height else None

    def counts(self, by: Sequence[str]) -> pl.DataFrame:
        """By one grouping of the frame."""
        return self.frame.group_by(by).agg(pl.len().cast(pl.Int64).alias(COUNTED))

    def exchange(self, part_of: Callable[[Batch], npt.NDArray[np.int64]], parts: int) -> MemoryParts:
        """A stable sort by part: within a part records keep their order."""
        if parts == 1 or not self.frame.height:
            return MemoryParts((self.frame, *[self.frame.clear()] * (parts - 1)))
        part = part_of(Batch(self.frame, 0))
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=parts))
        sizes = np.diff(ends, prepend=0)
        return MemoryParts(tuple(self.frame[order[end - size : end]] for end, size in zip(ends, sizes, strict=True)))

    def kept(self) -> tuple[MemoryTable, list[str]]:
        """As it is, for it was worked out before; without the column of facts, which are given apart."""
        facts = self.frame[FACTS].drop_nulls().to_list() if FACTS in self.frame.columns else []
        return MemoryTable(self.frame.drop(FACTS, strict=False), self.files), facts

    def write(
        self, folder: str, kind: str, check: Callable[[Table, list[str]], dict[str, bytes]], *, overwrite: bool = False
    ) -> Table:
        """As the disk engine writes it; the table that stands in the folder is the disk's."""
        disk = Disk()
        atexit.register(disk.close)  # whoever asks the table that is given works in its scratch folder
        disk.inputs = self.inputs()
        return DiskTable(disk, self.schema, lambda: [self.frame]).write(folder, kind, check, overwrite=overwrite)

    def place(self, folder: str) -> Path | None:
        """The folder itself: it is written on this machine."""
        return Path(folder)

    def frames(self) -> Iterator[pl.DataFrame]:
        """The whole frame, at once."""
        yield self.frame

    def digests(self) -> dict[str, str]:
        """None: it stands in no file of its own."""
        return {}

    def native(self) -> pl.DataFrame:
        """The frame, without the column of facts."""
        return self.frame.drop(FACTS, strict=False)


def table_of(frame: pl.DataFrame | Table) -> Table:
    """A frame as a table of the memory engine; a table of any engine as it is."""
    return MemoryTable(frame) if isinstance(frame, pl.DataFrame) else frame


@dataclass(frozen=True)
class MemoryParts:
    """The frames of the parts."""

    frames: tuple[pl.DataFrame, ...] = field(repr=False)

    def sizes(self) -> npt.NDArray[np.int64]:
        """How many records each part's frame has."""
        return np.array([frame.height for frame in self.frames])

    def moved(
        self, heads: npt.NDArray[np.int64], order: Callable[[pl.DataFrame], npt.NDArray[np.int64]]
    ) -> MemoryParts:
        """New frames where records leave or join; the others are handed on as they are."""
        left, joining = list(self.frames), [[frame.clear()] for frame in self.frames]
        keeper = 0
        for part, (frame, taken) in enumerate(zip(self.frames, heads, strict=True)):
            if taken:
                first = order(frame)[:taken]
                joining[keeper].append(frame[first])
                left[part] = frame[np.setdiff1d(np.arange(frame.height), first)]
            if frame.height > taken:
                keeper = part
        both = zip(left, joining, strict=True)
        return MemoryParts(tuple(pl.concat([own, *more]) if len(more) > 1 else own for own, more in both))

    def map(self, work: Callable[[pl.DataFrame, int], pl.DataFrame], schema: pl.Schema) -> MemoryTable:
        """One part after the other, done at once; without any records an empty table of this schema."""
        done = [work(frame, part) for part, frame in enumerate(self.frames) if frame.height]
        if not done:
            return MemoryTable(pl.DataFrame(schema=schema))
        return MemoryTable(pl.concat(done) if len(done) > 1 else done[0])
