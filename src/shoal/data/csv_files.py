"""Delimited text (CSV, TSV): its layout, the types of its columns, and where it is broken.

Layout (delimiter, encoding, decimal mark) is given or seen in the first records. Types are settled in two steps,
so that a large file costs one parse by Polars: columns that hold plain numbers at the head are parsed as numbers
at once; all others come as text and are judged whole by the same rules:

- A column is Boolean, date, date and time (ISO 8601), integer or float when each of its known values is.
- Missing are empty cells, quoted or not, and in columns that are not text also NA, N/A, NaN, nan, null, NULL,
  None and a lone point. In text columns such words are values: NA is Namibia, Null a surname.
- Codes stay text: a leading zero (ZIP 01234), integers beyond 64 bits, masked values ([24;28], {a;b}, 937**, *, 85+).
- A column at least half of whose known values are numbers (or dates) and the rest is anything else is an error.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import check_names, finite
from shoal.errors import InputError, did_you_mean

DELIMITERS = ",;\t|"
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."]
TRUTHS = ["true", "True", "TRUE"]
FALSEHOODS = ["false", "False", "FALSE"]

MASKED = r"^\[.*;.*\]$|^\{.*\}$|\*$|^\d+\+$"
ZERO_LED = r"^0\d"
ISO_DATE = r"^\d{4}-\d{2}-\d{2}"
WHOLE = r"^[+-]?\d+$"
FRACTION = {",": r"^[+-]?\d*,(\d{1,2}|\d{4,})$", ".": r"^[+-]?\d*\.\d+$"}  # 1,234 may be a thousand: no evidence

HEAD = 100  # records that show the delimiter
SAMPLE = 10_000  # records that show which columns to parse as numbers
BLOCK = 1 << 18  # bytes looked at together: few enough to stay in the cache


@dataclass(frozen=True)
class TextFile:
    """A delimited file in UTF-8 and its layout; `source` is the file itself or, where it had to be decoded, its bytes."""

    label: str
    source: Path | bytes
    delimiter: str
    header: bool
    names: list[str]


@dataclass(frozen=True)
class Marks:
    """How often bytes that matter occur in a file."""

    delimiters: int
    quotes: int
    zero_led: int  # fields that begin with a zero and another digit


@dataclass(frozen=True)
class Facts:
    """How many values of a text column are known, and how many of those look like what."""

    known: int
    empty: int
    booleans: int
    masked: int
    dates: int
    zero_led: int
    integers: int
    numbers: int


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    text: Collection[str] = (),
    header: bool = True,
) -> pl.DataFrame:
    """The table in a delimited text file, its columns typed by the rules above; `text` names columns left as text."""
    file = laid_out(str(path), utf8_source(path, encoding), delimiter, header)
    for name in text:
        if name not in file.names:
            raise InputError(f"{file.label} has no column {name!r} to read as text.{did_you_mean(name, file.names)}")
    marks = count_marks(file)
    sample = parse_text(file, rows=SAMPLE)
    mark = decimal or decimal_mark(sample, file.delimiter)
    frame = parse(file, plain_numbers(sample, mark, text))
    frame = with_zeros_kept(frame, file, marks)
    frame = without_blank_lines(frame, file, marks)
    if frame.is_empty():
        raise InputError(f"{file.label} holds no records, only column names.")
    frame = typed(frame, mark, text, file)
    return finite(frame, lambda row: f"line {line_of(file, row)}")


def write_delimited(frame: pl.DataFrame, path: Path) -> None:
    """Quotes only where needed; tabs for .tsv, commas otherwise; compressed for .gz."""
    suffixes = [s.lower() for s in path.suffixes]
    frame.write_csv(
        path,
        separator="\t" if ".tsv" in suffixes[-2:] else ",",
        compression="gzip" if suffixes[-1] == ".gz" else "uncompressed",
    )


# Layout


def utf8_source(path: Path, encoding: str | None) -> Path | bytes:
    """The file itself when it is UTF-8 with line feeds, as most are; otherwise its content turned into that."""
    with path.open("rb") as stream:
        head = stream.read(1 << 16)
    if not head:
        raise InputError(f"{path} is empty.")
    if path.suffix.lower() == ".gz":
        content = unzipped(path)
        head = content[: 1 << 16]
    else:
        content = b""
    if encoding is None and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    if encoding is not None and not is_utf8(encoding):
        content = decoded(path, content or path.read_bytes(), encoding)
    if b"\r" in head and b"\n" not in head:
        content = (content or path.read_bytes()).replace(b"\r", b"\n")
    return content or path


def unzipped(path: Path) -> bytes:
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}).") from error
    if not content:
        raise InputError(f"{path} is empty.")
    return content


def is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")
    except LookupError:
        raise InputError(f"There is no encoding {encoding!r}; try latin-1, cp1252 or utf-16.") from None


def decoded(path: Path, content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = content.count(b"\n", 0, start) + 1
        raise InputError(
            f"{path} is not in the encoding {encoding!r}: line {line} holds the byte 0x{content[start]:02x}."
        ) from None


def laid_out(label: str, source: Path | bytes, delimiter: str | None, header: bool) -> TextFile:
    """Settle the delimiter and the column names from the first records."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
        raise InputError(f"The delimiter must be a single character such as ',' or ';'. Got {delimiter!r} instead.")
    file = TextFile(label, source, delimiter or likely_delimiter(label, source), header, names=[])
    try:
        first = next((fields for _, fields in records(file) if fields), None)
    except csv.Error as error:
        raise fault(file, error) from error
    if first is None:
        raise InputError(f"{label} is empty.")
    names = first if header else [f"column_{i}" for i in range(1, len(first) + 1)]
    check_names(names, label)
    return TextFile(label, source, file.delimiter, header, names)


