"""Records are not people: where an identifier repeats, a person has several records, and k counts her several times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.choices import quoted_item
from shoal.data.person import shown_person, spelled_alike
from shoal.data.roles import may_be, suggest_role
from shoal.data.schema import Person, Role
from shoal.data.signs import SIGNS, spelled

COUNTED = "records, not people: who has several records is counted once for each"
BY_CUSTODIAN = "people, judged by the custodian beside the original: the file does not show whose each record is"
BY_FILE = "people: the file shows which records of a class are of the same person, so that anybody can judge it"
OF_HOUSEHOLDS = "households: the file shows who lives together, so that anybody can judge it; each record is one person"
_LOOKED_AT = 10_000  # records that show whether a column without a role is an identifier
NUMBERS = ("G", "H", "I", "R")  # HIPAA's items: numbers of a person; a name or an address may be several people's
HOUSEHOLDS = "numbers of households"
NOT_OF_PEOPLE = frozenset({HOUSEHOLDS, "numbers of transactions"})  # which repeat for another reason


def what_counts(columns: Collection[str], person: Person | None, home: str | None) -> str:
    """Whether records, people or households were counted, and from what; in the same words wherever it is told.

    `columns` are those of the release, `home` is the one that says who lives together.
    """
    if person is not None:
        return BY_CUSTODIAN if shown_person(columns, person) is None else BY_FILE
    return OF_HOUSEHOLDS if home is not None and home in columns else COUNTED


class Repeating(NamedTuple):
    """An identifier of fewer people, or households, than records; its values are never told."""

    name: str
    records: int
    people: int
    households: bool = False  # these are counted, not people

    @property
    def owners(self) -> str:
        """Whose the records are."""
        return "households" if self.households else "people"

    def sentence(self) -> str:
        """A sentence for the custodian: how many records are of how many people or households."""
        if self.households:
            return (
                f"The identifier {self.name!r} says who lives together: {self.records:,} records of {self.people:,} "
                "households. k counts records, so that a class may be one family: promise households (--promise "
                f"households:k=5,{quoted_item(f'column={self.name}')}), and k counts these."
            )
        return (
            f"The identifier {self.name!r} repeats: {self.records:,} records of {self.people:,} people. k counts "
            "records, so that a class may hold fewer people than k: name the column (--person), and k counts people."
        )


def counting(name: str, records: int, owners: int) -> Repeating | None:
    """An identifier by which so many owners have so many records; None where it repeats for another reason, or never.

    Whether its owners are people or households, its name tells.
    """
    if owners == records or _called(name, "numbers of transactions"):
        return None
    return Repeating(name, records, owners, _called(name, HOUSEHOLDS))


def repeating(frame: pl.DataFrame, identifiers: Sequence[str]) -> list[Repeating]:
    """The identifiers, of these columns, that repeat; missing values are nobody's."""
    values = (spelled_alike(frame[name]).drop_nulls() for name in identifiers)
    counted = (counting(each.name, len(each), each.n_unique()) for each in values)
    return [identifier for identifier in counted if identifier is not None]


def _called(name: str, what: str) -> bool:
    """Whether a column is called like this sort of number."""
    return any(sign.words and sign.words.search(spelled(name)) for sign in SIGNS if sign.what == what)


def likely_identifiers(frame: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """The columns, of those without a role, that look like numbers of a person and repeat now and then."""
    return [name for name in names if _likely(frame[name])]


def _likely(column: pl.Series) -> bool:
    seen = column.head(_LOOKED_AT).drop_nulls()
    distinct = seen.n_unique()
    if distinct < 2 or not may_be(seen.unique(), Role.IDENTIFIER, NUMBERS):
        return False
    suggestion = suggest_role(seen.unique(), present=len(seen), distinct=distinct, uniques=0)
    of_people = suggestion.what not in NOT_OF_PEOPLE
    return suggestion.role is Role.IDENTIFIER and suggestion.hipaa in NUMBERS and of_people


def below_k(
    identifiers: Iterable[Repeating],
    original: pl.DataFrame,
    rows: npt.NDArray[np.int64] | None,
    classes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    k: int,
) -> list[str]:
    """Sentences on how many classes hold fewer than k people or households, by identifiers that repeat.

    `rows` are the records of the original that are released; `classes` their order class by class, and where each
    class starts.
    """
    order, starts = classes
    notes = []
    for name, owners in ((identifier.name, identifier.owners) for identifier in identifiers if k > 1):
        below, fewest = classes_below(original[name] if rows is None else original[name][rows], order, starts, k)
        if below:
            notes.append(
                f"By {name!r} {below:,} of {len(starts) - 1:,} classes hold fewer than {k} {owners}, the least "
                f"{fewest:,}: they are not protected as one of {k}."
            )
    return notes


def classes_below(
    people: pl.Series, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], k: int
) -> tuple[int, int]:
    """Classes with fewer than k people, and the fewest in one; `people` are those of the records, nobody apart."""
    label = np.empty(len(order), np.int64)
    label[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    classes = pl.DataFrame({"class": label, "who": spelled_alike(people)}).group_by("class")
    counts = classes.agg(pl.col("who").drop_nulls().n_unique())["who"].to_numpy()
    return int((counts < k).sum()), int(counts.min(initial=k))
