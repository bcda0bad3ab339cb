"""The three intruders where people are counted (docs/spec.md#people-at-risk): what each can do to a person.

An intruder knows one record of a person, the one that tells most: of her classes the one with the greatest chance
counts. The prosecutor guesses among the people of that class, the journalist among those of the population who fit it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.privacy.k_map import individual_risk, reached
from shoal.risk.people import PeopleInClasses, PeopleRisk

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PersonChance:
    """How often an intruder is right: at best, on the average of all people, and with how many people too often."""

    highest: float
    average: float
    people_above: int

    @classmethod
    def of(cls, classes: PeopleInClasses, single: Floats, mean: Floats, threshold: float) -> PersonChance:
        """From each class's risk, for one guess in it and on the average; of nobody there is no chance."""
        if not classes.number:
            return cls(0.0, 0.0, 0)
        worst = classes.worst(single)
        above = int((worst > threshold * (1 + 1e-12)).sum())
        return cls(float(worst.max()), float(classes.worst(mean).mean()), above)

    @classmethod
    def of_tally(cls, people: Ints, single: Floats, mean: Floats, threshold: float) -> PersonChance:
        """The same where so many people have each risk in their smallest class."""
        if not len(people):
            return cls(0.0, 0.0, 0)
        above = int(people[single > threshold * (1 + 1e-12)].sum())
        return cls(float(single.max()), float(people @ mean / people.sum()), above)


@dataclass(frozen=True)
class PeopleScenarios:
    """The risk of the people of one table for each intruder; the journalist's where the population is known."""

    people: int
    classes: int
    prosecutor: PersonChance
    journalist: PersonChance | None

    @property
    def marketer(self) -> float:
        """The share of all people who are matched rightly; without a population it counts as the file itself."""
        return (self.journalist or self.prosecutor).average

    @property
    def title(self) -> str:
        """Of how many people the chances are."""
        return f"{self.people:,} people in {self.classes:,} classes"

    def to_dict(self) -> dict[str, object]:
        """The risks from each intruder, ready for JSON."""
        return {
            "people": self.people,
            "prosecutor": vars(self.prosecutor),
            "journalist": vars(self.journalist) if self.journalist else None,
            "marketer": {"average": self.marketer},
        }


def by_people(
    classes: PeopleInClasses, threshold: float, *, fitting: Ints | None = None, share: float | None = None,
    alpha: float = 0.1,
) -> PeopleScenarios:  # fmt: skip
    """What is known of the population: how many of its people fit each class, or the share of them in the table."""
    sizes = classes.sizes
    prosecutor = PersonChance.of(classes, 1.0 / sizes, 1.0 / sizes, threshold)
    journalist = None
    if fitting is not None:
        people = np.maximum(fitting, sizes)  # at least those in the table exist
        journalist = PersonChance.of(classes, 1.0 / people, 1.0 / people, threshold)
    elif share is not None:
        vouched = np.array([reached(int(size), share, alpha=alpha) for size in sizes])
        journalist = PersonChance.of(classes, 1.0 / vouched, individual_risk(sizes, share), threshold)
    return PeopleScenarios(classes.number, len(sizes), prosecutor, journalist)


def by_tally(risk: PeopleRisk, threshold: float, *, share: float | None = None, alpha: float = 0.1) -> PeopleScenarios:
    """The same of a table of any size: of her classes the smallest tells most, whatever the share."""
    sizes, people = risk.nearest
    prosecutor = PersonChance.of_tally(people, 1.0 / sizes, 1.0 / sizes, threshold)
    journalist = None
    if share is not None:
        vouched = np.array([reached(int(size), share, alpha=alpha) for size in sizes])
        journalist = PersonChance.of_tally(people, 1.0 / vouched, individual_risk(sizes, share), threshold)
    return PeopleScenarios(risk.people, risk.classes, prosecutor, journalist)
