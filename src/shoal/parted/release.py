"""A release of a large table: the same story as in `shoal.release`, on an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from secrets import randbits
from typing import Any

import polars as pl

from shoal.data.schema import Kind
from shoal.engines.table import Table
from shoal.parted.capabilities import refuse_what_cannot
from shoal.parted.check import Judged, Sizes, judge
from shoal.parted.grouped import in_parts
from shoal.parted.mask import MaskPart
from shoal.parted.source import Source, prepare
from shoal.policy import Policy
from shoal.privacy.check import refuse_broken
from shoal.privacy.model import Verdict
from shoal.report.certificate import Shown, certify, digest_of_list

Progress = Callable[[str], None]

CERTIFICATE = "_certificate.json"
CATEGORIES = (Kind.NOMINAL, Kind.ORDINAL)


@dataclass(frozen=True)
class PartedRelease:
    """A released table that keeps its promises, where its engine keeps it."""

    table: Table = field(repr=False)
    source: Source = field(repr=False)
    judged: Judged = field(repr=False)
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
        shown = Shown(self.records, self._shown_values(), int(self.sizes.classes.sum()), self.sizes.smallest)
        content = certify(shown, schema, self.source.promises, self.verdicts)
        return {**content, "record_order": "shuffled"}

    def certificate_of_files(self) -> bytes:
        """The certificate of what stands in a folder."""
        content = {**self.certificate, "sha256": digest_of_list(self.table.digests())}
        return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()

    def _shown_values(self) -> dict[str, pl.Series]:
        """Of ordered categories a certificate lists those that are shown."""
        empty = pl.DataFrame(schema=self.table.schema)
        listed = [name for name in self.source.schema.confidential if self.source.schema[name].kind in CATEGORIES]
        found = {name: self.table.counts([name])[name] for name in listed}
        return {name: found.get(name, empty[name]) for name in empty.columns}

    def write(self, folder: str | Path, kind: str = "parquet") -> None:
        """As a folder of files, judged once more as they stand there."""

        def judge_files(written: Table, _: list[str]) -> dict[str, bytes]:
            judged = judge(written, self.source.schema, self.source.promises)
            refuse_broken(judged.verdicts)
            return {CERTIFICATE: replace(self, table=written, judged=judged).certificate_of_files()}

        self.table.write(str(folder), kind, judge_files)

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


def anonymize(
    table: Table, policy: Policy, *, seed: int | None = None, progress: Progress | None = None
) -> PartedRelease:
    """Masks the table as the policy says, and hands out the release only if every promise holds."""
    say = progress or (lambda stage: None)
    source, masked = _draft(table, policy, seed, say)
    shown, told = masked.kept()
    say("judging the result")
    return _released(source, shown, told, judge(shown, source.schema, source.promises))


def anonymize_to(
    table: Table,
    policy: Policy,
    folder: str,
    kind: str = "parquet",
    *,
    seed: int | None = None,
    progress: Progress | None = None,
) -> PartedRelease:
    """The same, written to a folder that gets its name only if every promise holds of what stands in it."""
    say = progress or (lambda stage: None)
    source, masked = _draft(table, policy, seed, say)
    judged: list[PartedRelease] = []

    def judge_files(written: Table, told: list[str]) -> dict[str, bytes]:
        say("judging the files")
        release = _released(source, written, told, judge(written, source.schema, source.promises))
        judged.append(release)
        return {CERTIFICATE: release.certificate_of_files()}

    masked.write(folder, kind, judge_files)
    return judged[0]


def _draft(table: Table, policy: Policy, seed: int | None, say: Progress) -> tuple[Source, Table]:
    """What is known, and the masked table, not yet worked out."""
    refuse_what_cannot(policy, table.engine)
    say("reading")
    source = prepare(table, policy)
    say("masking")
    return source, _masked(source, randbits(63) if seed is None else seed)


def _masked(source: Source, seed: int) -> Table:
    """Lazily."""
    method = source.policy.method
    work = MaskPart(source.attributes, method, source.promises, seed)
    trial = source.summary.sample.head(max(source.k, 1000)).select(source.table.schema.names())
    shown = work(trial, 0).schema
    return in_parts(source, method, seed).map(replace(work, shown=shown), shown)


def _released(source: Source, shown: Table, told: Sequence[str], judged: Judged) -> PartedRelease:
    refuse_broken(judged.verdicts)
    facts = [json.loads(text) for text in told]
    quasi_loss = sum(fact["loss"] for fact in facts) / sum(fact["records"] for fact in facts)
    notes = tuple(dict.fromkeys(note for fact in facts for note in fact["notes"]))
    return PartedRelease(
        shown, source, judged, {"information_loss": quasi_loss, "parts": len(facts)}, source.notes + notes
    )
