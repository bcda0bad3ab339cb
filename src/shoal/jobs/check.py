"""Check: a released file or folder is judged against a policy or against its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.data.reading import Reading
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.show.result import Result

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.privacy.model import Verdict
    from shoal.report.certificate import Certificate, Checked
    from shoal.show.sheet import Sheet


@dataclass(frozen=True, repr=False)
class Judgement(Result):
    """How a released table was judged, and what a reader should know of columns that nothing was promised of."""

    records: int
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every promise holds."""
        return all(verdict.holds for verdict in self.verdicts)

    def sheets(self) -> list[Sheet]:
        """Promise by promise: what was asked, what was reached."""
        from shoal.privacy.check import judgement

        return [judgement(self.verdicts)]

    def remarks(self) -> tuple[str, ...]:
        """Where a verdict means less than it seems to, and columns of which nothing is promised."""
        return self.notes

    def to_dict(self) -> dict[str, Any]:
        """Records, whether all holds, and each verdict."""
        models = [verdict.to_dict() for verdict in self.verdicts]
        return {"records": self.records, "holds": self.holds, "models": models}


@dataclass(frozen=True)
class Check(Job[Judgement]):
    """Judges what was released by whomever against a policy, or against the certificate that states one.

    `strict` says that a column to which the policy gives no role must not be there; otherwise it is noted. A measured
    risk needs the `original`; `paired` says that row i of both is the same person.
    """

    source: str | Path
    policy: Policy | None = None
    certificate: Path | None = None
    population: str | None = None
    original: str | Path | None = None
    paired: bool = False
    strict: bool = False
    engine: str | None = None
    master: str | None = None
    layout: Layout = field(default_factory=Layout)
    person: str | None = None

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        if self.paired and self.original is None:
            raise InputError("--paired is about the original: give --original as well.")
        if (self.policy is None) == (self.certificate is None):
            raise InputError("A release is judged by a policy or by its certificate: give one of them.")

    def work(self) -> Judgement:
        """Reads what was released, judges it, and looks for content that no row shows; writes nothing."""
        from shoal.engines.opening import engine_of
        from shoal.report.inspection import inspect_released

        stated = self._certificate()
        policy = self.policy if stated is None else stated.policy
        assert policy is not None
        engine = engine_of(self.source, self.engine)
        checked = self._in_memory(policy, stated) if engine == "memory" else self._in_parts(policy, stated, engine)
        inspect_released(self.source)
        return Judgement(checked.shown.records, checked.verdicts, self._notes(checked, policy))

    def _certificate(self) -> Certificate | None:
        from shoal.report.certificate import read_certificate

        if self.certificate is None:
            return None
        stated = read_certificate(self.certificate, self.source, self.population, self.person)
        if self.paired and stated.content.get("record_order") == "shuffled":
            raise InputError(
                f"{str(self.certificate)!r} says that the release was shuffled, so that no row is known to be the "
                "original's: leave out --paired, or release with --write keep-order."
            )
        return stated

    def _in_memory(self, policy: Policy, stated: Certificate | None) -> Checked:
        from shoal.check import check_table

        events.stage("reading")
        if policy.tables:
            from shoal.jobs.tables import check_files

            return check_files(self.source, policy, self.layout)
        table, written = self.layout.released(self.source, policy)
        layout = self.layout.over(policy.reading)
        original = layout.read(self.original, policy) if self.original is not None else None
        events.stage("judging")
        checked = check_table(table, written, policy, original=original, paired=self.paired)
        if stated is not None:
            stated.verify(table, checked.verdicts, written)
        return checked

    def _in_parts(self, policy: Policy, stated: Certificate | None, engine: str) -> Checked:
        from shoal.check import check_table
        from shoal.engines.opening import open_table

        events.stage("opening")
        reading = self.layout.over(Reading.of(policy.reading.of_values()))
        shown = reading.in_parts(engine, policy, released=True)
        quasi = policy.quasi_identifiers
        table = open_table(self.source, engine, master=self.master, as_written=quasi, forms=shown)
        original = None
        if self.original is not None:
            forms = self.layout.over(policy.reading).in_parts(engine, policy)
            original = open_table(str(self.original), engine, master=self.master, forms=forms)
        events.stage("judging")
        checked = check_table(table, None, policy, original=original, paired=self.paired, forms=shown.columns)
        if stated is not None:
            stated.verify_shown(checked.shown, checked.verdicts)
            stated.verify_labels(table)
        return checked

    def _notes(self, checked: Checked, policy: Policy) -> tuple[str, ...]:
        from shoal.check import refuse_unnamed
        from shoal.data.released import reading_of
        from shoal.data.schema import Role
        from shoal.privacy.histories import notes_together

        columns = list(checked.shown.columns)
        if self.strict:
            refuse_unnamed(columns, policy)
        roles = policy.roles(columns, released=True)
        notes = []
        if unnamed := ", ".join(repr(name) for name in columns if name not in roles):
            notes.append(
                f"No role names {unnamed}: nobody protects this. A release made by these options would not show it."
            )
        if as_they_are := ", ".join(repr(name) for name in columns if Role.INSENSITIVE in roles.get(name, ())):
            notes.append(f"Released as they are, as insensitive: {as_they_are}.")
        if (book := self.layout.codebook(self.source)) is not None:
            notes.extend(book.labels(columns))
        known = self.layout.over(reading_of(self.source, policy.reading))
        assumed = known.assumed(self.source) if Path(self.source).is_file() else ()
        remarks = (verdict.note for verdict in checked.verdicts if verdict.note)
        k = max(model.smallest_class for model in policy.models)
        return (*assumed, *notes, *remarks, *notes_together(checked.shown.histories, k))
