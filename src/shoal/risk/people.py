"""How exposed people are, where a column says whom each record is about (docs/spec.md#people-at-risk).

Who knows one record of a person looks among the people of its class: a guess is right once in so many people, however
many records they have. A person with records in several classes is as exposed as in the smallest of them. Who knows
all of her records, and can tell that they are of one person, looks for people with records in the same classes, as
often (docs/spec.md#linked).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.person import IN_CLASS, numbered, people_of_classes, shown_person
from shoal.data.schema import Person
from shoal.engines.table import Table
from shoal.privacy.classes import shown
from shoal.privacy.histories import alike
from shoal.privacy.model import EquivalenceClasses
from shoal.risk.classes import THRESHOLDS
from shoal.show import Sheet

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PeopleInClasses:
    """The class of each record and whose it is; both are numbered from 0 on."""

    key: Ints
    people: Ints
    across: bool = (
        True  # otherwise the people of each class are numbered afresh, and nobody is known from another class
    )

    @classmethod
    def of(cls, frame: pl.DataFrame, names: Sequence[str], person: Person) -> Self:
        """By the column of a table in memory that shows whose each record is."""
        column = shown_person(frame.columns, person)
        assert column is not None
        key = classes_by(frame, names)
        people = numbered(frame[column], one_each=person.one_each)
        if column != IN_CLASS:
            return cls(key, people)
        return cls(key, np.unique(key * (people.max(initial=0) + 1) + people, return_inverse=True)[1], across=False)

    @property
    def number(self) -> int:
        """How many people there are."""
        return int(self.people.max(initial=-1)) + 1

    @property
    def sizes(self) -> Ints:
        """Class -> how many people it has records of."""
        order = np.argsort(self.key, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(self.key)))
        return people_of_classes(self.people, order, starts) if len(order) else np.zeros(0, np.int64)

    def worst(self, by_class: Floats) -> Floats:
        """Person -> the greatest of these numbers over the classes in which she has a record."""
        worst = np.zeros(self.number)
        np.maximum.at(worst, self.people, by_class[self.key])
        return worst

    def alone(self) -> int:
        """How many people are the only ones of some class."""
        return int((self.worst(1.0 / self.sizes) == 1.0).sum())

    def alike(self) -> Ints | None:
        """Person -> how many have records in the same classes, as often; None where that cannot be told."""
        return alike([(self.key, self.people)], self.number) if self.across else None


def classes_by(frame: pl.DataFrame, names: Sequence[str]) -> Ints:
    """The number of each record's class by these columns."""
    return EquivalenceClasses(shown(frame, names), tuple(names), {}).key.to_numpy()


class Tally(NamedTuple):
    """How many `people` share what an intruder knows of them with how many, themselves among these; fewest first."""

    shared: Ints
    people: Ints

    @classmethod
    def of(cls, shared: Ints) -> Tally:
        """From the number of those with whom each person shares it."""
        return cls(*np.unique(shared, return_counts=True))

    @property
    def number(self) -> int:
        """How many people there are."""
        return int(self.people.sum())

    @property
    def fewest(self) -> int:
        """The least number that share it; 0 where there is nobody."""
        return int(self.shared[0]) if len(self.shared) else 0

    @property
    def alone(self) -> int:
        """How many people share it with nobody."""
        return int(self.people[self.shared == 1].sum())

    @property
    def highest_risk(self) -> float:
        """How often a guess is right of whoever is worst off."""
        return 1.0 / self.fewest if self.fewest else 0.0

    @property
    def average_risk(self) -> float:
        """The same over all people."""
        return float((self.people / self.shared).sum() / self.number) if self.number else 0.0

    def above(self, limit: float) -> int:
        """How many people a guess finds more often than that."""
        return int(self.people[1.0 / self.shared > limit].sum())


