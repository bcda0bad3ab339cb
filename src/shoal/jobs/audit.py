"""Audit: what several releases over the same people tell together; and a release made elsewhere, put on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.data.schema import need_quasi
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.ledger import LedgerFile
from shoal.show.result import Result

if TYPE_CHECKING:
    import polars as pl

    from shoal.policy import Policy
    from shoal.releases.audit import Audit as Audited
    from shoal.releases.linking import Linkage, Linked
    from shoal.show.sheet import Sheet

K = 5  # people who must be alike, where nothing is said
CLASSES = "that make the classes"


@dataclass(frozen=True)
class AuditLedger(Job["Audited"]):
    """Judges the releases of a ledger together, by the largest k it promised unless another is given."""

    ledger: Path
    k: int | None = None

    def work(self) -> Audited:
        """Judges what the ledger recorded of its releases, without their files; a ledger without any is refused."""
        from shoal.releases.audit import audit
        from shoal.releases.ledger import budget, entries

        events.stage("reading")
        known = entries(self.ledger)
        if not known:
            raise InputError(f"The ledger {str(self.ledger)!r} holds no release yet: make one with --ledger first.")
        events.stage("judging")
        audited = audit([entry.published for entry in known], self.k or max(entry.k for entry in known))
        return replace(audited, budget=budget(self.ledger))


@dataclass(frozen=True)
class Audit(Job["Audited | Linkage"]):
    """Judges released files together: by the column `key` that says whom a record is about, or as an intruder links."""

    files: tuple[str, ...]
    policy: Policy
    key: str | None = None
    k: int = K
    engine: str | None = None
    master: str | None = None
    layout: Layout = field(default_factory=Layout)

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        if len(self.files) < 2:
            raise InputError("One release alone is judged by shoal check: name at least two files.")
        if self._engine() != "memory" and self.key is None:
            raise InputError(
                f"The engine {self._engine()!r} audits releases that still say whom a record is about: name that "
                "column (--key), or use --engine memory. To link releases by what they show, every record of one is "
                "compared with every record of the other."
            )

    def work(self) -> Audited | Linkage:
        """Reads the releases and judges them together, by the key or by linking; writes nothing."""
        if self._engine() != "memory":
            return self._in_parts()
        events.stage("reading")
        policy = self.policy.changed(reading=self.layout.over(self.policy.reading))
        key = [self.key] if self.key else []
        tables = {path: self.layout.read_release(path, policy, key) for path in self.files}
        events.stage("judging")
        need_quasi(self.policy.quasi_identifiers, CLASSES)
        return self._keyed(tables, self.key) if self.key else self._linked(tables)

    def _engine(self) -> str:
        from shoal.engines.opening import engine_for

        return engine_for(self.files, self.engine)

    def _in_parts(self) -> Audited:
        from shoal.engines.opening import open_table
        from shoal.releases.audit_tables import audit_tables

        assert self.key is not None
        events.stage("opening")
        engine, key, quasi = self._engine(), self.key, self.policy.quasi_identifiers
        tables = {
            path: open_table(
                path, engine, master=self.master, text=[key], masked=quasi,
                forms=self.layout.in_parts(engine, released=True),
            )
            for path in self.files
        }  # fmt: skip
        events.stage("judging")
        policy = self.policy
        return audit_tables(tables, policy.quasi_identifiers, self.key, self.k, confidential=policy.confidential)

    def _keyed(self, tables: Mapping[str, pl.DataFrame], key: str) -> Audited:
        from shoal.releases.audit import audit
        from shoal.releases.published import published

        quasi, confidential = self.policy.quasi_identifiers, self.policy.confidential
        keyed = [published(name, table, key, quasi, confidential) for name, table in tables.items()]
        return audit(keyed, self.k, confidential)

    def _linked(self, tables: Mapping[str, pl.DataFrame]) -> Linkage:
        import polars as pl

        from shoal.releases.linking import Linkage, as_shown, both_columns, link
        from shoal.releases.published import need_columns

        policy = self.policy
        names = list(dict.fromkeys((*policy.quasi_identifiers, *policy.confidential)))  # a column may be both
        for path, table in tables.items():
            need_columns(path, table, names)
        pairs: list[Linked] = []
        for (a, first), (b, second) in combinations(tables.items(), 2):
            events.check()
            both = pl.DataFrame([both_columns(first, second, name) for name in names])
            schema = policy.schema(both, released=True)
            stated = {name for name, choice in policy.attributes.items() if choice.kind is not None}
            attributes = [each if each.name in stated else as_shown(each, both[each.name]) for each in schema]
            pairs += link((a, b), first, second, attributes, self.k)
        facts = tuple({"name": path, "records": table.height} for path, table in tables.items())
        return Linkage(self.k, tuple(pairs), facts)


@dataclass(frozen=True, repr=False)
class Recorded(Result):
    """A release that was put on record, and how many people it left with fewer than k over all releases."""

    records: int
    classes: int
    smallest_class: int
    subjects_pushed_below_k: int
    notes: tuple[str, ...] = ()

    def sheets(self) -> list[Sheet]:
        """The four numbers as one table."""
        from shoal.show.sheet import Sheet

        rows = [(name.replace("_", " "), f"{value:,}") for name, value in self.to_dict().items()]
        return [Sheet("Recorded", ("", "value"), rows)]

    def remarks(self) -> tuple[str, ...]:
        """Whom it left exposed, where it did."""
        return self.notes

    def to_dict(self) -> dict[str, Any]:
        """The four numbers by name; the remarks are not among them."""
        names = ("records", "classes", "smallest_class", "subjects_pushed_below_k")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class RecordRelease(Job[Recorded]):
    """Puts a release on record that was made elsewhere, with the subjects' column beside it."""

    source: str
    ledger: LedgerFile
    quasi_identifiers: tuple[str, ...]
    k: int = K
    layout: Layout = field(default_factory=Layout)

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        need_quasi(self.quasi_identifiers, CLASSES)

    def work(self) -> Recorded:
        """Finds the release's classes and adds them to the ledger, also where people are exposed by that."""
        from shoal.privacy.check import classes_of
        from shoal.releases.ledger import follows_of
        from shoal.releases.published import from_classes, need_columns
        from shoal.releases.store import Promised

        ledger, names = self.ledger.opened(), list(self.quasi_identifiers)
        assert ledger is not None
        if ledger.path.exists() and follows_of(ledger.path) is not None:
            raise InputError(
                f"The ledger {str(ledger.path)!r} counts people who may have several records, and a release made "
                "elsewhere is recorded by one record a subject: record it in a ledger of its own."
            )
        events.stage("reading")
        table = self.layout.read(self.source, text=[ledger.subject])
        need_columns(self.source, table, names)
        events.stage("finding its classes")
        subjects = ledger.digests(table)
        values = ledger.own(subjects, table.drop(ledger.subject, *names))
        release = replace(from_classes(self.source, subjects, classes_of(table, names, {}), table), values=values)
        events.stage("judging it beside the others")
        exposed = ledger.add(release, Promised(self.k), self.source)
        notes: tuple[str, ...] = ()
        if exposed is not None:
            least = f"{exposed.smallest} at least"
            notes = (f"It left {exposed.subjects:,} subjects with fewer than {self.k} over the pool, {least}.",)
        pushed = exposed.subjects if exposed is not None else 0
        return Recorded(table.height, release.shown.height, int(release.sizes.min()), pushed, notes)
