"""Tables: several tables of the same people are masked together, judged and written; or nothing is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal import events
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout, refuse_written
from shoal.jobs.paths import check_paths

if TYPE_CHECKING:
    import polars as pl

    from shoal.policy import Policy
    from shoal.report.certificate import Checked
    from shoal.tables import TablesRelease


@dataclass(frozen=True)
class Tables(Job["TablesRelease"]):
    """A release of the table of people and of those that the policy names, written to `output` and beside it.

    Of a table `visits`, `r.visits.csv` stands beside `r.csv`. The certificate is one a file, the report about the table
    of people.
    """

    source: str | Path
    policy: Policy
    output: str | Path
    certificate: Path | None = None
    report: Path | None = None
    keep_order: bool = False
    disarm: bool = False
    seed: int | None = field(default=None, repr=False)
    overwrite: bool = False
    engine: str | None = None
    layout: Layout = field(default_factory=Layout)
    reads: tuple[str | Path | None, ...] = ()
    written: Reading = AS_IT_SEEMS

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        from shoal.engines.opening import engine_of
        from shoal.split_tables import paper_of
        from shoal.tables import files_of, policies_of

        policies = policies_of(self.policy)
        if (engine := engine_of(self.source, self.engine)) != "memory":
            raise InputError(
                f"The engine {engine!r} cannot release several tables together, as all rows of everybody are put side "
                "by side: use --engine memory."
            )
        refuse_written(self.written, self.output, engine)
        targets = files_of(self.output, self.policy)
        papers = [paper_of(self.certificate, name) for name in policies]
        first, *others = targets.values()
        read = [self.source, *self.reads, *self.policy.files]
        check_paths(read, first, [*others, self.report, *papers], overwrite=self.overwrite)

    def work(self) -> TablesRelease:
        """Reads the tables, masks them, and writes all files once every promise holds of all of them."""
        from shoal.tables import PEOPLE, files_of, policies_of, tables_draft

        events.stage("reading")
        sources = {PEOPLE: str(self.source), **{name: table.file for name, table in self.policy.tables.items()}}
        layout = self.layout.over(self.policy.reading)
        policies = policies_of(self.policy)
        forms = {name: layout.forms(own) for name, own in policies.items()}
        spellings = {name: layout.spelling(source, forms[name]) for name, source in sources.items()}
        frames: dict[str, pl.DataFrame] = {}
        for name, own in policies.items():
            # A key is known by what stands there, not by a number it reads as.
            frames[name] = layout.read(sources[name], own, [str(own.person)], forms[name])
        made = tables_draft(
            frames, self.policy.changed(reading=layout).of_table(self.source), seed=self.seed, spellings=spellings
        )
        targets = files_of(self.output, self.policy)
        made = made.in_dialects({n: layout.dialect(sources[n], targets[n], self.written) for n in policies})
        return made.write(
            self.output, keep_order=self.keep_order, certificate=self.certificate, report=self.report, seed=self.seed,
            disarm=self.disarm, overwrite=self.overwrite,
        )  # fmt: skip


def check_files(source: str | Path, policy: Policy, layout: Layout) -> Checked:
    """Judges the released table of people and those that stand beside it."""
    from shoal.report.inspection import inspect_released
    from shoal.tables import check_tables, files_of, policies_of

    tables = {}
    for name, own in policies_of(policy).items():
        path = files_of(source, policy)[name]
        tables[name] = layout.released(path, own)
        inspect_released(path)
    return check_tables({name: (each.table, each.written) for name, each in tables.items()}, policy)
