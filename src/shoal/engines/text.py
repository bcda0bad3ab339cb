"""A table of text, as delimited files give it: the types are those of its first records, and hold for all others.

The rules are those of files read into memory (`shoal.data.text_types`, `shoal.data.forms`). There a column is typed
when all of it has been seen; here what turns up too late is refused by name, so that no code loses its leading zero
unseen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import polars as pl

from shoal.data.forms import DoubtError, Forms, plain_cells
from shoal.data.frames import OWN
from shoal.data.missing_marks import as_option
from shoal.data.text_types import (
    MixedColumnError,
    as_numbers,
    count_zero_led,
    known_words,
    with_empty_missing,
)
from shoal.engines.table import Batch, Table
from shoal.errors import InputError

HEAD = 10_000  # records that show the types


SPELLED = f"{OWN}spelled "  # begins the name of a column that holds another as the text that stands in the file


@dataclass(frozen=True)
class AsText:
    """How a table of text is typed: as its first records show, but for the columns named here.

    Columns in `text` stay text; `as_written` not even an empty one is missing; those that may be `masked` are text with
    each value in plain form. Where it is to be `spelled`, each column stands there as text, too. In which `forms` dates
    and amounts are written is put down there.
    """

    text: Collection[str] = ()
    as_written: Collection[str] = ()
    masked: Collection[str] = ()
    spelled: bool = False
    forms: Forms | None = None

    def typed(self, table: Table, head: pl.DataFrame) -> Table:
        """The table with its columns typed, by its first records."""
        forms = Forms() if self.forms is None else self.forms
        forms.refuse_unknown(list(table.schema), "The table")
        forms.held(forms.reading.text, list(table.schema), "The table")
        types = {name: self._type(head[name], forms) for name in table.schema}
        read = {name: dtype for name, dtype in types.items() if name not in self.as_written}
        texts = {f"{SPELLED}{name}": pl.String() for name in types} if self.spelled else {}
        return table.map(Typed(read, self.spelled, forms), pl.Schema({**types, **texts}))

    def _type(self, column: pl.Series, forms: Forms) -> pl.DataType:
        name = column.name
        if name in self.text or name in forms.reading.text:
            return pl.String()
        try:
            if name in self.masked or name in self.as_written:
                return forms.cells(with_empty_missing(forms.known(column))).dtype
            return _shown(forms.known(column), forms)
        except DoubtError as doubt:
            raise InputError(str(doubt)) from None


def _shown(column: pl.Series, forms: Forms) -> pl.DataType:
    """The type of a column by its first values; how they are written is put down in `forms`."""
    name, decimal = column.name, _decimal(forms, column.name)
    try:
        dtype = forms.read(column, decimal).dtype
    except MixedColumnError as error:
        value = column[error.row]
        raise InputError(
            f"Column {name!r} holds {error.kind}, and {value!r} in record {error.row + 1}: correct it, or say that it "
            f"means missing ({as_option(name, [value])})."
        ) from None
    if dtype == pl.Float64 and decimal == "," and name not in forms.columns:
        forms.with_comma(column)
    return pl.String() if dtype == pl.Null else dtype


def _decimal(forms: Forms, name: str) -> str:
    return forms.reading.of_column("decimal", name) or "."


@dataclass(frozen=True)
class Typed:
    """A work that turns a batch's texts into values of these types, and refuses a text that is none of its column's."""

    types: dict[str, pl.DataType]
    spelled: bool = False  # keep the texts as well
    forms: Forms = field(default_factory=Forms)  # in which dates and amounts are written

    def __call__(self, batch: Batch) -> pl.DataFrame:
        """The batch with its columns typed, and as they are spelled where that is to be kept."""
        frame = batch.frame
        texts = [column.alias(f"{SPELLED}{column.name}") for column in frame] if self.spelled else []
        typed = (_as(frame[name], dtype, self.forms, batch.position) for name, dtype in self.types.items())
        return frame.with_columns(*typed, *texts)


_NUMBERED = 1 << 33  # beyond it a position is that of a task of Spark and a record of it
_HELD = {pl.Int64: "whole numbers", pl.Float64: "numbers", pl.Date: "dates", pl.Boolean: "true and false"}


def _as(column: pl.Series, dtype: pl.DataType, forms: Forms, position: int) -> pl.Series:
    column, form = forms.known(column), forms.columns.get(column.name)
    if dtype == pl.String:
        texts = with_empty_missing(column)
        return texts if form is None else plain_cells(texts, form)
    words = known_words(column)
    if dtype == pl.Float64 and form is None:
        values = as_numbers(words, _decimal(forms, column.name))
    else:
        values = forms.values(column, dtype)
    stray = words.is_not_null() & values.is_null()
    if dtype == pl.Int64 and form is None and count_zero_led(words):
        stray |= words.str.contains(r"^0\d")
    if stray.any():
        row = int(stray.arg_true()[0])
        raise _too_late(column.name, dtype, words[row], position + row + 1)
    return values


def _too_late(name: str, dtype: pl.DataType, value: str, record: int) -> InputError:
    """The error of a value that is none of its column's, beyond the records that show what these are."""
    where = f" (record {record:,})" if record < _NUMBERED else ""
    return InputError(
        f"Column {name!r} holds {_HELD.get(type(dtype), 'dates with times')} in its first {HEAD:,} records and "
        f"{value!r} further down{where}: correct it, say that it means missing ({as_option(name, [value])}), or give "
        "the table as Parquet, which knows its types."
    )
