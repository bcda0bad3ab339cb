"""The column that says whom a record is about, so that people can be counted in place of records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.identity import identity_text
from shoal.data.schema import Person, Role
from shoal.errors import InputError, did_you_mean

MissingPerson = Literal["refuse", "one-each"]

IN_CLASS = "person_in_class"  # a released column that numbers the people of each class 1, 2, ... afresh

People = npt.NDArray[np.int64]  # record -> whose it is, as a number


def role_of_person(
    name: str, roles: Mapping[str, frozenset[Role]], columns: Sequence[str], *, released: bool
) -> dict[str, frozenset[Role]]:
    """What becomes of the column: it is never released as it is, and stands in a release only as a pseudonym."""
    named = roles.get(name, frozenset()) - {Role.IDENTIFIER}
    if named == {Role.PSEUDONYM}:
        return {name: named}
    if named:
        role = min(named).replace("_", "-")
        raise InputError(
            f"Column {name!r} says whom a record is about (person) and is named as {role}: it is never released as it "
            "is, give it no other role."
        )
    if released:  # what stands there is a pseudonym, unless it is named as an identifier
        shown = {column for column in (name, IN_CLASS) if column in columns and column not in roles}
        return dict.fromkeys(shown, frozenset({Role.INSENSITIVE}))
    if name not in columns:
        hint = did_you_mean(name, columns) or f" It has {', '.join(map(repr, columns[:20]))}."
        raise InputError(f"The table has no column {name!r}, named as person.{hint}")
    return {name: frozenset({Role.IDENTIFIER})}


def shown_person(columns: Collection[str], person: Person) -> str | None:
    """The column of a released table that tells the people of a class apart, where it has one."""
    return next((name for name in (person.column, IN_CLASS) if name in columns), None)


def refuse_whole_by_class(column: str | None) -> None:
    """Refuses to count the people of a whole table by numbers that tell them apart in each class only."""
    if column == IN_CLASS:
        raise InputError(
            f"t-closeness compares each class with all people of the table, whom {IN_CLASS!r} tells apart only within "
            "a class: leave out --write person-in-class, or promise l-diversity instead."
        )


def refuse_gaps(column: pl.Series, *, one_each: bool = False) -> None:
    """Refuses a record that is about nobody, unless each such record is a person of her own."""
    gaps = empty_in(column)
    if not one_each and gaps.any():
        refuse_gap(column.name, int(gaps.arg_max() or 0), int(gaps.sum()))


def empty_in(column: pl.Series) -> pl.Series:
    """Which records name nobody."""
    return spelled_alike(column).is_null()


def refuse_gap(name: str, position: int, gaps: int) -> NoReturn:
    """Refuses so many records that are about nobody; the first stands at this position."""
    more = f", and in {gaps - 1:,} more" if gaps > 1 else ""
    record = position + 1
    raise InputError(
        f"Column {name!r} says whom a record is about and is empty in record {record:,} (line {record + 1:,} of "
        f"a text file){more}: fill it in, or have each such record counted as a person of her own (missing_person = "
        '"one-each" in the policy).'
    )


def numbered(column: pl.Series, *, one_each: bool = False) -> People:
    """Record -> whose it is, as a number from 0 on; how a text is spelled tells nobody apart."""
    refuse_gaps(column, one_each=one_each)
    person = spelled_alike(column)
    numbers = (person.rank("dense").cast(pl.Int64) - 1).to_numpy(allow_copy=True) if len(person) else np.zeros(0)
    if not person.null_count():
        return np.asarray(numbers, np.int64)
    missing = person.is_null().to_numpy()
    known = int(person.n_unique()) - 1
    numbers = np.where(missing, known + np.cumsum(missing) - 1, np.nan_to_num(numbers))
    return np.asarray(numbers, np.int64)


def spelled_alike(column: pl.Series) -> pl.Series:
    """Texts in plain form, so that 3.0 is 3 whoever wrote it; nothing, and no number, is missing."""
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return identity_text(column)
    return column.fill_nan(None) if column.dtype.is_float() else column


def people_of_classes(people: People, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> People:
    """How many people each class has records of."""
    order, starts = once_each(people, np.zeros(len(people), np.int32), order, starts)
    return np.diff(starts)


def people_with(people: People, codes: npt.NDArray[np.int32], values: int) -> npt.NDArray[np.int64]:
    """How many people have each code; the last is that of -1, missing."""
    pairs = np.unique(np.stack([codes.astype(np.int64) % (values + 1), people]), axis=1)
    return np.bincount(pairs[0], minlength=values + 1)


def once_each(
    people: People, codes: npt.NDArray[np.int32], order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The classes with one record left of those that a person has in a class with the same code."""
    label = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    by = np.lexsort((codes[order], people[order], label))
    same = np.ones(len(order), np.bool_)
    for part in (label, people[order], codes[order]):
        part = part[by]
        same[1:] &= part[1:] == part[:-1]
    same[:1] = False
    kept = by[~same]
    return order[kept], np.append(0, np.cumsum(np.bincount(label[kept], minlength=len(starts) - 1)))