@dataclass(frozen=True)
class PeopleRisk:
    """The risk of people by what one record shows, and how many all of their records single out."""

    records: int
    classes: int
    nearest: Tally = field(repr=False, compare=False)  # by the smallest class of each person
    alike: Tally | None = field(repr=False, compare=False)  # by having the same records; None: untold
    across: bool = True

    @classmethod
    def of(cls, classes: PeopleInClasses) -> Self:
        """Of people in classes; of nobody there is no risk."""
        sizes, alike = classes.sizes, classes.alike()
        nearest = np.rint(1.0 / classes.worst(1.0 / sizes)).astype(np.int64)
        return cls(
            records=len(classes.key),
            classes=len(sizes),
            nearest=Tally.of(nearest),
            alike=None if alike is None else Tally.of(alike),
            across=classes.across,
        )

    @property
    def people(self) -> int:
        """How many there are."""
        return self.nearest.number

    @property
    def fewest(self) -> int:
        """The people of the class that has fewest; 0 where there is nobody."""
        return self.nearest.fewest

    @property
    def alone(self) -> int:
        """How many people are the only ones of some class."""
        return self.nearest.alone

    @property
    def alone_by_history(self) -> int | None:
        """How many people have records as nobody else has; None where that cannot be told."""
        return None if self.alike is None else self.alike.alone

    @property
    def people_at_risk(self) -> dict[float, int]:
        """Threshold -> people whom a guess in their smallest class finds more often."""
        return {limit: self.nearest.above(limit) for limit in THRESHOLDS}

    @property
    def highest_risk(self) -> float:
        """Of a guess among the fewest people."""
        return self.nearest.highest_risk

    @property
    def average_risk(self) -> float:
        """Over all people, of a guess in the smallest class of each."""
        return self.nearest.average_risk

    def to_dict(self) -> dict[str, object]:
        """The numbers, ready for JSON."""
        return {
            "people": self.people,
            "counted": "in the whole table" if self.across else "once in each class",
            "smallest_class": self.fewest,
            "alone": self.alone,
            "alone_by_history": self.alone_by_history,
            "highest_risk": self.highest_risk,
            "average_risk": self.average_risk,
            "people_at_risk": {f"{limit:g}": people for limit, people in self.people_at_risk.items()},
        }

    def sheet(self) -> Sheet:
        """The numbers as a table."""
        history = "cannot be told" if self.alone_by_history is None else f"{self.alone_by_history:,}"
        rows = [
            ("people alone in a class", f"{self.alone:,}", "by one record of theirs"),
            ("people alone by history", history, "by all of their records together"),
            ("classes", f"{self.classes:,}", "records that show the same"),
            ("fewest people in a class", f"{self.fewest:,}", "higher is safer"),
            ("highest risk", f"{self.highest_risk:.2%}", "a guess among the fewest people"),
            ("average risk", f"{self.average_risk:.2%}", "in everybody's worst class"),
            *(
                (f"people at risk > {limit:g}", f"{people:,}", "a guess succeeds more often")
                for limit, people in self.people_at_risk.items()
            ),
        ]
        where = "" if self.across else ", counted once in each class"
        title = f"Risk of {self.people:,} people{where} ({self.records:,} records)"
        return Sheet(title, ("", "value", "meaning"), rows)


def people_in(
    table: Table, names: Sequence[str], person: Person | None, whose: Ints | None = None
) -> tuple[PeopleInClasses | None, str]:
    """The people of a table's classes in memory; where there is a person and nobody can be counted, the reason.

    `whose` says whose each record is, where the custodian knows and the table does not show it.
    """
    frame = table.whole
    if person is None or frame is None:
        return None, ""
    if whose is not None:
        return PeopleInClasses(classes_by(frame, names), np.unique(whose, return_inverse=True)[1].reshape(-1)), ""
    if shown_person(frame.columns, person) is None:
        return None, untold(person)
    return PeopleInClasses.of(frame, names, person), ""


def untold(person: Person) -> str:
    """Why nobody can be counted in a table that does not show whose its records are."""
    return (
        f"the table shows neither {person.column!r} nor {IN_CLASS!r}, so that nobody can tell whose each record is: "
        "the figures are of records"
    )
