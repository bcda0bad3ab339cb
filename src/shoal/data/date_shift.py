"""Dates moved by as many days for each subject: intervals within a history stay, the days themselves do not.

The shift of a subject comes from the secret key, so it is the same for all dates of a person in all tables
(docs/spec.md#date-shift). It hides no order, season or gap, and whoever knows one date of a person knows all of them.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

import polars as pl

from shoal.data.pseudonym_forms import texts_of
from shoal.data.pseudonym_keys import Key
from shoal.errors import InputError

DAYS = 365
_WEEK = 7
_LAST_YEAR = 9999


def shifts(
    subjects: Sequence[str], key: Key, domain: str, days: int = DAYS, *, keep_weekday: bool = False
) -> list[int]:
    """Days, from -days to days and never 0, by which the dates of each subject are moved."""
    of = key.derived("date-shift", domain)

    def shift(subject: str) -> int:
        by = int.from_bytes(hmac.digest(of, subject.encode(), "sha256")[:16]) % (2 * days) - days
        by += by >= 0
        return (_WEEK * round(by / _WEEK) or _WEEK) if keep_weekday else by

    return [shift(subject) for subject in subjects]


def shifts_of(subjects: pl.Series, key: Key, domain: str, days: int = DAYS, *, keep_weekday: bool = False) -> pl.Series:
    """Record -> days, missing where the subject is."""
    texts = texts_of(subjects)
    names = texts.drop_nulls().unique(maintain_order=True)
    by = pl.Series(shifts(names.to_list(), key, domain, days, keep_weekday=keep_weekday), dtype=pl.Int64)
    return texts.replace_strict(names, by, default=None, return_dtype=pl.Int64)


def shifted(dates: pl.Series, by: pl.Series) -> pl.Series:
    """The dates moved; missing where the subject is missing, refused where a date leaves the calendar."""
    if dates.dtype not in (pl.Date, pl.Datetime):
        raise InputError(
            f"Column {dates.name!r} holds {dates.dtype}, not dates: only dates are shifted. Say how they are written "
            "(--read date-format=...), or leave the column out of the shift."
        )
    moved = dates + pl.select(pl.duration(days=pl.lit(by))).to_series()
    year = moved.dt.year()
    if ((year < 1) | (year > _LAST_YEAR)).any():
        raise InputError(
            f"Column {dates.name!r} holds a date at the end of the calendar, which cannot be shifted: correct it."
        )
    return moved.alias(dates.name)
