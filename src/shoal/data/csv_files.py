"""Delimited text (CSV, TSV): its layout, its fast parse by Polars, and where it is broken.

Delimiter, encoding and decimal mark are given or seen in the first records. A large file costs one parse by
Polars and one look at its bytes: columns that hold plain numbers at the head are parsed as numbers at once;
all others come as text and are typed whole (`text_types`). Only what that cannot settle, such as the line of
an error or a number that turns up as a word further down, is read again.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.csv_layout import (
    TYPED,
    TextFile,
    broken_quoting,
    check_widths,
    data_records,
    delimiter_of,
    laid_out,
    line_of,
    nul_byte,
)
from shoal.data.decoded import BLOCK, encoding_note, is_utf8, seen_encoding, understood, utf8_source
from shoal.data.dialects import WRITTEN, Dialect, named_by, write_text
from shoal.data.forms import Forms
from shoal.data.frames import finite
from shoal.data.kinds import stays_codes
from shoal.data.odd_cells import read_as
from shoal.data.reading import AS_IT_SEEMS, OF_VALUES, Reading, ReadingChoices
from shoal.data.text_types import (
    MixedColumnError,
    as_numbers,
    count_zero_led,
    decimal_mark,
    likely_type,
    with_empty_missing,
)
from shoal.errors import InputError

SAMPLE = 10_000  # records that show which columns to parse as numbers


def read_delimited(
    path: Path,
    reading: Reading = AS_IT_SEEMS,
    *,
    header: bool = True,
    needed: Collection[str] | None = None,
    as_it_stands: Collection[str] = (),
    forms: Forms | None = None,
) -> pl.DataFrame:
    """The table in a delimited text file; columns not `needed` are left as text.

    Those taken `as_it_stands` are text where they mix numbers or dates with something else. In which `forms` dates and
    amounts are written is put down there.
    """
    file, forms = laid_out(path, reading, header), Forms(reading) if forms is None else forms
    text = forms.held(reading.text, file.names, file.label)
    forms.refuse_unknown(file.names, file.label)
    zero_led = count_zero_led_fields(file)
    sample = parse_as_text(file, rows=SAMPLE)
    decimal = reading.every_decimal or likely_decimal(file, sample)
    frame = parse(file, plain_number_types(sample, decimal, reading))
    frame = with_zeros_kept(frame, file, zero_led)
    frame = without_blank_lines(frame, file)
    if frame.is_empty():
        raise InputError(f"{file.label} holds no records, only column names: give a table with records.")
    if needed is not None:  # of the others it does not matter what their texts are
        text = (*text, *(name for name in file.names if name not in needed))
    frame = with_types(frame, file, decimal, text, as_it_stands, forms)
    return finite(frame, lambda row: f"line {line_of(file, row)}")


def likely_decimal(file: TextFile, sample: pl.DataFrame) -> str:
    """A comma that parts the fields is no decimal mark."""
    return "." if file.delimiter == "," else decimal_mark(sample)


def decimal_in(path: Path, reading: Reading) -> str:
    """The decimal mark by which `read_delimited` reads the file."""
    if (stated := reading.every_decimal) is not None:
        return stated
    file = laid_out(path, reading)
    return likely_decimal(file, parse_as_text(file, rows=SAMPLE))


def settled(path: Path, reading: Reading) -> Reading:
    """How the file is read: as stated, and what was seen in it where that is not UTF-8, commas and decimal points."""
    file = laid_out(path, reading)
    seen: ReadingChoices = {}
    if file.delimiter != ",":
        seen["delimiter"] = next((word for word, sign in TYPED.items() if sign == file.delimiter), file.delimiter)
    if file.delimiter != "," and likely_decimal(file, parse_as_text(file, rows=SAMPLE)) == ",":
        seen["decimal"] = ","
    if reading.encoding is None and not is_utf8(encoding := understood(path).encoding):
        seen["encoding"] = encoding
    return reading.over(Reading.of(seen))


def dialect_of(path: Path, reading: Reading) -> Dialect:
    """How the file is laid out, as stated and as seen in it."""
    encoding = reading.encoding or understood(path).encoding
    return Dialect(laid_out(path, reading).delimiter, encoding, decimal_in(path, reading))


def of_release(path: Path, reading: Reading) -> Reading:
    """How a released file is read whose original is read so: it is laid out alike, unless it shows another layout.

    A file that is UTF-8 throughout, or has a mark, shows its encoding; decimals have points where commas part fields.
    """
    seen = seen_encoding(path)
    stated = {key: value for key, value in reading.chosen().items() if key in ("names", *OF_VALUES, *WRITTEN)}
    if seen is not None and seen.encoding.startswith("utf"):
        stated.pop("encoding", None)
    file = TextFile(str(path), utf8_source(path, stated.get("encoding")), delimiter_of(reading) or ",", header=True)
    if "delimiter" in stated and file.delimiter not in next((line for line in file.open() if line.strip()), ""):
        del stated["delimiter"]
    if "decimal" in stated and laid_out(path, Reading(**stated)).delimiter == ",":
        stated |= reading.of_values()
    return Reading(**stated)


def assumed(path: Path, reading: Reading) -> tuple[str, ...]:
    """What was assumed of the file and may be wrong, in sentences."""
    notes = encoding_note(path) if reading.encoding is None else ()
    file = laid_out(path, reading)
    if file.blank_led:
        notes += (f"In {path.name} a blank follows each {file.delimiter!r}: it is no part of the values.",)
    return notes


def as_written(
    path: Path, names: Sequence[str], reading: Reading = AS_IT_SEEMS, *, as_it_stands: bool = False
) -> pl.DataFrame:
    """The text of these columns as it stands in the file: an empty field is null, a quoted empty one the empty text.

    Blanks that follow each delimiter belong to it, unless all is to be taken `as_it_stands`.
    """
    file = laid_out(path, reading, as_it_stands=as_it_stands)
    last = file.names[-1]
    few = parse_as_text(file, only={*names, last}) if len(file.names) > 1 else None
    if few is not None:
        few = few.head(few.height - trailing_blank_lines(file))
        if not few[last].null_count():  # every line is whole
            return few.select(names)
    return without_blank_lines(parse_as_text(file), file).select(names)


def write_delimited(frame: pl.DataFrame, path: Path, dialect: Dialect | None = None) -> None:
    """Writes a text file, quoted only where needed; by its name tabs for .tsv, commas otherwise; compressed for .gz."""
    write_text(with_short_times(frame), path, dialect or named_by(path))


def with_short_times(frame: pl.DataFrame) -> pl.DataFrame:
    """Dates with times as text of ISO 8601, with no more digits of a second than each needs."""

    def text(name: str, dtype: pl.Datetime) -> pl.Expr:
        return pl.col(name).dt.to_string(f"%Y-%m-%dT%H:%M:%S%.f{'%:z' if dtype.time_zone else ''}")

    return frame.with_columns(text(name, of) for name, of in frame.schema.items() if isinstance(of, pl.Datetime))


def scan_written(
    path: Path,
    schema: Mapping[str, pl.DataType],
    *,
    empty_is_missing: bool = False,
    dialect: Dialect | None = None,
) -> pl.LazyFrame:
    """What `write_delimited` has written, of these types, read when asked for."""
    dialect = dialect or named_by(path)
    return pl.scan_csv(
        utf8_source(path, dialect.encoding),  # a column called x^2 would pass for a compressed file
        separator=dialect.delimiter,
        has_header=False,  # the header's names Polars may misread
        skip_rows=1,
        schema=schema,
        null_values="" if empty_is_missing else None,
        glob=False,
    )


_FORMULA = r"^'*[=+\-@\t\r]"  # what a spreadsheet may carry out
_NUMBER = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)? *$"


def disarmed(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before each text that a spreadsheet would take for a formula; numbers stay.

    A text that has apostrophes before one gets one more, so that who takes one away has the text back.
    """
    if names := [name for name in frame.columns if re.match(_FORMULA, name)]:
        raise InputError(f"The column name {names[0]!r} begins like a formula, and it cannot be disarmed: rename it.")

    def safe(text: pl.Expr) -> pl.Expr:
        armed = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
        return pl.when(armed).then(pl.concat_str(pl.lit("'"), text)).otherwise(text)

    texts = [name for name, dtype in frame.schema.items() if dtype in (pl.String, pl.Categorical, pl.Enum)]
    return frame.with_columns(safe(pl.col(name).cast(pl.String)).alias(name) for name in texts)


