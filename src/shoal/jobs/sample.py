"""Tables to try things on: generated, or with plausible values in the place of masked ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal import events
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.paths import check_paths
from shoal.show.result import Result
from shoal.show.sheet import Sheet

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
class SampleDischarges(Job[Written]):
    """Writes synthetic hospital discharges to a file; to a folder a million at a time, however many they are."""

    output: str
    rows: int = 100_000
    seed: int | None = None
    overwrite: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        if Path(self.output).suffix:
            check_paths([], self.output, overwrite=self.overwrite)

    @property
    def stages(self) -> int:
        """How often progress will be told: once a million records where a folder is written."""
        return 3 if Path(self.output).suffix else -(-self.rows // _CHUNK) + 1

    def work(self) -> Written:
        """Generates the discharges, and writes the file or, part by part, the folder."""
        from shoal.data.discharges import discharges
        from shoal.data.files import write_table

        if not Path(self.output).suffix:
            return self._in_chunks()
        events.stage("generating")
        table = events.apart(discharges)(self.rows, self.seed)
        events.stage("writing")
        write_table(table, self.output, overwrite=self.overwrite)
        events.done()
        return Written(self.output, self.rows)

    def _in_chunks(self) -> Written:
        from shoal.data.discharges import discharge_chunks
        from shoal.engines.disk import new_folder

        with new_folder(Path(self.output), overwrite=self.overwrite, certified=False) as partial:
            for number, chunk in enumerate(discharge_chunks(self.rows, self.seed, _CHUNK)):
                events.stage(f"{number + 1} million")
                chunk.write_parquet(partial / f"part-{number:05d}.parquet")
                events.check()
        events.done()
        return Written(self.output, self.rows)


@dataclass(frozen=True)
class SamplePurchases(Job[Written]):
    """Writes synthetic purchase histories, about 95 records a customer."""

    output: str
    customers: int = 400
    seed: int | None = None
    overwrite: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        check_paths([], self.output, overwrite=self.overwrite)

    def work(self) -> Written:
        """Generates the histories and writes them."""
        from shoal.data.files import write_table
        from shoal.data.purchases import purchases

        events.stage("generating")
        table = events.apart(purchases)(self.customers, self.seed)
        events.stage("writing")
        write_table(table, self.output, overwrite=self.overwrite)
        events.done()
        return Written(self.output, table.height)


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
        events.done()
        return Written(self.output, filled.height)
