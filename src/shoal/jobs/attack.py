"""Attack: what somebody finds out from a release who knows the method and everybody's quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shoal import events
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.risk.attack import Attacked


@dataclass(frozen=True)
class Attack(Job["Attacked"]):
    """Attacks a release by the attacks of these names, `all` for every one; the original scores the guesses."""

    original: str | Path
    released: str | Path
    policy: Policy
    attacks: tuple[str, ...] = ("all",)
    paired: bool = False
    seed: int = 0
    layout: Layout = field(default_factory=Layout)

    def work(self) -> Attacked:
        """Reads both tables, carries the attacks out, and scores the guesses by the original; writes nothing."""
        from shoal.assess import attack

        events.stage("reading")
        original, released = self.layout.read_both(self.original, self.released, self.policy)
        events.stage("attacking")
        return attack(original, released, self.policy, self.attacks, paired=self.paired, seed=self.seed)
