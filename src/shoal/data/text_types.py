"""What a column of text holds: truths, dates, numbers, or text. The rules by which delimited files are typed.

- A column is Boolean, date, date and time (ISO 8601), integer or float when every known value of it is.
- Missing are empty cells, quoted or not, and in columns that are not text also NA, N/A, NaN, nan, null, NULL,
  None and a lone point. In text columns such words are values: NA is Namibia, Null a surname. A column of
  nothing but such words is missing everywhere.
- Codes stay text: with a leading zero (ZIP 01234), integers beyond 64 bits, and columns in which a value is
  masked ([24;28], {a;b}, 937**, *, 85+) or is a letter or three with digits after them (V31, E812.9): a column of
  diagnoses may hold no more than one such.
- Columns whose names say codes (`shoal.data.kinds`) stay text where some of their numbers have a point or stand beside
  other words (NACE 01.10, postcodes of several countries); the words above mean missing in them.
- When half of the known values or more are numbers (or dates) and another is not, the column is an error: one
  that the custodian should see, because as text it would be masked by other means than numbers are.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

TimeUnit = Literal["ns", "us", "ms"]

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."]
TRUE = ["true", "True", "TRUE"]
FALSE = ["false", "False", "FALSE"]

_ZERO_LED = r"^0\d"
_MASKED = r"^\[.*;.*\]$|^\{.*\}$|\*$|^[+-]?[\d.,]+\+$"
_CODE = r"^[A-Za-z]{1,3}\d[\w.\-]*$"
_WHOLE = r"^[+-]?\d+$"
_DATE = r"^\d{4}-\d{2}-\d{2}"
_DAY = "%Y-%m-%d"
_MOMENT = "%Y-%m-%dT%H:%M:%S%.f"
_MINUTE = "%Y-%m-%dT%H:%M"
_FRACTION = {
    ",": r"^[+-]?\d*,(\d{1,2}|\d{4,})$",
    ".": r"^[+-]?\d*\.\d+$",
}  # 1,234 may be a thousand: no evidence


class MixedColumnError(Exception):
    """A column of mostly `kind` (numbers, dates) in which the value at `row` is something else."""

    def __init__(self, kind: str, row: int) -> None:
        super().__init__(f"{kind} and text, at row {row}")
        self.kind, self.row = kind, row


def typed(column: pl.Series, decimal: str = ".") -> pl.Series:
    """A column of text as what it holds; MixedColumnError where that is two kinds of things."""
    kind = likely_type(column, decimal)
    if kind == pl.String:
        return with_empty_missing(column)
    if kind == pl.Null:
        return column.clear(len(column))
    words = known_words(column)
    if kind == pl.Boolean:
        return words.is_in(TRUE)
    if kind == pl.Int64:
        return words.cast(pl.Int64)
    values = as_dates(words) if kind == pl.Datetime else as_numbers(words, decimal)
    if values.count() < words.count():
        stray = words.is_not_null() & values.is_null()
        raise MixedColumnError("dates" if kind == pl.Datetime else "numbers", int(stray.arg_true()[0]))
    return values


def likely_type(column: pl.Series, decimal: str) -> type[pl.DataType]:
    """What at least half of a column's known values are, by the rules of this module."""
    words = trimmed(column)
    known = words.count() - int(words.is_in(MISSING).sum())
    if not known:
        return pl.Null
    numbers = as_numbers(words, decimal).count()
    if 2 * numbers >= known:
        as_text = count_zero_led(words) or has_masked(words) or (numbers < known and has_codes(words))
        return pl.String if as_text else number_type(words, numbers == known)
    if 2 * int(words.str.contains(_DATE).sum()) >= known:
        return pl.String if has_masked(words) else pl.Datetime
    return pl.Boolean if words.is_in(TRUE + FALSE).sum() == known else pl.String


def number_type(words: pl.Series, all_numbers: bool) -> type[pl.DataType]:
    """Integers of 64 bits, floats, or text where a number fits neither exactly."""
    known = known_words(words)
    if not all_numbers or not known.str.contains(_WHOLE).all():
        return pl.Float64
    fits = known.cast(pl.Int64, strict=False).count() == known.count()
    return pl.Int64 if fits else pl.String  # beyond 64 bits a float would not be exact


def trimmed(column: pl.Series) -> pl.Series:
    """The texts without spaces at their ends."""
    spaced = column.str.starts_with(" ").any() or column.str.ends_with(" ").any()
    return column.str.strip_chars(" ") if spaced else column


def known_words(column: pl.Series) -> pl.Series:
    """The values without spaces around them; null where they say that nothing is known."""
    words = trimmed(column)
    return words.set(words.is_in(MISSING), None)


def with_empty_missing(column: pl.Series) -> pl.Series:
    """The texts with empty ones as missing."""
    empty = column == ""
    return column.set(empty, None) if empty.any() else column


def has_masked(words: pl.Series) -> bool:
    """Whether some text is a mask such as [24;28], {a;b}, 937** or 85+."""
    return bool(words.str.contains(_MASKED).any())


def has_codes(words: pl.Series) -> bool:
    """Whether some text is a code: one to three letters with digits after them."""
    return bool(words.str.contains(_CODE).any())


def count_zero_led(words: pl.Series) -> int:
    """How many texts begin with a zero and another digit: codes, which would lose it as numbers."""
    return int(words.filter(words.str.starts_with("0")).str.contains(_ZERO_LED).sum())


def as_numbers(words: pl.Series, decimal: str) -> pl.Series:
    """The texts as floats; null for what is none, not-a-number included."""
    pointed = words if decimal == "." else words.str.replace_many([".", decimal], ["?", "."])
    return pointed.cast(pl.Float64, strict=False).fill_nan(None)


def values_as(words: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Words as values of a type that is known already, null where one is no such value."""
    if dtype == pl.Boolean:
        return words.is_in(TRUE).set(~words.is_in(TRUE + FALSE), None)
    if dtype == pl.Int64:
        return words.cast(pl.Int64, strict=False)
    if dtype.is_float():
        return as_numbers(words, ".").cast(dtype)
    days_or_moments = as_dates(words)
    return days_or_moments.cast(dtype) if days_or_moments.dtype != dtype else days_or_moments


def as_dates(words: pl.Series, unit: TimeUnit = "us") -> pl.Series:
    """Days if all are; moments of a time zone, in UTC, if all are; else moments, a day being its first."""
    days = words.str.to_date(_DAY, strict=False)
    if days.count() == words.count():
        return days
    moments = words.str.replace(" ", "T", literal=True)
    zoned = moments.str.to_datetime(f"{_MOMENT}%#z", time_unit=unit, time_zone="UTC", strict=False)
    if zoned.count() == words.count():
        return zoned
    local = moments.str.to_datetime(_MOMENT, time_unit=unit, strict=False)
    minutes = moments.str.to_datetime(_MINUTE, time_unit=unit, strict=False)
    return local.fill_null(minutes).fill_null(days.cast(pl.Datetime(unit)))


def decimal_mark(frame: pl.DataFrame) -> str:
    """A comma when some column of numbers shows one and none shows a point."""

    def shows(column: pl.Series, mark: str) -> bool:
        words = known_words(column)
        fractions = words.str.contains(_FRACTION[mark]).any()
        return bool(fractions) and as_numbers(words, mark).count() == words.count()

    comma = any(shows(column, ",") for column in frame)
    return "," if comma and not any(shows(column, ".") for column in frame) else "."
