"""Tables in and out: one door for delimited text, Parquet, Arrow, Excel, Stata, SPSS, SAS and SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from shoal import events
from shoal.catalogue import Chunks, Registry
from shoal.data import hidden_content, sql
from shoal.data.clean_copy import made_anew
from shoal.data.codebook import Codebook
from shoal.data.csv_files import read_delimited, write_delimited
from shoal.data.dialects import Dialect
from shoal.data.forms import Forms
from shoal.data.frames import check_names, finite
from shoal.data.ordered_categories import with_orders
from shoal.data.paths import atomic_write, check_readable, is_sql, reason, same_path
from shoal.data.reading import Reading, ReadingChoices
from shoal.data.sheets import read_excel
from shoal.data.stated_values import as_stated
from shoal.data.statistical_files import (
    inspect_statistical,
    long_integers_as_text,
    read_statistical,
    write_statistical,
)
from shoal.data.workbook import inspect_excel
from shoal.errors import InputError, ShoalError, extra_package

EXCEL_ROWS = 1_048_576
EXCEL_TEXT = 32_767  # characters of a cell, as UTF-16 counts them
NO_TIME = dt.datetime(1980, 1, 1)


@events.apart
def read_table(
    source: str | Path,
    reading: Reading | None = None,
    *,
    header: bool = True,
    needed: Collection[str] | None = None,
    as_it_stands: Collection[str] = (),
    forms: Forms | None = None,
    **choices: Unpack[ReadingChoices],
) -> pl.DataFrame:
    """The table in a file of a format known by its suffix, or in a database (`sqlite:///file.db#table`).

    How it is read is given as a whole (`reading`) or by its keys (`Reading`), which win. Where only some columns are
    `needed`, the others may be left as text. NaN is missing but in columns that are taken `as_it_stands`.
    In which `forms` a text file writes dates and amounts is put down there; of other files, of what is stated of them.
    """
    reading = Reading.of(choices).over(reading or Reading())
    forms = forms or Forms(reading)
    if is_sql(source):
        if reading.sheet is not None:
            raise InputError(f"Sheets are of workbooks, and {source} is none: leave out --read sheet.")
        label = f"The table {str(source).rpartition('#')[2]!r}"
        return _stated(sql.read_sql(str(source)), reading, forms, label, needed, as_it_stands)
    path = Path(source)
    check_readable(path)
    known = format_of(path)
    if reading.sheet is not None and known.read is not read_excel:
        raise InputError(f"Sheets are of workbooks, and {path} is none: leave out --read sheet.")
    if known.read is read_delimited:
        return read_delimited(path, reading, header=header, needed=needed, as_it_stands=as_it_stands, forms=forms)
    try:
        if known.read is read_excel:
            stays = {*reading.text, *as_it_stands}
            frame = read_excel(path, reading, forms=forms, text=stays, needed=needed)
        else:
            frame = known.read(path)
    except ShoalError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a damaged file makes what reads it raise anything
        raise InputError(f"{path} cannot be read: {reason(error)}. Fetch it or write it anew.") from error
    return _stated(frame, reading, forms, str(path), needed, as_it_stands)


def _stated(
    frame: pl.DataFrame, reading: Reading, forms: Forms, label: str, needed: Collection[str] | None,
    as_it_stands: Collection[str],
) -> pl.DataFrame:  # fmt: skip
    """A table whose file knows its types, with what is stated of its values."""
    check_names(frame.columns, label)
    if frame.is_empty():
        raise InputError(f"{label} holds no records, only column names: give a table with records.")
    text = forms.held(reading.text, frame.columns, label)
    frame = as_stated(frame, forms, label, text, needed)
    return finite(frame.with_columns(pl.col(list(text)).cast(pl.String)), as_it_stands=as_it_stands)


def write_table(
    frame: pl.DataFrame,
    target: str | Path,
    *,
    overwrite: bool = False,
    private: bool = False,
    before_commit: Callable[[Path], object] | None = None,
    book: Codebook | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Write the table to a file or an SQL table, whole or not at all; a `private` file is its owner's alone.

    What is there already is refused, unless it is to be replaced (`overwrite`).

    `before_commit` is given what was written, as a file that `read_table` reads, before it takes the target's
    place; if it raises, nothing is left. Before that the file's bytes are looked at: nothing may stand in them that
    no row shows (`shoal.data.hidden_content`). The `book` labels what SPSS and Stata files show of its columns, the
    `dialect` is how a text file is laid out where its name alone does not say it.
    """
    if is_sql(target):
        sql.write_sql(frame, str(target), overwrite=overwrite, before_commit=before_commit)
        return
    path = Path(target)
    known = format_of(path)
    if known.write is None:
        raise InputError(f"Files ending in {path.suffix} can be read, not written: write .csv, .parquet or .xlsx.")
    with atomic_write(path, private=private, overwrite=overwrite) as partial:
        try:
            _write(known, frame, partial, book, dialect)
        except (ShoalError, OSError):
            raise
        except Exception as error:  # a type or name that the format does not know, in the package's own words
            raise InputError(f"{path} cannot be written: {reason(error)}.") from error
        events.apart(known.inspect)(partial)
        if before_commit:
            before_commit(partial)


