"""What is stated of values where a file knows its types: Parquet, Arrow, workbooks, statistical files, SQL.

Its types are believed, and text is text. Only what is stated is done: words that say that nothing is known are missing,
and text of which a date format or a decimal mark is stated is read by it (`shoal.data.forms`). Text that looks like
dates is noted, with what would read it.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection

import polars as pl

from shoal.choices import quoted_item
from shoal.data.forms import DoubtError, Forms
from shoal.data.missing_marks import as_option
from shoal.data.reading import OF_VALUES
from shoal.data.text_types import MixedColumnError
from shoal.errors import InputError

_SEEN = 10_000  # records that show whether a column of text looks like dates


def as_stated(
    frame: pl.DataFrame, forms: Forms, label: str, text: Collection[str], needed: Collection[str] | None = None
) -> pl.DataFrame:
    """The table with its values read as stated; of a release, whose values are plain there, as they are.

    Columns in `text` stay text, and so do those that are not `needed`.
    """
    if not forms.released:
        _note_dates(frame, forms, text, needed)
    if forms.released or not set(OF_VALUES) & set(forms.reading.chosen()):
        return frame
    forms.refuse_unknown(frame.columns, label)
    known = (_known(column, forms) for column in frame)
    stays = {*text, *(name for name in frame.columns if needed is not None and name not in needed)}
    return frame.with_columns(column if column.name in stays else _read(column, forms, label) for column in known)


def _note_dates(frame: pl.DataFrame, forms: Forms, text: Collection[str], needed: Collection[str] | None) -> None:
    """Notes texts that look like dates of which nothing is stated, with what reads them."""
    for column in frame.head(_SEEN):
        name = column.name
        stated = (
            name in text or (needed is not None and name not in needed) or forms.reading.of_column("date_format", name)
        )
        if column.dtype != pl.String or stated or not (formats := forms.date_formats(column)):
            continue
        ways = [f"--read {shlex.quote(quoted_item(f'date-format.{name}={each}'))}" for each in formats]
        forms.notes.append(
            f"Column {name!r} is text that looks like dates, and stays text: {' or '.join(ways)} reads it as dates."
        )


def _read(column: pl.Series, forms: Forms, label: str) -> pl.Series:
    name = column.name
    decimal = forms.reading.of_column("decimal", name)
    if column.dtype != pl.String or not (decimal or forms.reading.of_column("date_format", name)):
        return column
    try:
        values = forms.read(column, decimal or ".")
    except DoubtError as doubt:
        raise InputError(f"{label}: {doubt}") from None
    except MixedColumnError as mixed:
        value = column[mixed.row]
        raise InputError(
            f"Column {name!r} of {label} mixes {mixed.kind} and text: record {mixed.row + 1} holds {value!r}. Correct "
            f"it, or say that it means missing ({as_option(name, [value])})."
        ) from None
    return values if name in forms.columns or values.dtype.is_temporal() else column


def _known(column: pl.Series, forms: Forms) -> pl.Series:
    """The column with null where it says that nothing is known, be it by a word or a number."""
    words = forms.reading.missing_words(column.name)
    if column.dtype == pl.String or not words:
        return forms.known(column) if words else column
    if not column.dtype.is_numeric():
        return column
    numbers = pl.Series(words).cast(pl.Float64, strict=False).drop_nulls()
    return column.set(column.cast(pl.Float64).is_in(numbers.implode()), None)
