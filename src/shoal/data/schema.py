"""What each attribute of a table is: its role in a release and the kind of its values.

Roles follow the field's usage (docs/spec.md#roles): identifiers are never released, quasi-identifiers are what
an intruder may know, confidential attributes are what must not be learnt, insensitive ones pass unchanged.
An attribute may be confidential *and* quasi-identifying (paper 2).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from shoal.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shoal.data.hierarchy import Hierarchy

Scalar = int | float | str | dt.date | dt.datetime


class Role(StrEnum):
    """What an attribute tells of a person, and so what a release does with it."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi_identifier"
    CONFIDENTIAL = "confidential"
    INSENSITIVE = "insensitive"
    PSEUDONYM = "pseudonym"  # an identifier of which a keyed pseudonym is released


class Kind(StrEnum):
    """What the values of an attribute are, and so how they are compared and published."""

    NUMERIC = "numeric"  # distances and ranges on the numbers themselves
    ORDINAL = "ordinal"  # ordered categories: distances on ranks, published as ranges
    NOMINAL = "nominal"  # unordered categories: equal or not, published as sets
    TEXT = "text"  # sentences about people, which nothing can be promised of; if they are released, like categories
    DATE = "date"  # distances in days (or microseconds), published as ranges


@dataclass(frozen=True)
class Attribute:
    """One column: name, roles, kind, and what is publicly known of its values.

    `domain` is (least, greatest) for numbers and dates, and all categories, in order for ordinals, otherwise.
    Where it is not given, the table's own values stand in for it.
    """

    name: str
    roles: frozenset[Role]
    kind: Kind
    domain: tuple[Scalar, ...] | None = None
    hierarchy: Hierarchy | None = None
    weight: float = 1.0
    assumed: str = ""  # why it is of another kind than its type says, or has a hierarchy, where no policy says so

    def as_it_stands(self, dtype: pl.DataType) -> Attribute:
        """For a column of this type whose values count as they are: on a line, or as so many categories."""
        on_a_line = self.kind in (Kind.NUMERIC, Kind.DATE) and (dtype.is_numeric() or dtype.is_temporal())
        return replace(self, kind=Kind.NUMERIC if on_a_line else Kind.NOMINAL, domain=None, hierarchy=None)


@dataclass(frozen=True)
class Person:
    """The column that says whom a record is about; `one_each`: whoever it does not name is a person of her own."""

    column: str
    one_each: bool = False


@dataclass(frozen=True)
class Schema:
    """The attributes of a table, in the table's order; and where people are counted, what says who they are."""

    attributes: tuple[Attribute, ...]
    person: Person | None = None

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Attribute:
        if name in self._by_name:
            return self._by_name[name]
        hint = did_you_mean(name, self.names) or f" There are {', '.join(map(repr, self.names))}."
        raise InputError(f"There is no column {name!r}.{hint}")

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    def only(self, attributes: Iterable[Attribute]) -> Schema:
        """The schema of these attributes, of the same people."""
        return replace(self, attributes=tuple(attributes))

    @property
    def names(self) -> list[str]:
        """The names of all attributes."""
        return list(self._by_name)

    def with_role(self, role: Role) -> list[str]:
        """The names of the attributes that have this role."""
        return [a.name for a in self.attributes if role in a.roles]

    @property
    def quasi_identifiers(self) -> list[str]:
        """The names of the quasi-identifiers."""
        return self.with_role(Role.QUASI_IDENTIFIER)

    @property
    def confidential(self) -> list[str]:
        """The names of the confidential attributes."""
        return self.with_role(Role.CONFIDENTIAL)


def refuse_named_twice(names: Sequence[str], role: str) -> None:
    """Refuses a column that a role names twice."""
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"Column {name!r} is named twice as {role.replace('_', '-')}: name it once.")


def refuse_twice(name: str, domain: tuple[Scalar, ...]) -> None:
    """Refuses a domain that lists a category twice."""
    for label, times in Counter(str(value) for value in domain).items():
        if times > 1:
            raise InputError(f"The domain of {name!r} lists {label!r} more than once: list each category once.")


def need_quasi(named: Collection[str], which: str = "an intruder may know") -> None:
    """Refuses to go on without any: classes are made of them."""
    if not named:
        raise InputError(f"No quasi-identifier is named: name the columns {which} (--quasi a,b).")


def refuse_missing(missing: Iterable[str]) -> None:
    """Refuses confidential columns that no record has a value of."""
    for name in missing:
        raise InputError(f"The confidential column {name!r} is missing in every record: leave it out.")