@events.apart
def _write(known: Format, frame: pl.DataFrame, path: Path, book: Codebook | None, dialect: Dialect | None) -> None:
    assert known.write is not None
    if known.is_text:
        write_delimited(frame, path, dialect)
        return
    if known.write is write_statistical:
        write_statistical(made_anew(frame), path, book)
        return
    known.write(made_anew(frame), path)


def same_file(a: str | Path, b: str | Path) -> bool:
    """Do both names lead to the same file or SQL table, by links or otherwise; or is one the other's database?"""
    if is_sql(a) or is_sql(b):
        if is_sql(a) and is_sql(b):
            return sql.same_table(str(a), str(b))
        address, path = (str(a), b) if is_sql(a) else (str(b), a)
        return (database := sql.file_of(address)) is not None and same_path(database, path)
    return same_path(a, b)


def is_delimited(source: str | Path) -> bool:
    """Whether the source is a file of delimited text, by its name."""
    return not is_sql(source) and format_of(Path(source)).read is read_delimited


def format_of(path: Path) -> Format:
    """The format of a file, by how its name ends; refused where no format has such names."""
    for known in FORMATS.loaded().values():
        if path.name.lower().endswith(known.suffixes):
            return known
    suffixes = ", ".join(suffix for known in FORMATS.values() for suffix in known.suffixes)
    raise InputError(f"The format of {path} is not known by its name; it should end in one of {suffixes}.")


def read_parquet(path: Path) -> pl.DataFrame:
    """A Parquet file, with the orders of categories that it states."""
    return with_orders(pl.read_parquet(path, glob=False), [path], "parquet")


def read_arrow(path: Path) -> pl.DataFrame:
    """An Arrow file, with the orders of categories that it states."""
    return with_orders(pl.read_ipc(path), [path], "arrow")


def scan_parquet(files: list[Path]) -> pl.LazyFrame:
    """Parquet files as one table that is not yet read."""
    return with_orders(pl.scan_parquet(files), files, "parquet")


def scan_arrow(files: list[Path]) -> pl.LazyFrame:
    """Arrow files as one table that is not yet read."""
    return with_orders(pl.scan_ipc(files), files, "arrow")


def write_arrow(frame: pl.DataFrame, path: Path) -> None:
    """Writes an Arrow file with texts one after the other, not as views into buffers that others may share."""
    frame.write_ipc(path, compat_level=pl.CompatLevel.oldest())