def parse(file: TextFile, types: list[type[pl.DataType]]) -> pl.DataFrame:
    """One fast parse; where a number turns up as a word further down, another with all columns as text."""
    try:
        return parsed(file, types)
    except pl.exceptions.PolarsError:
        return parse_as_text(file)


def parse_as_text(file: TextFile, rows: int | None = None, only: Collection[str] | None = None) -> pl.DataFrame:
    """All columns, or `only` these, as text."""
    try:
        return parsed(file, [pl.String] * len(file.names), rows, only)
    except pl.exceptions.PolarsError as error:
        raise fault(file, error) from None


def parsed(
    file: TextFile, types: list[type[pl.DataType]], rows: int | None = None, only: Collection[str] | None = None
) -> pl.DataFrame:
    """One parse by Polars with these types of columns, of the first `rows` or all, of all columns or `only` some."""
    chosen = [number for number, name in enumerate(file.names) if only is None or name in only]
    frame = pl.read_csv(
        file.source,
        separator=file.delimiter,
        has_header=file.header,
        columns=None if only is None else chosen,
        schema_overrides=types,
        infer_schema=False,
        n_rows=rows,
        glob=False,
    )
    frame.columns = [file.names[number] for number in chosen]  # Polars leaves doubled quotes in names as they are
    return frame


