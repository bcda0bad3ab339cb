"""A release of a table of any size: the same story as in `shoal.release`, on an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from secrets import randbits
from typing import Any, NamedTuple

from shoal import events
from shoal.chunked_draft import ChunkedDraft, draft_in_chunks
from shoal.data.commit import Output, commit, papers
from shoal.data.digests import digest_of_list
from shoal.data.forms import Forms
from shoal.data.outputs import CERTIFICATE, refuse_within
from shoal.draft import owner_column
from shoal.engines.table import Table, selected
from shoal.errors import InputError
from shoal.masking.collapse import few_classes
from shoal.masking.whole_histories import whole_of
from shoal.policy import Policy
from shoal.privacy.check import labelled, refuse_broken, released_sheets
from shoal.privacy.classes import Sizes
from shoal.privacy.histories import notes_together
from shoal.privacy.in_chunks import judge_chunks, same_records, where_measured
from shoal.privacy.judge import Judged
from shoal.privacy.model import Verdict
from shoal.pseudonymize import pseudonyms_by_key, puts_together
from shoal.releases.ledger import Ledger
from shoal.releases.pieces import InPieces
from shoal.releases.recorded import need_subject, recorded
from shoal.releases.store import Promised
from shoal.report.certificate import certify, refuse_uncertified
from shoal.report.drawn import PAIRS, DrawnRelease, drawn_records
from shoal.report.labels import Labels, labels_note, listed_labels
from shoal.report.page import write_report
from shoal.report.reported import Tables
from shoal.report.shown import Shown
from shoal.report.words import each_note_once, in_words
from shoal.risk.classes import by_class_size
from shoal.risk.owners import Owners, facts_of, owner_columns, owners_in_chunks
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.survey import Survey
from shoal.utility.separation_loss import losses_of_parts, mean_share


@dataclass(frozen=True)
class ChunkedRelease(Result):
    """A released table that keeps its promises, where its engine keeps it."""

    table: Table = field(repr=False)
    draft: ChunkedDraft = field(repr=False)
    judged: Judged = field(repr=False)
    chunks: tuple[dict[str, Any], ...] = field(repr=False)  # facts about each, from when it was masked
    facts: dict[str, Any]
    notes: tuple[str, ...]
    owners: tuple[Owners, ...] = ()  # the people, or households, whose records they are, where these are counted
    labels: Labels = field(default_factory=dict, repr=False)  # shown, that name only some of their values

    @property
    def frame(self) -> Any:
        """The released table, as the kind of frame that came in."""
        return self.table.native()

    @property
    def survey(self) -> Survey:
        """What is known of the table it was made of."""
        return self.draft.survey

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What each model says of it, in the order of the promises."""
        return self.judged.verdicts

    @property
    def sizes(self) -> Sizes:
        """How large its classes are."""
        return self.judged.sizes

    @property
    def records(self) -> int:
        """How many records it shows."""
        return self.judged.sizes.records

    @property
    def information_loss(self) -> float:
        """How far released values may lie from the original ones, in standard deviations."""
        loss: float = self.facts["information_loss"]
        return loss

    @property
    def separation_loss(self) -> float | None:
        """Of pairs of records that were told apart, the share that no longer is; None where they cannot be counted."""
        loss: float | None = self.facts["separation_loss"]
        return loss

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What the public may know: nothing that the release does not show by itself."""
        schema = self.draft.schema
        shown = Shown.of_chunks(self.survey.spelled.as_values(self.table), schema, self.judged)
        content = certify(shown, schema, self.survey.promises, self.verdicts, self.survey.stated, labels=self.labels)
        return {**content, "record_order": "as in the source" if self.draft.in_order else "shuffled"}

    def certificate_of_files(self) -> bytes:
        """The certificate of what stands in a folder."""
        content = {**self.certificate, "sha256": digest_of_list(self.table.digests())}
        return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()

    def write(
        self,
        folder: str | Path,
        kind: str = "parquet",
        *,
        seed: int | None = None,
        ledger: Ledger | None = None,
        overwrite: bool = False,
    ) -> None:
        """As a folder of files, judged once more as they stand there; a release that is there is replaced if asked.

        One that was made after a ledger is recorded there if that is given, with the seed if it is told, and refused
        where it would expose somebody beside earlier ones.
        """

        def judge_files(written: Table, _: list[str]) -> dict[str, bytes]:
            judged = _judged(self.draft, written, self.chunks)
            refuse_broken(judged.verdicts)
            return {CERTIFICATE: replace(self, table=written, judged=judged).certificate_of_files()}

        refuse_uncertified(folder, [], overwrite=overwrite)
        if ledger is None:
            self.table.write(str(folder), kind, judge_files, overwrite=overwrite)
            return
        carried = self.draft.carried.digests
        if carried is None or carried.ledger != ledger:
            raise InputError("The release was not made after this ledger: make it with after=ledger, to be recorded.")
        epsilon = sum(mean.epsilon for mean in self.survey.policy.private_means().values())
        facts = [json.dumps(fact) for fact in self.chunks]
        target = ToFolder(self.draft, facts, str(folder), kind, overwrite, seed, ledger, epsilon)
        commit([target.output(None)], overwrite=overwrite)

    def reported(self) -> DrawnRelease:
        """The release as the report asks for it, where records were drawn as they were masked."""
        known = self.survey
        whose = owner_columns(known.policy.person, known.policy.household_column).values()
        before = selected(known.table, [*(attribute.name for attribute in known.schema), *whose])
        return DrawnRelease(
            known.schema,
            known.policy,
            known.promises,
            self.verdicts,
            self.notes,
            known.records,
            self.records,
            self.information_loss,
            self.separation_loss,
            self.owners,
            Tables(before, known.spelled.as_values(self.table)),
            drawn_records(self.chunks, known.released, whose),
        )

    def remarks(self) -> tuple[str, ...]:
        """The notes."""
        return self.notes

    def charts(self) -> list[Chart]:
        """How large the classes are."""
        labels, (shares,) = by_class_size(self.sizes.size, classes=self.sizes.classes)
        return [Bars("Records by the size of their class", labels, (Series("records", shares),))]

    def sheets(self, title: str = "Released") -> list[Sheet]:
        """As tables: what was released, and how it was judged."""
        more = [("chunks", f"{self.facts['chunks']:,}"), ("engine", self.table.engine)]
        owners = [row for each in self.owners for row in each.rows()]
        legend = in_words(self.survey.promises, list(self.table.schema), self.survey.policy) if owners else ()
        verdicts = labelled(self.verdicts, self.survey.policy.label)
        return released_sheets(title, self.to_dict(), more, verdicts, owners=owners, legend=legend)

    def to_dict(self) -> dict[str, Any]:
        """For the custodian."""
        return {
            "engine": self.table.engine,
            "records": self.records,
            "suppressed": self.survey.records - self.records,
            "classes": int(self.sizes.classes.sum()),
            "smallest_class": self.sizes.smallest,
            "models": [verdict.to_dict() for verdict in self.verdicts],
            **self.facts,
            **facts_of(self.owners),
            **({"labels": self.labels} if self.labels else {}),
            "notes": list(self.notes),
        }


def refuse_ledger(table: Table, policy: Policy, ledger: Ledger) -> None:
    """Refuses a ledger that cannot tell whom the release is about."""
    whole = whole_of(policy.models)
    need_subject(table, ledger, policy.person, None if whole is None else owner_column(policy, whole))


def anonymize_in_chunks(
    table: Table,
    policy: Policy,
    *,
    seed: int | None = None,
    keep_order: bool = False,
    after: Ledger | None = None,
    forms: Forms | None = None,
) -> ChunkedRelease:
    """Masks the table as the policy says, and hands out the release only if every promise holds.

    Given a ledger, the release goes on from all those recorded there. `forms` say how a file writes dates and amounts.
    """
    if after is not None:
        refuse_ledger(table, policy, after)
    made = draft_in_chunks(
        table, policy, seed=seed, keep_order=keep_order, ledger=after, incremental=after is not None, forms=forms
    )
    made, facts = made.kept()
    events.stage("judging the result")
    public = made.public.kept()[0] if made.carried.schema else made.public  # by itself, to be handed out
    return judged_release(made, public, facts)


class _Files(NamedTuple):
    """What an engine wrote to a folder, and what each chunk knows of how it was masked."""

    table: Table
    facts: list[str]


class Judgement(NamedTuple):
    """A release as the written files show it, its certificate, and for a ledger whom it is about."""

    release: ChunkedRelease
    certificate: bytes
    people: InPieces | None


@dataclass
class ToFolder:
    """A draft as a folder to be committed, perhaps one of several."""

    made: ChunkedDraft
    facts: list[str]  # facts about its chunks; empty: they are told as it is written
    folder: str
    kind: str
    overwrite: bool
    seed: int | None = None
    ledger: Ledger | None = None
    epsilon: float = 0.0  # what it costs, with the folders that go with it
    _named: list[Table] = field(default_factory=list)

    def output(
        self, certificate: str | Path | None, report: str | Path | None = None, target: Path | None = None
    ) -> Output[_Files, Judgement]:
        """What is to be done; with a `target` the folder can be taken back from there."""
        papers_of = papers((certificate, _certify, False), (report, _describe, True))
        record = None if self.ledger is None else self._record
        return Output(target, self._write, self._judge, papers_of, record, folder=target is not None)

    def released(self, judgement: Judgement) -> ChunkedRelease:
        """The release, once it has its name."""
        return replace(judgement.release, table=self._named[0])

    def _write(self, before_name: Callable[[_Files], Judgement]) -> None:
        def judge_files(written: Table, facts: list[str]) -> dict[str, bytes]:
            return {CERTIFICATE: before_name(_Files(written, facts or self.facts)).certificate}

        self._named.append(self.made.public.write(self.folder, self.kind, judge_files, overwrite=self.overwrite))

    def _judge(self, files: _Files) -> Judgement:
        release = judged_release(self.made, *files)
        people = None
        if self.ledger is not None:
            quasi, records = self.made.survey.schema.quasi_identifiers, self.made.survey.records
            people = recorded(self.made.table, files.table, quasi, self.ledger.subject, records)
            joined = self.ledger.joined_by(pseudonyms_by_key(self.made.survey.policy))
            release = replace(release, notes=(*release.notes, *self.ledger.strangers_of(people), *joined))
        return Judgement(release, release.certificate_of_files(), people)

    def _record(self, files: _Files, judgement: Judgement) -> AbstractContextManager[None]:
        assert self.ledger is not None
        assert judgement.people is not None
        promises = tuple(verdict.to_dict() for verdict in judgement.release.verdicts)
        what = Promised(
            self.made.survey.k, promises, self.seed, self.epsilon, pseudonyms_by_key(self.made.survey.policy)
        )
        return self.ledger.entering(judgement.people, what, self.folder, digest_of_list(files.table.digests()))


def _certify(partial: Path, _: _Files, judgement: Judgement) -> None:
    partial.write_bytes(judgement.certificate)


def _describe(partial: Path, _: _Files, judgement: Judgement) -> None:
    write_report(judgement.release.reported(), partial, overwrite=True)


def anonymize_to(
    table: Table,
    policy: Policy,
    folder: str,
    kind: str = "parquet",
    *,
    seed: int | None = None,
    certificate: str | Path | None = None,
    overwrite: bool = False,
    keep_order: bool = False,
    ledger: Ledger | None = None,
    incremental: bool = False,
    report: str | Path | None = None,
    number_people: bool = False,
    forms: Forms | None = None,
) -> ChunkedRelease:
    """The same, written to a folder that gets its name only if every promise holds of what stands in it.

    The certificate lies in the folder, and where it is named as a file, there too. Records leave in random order,
    or with `keep_order` in that of the input, over the files in the order of their names. With a ledger the release is
    recorded there, and refused where it would expose somebody beside earlier ones; an `incremental` one goes on from
    these. The custodian's report counts all records, and compares the values of some. The people of each class are
    numbered if asked, so that anybody can count them. `forms` say how a file writes dates and amounts.
    """
    for paper in (certificate, report):
        if paper is not None:
            refuse_within(paper, [*table.inputs(), *policy.files])
    refuse_uncertified(folder, [certificate], overwrite=overwrite)
    if ledger is not None:
        refuse_ledger(table, policy, ledger)
        seed = randbits(63) if seed is None else seed  # the ledger keeps it
    made = draft_in_chunks(
        table, policy, seed=seed, keep_order=keep_order, ledger=ledger, incremental=incremental,
        drawn=PAIRS if report is not None else 0, number_people=number_people, forms=forms,
    )  # fmt: skip
    facts: list[str] = []
    if made.carried.schema:  # worked out once, for the files and for what went along
        made, facts = made.kept()
    epsilon = sum(mean.epsilon for mean in policy.private_means().values())
    target = ToFolder(made, facts, folder, kind, overwrite, seed, ledger, epsilon)
    [judgement] = commit([target.output(certificate, report)], overwrite=overwrite)
    return target.released(judgement)


def judged_release(made: ChunkedDraft, shown: Table, texts: Sequence[str]) -> ChunkedRelease:
    """The draft as a release, if every promise holds of what is `shown`; `texts` are facts about its chunks."""
    known = made.survey
    facts = [json.loads(text) for text in texts]
    judged = _judged(made, shown, facts)
    refuse_broken(judged.verdicts)
    loss = sum(fact["loss"] for fact in facts) / sum(fact["records"] for fact in facts)
    of_method = made.facts([fact["facts"] for fact in facts])
    apart = losses_of_parts([fact["separation"] for fact in facts])
    lost = {
        "information_loss": loss,
        "separation_loss": mean_share(apart, len(known.schema.quasi_identifiers)),
    }
    about = {**lost, "chunks": len(facts), **of_method}
    classes, largest = int(judged.sizes.classes.sum()), int(judged.sizes.size.max(initial=0))
    labels = listed_labels(known.spelled.as_values(shown), known.table, known.schema, known.k)
    notes = (
        *known.notes,
        *each_note_once([fact["notes"] for fact in facts]),
        *where_measured(known.promises, len(facts)),
        *few_classes(classes, largest, known.sample, known.promises, known.records),
        *notes_together(judged.histories, known.k),
        *labels_note(labels, certified=True),
    )
    return ChunkedRelease(shown, made, judged, tuple(facts), about, notes, _owners(made, shown, judged), labels)


def _owners(made: ChunkedDraft, shown: Table, judged: Judged) -> tuple[Owners, ...]:
    """Whose records are shown, by what went along with them: those that `shown` has, as was judged."""
    known, policy = made.survey, made.survey.policy
    by = owner_columns(policy.person, policy.household_column)
    by = {who: column for who, column in by.items() if column in made.carried.originals}
    masked = known.spelled.as_values(made.table)
    return owners_in_chunks(
        known.table, known.records, masked, known.schema.quasi_identifiers, by, judged.sizes, list(shown.schema)
    )


def _judged(made: ChunkedDraft, table: Table, facts: Sequence[dict[str, Any]]) -> Judged:
    known, original = made.survey, made.original()
    if original is not None:
        same_records(made.table, table, known.schema.quasi_identifiers)
    made.judge_replaced(table)
    values = known.spelled.as_values(table)
    cells, together = known.spelled.cells, puts_together(known.policy, list(table.schema))
    return judge_chunks(values, table, known.schema, known.promises, known.records, facts, original, cells, together)
