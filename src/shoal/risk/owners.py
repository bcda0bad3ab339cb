"""Whose records a release shows: how many people or households, how many are left out, how exposed the others are.

Counted by the custodian, who knows whose each record is, over the classes that are found in what is released.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.data.person import numbered
from shoal.data.schema import Person
from shoal.engines.paired import ORIGINAL
from shoal.engines.table import Table, selected
from shoal.privacy.classes import Sizes
from shoal.privacy.histories_in_chunks import ByOwner
from shoal.privacy.people_in_chunks import CountPeople, people_of_parts
from shoal.risk.people import PeopleInClasses, PeopleRisk, Tally
from shoal.risk.people_in_chunks import risk_of_people

Ints = npt.NDArray[np.int64]

PEOPLE, HOUSEHOLDS = "people", "households"
SINGULAR = {PEOPLE: "person", HOUSEHOLDS: "household"}


@dataclass(frozen=True)
class Owners:
    """The people of a release, or its households: how many it shows and leaves out, and what finds them."""

    who: str
    risk: PeopleRisk
    read: int  # how many the original has
    together: bool  # whether the release shows which records are one owner's, so that all of them can be known

    @property
    def shown(self) -> int:
        """Of how many some record is released."""
        return self.risk.people

    @property
    def withheld(self) -> int:
        """Of how many none is."""
        return self.read - self.risk.people

    @property
    def tally(self) -> Tally:
        """With how many each owner is confused: by all records where these can be put together, or by the worst one."""
        return tally_of(self.risk, together=self.together)

    @property
    def highest_risk(self) -> float:
        """Of whoever is worst off; 0 where nobody is shown."""
        return self.tally.highest_risk

    @property
    def average_risk(self) -> float:
        """Over all who are shown."""
        return self.tally.average_risk

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        return {
            self.who: self.shown,
            f"{self.who}_withheld": self.withheld,
            f"fewest_{self.who}": self.risk.fewest,
            f"highest_risk_of_{self.who}": self.highest_risk,
            f"average_risk_of_{self.who}": self.average_risk,
        }

    def rows(self) -> list[tuple[str, str]]:
        """The numbers as rows of a table."""
        return [
            (self.who, f"{self.shown:,}"),
            (f"{self.who} withheld", f"{self.withheld:,}"),
            (f"fewest {self.who} in a class", f"{self.risk.fewest:,}"),
            (f"highest risk of a {SINGULAR[self.who]}", f"{self.highest_risk:.2%}"),
            (f"average risk of a {SINGULAR[self.who]}", f"{self.average_risk:.2%}"),
        ]


def tally_of(risk: PeopleRisk, *, together: bool) -> Tally:
    """With how many each owner is confused, by all records `together` or by the one that tells most."""
    return risk.alike if together and risk.alike is not None else risk.nearest


def owner_columns(person: str | None, home: str | None) -> dict[str, str]:
    """Who is counted, people or households or both, by which column."""
    return {who: column for who, column in ((PEOPLE, person), (HOUSEHOLDS, home)) if column is not None}


def whose_records(original: Microdata, home: str | None) -> dict[str, Ints]:
    """Who is counted, people or households or both, and whose each record is; `home` is the households' column."""
    owners = {}
    if (people := original.people) is not None:
        owners[PEOPLE] = people
    if home is not None and home in original.frame.columns:
        owners[HOUSEHOLDS] = numbered(original.frame[home])
    return owners


def owners_shown(
    original: Microdata, home: str | None, key: Ints, rows: Ints | None, columns: Sequence[str]
) -> tuple[Owners, ...]:
    """The owners of a release, by the class of each of its records; `rows` are those of the original."""
    person = original.schema.person
    shown_by = owner_columns(None if person is None else person.column, home)
    return tuple(
        Owners(who, _risk_of(key, whose if rows is None else whose[rows]), _number(whose), shown_by[who] in columns)
        for who, whose in whose_records(original, home).items()
    )


def owners_in_chunks(
    original: Table,
    read: int,
    masked: Table,
    quasi: Sequence[str],
    by: Mapping[str, str],
    sizes: Sizes,
    columns: Collection[str],
) -> tuple[Owners, ...]:
    """The same on an engine, of who is counted `by` which column; `masked` tells whose its records are (`ORIGINAL`).

    `sizes` are those of its classes, `columns` those of the release; `read` are the records of the original.
    """
    return tuple(
        Owners(
            who,
            risk_of_people(masked, quasi, f"{ORIGINAL}{column}", sizes, histories=column in columns),
            _owners_of(original, column, read),
            column in columns,
        )
        for who, column in by.items()
    )


def _owners_of(table: Table, column: str, records: int) -> int:
    chunks = table.chunks(records)
    parts = selected(table, [column]).exchange(ByOwner(column, chunks), chunks)
    return sum(people_of_parts(parts.map(CountPeople(Person(column, one_each=True)), CountPeople.schema)).values())


def _risk_of(key: Ints, whose: Ints) -> PeopleRisk:
    """The risk of whoever has a record, by the class of each record."""
    return PeopleRisk.of(PeopleInClasses(key, np.unique(whose, return_inverse=True)[1].reshape(-1)))


def facts_of(owners: Sequence[Owners]) -> Mapping[str, Any]:
    """The numbers of all of them, ready for JSON."""
    return {name: number for each in owners for name, number in each.to_dict().items()}


def _number(whose: Ints) -> int:
    return int(whose.max(initial=-1)) + 1
