"""Categories whose type states their order: inside, each is a Polars Enum, whatever it came from.

| from                                | where the order stands                                     |
|-------------------------------------|------------------------------------------------------------|
| pandas, an ordered `category`       | its categories                                             |
| Arrow, an ordered dictionary        | the dictionary, if all chunks have the same                |
| Parquet and Arrow files of the two  | the same, kept in the file                                 |
| DuckDB, an `ENUM`                   | its values                                                 |

Polars reads all of them as categories without an order. Categories that are not text keep their own order, as numbers.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from shoal.choices import quoted_item
from shoal.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Orders = Mapping[str, list[str]]  # column -> its categories, lowest first
NAMED = 12  # values that a message lists
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def as_enums(frame: Frame, orders: Orders) -> Frame:
    """The frame with these columns as Enums."""
    if not orders:
        return frame
    return frame.with_columns(pl.col(name).cast(pl.String).cast(pl.Enum(order)) for name, order in orders.items())


def with_orders(frame: Frame, files: Sequence[Path], kind: str) -> Frame:
    """The table of these Parquet or Arrow files, with the orders of categories that they state."""
    unordered = [name for name, dtype in frame.collect_schema().items() if dtype == pl.Categorical]
    if not unordered:
        return frame
    orders = orders_in_files(files, kind)
    return as_enums(frame, {name: orders[name] for name in unordered if name in orders})


def order_in_pandas(column: pd.Series) -> list[str] | None:
    """The categories of an ordered pandas column, lowest first; None where it has no order, or not of texts."""
    dtype: Any = column.dtype
    if not getattr(dtype, "ordered", False):
        return None
    categories = dtype.categories.to_list()
    return categories if all(isinstance(category, str) for category in categories) else None


def orders_in_arrow(table: pa.Table) -> dict[str, list[str]]:
    """Column -> its categories in order, of the ordered dictionaries of an Arrow table."""
    orders = ((name, _common(table.column(name).chunks)) for name in _ordered(table.schema))
    return {name: order for name, order in orders if order is not None}


def orders_in_duckdb(relation: Any) -> dict[str, list[str]]:
    """Column -> its values in order, of the ENUM columns of a DuckDB relation."""
    types = zip(relation.columns, relation.types, strict=True)
    return {name: list(dict(kind.children)["values"]) for name, kind in types if kind.id == "enum"}


def orders_in_files(files: Iterable[Path], kind: str) -> dict[str, list[str]]:
    """Column -> its categories in order, as far as all files agree. A piece at a time is read, these columns only."""
    orders: list[dict[str, list[str]]] = [_in_parquet(path) if kind == "parquet" else _in_ipc(path) for path in files]
    first, *others = orders
    return {name: order for name, order in first.items() if all(each.get(name) == order for each in others)}


def _in_parquet(path: Path) -> dict[str, list[str]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names = _ordered(file.schema_arrow)
        groups = (file.read_row_group(i, columns=names) for i in range(file.num_row_groups if names else 0))
        return _agreed(groups, names)


def _in_ipc(path: Path) -> dict[str, list[str]]:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as file:
        names = _ordered(file.schema)
        batches = (file.get_batch(i) for i in range(file.num_record_batches if names else 0))
        return _agreed((pa.Table.from_batches([batch]) for batch in batches), names)


def _agreed(tables: Iterator[pa.Table], names: list[str]) -> dict[str, list[str]]:
    pieces: dict[str, list[Any]] = {name: [] for name in names}
    for table in tables:
        for name in names:
            pieces[name] += table.column(name).chunks
    orders = {name: _common(chunks) for name, chunks in pieces.items()}
    return {name: order for name, order in orders.items() if order is not None}


def _ordered(schema: pa.Schema) -> list[str]:
    """Columns of text whose dictionary is ordered."""
    import pyarrow.types as types

    return [
        field.name
        for field in schema
        if types.is_dictionary(field.type) and field.type.ordered and _is_text(types, field.type.value_type)
    ]


def _is_text(types: Any, kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _common(chunks: Iterable[Any]) -> list[str] | None:
    """The dictionary that all chunks share; None where they differ, so that no order of all is known."""
    orders = [chunk.dictionary.to_pylist() for chunk in chunks]
    same = bool(orders) and all(order == orders[0] for order in orders)
    return orders[0] if same and None not in orders[0] else None


def refuse_without_order(column: pl.Series) -> None:
    """Refuses a column of texts as ordinal: no order is stated but the alphabet's, which says nothing."""
    if not isinstance(column.dtype, pl.String | pl.Categorical):
        return
    values = column.drop_nulls().cast(pl.String).unique().sort()
    shown = ", ".join(values.head(NAMED)) + (f" and {len(values) - NAMED:,} more" if len(values) > NAMED else "")
    holds = f" It holds {shown}." if len(values) else ""
    key = column.name if re.fullmatch(r"[A-Za-z0-9_-]+", column.name) else json.dumps(column.name)
    option = f"{quoted_item(column.name)}=ordinal:low"
    raise InputError(
        f"Column {column.name!r} is declared ordinal, but nothing says in which order its texts stand: list them, the "
        f"lowest first, as --kind '{option},middle,high' or, in the policy, as domain = "
        f'["low", "middle", "high"] under [attributes.{key}].{holds}'
    )


def refuse_range_without_order(name: str, cell: str, ranges: Sequence[tuple[str, str]], labels: Iterable[str]) -> None:
    """Refuses a range of texts of which no order is known; the option lists them so that each range is put right."""
    after: dict[str, set[str]] = {label: set() for label in sorted(labels)}
    for low, high in ranges:
        after.setdefault(high, set()).add(low)
    try:
        listed = [*TopologicalSorter(after).static_order()]
    except CycleError:
        listed = sorted(after)
    option = shlex.quote(f"{quoted_item(name)}=ordinal:{','.join(map(quoted_item, listed))}")
    raise InputError(
        f"Column {name!r} shows the range {cell!r}, but nothing says in which order its texts stand: give the policy "
        f"of the release (--policy), or list all of them in their order, the lowest first, as in --kind {option}."
    )


def orders_stated(names: Sequence[str], types: Mapping[str, pl.DataType]) -> tuple[str, ...]:
    """Which of these columns are ordinal because their type states an order, and which order, in sentences."""
    stated = {name: dtype for name in names if isinstance(dtype := types[name], pl.Enum)}
    return tuple(
        f"Column {name!r} is taken as ordinal, in the order that its type states: {_rising(dtype.categories)}."
        for name, dtype in stated.items()
    )


def _rising(categories: pl.Series) -> str:
    few = categories if len(categories) <= 8 else [*categories.head(4), "...", *categories.tail(3)]
    return " < ".join(few)
