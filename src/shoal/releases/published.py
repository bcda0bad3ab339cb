"""A release as its custodian knows it: who stood in which class, and what each class showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import InputError, did_you_mean
from shoal.masking.partition import Partition
from shoal.privacy.check import classes_of
from shoal.privacy.model import EquivalenceClasses


@dataclass(frozen=True)
class Published:
    name: str
    members: pl.DataFrame = field(repr=False)  # a row a subject: `subject`, `class`, and what else was asked for
    shown: pl.DataFrame = field(repr=False)  # a row a class: the text of each quasi-identifier

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.members["class"].to_numpy(), minlength=self.shown.height)


def published(
    name: str, table: pl.DataFrame, key: str, quasi: Sequence[str], confidential: Sequence[str] = ()
) -> Published:
    """A released table that still carries the key of its subjects; confidential values are kept for attacks on them."""
    need_columns(name, table, [*quasi, *confidential])
    subjects = subjects_of(table, key, name)
    return from_classes(name, subjects, classes_of(table, quasi, {}), table, confidential)


def need_columns(name: str, table: pl.DataFrame, columns: Sequence[str]) -> None:
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
    """From the classes found in what is released; `subjects` and `table` are in the same order."""
    order, starts = classes.members
    label = Partition(order, starts).class_of(table.height)
    members = pl.DataFrame({"subject": subjects, "class": label}).hstack(table.select(confidential))
    shown = table.select(classes.quasi)[order[starts[:-1]]].cast(pl.String)
    return Published(name, members, shown)


def subjects_of(table: pl.DataFrame, key: str, name: str = "The table") -> pl.Series:
    """Who each record is about, as text; a subject has one record, or her class would not be one."""
    if key not in table.columns:
        raise InputError(f"{name} has no column {key!r} to tell subjects by.{did_you_mean(key, table.columns)}")
    subjects = table[key].cast(pl.String)
    if subjects.null_count():
        record = int(subjects.is_null().arg_max() or 0) + 1
        raise InputError(f"{name} does not say in {key!r} whom record {record} is about: fill it in.")
    if subjects.n_unique() < len(subjects):
        record = int(subjects.is_first_distinct().not_().arg_max() or 0)
        raise InputError(
            f"{name} names {subjects[record]!r} in {key!r} again in record {record + 1}: "
            "give one record a subject, or name the column that tells subjects apart."
        )
    return subjects.alias("subject")