def write_excel(frame: pl.DataFrame, path: Path) -> None:
    """Writes a workbook: texts as texts, whatever they look like; without the time of writing."""
    xlsxwriter = extra_package("xlsxwriter", "Writing Excel files", "files")
    if frame.height >= EXCEL_ROWS:
        raise InputError(f"{frame.height} records are more than an Excel sheet holds: write .parquet or .csv.")
    refuse_long_texts(frame)
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "default_date_format": "yyyy-mm-dd;@"}
    with xlsxwriter.Workbook(path, plain | {"tmpdir": str(path.parent)}) as book:  # its parts go with the unfinished
        book.set_properties({"created": NO_TIME})
        long_integers_as_text(frame).write_excel(book, autofilter=False)


def refuse_long_texts(frame: pl.DataFrame) -> None:
    """Refuses texts that are longer than a cell of Excel, which would cut them short."""
    for column in frame.select(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)):
        long = column.str.len_bytes().fill_null(0) > EXCEL_TEXT  # few, if any: only these are looked at closely
        for row in long.arg_true():
            if len(column[row].encode("utf-16-le")) > 2 * EXCEL_TEXT:
                raise InputError(
                    f"Column {column.name!r} has a text of {len(column[row]):,} characters in row {row + 2}: a cell "
                    f"of Excel holds {EXCEL_TEXT:,}. Write .csv or .parquet, or leave the column out."
                )


_AT_ONCE = Chunks(instead="write the table as Parquet or CSV", because="such a file is read at once")


@dataclass(frozen=True)
class Format:
    """A file format: its word, a sentence, how its names end, how it is read, written (None: it is not), inspected."""

    name: str
    sentence: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], pl.DataFrame]
    write: Callable[[pl.DataFrame, Path], Any] | None
    inspect: Callable[[Path], None]  # raises if the file's bytes hold what no row shows
    in_chunks: Chunks = _AT_ONCE
    suffixes_in_chunks: tuple[str, ...] = ()  # of files that are read so
    scan: Callable[[list[Path]], pl.LazyFrame] | None = None  # how; delimited text has a way of its own

    def listing(self) -> dict[str, Any]:
        """What it says of itself, for a listing."""
        return {
            "name": self.name, "sentence": self.sentence, "suffixes": list(self.suffixes),
            "written": self.write is not None, "in_chunks": self.in_chunks.how or None,
        }  # fmt: skip

    @property
    def is_text(self) -> bool:
        """Whether its files are lines and nothing else, so that nothing but values can get into them."""
        return self.write is write_delimited


FORMATS: Registry[Format] = Registry("format")
for _known in (
    Format(
        "csv", "Delimited text.", (".csv", ".tsv", ".txt"), read_delimited, write_delimited, hidden_content.nothing,
        Chunks(".csv files of commas, read and written"), (".csv",),
    ),
    Format(
        "gzip", "Delimited text, compressed.", (".csv.gz", ".tsv.gz", ".txt.gz"), read_delimited, write_delimited,
        hidden_content.inspect_gzip,
    ),
    Format(
        "parquet", "Parquet.", (".parquet", ".pq"), read_parquet, pl.DataFrame.write_parquet,
        hidden_content.inspect_parquet, Chunks(".parquet files, read and written"), (".parquet",), scan_parquet,
    ),
    Format(
        "arrow", "Arrow.", (".arrow", ".feather", ".ipc"), read_arrow, write_arrow, hidden_content.inspect_arrow,
        Chunks("read on disk"), (".arrow", ".feather", ".ipc"), scan_arrow,
    ),
    Format("excel", "A workbook of Excel.", (".xlsx",), read_excel, write_excel, inspect_excel),
    Format("spreadsheet", "Older workbooks.", (".xls", ".ods"), read_excel, None, hidden_content.inspect_unknown),
    Format(
        "statistical", "Stata, SPSS and SAS transport.", (".dta", ".sav", ".zsav", ".xpt"), read_statistical,
        write_statistical, inspect_statistical,
    ),
    Format("sas", "SAS data sets.", (".sas7bdat",), read_statistical, None, inspect_statistical),
):  # fmt: skip
    FORMATS.add(_known, __name__)
