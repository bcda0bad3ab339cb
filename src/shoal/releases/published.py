"""A release as its custodian knows it: who stood in which class, and what each class showed.

Subjects and values are compared over releases that were read at different times, from files of different kinds: so by
one plain text of each (`shoal.data.identity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.data.identity import EXACT, identity_text
from shoal.errors import InputError, did_you_mean
from shoal.masking.partition import Partition
from shoal.privacy.check import classes_of
from shoal.privacy.model import EquivalenceClasses

PIECE = 1 << 19  # people of a release that are judged and recorded at once
PERSON = 8  # bytes of a record's digest that are its person's, where people have several records


@dataclass(frozen=True)
class Published:
    """A release in memory: its people, their classes, what each class shows, and what stands for their own values."""

    name: str
    members: pl.DataFrame = field(repr=False)  # a row a subject: `subject`, `class`, and by `own_name` others
    shown: pl.DataFrame = field(repr=False)  # a row a class: the text of each quasi-identifier
    values: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    # a row a member: of each attribute what stands for her value; equal where the value is, and nowhere else compared
    of_people: bool = False  # whether a member is a record, of a person who may have several (`of_people`)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of people of each class."""
        members = self.members.select("class", person=persons_of(self.members["subject"], of_people=self.of_people))
        classes = (members.unique() if self.of_people else members)["class"]
        return np.bincount(classes.to_numpy(), minlength=self.shown.height)

    @property
    def people(self) -> int:
        """How many people it is about."""
        return persons_of(self.members["subject"], of_people=True).n_unique() if self.of_people else self.records

    @property
    def pieces(self) -> int:
        """How many pieces it is judged and recorded in (`shoal.releases.pieces`): only digests can be divided."""
        return pieces_for(self.records) if self.members["subject"].dtype == pl.Binary else 1

    @property
    def records(self) -> int:
        """How many members it has: one a person, unless it is of records of people."""
        return self.members.height

    @property
    def attributes(self) -> list[str]:
        """The attributes of which something stands for everybody's own value."""
        return self.values.columns

    def whole(self) -> Published:
        """The release itself: it is in memory."""
        return self

    def piece(self, number: int, of: int) -> Published:
        """The people whose digest lies in range `number` of so many; what classes show is the same for all."""
        if of == 1:
            return self
        there = pl.Series(piece_of(self.members["subject"], of) == number)
        return replace(
            self,
            members=self.members.filter(there),
            values=self.values.filter(there) if self.values.width else self.values,
        )


def persons_of(subjects: pl.Series, *, of_people: bool) -> pl.Series:
    """Whose each member is: her own where everybody has one record, else by the beginning of its digest."""
    return subjects.bin.head(PERSON) if of_people else subjects


def pieces_for(people: int) -> int:
    """How many pieces so many people are kept in."""
    return 1 << max(0, (people - 1) // PIECE).bit_length()


def piece_of(subjects: pl.Series, of: int) -> npt.NDArray[np.int64]:
    """The range that each digest lies in."""
    first = subjects.bin.head(4).bin.reinterpret(dtype=pl.UInt32, endianness="big").to_numpy()
    return (first.astype(np.uint64) * np.uint64(of) >> np.uint64(32)).astype(np.int64)


def published(
    name: str, table: pl.DataFrame, key: str, quasi: Sequence[str], confidential: Sequence[str] = ()
) -> Published:
    """A released table that still carries the key of its subjects; confidential values are kept for attacks on them."""
    need_columns(name, table, [*quasi, *confidential])
    subjects = subjects_of(table, key, name)
    values = pl.DataFrame([own_text(table[column]).alias(column) for column in confidential])
    return replace(from_classes(name, subjects, classes_of(table, quasi, {}), table, confidential), values=values)


def need_columns(name: str, table: pl.DataFrame, columns: Sequence[str]) -> None:
    """Refuses a table that lacks one of these columns."""
    for column in columns:
        if column not in table.columns:
            raise InputError(f"{name} has no column {column!r}.{did_you_mean(column, table.columns)}")


def from_classes(
    name: str,
    subjects: pl.Series,
    classes: EquivalenceClasses,
    table: pl.DataFrame,
    confidential: Sequence[str] = (),
) -> Published:
    """A release by the classes found in what it shows; `subjects` and `table` are in the same order."""
    order, starts = classes.members
    label = Partition(order, starts).class_of(table.height)
    members = pl.DataFrame({"subject": subjects, "class": label}).hstack(
        table.select(pl.col(column).alias(own_name(column)) for column in confidential)
    )
    shown = table.select(classes.quasi)[order[starts[:-1]]].cast(pl.String)
    return Published(name, members, shown)


def own_name(column: str) -> str:
    """What an attribute is called among the members: never `subject` or `class`."""
    return f"{OWN}{column}"


def subjects_of(
    table: pl.DataFrame, key: str, name: str = "The table", *, in_chunks: bool = False, several: bool = False
) -> pl.Series:
    """Who each record is about, as plain text; a subject has one record, or her class would not be one.

    Of a table `in_chunks` no record has a number, and who is named twice is not seen here. With `several`, people may
    have several records.
    """
    if key not in table.columns:
        raise InputError(f"{name} has no column {key!r} to tell subjects by.{did_you_mean(key, table.columns)}")
    column = table[key]
    _refuse_rounded(column, name)
    subjects = identity_text(column)
    if subjects.null_count():
        whom = "some record" if in_chunks else f"record {int(subjects.is_null().arg_max() or 0) + 1}"
        raise InputError(f"{name} does not say in {key!r} whom {whom} is about: fill it in.")
    if not (in_chunks or several) and subjects.n_unique() < len(subjects):
        record = int(subjects.is_first_distinct().not_().arg_max() or 0)
        raise InputError(
            f"{name} names {subjects[record]!r} in {key!r} again in record {record + 1}: "
            "give one record a subject, or name the column that tells subjects apart."
        )
    return subjects.alias("subject")


def _refuse_rounded(column: pl.Series, name: str) -> None:
    """Above 2^53 a float is no longer one integer only: two people would be one."""
    if not column.dtype.is_float():
        return
    rounded = column.abs() >= EXACT
    if rounded.any():
        record = int(rounded.fill_null(value=False).arg_max() or 0) + 1
        raise InputError(
            f"{name} has in {column.name!r} of record {record} a number too long to be exact as a float: "
            "give the column as text or as integers."
        )


def own_text(column: pl.Series) -> pl.Series:
    """One text for each value that a reader tells from others: of texts as they stand, as one blank more is seen."""
    return column.cast(pl.String) if column.dtype in (pl.String, pl.Categorical, pl.Enum) else identity_text(column)
