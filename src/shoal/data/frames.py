"""Any frame in, the same kind out: pandas, Polars, PyArrow, DuckDB relations, and what else narwhals knows.

Inside, everything is a Polars frame. What a frame must hold wherever it comes from is checked here too: each
column has a name of its own, NaN counts as missing, and no number is infinite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Restore(Protocol):
    """Turns a Polars frame back into the kind that came in.

    `rows` are the positions, in what came in, of the records that the frame holds; without them it holds all,
    in order. Only pandas needs them, for its index.
    """

    def __call__(self, result: pl.DataFrame, rows: npt.NDArray[np.integer[Any]] | None = None) -> object: ...


def to_polars(frame: object, as_it_stands: Collection[str] = ()) -> tuple[pl.DataFrame, Restore]:
    """The frame as Polars, without copying where the kind allows it, and the way back.

    In columns that are taken as they stand, NaN is not missing.
    """
    inside, restore = _opened(frame)
    if not inside.width:
        raise InputError("The frame has no columns: give a table with columns and records.")
    check_names(inside.columns, "The frame")
    return finite(inside, as_it_stands=as_it_stands), restore


def _opened(frame: object) -> tuple[pl.DataFrame, Restore]:
    if isinstance(frame, pl.DataFrame):
        return frame, lambda result, rows=None: result
    if isinstance(frame, pl.LazyFrame):
        return frame.collect(), lambda result, rows=None: result.lazy()
    if nw.dependencies.is_pandas_dataframe(frame):
        return _from_pandas(frame)
    if nw.dependencies.is_pyarrow_table(frame):
        return _from_arrow(frame)
    return _from_narwhals(frame)


def _from_pandas(frame: pd.DataFrame) -> tuple[pl.DataFrame, Restore]:
    names = [str(name) for name in frame.columns]
    check_names(names, "The pandas frame")
    inside = pl.DataFrame([_pandas_column(frame.iloc[:, i], name) for i, name in enumerate(names)])

    def restore(result: pl.DataFrame, rows: npt.NDArray[np.integer[Any]] | None = None) -> pd.DataFrame:
        back = result.to_pandas()
        for name in result.columns:  # columns that kept their type get pandas' own variant of it back
            if name in names and result[name].dtype == inside[name].dtype:
                original = frame.dtypes.iloc[names.index(name)]
                back[name] = _as_pandas_type(back[name], original)
        if rows is not None:
            back.index = frame.index[rows]
        elif len(back) == len(frame):
            back.index = frame.index
        given = dict(zip(names, frame.columns, strict=True))
        back.columns = [given.get(name, name) for name in back.columns]
        return back

    return inside, restore


def _pandas_column(column: pd.Series, name: str) -> pl.Series:
    try:
        return pl.Series(name, column)
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


def _from_arrow(table: pa.Table) -> tuple[pl.DataFrame, Restore]:
    check_names(table.column_names, "The Arrow table")
    inside = pl.from_arrow(table)
    assert isinstance(inside, pl.DataFrame)

    def restore(result: pl.DataFrame, rows: npt.NDArray[np.integer[Any]] | None = None) -> pa.Table:
        back = result.to_arrow()
        for i, name in enumerate(result.columns):  # Arrow knows several kinds of text; give back the one that came
            if name in inside.columns and result[name].dtype == inside[name].dtype:
                back = back.set_column(i, name, back.column(i).cast(table.schema.field(name).type))
        return back

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
        return known.collect("polars").to_native(), _to_duckdb(frame)
    if isinstance(known, nw.LazyFrame):
        raise unknown
    backend = known.implementation
    return known.to_polars(), lambda result, rows=None: nw.from_arrow(result, backend=backend).to_native()


def _to_duckdb(relation: Any) -> Restore:
    def restore(result: pl.DataFrame, rows: npt.NDArray[np.integer[Any]] | None = None) -> object:
        released = result.to_arrow()  # noqa: F841  (the query below finds it by its name)
        return relation.query("shoal", "SELECT * FROM released")  # on the connection of what came in

    return restore


def check_names(names: Sequence[str], label: str) -> None:
    """Each column needs a name of its own, or a policy cannot say which it means."""
    if "" in (stripped := [name.strip() for name in names]):
        raise InputError(f"{label}: column {stripped.index('') + 1} has no name; give it one.")
    if doubled := sorted(name for name, times in Counter(names).items() if times > 1):
        shown = ", ".join(repr(name) for name in doubled)
        raise InputError(f"{label}: the column name {shown} occurs more than once; rename one.")
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
    nan = [name for name, found in holds_nan.items() if found and name not in as_it_stands]
    return frame.with_columns(pl.col(nan).fill_nan(None)) if nan else frame
