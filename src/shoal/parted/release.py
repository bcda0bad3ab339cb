"""A release of a large table: the same story as in `shoal.release`, on an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from secrets import randbits
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from shoal import events
from shoal.check import released_sheets, shown_by
from shoal.data.commit import Output, commit, papers
from shoal.data.digests import digest_of_list
from shoal.data.outputs import CERTIFICATE, refuse_within
from shoal.data.people import Repeating
from shoal.data.schema import Role
from shoal.engines.table import Table, selected
from shoal.masking.collapse import few_classes, refuse_single_class
from shoal.masking.grouped import Grouping
from shoal.parted.capabilities import refuse_what_cannot
from shoal.parted.mask import Carried, MaskPart
from shoal.parted.measured import judged_by_classes, judged_with_parts, where_measured
from shoal.parted.methods import once, parts_of, prepared, refuse_method, trial_of
from shoal.parted.ordered import put_in_order, refuse_order, with_positions
from shoal.parted.recorded import Digests, need_subject, recorded
from shoal.parted.reported import PAIRS, DrawnRelease
from shoal.parted.source import Source, prepare
from shoal.policy import Policy
from shoal.privacy.check import refuse_broken
from shoal.privacy.classes import Sizes, class_sizes
from shoal.privacy.judge import Judged
from shoal.privacy.model import Verdict
from shoal.releases.ledger import Ledger
from shoal.releases.pieces import InPieces
from shoal.releases.store import Promised
from shoal.report.certificate import certify, refuse_uncertified
from shoal.report.page import write_report
from shoal.risk.classes import by_class_size
from shoal.show import Bars, Chart, Result, Series, Sheet


@dataclass(frozen=True)
class PartedRelease(Result):
    """A released table that keeps its promises, where its engine keeps it."""

    table: Table = field(repr=False)
    source: Source = field(repr=False)
    judged: Judged = field(repr=False)
    told: tuple[dict[str, Any], ...] = field(repr=False)  # by each part, when it was masked
    facts: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def frame(self) -> Any:
        """The released table, as the kind of frame that came in."""
        return self.table.native()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.judged.verdicts

    @property
    def sizes(self) -> Sizes:
        return self.judged.sizes

    @property
    def records(self) -> int:
        return self.judged.sizes.records

    @property
    def information_loss(self) -> float:
        loss: float = self.facts["information_loss"]
        return loss

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What the public may know: nothing that the release does not show by itself."""
        schema = self.source.schema
        shown = shown_by(self.source.spelled.as_values(self.table), schema, self.sizes)
        content = certify(shown, schema, self.source.promises, self.verdicts)
        return {**content, "record_order": "as in the source" if self.source.in_order else "shuffled"}

    def certificate_of_files(self) -> bytes:
        """The certificate of what stands in a folder."""
        content = {**self.certificate, "sha256": digest_of_list(self.table.digests())}
        return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()

    def write(self, folder: str | Path, kind: str = "parquet", *, overwrite: bool = False) -> None:
        """As a folder of files, judged once more as they stand there; a release that is there is replaced if asked."""

        def judge_files(written: Table, _: list[str]) -> dict[str, bytes]:
            judged = judged_with_parts(self.source, written, self.told)
            refuse_broken(judged.verdicts)
            return {CERTIFICATE: replace(self, table=written, judged=judged).certificate_of_files()}

        refuse_uncertified(folder, [], overwrite=overwrite)
        self.table.write(str(folder), kind, judge_files, overwrite=overwrite)

    def remarks(self) -> tuple[str, ...]:
        return self.notes

    def charts(self) -> list[Chart]:
        """How large the classes are."""
        labels, (shares,) = by_class_size(self.sizes.size, classes=self.sizes.classes)
        return [Bars("Records by the size of their class", labels, (Series("records", shares),))]

    def sheets(self, title: str = "Released") -> list[Sheet]:
        """As tables: what was released, and how it was judged."""
        more = [("parts", f"{self.facts['parts']:,}"), ("engine", self.table.engine)]
        return released_sheets(title, self.to_dict(), more, self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """For the custodian."""
        return {
            "engine": self.table.engine,
            "records": self.records,
            "suppressed": self.source.records - self.records,
            "classes": int(self.sizes.classes.sum()),
            "smallest_class": self.sizes.smallest,
            "models": [verdict.to_dict() for verdict in self.verdicts],
            **self.facts,
            "notes": list(self.notes),
        }


def anonymize(table: Table, policy: Policy, *, seed: int | None = None, keep_order: bool = False) -> PartedRelease:
    """Masks the table as the policy says, and hands out the release only if every promise holds."""
    source, masked = _draft(table, policy, seed, keep_order)
    shown, told = masked.kept()
    events.stage("judging the result")
    return _released(source, shown, told)


class _Files(NamedTuple):
    """What an engine wrote to a folder, and what each chunk knows of how it was masked."""

    table: Table
    facts: list[str]


class _Judgement(NamedTuple):
    release: PartedRelease
    certificate: bytes
    people: InPieces | None  # for the ledger


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
    report: str | Path | None = None,
) -> PartedRelease:
    """The same, written to a folder that gets its name only if every promise holds of what stands in it.

    The certificate lies in the folder, and where it is named as a file, there too. Records leave in random order,
    or with `keep_order` in that of the input, over the files in the order of their names. With a ledger the release is
    recorded there, and refused where it would expose somebody beside earlier ones. The custodian's report counts all
    records, and compares the values of some.
    """
    for paper in (certificate, report):
        if paper is not None:
            refuse_within(paper, [*table.inputs(), *policy.files])
    refuse_uncertified(folder, [certificate], overwrite=overwrite)
    if ledger is not None:
        need_subject(table, ledger)
        seed = randbits(63) if seed is None else seed  # the ledger keeps it
    source, masked = _draft(table, policy, seed, keep_order, ledger, PAIRS if report is not None else 0)
    shown, told = (masked, []) if ledger is None else masked.kept()  # worked out once, for the files and the ledger
    named: list[Table] = []

    def write(before_name: Callable[[_Files], _Judgement]) -> None:
        def judge_files(written: Table, facts: list[str]) -> dict[str, bytes]:
            return {CERTIFICATE: before_name(_Files(written, facts or told)).certificate}

        public = shown.select([name for name in shown.schema if name not in _carried(source).schema])
        named.append(public.write(folder, kind, judge_files, overwrite=overwrite))

    def judge(files: _Files) -> _Judgement:
        release = _released(source, *files)
        people = None
        if ledger is not None:
            quasi = source.schema.quasi_identifiers
            people = recorded(shown, files.table, quasi, ledger.subject, source.records)
            release = replace(release, notes=(*release.notes, *ledger.strangers_of(people)))
        return _Judgement(release, release.certificate_of_files(), people)

    def record(files: _Files, judgement: _Judgement) -> AbstractContextManager[None]:
        assert ledger is not None
        assert judgement.people is not None
        promises = tuple(verdict.to_dict() for verdict in judgement.release.verdicts)
        what = Promised(source.k, promises, seed)
        return ledger.entering(judgement.people, what, folder, digest_of_list(files.table.digests()))

    def certify(partial: Path, _: _Files, judgement: _Judgement) -> None:
        partial.write_bytes(judgement.certificate)

    def describe(partial: Path, _: _Files, judgement: _Judgement) -> None:
        write_report(DrawnRelease.of(judgement.release), partial, overwrite=True)

    papers_of = papers((certificate, certify, False), (report, describe, True))
    output = Output(None, write, judge, papers_of, None if ledger is None else record)
    [judgement] = commit([output], overwrite=overwrite)
    return replace(judgement.release, table=named[0])