def likely_delimiter(label: str, source: Path | bytes) -> str:
    """The delimiter by which most of the first records have as many fields as the first, and more than one."""

    def agreement(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            file = TextFile(label, source, delimiter, header=True, names=[])
            widths.extend(len(fields) for _, fields in islice(records(file), HEAD) if fields)
        except csv.Error:  # not a quoting that this delimiter makes sense of
            pass
        if not widths or widths[0] == 1:
            return 0.0, 1
        return widths.count(widths[0]) / len(widths), widths[0]

    candidates = "\t,;|" if ".tsv" in label.lower() else DELIMITERS
    return max(candidates, key=agreement)


def records(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it begins on, read slowly and strictly; a blank line is a record without fields."""
    stream = io.BytesIO(file.source) if isinstance(file.source, bytes) else file.source.open("rb")
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines:
        taken: list[str] = []
        reader = csv.reader((taken.append(line) or line for line in lines), delimiter=file.delimiter, strict=True)
        start = 1
        try:
            for fields in reader:
                if sum(line.count('"') for line in taken) % 2:
                    raise csv.Error("a quote within a field that is not quoted")
                yield start, fields
                start = reader.line_num + 1
                taken.clear()
        except UnicodeDecodeError:
            raise not_utf8(file) from None
        except csv.Error as error:
            raise csv.Error(f"line {start} of {file.label} has broken quoting ({error})") from None


def line_of(file: TextFile, row: int) -> int:
    """The line on which record number `row` (from 0) begins."""
    kept = (line for line, fields in records(file) if fields or len(file.names) == 1)
    return next(islice(kept, row + file.header, None))


# Parsing


def parse(file: TextFile, types: list[type[pl.DataType]]) -> pl.DataFrame:
    """One fast parse; where a number turns up as something else further down, one more with all columns as text."""
    try:
        return parsed(file, types)
    except pl.exceptions.PolarsError:
        return parse_text(file)


def parse_text(file: TextFile, *, rows: int | None = None, columns: list[int] | None = None) -> pl.DataFrame:
    try:
        return parsed(file, [pl.String] * len(columns or file.names), rows=rows, columns=columns)
    except pl.exceptions.PolarsError as error:
        raise fault(file, error) from error


def parsed(
    file: TextFile,
    types: list[type[pl.DataType]],
    *,
    rows: int | None = None,
    columns: list[int] | None = None,
) -> pl.DataFrame:
    frame = pl.read_csv(
        file.source,
        separator=file.delimiter,
        has_header=file.header,
        schema_overrides=types,
        columns=columns,
        n_rows=rows,
        infer_schema=False,
        glob=False,
    )
    frame.columns = [file.names[i] for i in columns] if columns else file.names
    return frame


def count_marks(file: TextFile) -> Marks:
    """One look at all bytes (a seventh of the time of parsing them); a NUL byte ends it."""
    delimiter, quote, newline, zero = (ord(c) for c in (file.delimiter, '"', "\n", "0"))
    delimiters = quotes = zero_led = 0
    content = content_of(file)
    for start in range(0, len(content), BLOCK):
        block = content[max(start - 2, 0) : start + BLOCK]  # two bytes again: a pattern may lie across the edge
        before, here, after = block[:-2], block[1:-1], block[2:]
        begins = (before == delimiter) | (before == newline) | (before == quote)
        zero_led += np.count_nonzero((here == zero) & (after - zero < 10) & begins)
        fresh = content[start : start + BLOCK]
        delimiters += np.count_nonzero(fresh == delimiter)
        quotes += np.count_nonzero(fresh == quote)
        if not fresh.all():
            at = start + int(np.argmin(fresh))
            line = np.count_nonzero(content[:at] == newline) + 1
            raise InputError(
                f"{file.label} is not a text file: line {line} holds a NUL byte. "
                "If it is UTF-16, say so with --encoding utf-16."
            )
    return Marks(delimiters, quotes, zero_led)


def content_of(file: TextFile) -> npt.NDArray[np.uint8]:
    if isinstance(file.source, bytes):
        return np.frombuffer(file.source, dtype=np.uint8)
    return np.asarray(np.memmap(file.source, dtype=np.uint8, mode="r"))


def with_zeros_kept(frame: pl.DataFrame, file: TextFile, marks: Marks) -> pl.DataFrame:
    """Columns parsed as numbers that turn out to hold codes with leading zeros, as text after all.

    Every such field that lies in a text column is counted; only when the bytes hold more of them are the number
    columns read again.
    """
    zeros = [int(frame[name].str.contains(ZERO_LED).sum()) for name in text_columns(frame)]
    numbers = [i for i, name in enumerate(file.names) if frame[name].dtype != pl.String]
    if not numbers or marks.zero_led == sum(zeros):
        return frame
    again = parse_text(file, columns=numbers)
    return frame.with_columns(c for c in again if c.str.contains(ZERO_LED).any())


def without_blank_lines(frame: pl.DataFrame, file: TextFile, marks: Marks) -> pl.DataFrame:
    """Polars gives a line with too few fields nulls: a blank line is no record, any other such line an error.

    In whole records the delimiters number one less than the columns, apart from those within quotes.
    """
    if len(file.names) == 1:  # here a blank line is a record whose only value is missing
        return frame
    frame = frame.head(max(frame.height - trailing_blank_lines(file), 0))
    if not frame[file.names[-1]].null_count():
        return frame
    quoted = frame.select(pl.col(pl.String).str.count_matches(file.delimiter, literal=True).sum()) if marks.quotes else None
    inside = sum(map(int, quoted.row(0))) if quoted is not None else 0
    rows = frame.height
    if file.header:
        inside += sum(name.count(file.delimiter) for name in file.names)
        rows += 1
    if marks.delimiters == rows * (len(file.names) - 1) + inside:
        return frame
    blank = np.array([not fields for fields in whole_records(file)], dtype=bool)[-frame.height :]
    return frame.filter(~blank)
