"""Any frame in, the same kind out: pandas, Polars, PyArrow, DuckDB relations, and what else narwhals knows.

Only columns come back. An index, notes on the table or its columns (`attrs`, schema metadata), names of levels,
categories that no record has, and the query that a lazy frame or relation stands for stay with what came in: nobody
has judged them. So a relation comes back on a connection of its own.

Inside, everything is a Polars frame. What a frame must hold wherever it comes from is checked here too: each
column has a name of its own, NaN counts as missing, and no number is infinite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
from typing_extensions import TypeVar

from shoal.data.ordered_categories import as_enums, order_in_pandas, orders_in_arrow, orders_in_duckdb
from shoal.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


# Begins the name of each column that is put beside a user's own for a while. Unicode keeps it for the inside
# of a program, and a table that has it in a name is refused at the door: so no name of ours can be a user's.
OWN = "\ufdd0"

Frame = TypeVar("Frame", default=Any)  # the kind that came in, and that comes back
Restore = Callable[[pl.DataFrame], Frame]  # turns a Polars frame back into the kind that came in, and no more than that


def to_polars(frame: Frame, as_it_stands: Collection[str] = ()) -> tuple[pl.DataFrame, Restore[Frame]]:
    """The frame as Polars, without copying where the kind allows it, and the way back.

    In columns that are taken as they stand, NaN is not missing.
    """
    inside, restore = _opened(frame)
    if not inside.width:
        raise InputError("The frame has no columns: give a table with columns and records.")
    check_names(inside.columns, "The frame")
    return finite(inside, as_it_stands=as_it_stands), restore


def _opened(frame: Any) -> tuple[pl.DataFrame, Restore]:
    if isinstance(frame, pl.DataFrame):
        return frame, lambda result: result
    if isinstance(frame, pl.LazyFrame):
        return frame.collect(), lambda result: result.lazy()
    if nw.dependencies.is_pandas_dataframe(frame):
        return _from_pandas(frame)
    if nw.dependencies.is_pyarrow_table(frame):
        return _from_arrow(frame)
    return _from_narwhals(frame)


def _from_pandas(frame: pd.DataFrame) -> tuple[pl.DataFrame, Restore]:
    names = [str(name) for name in frame.columns]
    check_names(names, "The pandas frame")
    inside = pl.DataFrame([_pandas_column(frame.iloc[:, i], name) for i, name in enumerate(names)])

    def restore(result: pl.DataFrame) -> pd.DataFrame:
        back = result.to_pandas()
        for name in result.columns:
            if name in names:
                original = frame.dtypes.iloc[names.index(name)]
                if hasattr(original, "categories"):
                    back[name] = _as_categories(back[name], original)
                elif result[name].dtype == inside[name].dtype:  # it kept its type: as pandas' own variant of it
                    back[name] = _as_pandas_type(back[name], original)
        given = dict(zip(names, frame.columns, strict=True))
        back.columns = [given.get(name, name) for name in back.columns]
        return back

    return inside, restore


def _pandas_column(column: pd.Series, name: str) -> pl.Series:
    try:
        read = pl.Series(name, column)
        order = order_in_pandas(column)
        return read if order is None else read.cast(pl.String).cast(pl.Enum(order))
    except Exception as error:  # pyarrow, pandas and Polars each have their own for values of several types
        kinds = sorted({type(value).__name__ for value in column.dropna()})
        raise InputError(
            f"Column {name!r} of the pandas frame mixes types ({', '.join(kinds)}): make them one."
        ) from error


def _as_pandas_type(column: pd.Series, original: Any) -> pd.Series:
    if original == column.dtype or original.kind == "O":
        return column
    try:
        return column.astype(original)
    except (TypeError, ValueError):  # missing values came in where there were none
        return column


def _as_categories(column: pd.Series, original: pd.CategoricalDtype) -> pd.Series:
    """With those categories that occur; without a declared order in that of the alphabet. Masked values are none."""
    shown = set(column.dropna())
    if not shown <= set(original.categories):
        return column
    occur = [category for category in original.categories if category in shown]
    dtype = type(original)(occur if original.ordered else sorted(shown), ordered=original.ordered)
    return column.astype(object).astype(dtype)  # pandas takes the same categories in another order for the same type


def _from_arrow(table: pa.Table) -> tuple[pl.DataFrame, Restore]:
    check_names(table.column_names, "The Arrow table")
    inside = pl.from_arrow(table)
    assert isinstance(inside, pl.DataFrame)
    inside = as_enums(inside, orders_in_arrow(table))

    def column(shown: pl.Series, arrow: pa.ChunkedArray) -> pa.ChunkedArray:
        """Arrow knows several kinds of text and may list categories; give back what came."""
        if shown.name not in inside.columns:
            return arrow
        original, before = table.schema.field(shown.name).type, inside[shown.name]
        if isinstance(before.dtype, pl.Categorical) and shown.is_in(before.cast(pl.String).unique().implode()).all():
            return arrow.cast(original.value_type).dictionary_encode().cast(original)
        return arrow.cast(original) if shown.dtype == before.dtype else arrow

    def restore(result: pl.DataFrame) -> pa.Table:
        columns = zip(result, result.to_arrow().columns, strict=True)
        return pa.Table.from_arrays([column(*both) for both in columns], names=result.columns)

    return inside, restore


def _from_narwhals(frame: object) -> tuple[pl.DataFrame, Restore]:
    unknown = InputError(
        f"A frame of type {type(frame).__module__}.{type(frame).__qualname__} cannot be used: "
        "give a pandas, Polars or PyArrow table or a DuckDB relation."
    )
    try:
        known: Any = nw.from_native(frame)
    except TypeError:
        raise unknown from None
    if nw.dependencies.is_duckdb_relation(frame):
        return as_enums(known.collect("polars").to_native(), orders_in_duckdb(frame)), _to_duckdb
    if isinstance(known, nw.LazyFrame):
        raise unknown
    backend = known.implementation
    return known.to_polars(), lambda result: nw.from_arrow(result, backend=backend).to_native()


def _to_duckdb(result: pl.DataFrame) -> object:
    """On a connection of its own: whatever is made on that of the source keeps the source's query, literals and all."""
    import duckdb

    return duckdb.connect().from_arrow(result.to_arrow())