def _draft(
    table: Table,
    policy: Policy,
    seed: int | None,
    keep_order: bool,
    ledger: Ledger | None = None,
    drawn: int = 0,
) -> tuple[Source, Table]:
    """What is known, and the masked table, not yet worked out."""
    refuse_what_cannot(policy, table.engine)
    refuse_method(policy, table.engine)
    if keep_order:
        refuse_order(table)
    events.stage("reading")
    source = replace(prepare(table, policy, ledger), drawn=drawn)
    source = replace(source, notes=(*source.notes, *_repeating(table, policy.identifiers, source.records)))
    whole = source.attributes.whole
    refuse_single_class(
        source.records, source.schema, lambda name: np.append(whole[name].counts, whole[name].missing), source.promises
    )
    if keep_order:
        source = replace(source, table=with_positions(source.table), in_order=True)
    events.stage("masking")
    return source, _masked(source, randbits(63) if seed is None else seed)


def _repeating(table: Table, identifiers: Sequence[str], records: int) -> Iterator[str]:
    """Of identifiers that repeat: an engine counts their people, not those of each class."""
    for name in identifiers:
        found = class_sizes(selected(table, [name]), [name], records)
        if found.size.max(initial=1) > 1:
            said = Repeating(name, found.records, int(found.classes.sum())).sentence()
            yield f"{said} How many people each class holds was not counted: the memory engine does that."


def _masked(source: Source, seed: int) -> Table:
    """The table as it will be shown, worked out when it is read."""
    carried = _carried(source)
    work = MaskPart(source.attributes, prepared(source), source.promises, seed, source.spelled)
    trial = replace(work, promises=judged_by_classes(source.promises))(trial_of(source), 0).schema
    shown = pl.Schema({**trial, **dict.fromkeys(_with_wildcards(source), pl.String()), **carried.schema})
    work = replace(work, shown=shown, carried=carried, draws=min(1.0, source.drawn / source.records))
    masked = parts_of(source, seed).map(work, shown)
    return put_in_order(masked, source.records) if source.in_order else masked


def _carried(source: Source) -> Carried:
    """What goes along with the records of a release."""
    columns = [attribute.name for attribute in source.schema if Role.IDENTIFIER not in attribute.roles]
    digests = None if source.ledger is None else Digests(source.ledger, tuple(columns))
    return Carried(source.in_order, digests)


def _with_wildcards(source: Source) -> list[str]:
    """Attributes of which some part may show `*`, though a trial of a few records shows numbers only.

    A centre is a plain value, but a class that mixes missing and present ones has none.
    """
    method, whole = source.policy.method, source.attributes.whole
    if not isinstance(method, Grouping) or method.shown_by == "range":
        return []
    return [name for name in source.schema.quasi_identifiers if 0 < whole[name].missing < source.records]


def _released(source: Source, shown: Table, told: Sequence[str]) -> PartedRelease:
    facts = [json.loads(text) for text in told]
    judged = judged_with_parts(source, shown, facts)
    refuse_broken(judged.verdicts)
    quasi_loss = sum(fact["loss"] for fact in facts) / sum(fact["records"] for fact in facts)
    found = {"information_loss": quasi_loss, "parts": len(facts), **facts[0]["facts"]}
    classes, largest = int(judged.sizes.classes.sum()), int(judged.sizes.size.max(initial=0))
    few = few_classes(classes, largest, source.sample, source.promises, source.records)
    notes = (
        *source.notes,
        *once([fact["notes"] for fact in facts]),
        *where_measured(source.promises, len(facts)),
        *few,
    )
    return PartedRelease(shown, source, judged, tuple(facts), found, notes)
