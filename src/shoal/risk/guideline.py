"""Which intruder to protect against, by the paper's guideline (paper 3; docs/spec.md#which-scenario)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from shoal.errors import require
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.k_map import KMap, k_prime
from shoal.show import Result, Sheet


@dataclass(frozen=True)
class Recommendation(Result):
    """Which intruder to expect, and what to promise against that one."""

    scenario: Literal["prosecutor", "journalist"]
    model: Literal["k-anonymity", "k-map"]
    k: int
    fraction: float | None
    alpha: float
    k_prime: int | None  # of D4, where that decides
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def smallest_class(self) -> int | None:
        """The least class to release; None where the people who fit it decide, not its records."""
        if self.model == "k-anonymity":
            return self.k
        return None if self.k_prime is None else min(self.k, self.k_prime)

    @property
    def promise(self) -> KAnonymity | KMap | None:
        """The model to put into a policy; None where it needs the identification database first."""
        if self.model == "k-anonymity":
            return KAnonymity(self.k)
        return None if self.fraction is None or self.k_prime is None else KMap(self.k, self.fraction, alpha=self.alpha)

    def to_dict(self) -> dict[str, object]:
        """The recommendation with its reasons, ready for JSON."""
        return {
            "scenario": self.scenario,
            "model": self.model,
            "k": self.k,
            "k_prime": self.k_prime,
            "smallest_class": self.smallest_class,
            "fraction": self.fraction,
            "alpha": self.alpha,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
        }

    def sheets(self) -> list[Sheet]:
        """As a table: what to promise, and why."""
        of = "" if self.smallest_class is None else f", in classes of {self.smallest_class} records or more"
        title = f"Expect a {self.scenario}: promise {self.model} with k = {self.k}{of}."
        return [Sheet(title, ("why",), [(f"- {reason}",) for reason in (*self.reasons, *self.warnings)])]


def recommend(
    *,
    whole_population: bool,
    membership_known: bool,
    subjects_tell: bool,
    large_fraction: bool = False,
    fraction: float | None = None,
    database: bool = False,
    risk: float = 0.2,
    alpha: float = 0.1,
) -> Recommendation:
    """The paper's guideline. Any way to be sure that a person is in the file makes a prosecutor possible.

    `database` says that the custodian has the identification database; `risk` is the highest chance of a right guess to
    be accepted. What fraction is large is not fixed: k' reaches k by itself as the fraction grows.
    """
    require("the guideline", "risk", risk, "a number above 0 and below 1", holds=0 < risk < 1)
    k = max(2, math.ceil(1 / risk - 1e-9))
    KMap(k, 1.0 if fraction is None else fraction, alpha=alpha)  # refuses what cannot be
    whole = whole_population or fraction == 1.0
    sure = [
        (whole, "The table holds the whole population, so everybody is known to be in it."),
        (large_fraction, "The table holds so large a share of the population that anybody can be taken to be in it."),
        (membership_known, "Who is in the table can be found out."),
        (subjects_tell, "People tell that they are in the table."),
    ]
    reasons = [reason for holds, reason in sure if holds]
    accepted = f"A highest risk of {risk:g} asks for {k} who could be meant."
    if reasons:
        return Recommendation("prosecutor", "k-anonymity", k, fraction, alpha, None, (*reasons, accepted))
    return _against_journalist(k, fraction, alpha, database, accepted)


def _against_journalist(k: int, fraction: float | None, alpha: float, database: bool, accepted: str) -> Recommendation:
    unsure = "Nobody can be sure that a person is in the table: an intruder can only try to name anybody."
    if database:
        counted = "The identification database is at hand: count in it the people who fit each class."
        return Recommendation("journalist", "k-map", k, fraction, alpha, None, (unsure, accepted, counted))
    if fraction is None:
        unknown = (
            "The share of the population is not known, so nothing can be inferred: a class of k records is matched by "
            "k people at least."
        )
        return Recommendation("journalist", "k-anonymity", k, None, alpha, None, (unsure, accepted, unknown))
    least = k_prime(k, fraction, alpha=alpha)
    enough = (
        f"At a sampling fraction of {fraction:g}, a class of {min(k, least)} records shows that {k} people or more fit "
        f"it (truncated Poisson test, significance {alpha:g})."
        if least < k
        else f"At a sampling fraction of {fraction:g}, the test asks for {least} records, and {k} are enough anyway."
    )
    fixed = (
        "The test is for cells that were fixed before the sample was drawn: recode along hierarchies (--method "
        "recode). Of ranges drawn round the records it is not true."
    )
    half = "The table holds half of the population or more: a person is more likely in it than not."
    warnings = ((fixed,) if least < k else ()) + ((half,) if fraction >= 0.5 else ())
    return Recommendation("journalist", "k-map", k, fraction, alpha, least, (unsure, accepted, enough), warnings)
