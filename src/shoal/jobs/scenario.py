"""Scenario: which intruder to expect, which model to promise, and with which k; k': which classes show that k fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from shoal import events
from shoal.jobs.job import Job
from shoal.show.result import Result
from shoal.show.sheet import Sheet

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


@dataclass(frozen=True, repr=False)
class LeastSize(Result):
    """k': the least class size that shows that k people fit, and how probably a class passes that fewer fit."""

    asked: KPrime
    k_prime: int
    error: float

    def sheets(self) -> list[Sheet]:
        """The number and what it rests on, a row each."""
        rows = [(name.replace("_", " "), str(value)) for name, value in self.to_dict().items() if value is not None]
        return [Sheet("k'", ("", ""), rows)]

    def remarks(self) -> tuple[str, ...]:
        """What the number means."""
        k, least = self.asked.k, self.k_prime
        if least >= k:
            return (f"As {k} records are {k} people, classes of {k} are enough, however their cells came about.",)
        if least == 1:
            return (
                f"By this test every unique record would count as proof that {k} people fit it: it tells nothing here, "
                "and no release is made by it. Use truncated-poisson.",
            )
        return (
            f"If its cells were fixed before the sample was drawn, a class of {least} records shows that {k} people or "
            f"more fit it: one that fewer fit passes with a probability of up to {self.error:.2g}.",
        )

    def to_dict(self) -> dict[str, Any]:
        """What was asked and found, ready for JSON."""
        answer = {"k_prime": self.k_prime, "smallest_class": min(self.asked.k, self.k_prime), "error": self.error}
        return asdict(self.asked) | answer


@dataclass(frozen=True)
class KPrime(Job[LeastSize]):
    """The least class size of a sample that shows that `k` people or more of the population fit it (paper 3)."""

    k: int
    fraction: float
    test: Literal["truncated-poisson", "poisson", "individual"] = "truncated-poisson"
    alpha: float = 0.1
    classes: int | None = None

    def work(self) -> LeastSize:
        """Reads no table: it is a matter of numbers."""
        from shoal.privacy.k_map import error, k_prime

        events.stage("testing")
        least = k_prime(self.k, self.fraction, self.test, self.alpha, classes=self.classes)
        return LeastSize(self, least, error(self.k, self.fraction, least))
