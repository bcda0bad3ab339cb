"""What a reader of a released file can tell apart: of a text file the text that stands there, of others the typed cell.

A parser makes one value of `5`, `5.0` and `+5`, of an empty field and `NA`, of `true` and `True`. A reader of the file
sees several. The check of a release compares what is given here, and nothing that a parser made of it.

- Delimited text: each field as it stands, spaces included. An empty field (null) is not a quoted empty one ("").
  Whether other fields are quoted is not compared.
- Parquet, Arrow, SQL: the value; NaN is not missing, -0.0 is not 0.0.
- Excel, SQLite: the cell's value. A column that mixes kinds of cells (5 and the text 5) is refused.
- Stata, SPSS, SAS: the code; each declared kind of missing is one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from shoal import events
from shoal.data.csv_files import as_written, of_release, scan_written
from shoal.data.dialects import Dialect
from shoal.data.files import format_of, is_delimited, read_table
from shoal.data.forms import Form, Forms, plain_cells
from shoal.data.frames import finite
from shoal.data.paths import is_sql
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.data.sheets import chosen_sheet, read_excel
from shoal.data.sql import refuse_mixed_storage
from shoal.data.statistical_files import STATISTICAL, read_statistical
from shoal.errors import InputError, extra_package


def reading_of(source: str | Path, original: Reading) -> Reading:
    """How a release is read whose original is read so: a text file is laid out alike, and values are written alike."""
    if is_sql(source) or not Path(source).is_file() or not is_delimited(source):
        return Reading.of(original.of_values())
    return of_release(Path(source), original)


class Released(NamedTuple):
    """A released table twice: its values, and its quasi-identifiers as a reader can tell them apart."""

    table: pl.DataFrame
    written: pl.DataFrame


def read_released(
    source: str | Path, quasi: Sequence[str], reading: Reading = AS_IT_SEEMS, forms: Forms | None = None
) -> Released:
    """The table in a file or a database, and what stands there of the quasi-identifiers that it has."""
    forms = replace(Forms(reading) if forms is None else forms, compared=frozenset(quasi))
    table = read_table(source, reading, as_it_stands=quasi, forms=forms)
    names = [name for name in quasi if name in table.columns]
    return Released(finite(table), _written(source, table, names, reading))


@events.apart
def read_own(
    path: Path,
    table: pl.DataFrame,
    quasi: Sequence[str],
    copied: Mapping[str, pl.DataType],
    forms: Forms,
    dialect: Dialect | None = None,
) -> tuple[pl.DataFrame | pl.LazyFrame, pl.DataFrame | pl.LazyFrame]:
    """What stands in a file just written of `table`, and of the quasi-identifiers what a reader can tell apart.

    Of a text file only what will be asked for is read; `copied` are columns in the text of the original's file, with
    the types that they have; `forms` say how columns write their values, the `dialect` how the file is laid out.
    """
    if not is_delimited(path):
        return read_released(path, quasi)
    text = (pl.Null, pl.Enum, pl.Categorical)  # otherwise the types are known: no need to guess them again
    types = [pl.String() if isinstance(dtype, text) else dtype for dtype in table.dtypes]
    values = scan_written(path, dict(zip(table.columns, types, strict=True)), empty_is_missing=True, dialect=dialect)
    values = values.with_columns(_retyped(name, dtype, forms) for name, dtype in copied.items())
    others = {name: form for name, form in forms.columns.items() if name in table.columns and name not in copied}
    values = values.with_columns(_in_plain(name, form) for name, form in others.items())
    texts = scan_written(path, dict.fromkeys(table.columns, pl.String()), dialect=dialect)
    return values, texts.select(quasi)


def _retyped(name: str, dtype: pl.DataType, forms: Forms) -> pl.Expr:
    """A column of text as the values it was read as before."""
    of = pl.String() if dtype == pl.Null else dtype
    return pl.col(name).map_batches(lambda text: forms.values(text.alias(name), dtype), return_dtype=of)


def _in_plain(name: str, form: Form) -> pl.Expr:
    """A column of values and masks with each value in plain text."""
    return pl.col(name).map_batches(lambda text: plain_cells(text, form), return_dtype=pl.String)


def _written(source: str | Path, table: pl.DataFrame, names: list[str], reading: Reading) -> pl.DataFrame:
    if is_delimited(source):
        return as_written(Path(source), names, reading, as_it_stands=True)
    if is_sql(source):
        refuse_mixed_storage(str(source), table.columns)
        return table.select(names)
    read = format_of(Path(source)).read
    if read is read_excel:
        _refuse_mixed_cells(Path(source), table.columns, reading)
    if read is read_statistical and names:
        return _codes(Path(source), names)
    return table.select(names)


def _refuse_mixed_cells(path: Path, names: list[str], reading: Reading) -> None:
    fastexcel = extra_package("fastexcel", "Reading Excel files", "files")
    workbook = fastexcel.read_excel(path)
    sheet = chosen_sheet(workbook, path, reading)
    for name in names:
        try:
            workbook.load_sheet(sheet, use_columns=[name], schema_sample_rows=None, dtype_coercion="strict")
        except fastexcel.UnsupportedColumnTypeCombinationError:
            raise InputError(
                f"Column {name!r} of {path} mixes kinds of cells, such as the number 5 and the text 5, which a reader "
                "can tell apart: make them one kind, or check a text file."
            ) from None


def _codes(path: Path, names: list[str]) -> pl.DataFrame:
    """Each cell spelled out; kinds of missing that the file declares are codes or letters."""
    pyreadstat = extra_package("pyreadstat", "Reading Stata, SPSS and SAS files", "files")
    kind = STATISTICAL[path.suffix.lower()]
    options = {} if kind == "xport" else {"user_missing": True}
    columns = getattr(pyreadstat, f"read_{kind}")(path, usecols=names, output_format="dict", **options)[0]
    spelled = {name: [None if cell is None else repr(cell) for cell in columns[name]] for name in names}
    return pl.DataFrame(spelled, schema=dict.fromkeys(names, pl.String))
