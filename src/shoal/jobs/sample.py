"""Tables to try things on: generated, or with plausible values in the place of masked ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.paths import check_paths
from shoal.show.result import Result
from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    from shoal.data.generators import Generator

_CHUNK = 1_000_000  # records of a folder that are in memory at once


@dataclass(frozen=True, repr=False)
class Written(Result):
    """Where a table went, and how many records it has."""

    output: str
    records: int

    def sheets(self) -> list[Sheet]:
        """One row: the file and its records."""
        return [Sheet("Written", ("file", "records"), [(self.output, f"{self.records:,}")], numbers=1)]

    def to_dict(self) -> dict[str, Any]:
        """The file and its number of records."""
        return {"output": self.output, "records": self.records}


@dataclass(frozen=True)
class Sample(Job[Written]):
    """Writes a generated table to a file; or to a folder, a million records at a time, however many they are."""

    generator: Generator
    output: str
    seed: int | None = None
    overwrite: bool = False

    @property
    def _to_folder(self) -> bool:
        return self.generator.in_chunks.can and not Path(self.output).suffix

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        if not self._to_folder:
            check_paths([], self.output, overwrite=self.overwrite)

    def work(self) -> Written:
        """Generates the table, and writes the file or, a million records at a time, the folder."""
        from shoal.data.files import write_table

        if self._to_folder:
            return self._in_chunks()
        events.stage("generating")
        table = events.apart(self.generator.table)(self.seed)
        events.stage("writing")
        write_table(table, self.output, overwrite=self.overwrite)
        return Written(self.output, table.height)

    def _in_chunks(self) -> Written:
        from shoal.engines.disk import new_folder

        known, records = self.generator.records, 0
        total = -(-known // _CHUNK) if known is not None else None
        events.stage("generating", total)
        with new_folder(Path(self.output), overwrite=self.overwrite, certified=False) as partial:
            for number, chunk in enumerate(events.ticking(self.generator.chunks(_CHUNK, self.seed), total)):
                chunk.write_parquet(partial / f"part-{number:05d}.parquet")
                records += chunk.height
            events.check()
        return Written(self.output, records)


@dataclass(frozen=True)
class Regenerate(Job[Written]):
    """Puts plausible values in the place of masked ones, from published `counts`; `rescale` fits those to the table."""

    source: str
    output: str
    counts: Path
    rescale: bool = False
    seed: int | None = None
    overwrite: bool = False
    layout: Layout = field(default_factory=Layout)

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        check_paths([self.source, self.counts], self.output, overwrite=self.overwrite)

    def work(self) -> Written:
        """Reads table and counts, draws a value for each masked cell, and writes the table."""
        from shoal.data.files import write_table
        from shoal.masking.regenerate import read_counts, regenerate

        events.stage("reading")
        table = self.layout.read(self.source)
        events.stage("drawing values")
        filled = events.apart(regenerate)(table, read_counts(self.counts), seed=self.seed, rescale=self.rescale)
        events.stage("writing")
        write_table(filled, self.output, overwrite=self.overwrite)
        return Written(self.output, filled.height)
