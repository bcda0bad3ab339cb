"""A table of text, as delimited files give it: the types are those of its first records, and hold for all others.

The rules are those of files read into memory (`shoal.data.text_types`). There a column is typed when all of it has been
seen; here what turns up too late is refused by name, so that no code loses its leading zero unseen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from shoal.data.text_types import (
    FALSE,
    TRUE,
    MixedColumnError,
    as_dates,
    as_numbers,
    count_zero_led,
    known_words,
    typed,
    with_empty_missing,
)
from shoal.engines.table import Batch, Table
from shoal.errors import InputError

HEAD = 10_000  # records that show the types


def with_types(table: Table, head: pl.DataFrame, text: Collection[str] = (), as_written: Collection[str] = ()) -> Table:
    """The table's columns as the head shows them, but for `text`; `as_written` not even an empty text is missing."""
    types = {name: pl.String() if name in (*text, *as_written) else _shown(head[name]) for name in table.schema}
    read = {name: dtype for name, dtype in types.items() if name not in as_written}
    return table.map(Typed(read), pl.Schema(types))


def _shown(column: pl.Series) -> pl.DataType:
    try:
        dtype = typed(column).dtype
    except MixedColumnError as error:
        place = f"{column[error.row]!r} in record {error.row + 1}"
        raise InputError(f"Column {column.name!r} holds {error.kind}, and {place}: correct it.") from None
    return pl.String() if column.is_null().all() or (column == "").all() else dtype


@dataclass(frozen=True)
class Typed:
    types: dict[str, pl.DataType]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return batch.frame.with_columns(_as(batch.frame[name], dtype) for name, dtype in self.types.items())


def _as(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.String:
        return with_empty_missing(column)
    words = known_words(column)
    values = _values(words, dtype)
    stray = words.is_not_null() & values.is_null()
    if dtype == pl.Int64 and count_zero_led(words):
        stray |= words.str.contains(r"^0\d")
    if stray.any():
        value = words.filter(stray)[0]
        raise InputError(
            f"Column {column.name!r} is {dtype} in its first {HEAD:,} records and {value!r} further down: "
            "correct it, or give the table as Parquet, which knows its types."
        )
    return values


def _values(words: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Null where the word is none of that type."""
    if dtype == pl.Boolean:
        return words.is_in(TRUE).set(~words.is_in(TRUE + FALSE), None)
    if dtype == pl.Int64:
        return words.cast(pl.Int64, strict=False)
    if dtype == pl.Float64:
        return as_numbers(words, ".")
    days_or_moments = as_dates(words)
    return days_or_moments.cast(dtype) if days_or_moments.dtype != dtype else days_or_moments
