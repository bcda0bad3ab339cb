"""Anonymize: a table is masked, judged and written, with what goes with it; or nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import randbits
from typing import TYPE_CHECKING

from shoal import events
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.errors import InputError, needs_memory
from shoal.jobs.job import Job
from shoal.jobs.keyed import keyed, refuse_key
from shoal.jobs.layout import Layout, refuse_written
from shoal.jobs.ledger import LedgerFile, without_subject
from shoal.jobs.paths import check_paths

if TYPE_CHECKING:
    from shoal.chunked_release import ChunkedRelease
    from shoal.chunked_split import ChunkedSplitRelease
    from shoal.data.forms import Forms
    from shoal.data.schema import Schema
    from shoal.draft import Draft
    from shoal.engines.table import Table
    from shoal.policy import Policy
    from shoal.release import Release
    from shoal.releases.ledger import Ledger
    from shoal.split import SplitRelease
    from shoal.split_tables import Target

_LARGE = 1 << 25  # bytes of a table while which is read the kernels are loaded


@dataclass(frozen=True)
class Anonymize(Job["Release | ChunkedRelease"]):
    """A release of a table, written to `output` if every promise of the policy holds of what stands there.

    `certificate` and `report` are files that go with it, `explain` a folder for what recoding could choose from,
    `hierarchies` one for the hierarchies that were built because the policy gives none. Of a folder, or with the engine
    `disk` or `spark`, the release is a folder. `reads` are files that the policy came from, which are never written
    over. With `number_people` a column more numbers the people of each class.
    """

    source: str | Path
    policy: Policy
    output: str | Path
    certificate: Path | None = None
    report: Path | None = None
    explain: Path | None = None
    ledger: LedgerFile = field(default_factory=LedgerFile)
    incremental: bool = False
    keep_order: bool = False
    disarm: bool = False
    seed: int | None = field(default=None, repr=False)
    overwrite: bool = False
    engine: str | None = None
    master: str | None = None
    layout: Layout = field(default_factory=Layout)
    reads: tuple[str | Path | None, ...] = ()
    hierarchies: Path | None = None
    key: Path | None = None  # the file of the secret key of pseudonyms; made where there is none
    number_people: bool = False
    written: Reading = AS_IT_SEEMS  # how a text file is laid out, where not as the source

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        from shoal.masking.publishing.person_in_class import refuse_in_class
        from shoal.show.figure import need_matplotlib

        if self.explain is not None and not self.policy.method.has_frontier:
            raise InputError("--write explain shows the recodings to choose from: it is for --method recode.")
        if self.explain is not None:
            need_matplotlib()
        self._refuse_hierarchies()
        refuse_written(self.written, self.output, self._engine())
        if self.number_people:
            refuse_in_class((), self.policy.person, self.policy.models)
        if self._engine() != "memory":
            self._refuse_in_parts()
        else:
            self._refuse_files()
        refuse_key(self.policy, self.key)
        if self.incremental and self.ledger.path is None:
            raise InputError("--incremental goes on from earlier releases: name their --ledger.")

    def work(self) -> Release | ChunkedRelease:
        """Reads the table, masks it, and writes the release once every promise holds of the written file."""
        with keyed(self.policy, self.key) as policy:
            job = replace(self, policy=policy.of_table(self.source))
            return job._work_in_memory() if self._engine() == "memory" else job._work_in_parts()

    def _work_in_memory(self) -> Release:
        from shoal.release import write

        ledger = self.ledger.opened(self.policy, several=not self.incremental)
        made, seed = self._drafted(ledger)
        release = write(
            made, self.output, keep_order=self.keep_order, certificate=self.certificate, report=self.report, seed=seed,
            ledger=ledger, disarm=self.disarm, overwrite=self.overwrite,
        )  # fmt: skip
        if self.explain is not None:
            self._explain(release, self.explain)
        self._keep_hierarchies(release.schema)
        return release

    def look(self) -> Release:
        """The release as it would be written, judged by what it shows; nothing is written."""
        from shoal.release import judged

        with keyed(self.policy, self.key) as policy:
            made, _ = replace(self, policy=policy)._drafted(None)
            return judged(made)

    def _drafted(self, ledger: Ledger | None) -> tuple[Draft, int | None]:
        """The table, masked and with all that is noted of it, and the seed that its records are to be shuffled by."""
        from shoal.draft import draft, with_people_numbered
        from shoal.jobs.kernels import load_kernels

        policy, seed, text = prepared(self.policy, ledger, self.seed)
        events.stage("reading")
        if Path(self.source).is_file() and Path(self.source).stat().st_size > _LARGE:
            load_kernels()
        layout = self.layout.over(policy.reading)
        forms = layout.forms(policy)
        spelling = layout.spelling(self.source, forms)
        table = layout.read(self.source, policy, text, forms)
        policy = policy.changed(reading=forms.settled(layout.settled(self.source)))
        after, book = ledger if self.incremental else None, layout.codebook(self.source)
        made = draft(table, policy, seed=seed, after=after, spelling=spelling, book=book)
        dialect, laid_out = layout.dialect(self.source, self.output, self.written)
        read_notes = (*layout.assumed(self.source), *(forms.notes if spelling is None else ()))
        made = replace(made, notes=(*read_notes, *made.notes, *laid_out), dialect=dialect)
        if self.number_people:
            made = with_people_numbered(made, seed)
        if ledger is not None:
            made = made.noted(ledger)
        return made, seed

    def _engine(self) -> str:
        from shoal.engines.opening import engine_of

        return engine_of(self.source, self.engine)

    def _refuse_files(self) -> None:
        from shoal.report.certificate import refuse_uncertified
        from shoal.report.figures import FRONTIER

        folder = self.explain
        explained = [folder / name for name in FRONTIER] if folder is not None and folder.is_dir() else []
        others = [self.report, self.certificate, *explained, *self._replaced()]
        check_paths(_all_read(self), self.output, others, overwrite=self.overwrite)
        refuse_uncertified(self.output, [self.certificate], overwrite=self.overwrite)

    def _built(self) -> list[Path]:
        """The files of hierarchies that will be built, where they are to be kept."""
        folder, names = self.hierarchies, self.policy.quasi_identifiers
        return [] if folder is None else [folder / f"{name}.csv" for name in names if self.policy.builds(name)]

    def _replaced(self) -> list[Path]:
        """Those of them that may be there already."""
        return self._built() if self.hierarchies is not None and self.hierarchies.is_dir() else []

    def _refuse_hierarchies(self) -> None:
        from shoal.data.outputs import refuse_existing

        if self.hierarchies is None:
            return
        files = self._built()
        if not files:
            raise InputError(
                "--write hierarchies keeps those that --method recode builds, but none is: leave it out, or leave the "
                "hierarchies to it."
            )
        for file in files:
            if file.parent != self.hierarchies:
                raise InputError(f"The hierarchy of {file.stem!r} has no file of that name: rename the column.")
            refuse_existing(file, overwrite=self.overwrite)

    def _keep_hierarchies(self, schema: Schema) -> None:
        from shoal.data.built_attributes import write_built

        if self.hierarchies is not None:
            write_built(self.policy.built_trees(schema), self.hierarchies, overwrite=self.overwrite)

    def _explain(self, release: Release, folder: Path) -> None:
        from shoal.report.figures import write_frontier

        table, cost = release.policy.method.frontier(release.original, release.promises)
        write_frontier(folder, table, cost, release.suppressed, overwrite=self.overwrite)

    def _refuse_in_parts(self) -> None:
        from shoal.report.certificate import refuse_uncertified

        chosen = {"explain": self.explain is not None, "disarm-formulas": self.disarm}
        for choice, stated in chosen.items():
            if stated:
                raise needs_memory(f"--write {choice}", self._engine())
        _refuse_folders(self, [Path(self.output)], [self.certificate, self.report, *self._replaced()], self._engine())
        refuse_uncertified(self.output, [self.certificate], overwrite=self.overwrite)

    def _work_in_parts(self) -> ChunkedRelease:
        from shoal.chunked_release import anonymize_to

        ledger, policy, table, kind, forms = _opened(self, self._engine())
        release = anonymize_to(
            table, policy, str(self.output), kind, seed=self.seed, certificate=self.certificate,
            overwrite=self.overwrite, keep_order=self.keep_order, ledger=ledger, incremental=self.incremental,
            report=self.report, number_people=self.number_people, forms=forms,
        )  # fmt: skip
        self._keep_hierarchies(release.survey.schema)
        return release


@dataclass(frozen=True)
class Split(Job["SplitRelease | ChunkedSplitRelease"]):
    """One table for each confidential column, `output.COLUMN.csv` and so on; all are written, or none.

    With `merge` all columns are written in one table too; with `independent` only columns that depend on each other
    share their classes. The other choices are those of `Anonymize`; of a folder each table is a folder.
    """

    source: str | Path
    policy: Policy
    output: str | Path
    independent: bool = False
    merge: bool = False
    certificate: Path | None = None
    report: Path | None = None
    ledger: LedgerFile = field(default_factory=LedgerFile)
    keep_order: bool = False
    seed: int | None = field(default=None, repr=False)
    overwrite: bool = False
    engine: str | None = None
    master: str | None = None
    layout: Layout = field(default_factory=Layout)
    reads: tuple[str | Path | None, ...] = ()
    written: Reading = AS_IT_SEEMS

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        refuse_written(self.written, self.output, self._engine())
        if self._engine() != "memory":
            self._refuse_in_parts()
            return
        files = [path for target in self._targets().values() for path in target]
        first, *others = files or [Path(self.output)]
        check_paths(_all_read(self), first, [*others, self.report], overwrite=self.overwrite)
        self._refuse_uncertified()

    def _targets(self) -> dict[str, Target]:
        from shoal.split_tables import targets_of

        return targets_of(self.output, self.policy.confidential, self.certificate, merge=self.merge)

    def _refuse_uncertified(self) -> None:
        from shoal.split_tables import refuse_uncertified_tables

        refuse_uncertified_tables(self._targets(), overwrite=self.overwrite)

    def work(self) -> SplitRelease | ChunkedSplitRelease:
        """Reads the table, makes one for each confidential column, and writes all of them or none."""
        from shoal.split import split_draft

        if self._engine() != "memory":
            return self._work_in_parts()

        ledger = self.ledger.opened(self.policy, several=True)
        policy, seed, text = prepared(self.policy, ledger, self.seed)
        events.stage("reading")
        layout = self.layout.over(policy.reading)
        forms = layout.forms(policy)
        spelling = layout.spelling(self.source, forms)
        table = layout.read(self.source, policy, text, forms)
        policy = policy.changed(reading=forms.settled(layout.settled(self.source)))
        book = layout.codebook(self.source)
        made = split_draft(table, policy, independent=self.independent, seed=seed, spelling=spelling, book=book)
        dialect, laid_out = layout.dialect(self.source, self.output, self.written)
        read_notes = (*layout.assumed(self.source), *(forms.notes if spelling is None else ()))
        made = made.in_dialect(dialect)
        made = replace(made, notes=(*read_notes, *made.notes, *laid_out))
        if ledger is not None:
            made = made.noted(ledger)
        return made.write(
            self.output, merge=self.merge, keep_order=self.keep_order, certificate=self.certificate,
            report=self.report, seed=seed, ledger=ledger, overwrite=self.overwrite,
        )  # fmt: skip

    def _engine(self) -> str:
        from shoal.engines.opening import engine_of

        return engine_of(self.source, self.engine)

    def _refuse_in_parts(self) -> None:
        from shoal.chunked_split import elsewhere, refuse_independent
        from shoal.data.paths import is_sql

        engine = self._engine()
        if self.independent:
            refuse_independent(engine)
        if self.report is not None:
            raise InputError(
                f"A report compares records as they are masked, and the engine {engine!r} shows what is confidential "
                "only when all are: leave out --report or --split, or use --engine memory."
            )
        if is_sql(self.output):
            raise elsewhere(str(self.output))
        targets = self._targets().values()
        _refuse_folders(self, [to.path for to in targets], [to.certificate for to in targets], engine)
        self._refuse_uncertified()

    def _work_in_parts(self) -> ChunkedSplitRelease:
        from shoal.chunked_split import split_to

        ledger, policy, table, kind, forms = _opened(self, self._engine())
        return split_to(
            table, policy, str(self.output), kind, merge=self.merge, seed=self.seed, certificate=self.certificate,
            overwrite=self.overwrite, keep_order=self.keep_order, ledger=ledger, forms=forms,
        )  # fmt: skip


def _refuse_folders(
    job: Anonymize | Split, folders: Sequence[Path], papers: Sequence[Path | None], engine: str
) -> None:
    """Refuses what the engine cannot do, and folders and papers that cannot be written or lie in what is read."""
    from shoal.capabilities import refuse_what_cannot
    from shoal.data.outputs import refuse_within
    from shoal.engines.disk import refuse_used
    from shoal.engines.opening import files_of

    refuse_what_cannot(job.policy, engine)
    job.layout.over(job.policy.reading).in_parts(engine)
    reads = _all_read(job)
    check_paths([*reads, *folders], None, papers, overwrite=job.overwrite)
    inputs = files_of(Path(job.source)) if Path(job.source).is_dir() else []
    read = [path for path in (*reads, *inputs) if path is not None]
    named = [paper for paper in papers if paper is not None]
    for folder in folders:
        refuse_used(folder, overwrite=job.overwrite)
        refuse_within(folder, [*read, *named])
    for paper in named:
        refuse_within(paper, read)


def _opened(job: Anonymize | Split, engine: str) -> tuple[Ledger | None, Policy, Table, str, Forms]:
    """The ledger, the policy as it needs it, the table on its engine, of which kind files will be, and their forms."""
    from shoal.engines.opening import kind_of_file, kind_of_folder, open_table
    from shoal.jobs.kernels import load_kernels

    ledger = job.ledger.opened(job.policy)
    policy = job.policy if ledger is None else without_subject(job.policy, ledger.subject)
    kinds = (kind_of_file(Path(name)) for name in (job.output, job.source))
    known = (*kinds, kind_of_folder(Path(job.source)))
    kind = next((kind for kind in known if kind in ("csv", "parquet")), "parquet")
    events.stage("opening")
    load_kernels()
    # Beside a ledger values are told apart, not spellings; and its subject is known by what stands there.
    text = [] if ledger is None else [ledger.subject]
    layout = job.layout.over(job.policy.reading)
    forms = layout.in_parts(engine, policy)
    spelled = kind == "csv" and ledger is None
    table = open_table(job.source, engine, master=job.master, text=text, spelled=spelled, forms=forms)
    if forms.columns and not spelled:
        forms.notes.append(
            "Dates and amounts leave in plain form, such as 2021-04-03 and 1234.5: "
            + (
                "beside a ledger the engine tells values apart, not spellings."
                if kind == "csv"
                else "no text is written."
            )
        )
    return ledger, policy.changed(reading=forms.settled(Reading.of(layout))), table, kind, forms


def _all_read(job: Anonymize | Split) -> list[str | Path | None]:
    """Every file that the job reads, or keeps: none of them is an output."""
    key = job.key if isinstance(job, Anonymize) else None
    return [job.source, *job.reads, job.ledger.path, job.ledger.key, key, *job.policy.files]


def prepared(policy: Policy, ledger: Ledger | None, seed: int | None) -> tuple[Policy, int | None, tuple[str, ...]]:
    """Policy, seed and columns of text as a ledger needs them: the subject is never released, and the seed is kept."""
    if ledger is None:
        return policy, seed, ()
    # The subject is known by what stands there, not by a number it reads as.
    return without_subject(policy, ledger.subject), randbits(63) if seed is None else seed, (ledger.subject,)
