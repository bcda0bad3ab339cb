"""Scenario: which intruder to expect, which model to promise, and with which k."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from shoal.jobs.job import Job

if TYPE_CHECKING:
    from shoal.risk.guideline import Recommendation


@dataclass(frozen=True)
class Scenario(Job["Recommendation"]):
    """The guideline for a custodian, from answers about the table (`shoal.risk.guideline.recommend`)."""

    whole_population: bool
    membership_known: bool
    subjects_tell: bool
    large_fraction: bool = False
    fraction: float | None = None
    database: bool = False
    risk: float = 0.2
    alpha: float = 0.1

    def work(self) -> Recommendation:
        """Reads no table: it is a matter of rules."""
        from shoal.risk.guideline import recommend

        return recommend(**asdict(self))
