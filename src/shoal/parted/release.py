"""A release of a large table: the same story as in `shoal.release`, on an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from secrets import randbits
from typing import Any

from shoal.engines.table import Table
from shoal.parted.check import Judged, Sizes, judge
from shoal.parted.grouped import in_parts
from shoal.parted.mask import MaskPart
from shoal.parted.source import Source, prepare
from shoal.policy import Policy
from shoal.privacy.check import refuse_broken
from shoal.privacy.model import Verdict

Progress = Callable[[str], None]


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
    say("reading")
    source = prepare(table, policy)
    say("masking")
    shown, told = _masked(source, randbits(63) if seed is None else seed).kept()
    say("judging the result")
    judged = judge(shown, source.schema, source.promises)
    return _released(source, shown, told, judged)


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
