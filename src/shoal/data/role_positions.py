"""Roles by position: what a column probably is where its name and values say nothing, but its place in the table does.

An outcome often stands last, a number of records or households first, and family names beside given names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.data.roles import FEW_RECORDS, Suggestion
from shoal.data.schema import Role

FEW_VALUES = 10  # of an outcome
SPOKEN = 2  # columns that must have signs before a table is held to be one of people with an outcome
_NAME = r"^\p{L}[\p{L}'’. -]*$"


@dataclass(frozen=True)
class Placed:
    """A column in its table: what a sign says of it (nothing, if empty), its suggested role and different values."""

    column: pl.Series
    what: str
    role: Role | None
    distinct: int


def by_position(columns: Sequence[Placed]) -> dict[str, Suggestion]:
    """The columns for which their place suggests another role than their name, values and counts do."""
    return {placed.column.name: suggestion for placed, suggestion in _suggestions(columns)}


def _suggestions(columns: Sequence[Placed]) -> Iterator[tuple[Placed, Suggestion]]:
    for i, placed in enumerate(columns):
        if placed.what or placed.role is not Role.QUASI_IDENTIFIER:
            continue
        neighbours = [*columns[max(0, i - 1) : i], *columns[i + 1 : i + 2]]
        if any(each.what == "personal names" for each in neighbours) and _like_names(placed):
            reason = "Words beside a column of personal names, like family names, by position (HIPAA item A)."
            yield placed, Suggestion(Role.IDENTIFIER, reason, "A", "personal names")
        elif i == 0 and _counts_up(placed):
            reason = "Stands first and counts up, like a number of records or households, by position (HIPAA item R)."
            yield placed, Suggestion(Role.IDENTIFIER, reason, "R", "numbers of households")
        elif i == len(columns) - 1 and 2 <= placed.distinct <= FEW_VALUES and _signed(columns) >= SPOKEN:
            reason = "Stands last and has few values, like the outcome of a study, by position."
            yield placed, Suggestion(Role.CONFIDENTIAL, reason, what="results or outcomes")


def _signed(columns: Sequence[Placed]) -> int:
    return sum(bool(placed.what) for placed in columns)


def _many(placed: Placed) -> bool:
    """More different values than categories have: their square is above the number of records."""
    return placed.distinct > FEW_VALUES and placed.distinct**2 > len(placed.column)


def _like_names(placed: Placed) -> bool:
    if not isinstance(placed.column.dtype, (pl.String, pl.Categorical)) or not _many(placed):
        return False
    values = placed.column.cast(pl.String).drop_nulls()
    return int(values.str.contains(_NAME).sum()) > 0.9 * len(values)


def _counts_up(placed: Placed) -> bool:
    column = placed.column
    if not column.dtype.is_integer() or column.null_count() or len(column) < FEW_RECORDS or not _many(placed):
        return False
    before, after = column.head(-1), column.tail(-1)
    return bool(((after >= before) & (after - before).is_between(0, 1)).all())  # unsigned numbers have none below zero
