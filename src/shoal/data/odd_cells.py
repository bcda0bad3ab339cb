"""A value that does not go with the others of its column, such as a word among numbers: named by its place.

It is never taken for missing unasked, nor does it turn numbers into text. Who only looks at a table sees it as missing,
and is told so.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

import polars as pl

from shoal.choices import quoted_item
from shoal.data.forms import DoubtError, Forms
from shoal.data.missing_marks import as_option
from shoal.data.text_types import MixedColumnError, with_empty_missing
from shoal.errors import InputError

ODD = 3  # values of a column that a profile takes for missing, and says so, before it looks at all of it as text

Place = Callable[[int], str]  # record -> where it stands: line 12, cell C12


def read_as(
    column: pl.Series, read: Callable[[pl.Series], pl.Series], place: Place, forms: Forms, label: str, odd: int = 0
) -> pl.Series:
    """The column of text as what `read` makes of it; refused where a value is odd, or noted where that is enough."""
    try:
        return read(column)
    except DoubtError as doubt:
        raise InputError(f"{label}: {doubt}") from None
    except MixedColumnError as mixed:
        value = column[mixed.row]
        what = f"{mixed.kind} and text: {place(mixed.row)} holds {value!r}. "
    cure = (
        f"Correct it, say that it means missing ({as_option(column.name, [value])}), or declare the column as text "
        f"(--read {shlex.quote(quoted_item(f'text={column.name}'))})."
    )
    if not forms.lenient:
        raise InputError(f"Column {column.name!r} mixes {what}{cure}")
    looked_at = "It is looked at as missing here" if odd < ODD else "The column is looked at as text here"
    forms.notes.append(f"Column {column.name!r} mixes {what}{looked_at}. {cure}")
    if odd == ODD:
        return with_empty_missing(column)
    return read_as(column.set(column == value, None), read, place, forms, label, odd + 1)