def plain_number_types(sample: pl.DataFrame, decimal: str, reading: Reading) -> list[type[pl.DataType]]:
    """The types to parse columns by: numbers for those that at the head hold nothing else, otherwise text."""

    def plain(column: pl.Series) -> type[pl.DataType]:
        own_mark = isinstance(reading.decimal, dict) and column.name in reading.decimal
        if own_mark or column.name in reading.text or reading.missing_words(column.name):
            return pl.String
        kind = likely_type(column, decimal)
        parsable = kind == pl.Int64 or (kind == pl.Float64 and decimal == ".")
        parsable = parsable and not (kind == pl.Float64 and stays_codes(column, as_numbers(column, decimal)))
        return kind if parsable and column.cast(kind, strict=False).count() == column.count() else pl.String

    return [plain(column) for column in sample]


def count_zero_led_fields(file: TextFile) -> int:
    """Fields that begin with a zero and another digit, by one look at all bytes; a NUL byte ends it."""
    delimiter, quote, newline, zero = (ord(c) for c in f'{file.delimiter}"\n0')
    content = file.content()
    count = 0
    for start in range(0, len(content), BLOCK):
        block = content[max(start - 2, 0) : start + BLOCK]  # two bytes back: a field may begin across the edge
        if not block.all():
            raise nul_byte(file)
        before, here, after = block[:-2], block[1:-1], block[2:]
        begins = (before == delimiter) | (before == newline) | (before == quote)
        count += int(np.count_nonzero(begins & (here == zero) & (after - zero < 10)))
    return count


def with_zeros_kept(frame: pl.DataFrame, file: TextFile, zero_led: int) -> pl.DataFrame:
    """Columns parsed as numbers that turn out to hold codes with leading zeros, as text after all.

    Only when the bytes hold more leading zeros than the text columns do, the file is read again to find them.
    """
    numbers = [column.name for column in frame if column.dtype != pl.String]
    in_text = sum(count_zero_led(column) for column in frame if column.dtype == pl.String)
    if not numbers or zero_led == in_text:
        return frame
    again = parse_as_text(file).select(numbers)
    return frame.with_columns(column for column in again if count_zero_led(column))


def without_blank_lines(frame: pl.DataFrame, file: TextFile) -> pl.DataFrame:
    """Polars fills up short lines with nulls: a blank line is no record, any other short line is an error."""
    if len(file.names) == 1:  # here a blank line is a record whose only value is missing
        return frame
    frame = frame.head(frame.height - trailing_blank_lines(file))
    if not frame.to_series(-1).null_count() or has_whole_records(frame, file):
        return frame
    try:
        check_widths(file)
        blank = [not fields for _, fields in data_records(file)]
    except csv.Error as error:
        raise broken_quoting(error) from None
    return frame.filter(~pl.Series(blank[: frame.height], dtype=pl.Boolean))


def has_whole_records(frame: pl.DataFrame, file: TextFile) -> bool:
    """Whole records hold one delimiter less than they have fields, apart from delimiters within quotes."""
    content = file.content()
    delimiters = sum(
        int(np.count_nonzero(content[start : start + BLOCK] == ord(file.delimiter)))
        for start in range(0, len(content), BLOCK)
    )
    texts = [column for column in frame if column.dtype == pl.String]
    quoted = sum(int(column.str.count_matches(file.delimiter, literal=True).sum()) for column in texts)
    if file.header:
        quoted += sum(name.count(file.delimiter) for name in file.names)
    return delimiters == (frame.height + file.header) * (frame.width - 1) + quoted


def trailing_blank_lines(file: TextFile) -> int:
    """Blank lines at the very end, which some tools leave."""
    tail = bytes(file.content()[-BLOCK:]).replace(b"\r", b"")
    return max(len(tail) - len(tail.rstrip(b"\n")) - 1, 0)


def with_types(
    frame: pl.DataFrame, file: TextFile, decimal: str, text: Collection[str], may_mix: Collection[str], forms: Forms
) -> pl.DataFrame:
    """The table with each column that came as text typed by what it holds, unless it is to stay text."""

    def settled(column: pl.Series) -> pl.Series:
        if column.dtype != pl.String:
            return forms.runs(column) if column.dtype == pl.Int64 and column.name not in text else column
        column = forms.known(column)
        if column.name in text:
            return with_empty_missing(column)

        def read(words: pl.Series) -> pl.Series:
            try:
                return forms.read(words, forms.reading.of_column("decimal", words.name) or decimal)
            except MixedColumnError:
                if words.name in may_mix:
                    return with_empty_missing(words)
                raise

        return read_as(column, read, lambda row: f"line {line_of(file, row)}", forms, file.label)

    return frame.with_columns(settled(column) for column in frame)


def fault(file: TextFile, error: pl.exceptions.PolarsError) -> InputError:
    """The error of a file that Polars cannot parse even as text: what is wrong, and where."""
    try:
        check_widths(file)
    except csv.Error as quoting:
        return broken_quoting(quoting)
    return InputError(f"{file.label} cannot be read as delimited text: {str(error).splitlines()[0]}.")
