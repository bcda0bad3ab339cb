"""One text for each value, however it is written: by it people, and values of several files, are known again.

200, 200.0, "200 " and "200.0" are the same, and "007" is not 7.
"""

from __future__ import annotations

import polars as pl

from shoal.errors import InputError

EXACT = 2.0**53  # integers below it are exact as floats
_UNSEEN = "\u200b\ufeff"  # characters without width that files bring along
_WHOLE = r"^(-?\d+)\.0*$"
_MIDNIGHT = r"^(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?$"


def identity_text(column: pl.Series) -> pl.Series:
    """One text for each value, whatever its type and however it was written; missing, empty and NaN are missing.

    Whole numbers lose their point, moments at midnight their time, texts the blanks about them and the way their
    accents are composed. Leading zeros stay: they belong to a code.
    """
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise InputError(
            f"Column {column.name!r} holds values of type {column.dtype}, by which nobody is known again: turn it into "
            "a column of numbers, dates or text."
        )
    if column.dtype == pl.Duration:
        column = column.cast(pl.Int64)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    text = column.cast(pl.String)
    if column.dtype.is_float():  # 1e16 as digits
        whole = (column == column.floor()) & (column.abs() < EXACT)
        text = text.zip_with(~whole.fill_null(value=False), column.cast(pl.Int64, strict=False).cast(pl.String))
    text = composed(text)
    text = text.str.replace(_WHOLE, "$1").str.replace("^-0$", "0").str.replace(_MIDNIGHT, "$1")
    return text.replace("", None)


def composed(text: pl.Series) -> pl.Series:
    """Texts with their accents composed, without the blanks and the characters without width around them."""
    return text.str.normalize("NFC").str.strip_chars().str.strip_chars(_UNSEEN).str.strip_chars()
