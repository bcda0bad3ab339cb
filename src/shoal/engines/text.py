"""A table of text, as delimited files give it: the types are those of its first records, and hold for all others.

The rules are those of files read into memory (`shoal.data.text_types`). There a column is typed when all of it has been
seen; here what turns up too late is refused by name, so that no code loses its leading zero unseen.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from shoal.data.frames import OWN
from shoal.data.text_types import (
    MixedColumnError,
    count_zero_led,
    known_words,
    typed,
    values_as,
    with_empty_missing,
)
from shoal.engines.table import Batch, Table
from shoal.errors import InputError

HEAD = 10_000  # records that show the types


SPELLED = f"{OWN}spelled "  # begins the name of a column that holds another as the text that stands in the file


def with_types(
    table: Table,
    head: pl.DataFrame,
    text: Collection[str] = (),
    as_written: Collection[str] = (),
    *,
    spelled: bool = False,
) -> Table:
    """The table's columns as the head shows them, but for `text`; `as_written` not even an empty text is missing.

    Where it is to be `spelled`, each column stands there as text, too.
    """
    types = {name: pl.String() if name in (*text, *as_written) else _shown(head[name]) for name in table.schema}
    read = {name: dtype for name, dtype in types.items() if name not in as_written}
    texts = {f"{SPELLED}{name}": pl.String() for name in types} if spelled else {}
    return table.map(Typed(read, spelled), pl.Schema({**types, **texts}))


def _shown(column: pl.Series) -> pl.DataType:
    try:
        dtype = typed(column).dtype
    except MixedColumnError as error:
        place = f"{column[error.row]!r} in record {error.row + 1}"
        raise InputError(f"Column {column.name!r} holds {error.kind}, and {place}: correct it.") from None
    return pl.String() if column.is_null().all() or (column == "").all() else dtype


@dataclass(frozen=True)
class Typed:
    """A work that turns a batch's texts into values of these types, and refuses a text that is none of its column's."""

    types: dict[str, pl.DataType]
    spelled: bool = False  # keep the texts as well

    def __call__(self, batch: Batch) -> pl.DataFrame:
        """The batch with its columns typed, and as they are spelled where that is to be kept."""
        frame = batch.frame
        texts = [column.alias(f"{SPELLED}{column.name}") for column in frame] if self.spelled else []
        return frame.with_columns(*(_as(frame[name], dtype) for name, dtype in self.types.items()), *texts)


def _as(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.String:
        return with_empty_missing(column)
    words = known_words(column)
    values = values_as(words, dtype)
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