def numbered(names: Sequence[str]) -> list[str]:
    """The names with a number behind each that came before: age, age_2; none of them gets one that is there already."""
    given = set(names)
    shown: dict[str, None] = {}
    for name in names:
        times, label = 1, name
        while label in shown or (times > 1 and label in given):
            times += 1
            label = f"{name}_{times}"
        shown[label] = None
    return list(shown)


def check_names(names: Sequence[str], label: str, or_else: str = "") -> None:
    """Refuses columns without a name of their own: a policy could not say which it means.

    `or_else` says what can be done about doubled names beside renaming them.
    """
    if "" in (stripped := [name.strip() for name in names]):
        raise InputError(f"{label}: column {stripped.index('') + 1} has no name; give it one.")
    if doubled := sorted(name for name, times in Counter(names).items() if times > 1):
        places = [str(place) for place, name in enumerate(names, 1) if name == doubled[0]]
        where = f"{', '.join(places[:-1])} and {places[-1]}"
        raise InputError(
            f"{label}: the column name {doubled[0]!r} occurs more than once, as columns {where}; rename one{or_else}."
        )
    if nul := [name for name in names if "\0" in name]:  # Arrow's own interface ends a name there
        raise InputError(f"{label}: the column name {nul[0]!r} holds a NUL character; rename it.")
    if ours := [name for name in names if OWN in name]:
        raise InputError(
            f"{label}: the column name {ours[0].replace(OWN, '')!r} holds the character U+FDD0, kept for columns of "
            "Shoal's own; rename it."
        )
    if patterns := [name for name in names if name == "*" or (name[0] == "^" and name[-1] == "$")]:
        # Polars takes such a name for a pattern wherever a column is named, and would pick others instead.
        raise InputError(f"{label}: the column name {patterns[0]!r} reads as a pattern of names; rename it.")


def finite(
    frame: pl.DataFrame,
    place: Callable[[int], str] = lambda row: f"record {row + 1}",
    as_it_stands: Collection[str] = (),
) -> pl.DataFrame:
    """The frame with NaN as missing, but for columns that are taken as they stand; an infinity is refused."""
    floats = frame.select(pl.col(pl.Float32, pl.Float64))
    if not floats.width:
        return frame
    for name, infinite in floats.select(pl.all().is_infinite().arg_max()).row(0, named=True).items():
        if infinite is not None and np.isinf(floats[name][infinite]):
            raise InputError(
                f"Column {name!r} holds an infinite number ({place(infinite)}): correct it, or leave the value empty."
            )
    holds_nan = floats.select(pl.all().is_nan().any()).row(0, named=True)
    nan = [name for name, holds in holds_nan.items() if holds and name not in as_it_stands]
    return frame.with_columns(pl.col(nan).fill_nan(None)) if nan else frame
