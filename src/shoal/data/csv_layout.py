"""Delimited text before it is parsed: encoding, delimiter, column names, records, and where it is broken."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import dropwhile, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.data.decoded import BLOCK, bad_byte, utf8_source
from shoal.data.frames import check_names, numbered
from shoal.data.headings import HEAD, refuse_record
from shoal.data.reading import AS_IT_SEEMS, NUMBER_THEM, Reading
from shoal.errors import InputError

DELIMITERS = ",;\t|"
TYPED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}  # as they are typed in a shell


@dataclass(frozen=True)
class TextFile:
    """A delimited file in UTF-8 and its layout."""

    label: str  # what messages call it
    source: Path | bytes  # the file itself or, where it had to be decoded, its content
    delimiter: str
    header: bool
    names: tuple[str, ...] = ()
    blank_led: bool = False  # a blank follows each delimiter

    def open(self) -> io.TextIOWrapper:
        """The text, from its beginning, line ends as they are."""
        stream = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")
        return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    def head(self) -> bytes:
        """The first bytes."""
        if isinstance(self.source, bytes):
            return self.source[:BLOCK]
        with self.source.open("rb") as stream:
            return stream.read(BLOCK)

    def content(self) -> npt.NDArray[np.uint8]:
        """All bytes; those of a file are mapped, not read."""
        if isinstance(self.source, bytes):
            return np.frombuffer(self.source, dtype=np.uint8)
        return np.asarray(np.memmap(self.source, dtype=np.uint8, mode="r"))


def laid_out(
    path: Path,
    reading: Reading = AS_IT_SEEMS,
    header: bool = True,
    source: Path | bytes | None = None,
    *,
    as_it_stands: bool = False,
) -> TextFile:
    """The text, its delimiter and the column names, from the first records; `source` is what is UTF-8 already.

    Blanks that follow each delimiter are taken out, unless all is to be left `as_it_stands`.
    """
    source = utf8_source(path, reading.encoding) if source is None else source
    delimiter = delimiter_of(reading)
    file = TextFile(str(path), source, delimiter or ",", header)
    if delimiter is None:
        file = replace(file, delimiter=likely_delimiter(file))
    if file.delimiter != " " and has_blank_led_fields(file):
        file = replace(file, blank_led=True, source=file.source if as_it_stands else without_leading_blanks(file))
    first, below = _first_lines(file)
    if first is None:
        raise InputError(f"{path} is empty: give a line of column names and one for each record.")
    names = tuple(first) if header else tuple(f"column_{i + 1}" for i in range(len(first)))
    if file.blank_led:
        names = tuple(name.lstrip(" ") for name in names)
    if header and reading.names is None:
        refuse_record(names, below, str(path))
    names = tuple(numbered(names)) if reading.names == "numbered" else names
    check_names(names, str(path), NUMBER_THEM)
    return replace(file, names=names)


def _first_lines(file: TextFile) -> tuple[list[str] | None, list[list[str]]]:
    """The first line that has fields, if any, and some of those below; what is broken there is told later."""
    lines = (fields for _, fields in records(file) if fields)
    try:
        first = next(lines, None)
    except csv.Error as error:
        raise broken_quoting(error) from None
    below: list[list[str]] = []
    with suppress(csv.Error, InputError):
        below.extend(islice(lines, HEAD))
    return first, below


def delimiter_of(reading: Reading) -> str | None:
    """The delimiter that is stated, as the character it is."""
    delimiter = TYPED.get(reading.delimiter or "", reading.delimiter)
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise InputError(f"A delimiter is one character such as ',' or ';'. Got {delimiter!r} instead.")
    return delimiter


def likely_delimiter(file: TextFile) -> str:
    """The one by which most of the first records have as many fields as the very first, if more than one."""

    def agreement(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            for _, fields in islice(records(replace(file, delimiter=delimiter)), HEAD):
                widths.extend([len(fields)] if fields else [])
        except csv.Error:  # quotes make no sense by this delimiter, or break further down: judge by what was read
            pass
        if not widths or widths[0] == 1:
            return 0.0, 1
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(DELIMITERS, key=agreement)


_QUOTED = r'"(?:[^"]|"")*"'


def has_blank_led_fields(file: TextFile) -> bool:
    """Whether in the first records a blank follows every delimiter that has a value behind it, and there is one."""
    text = file.head().decode(errors="ignore")
    lines = re.sub(_QUOTED, "q", text).splitlines()[: HEAD + 1]
    shown, sign = "\n".join(lines[1:] if file.header and len(lines) > 1 else lines), re.escape(file.delimiter)
    return re.search(f"{sign} +[^ \n{sign}]", shown) is not None and not re.search(f"{sign}[^ \n{sign}]", shown)


def without_leading_blanks(file: TextFile) -> bytes:
    """The text with no blanks behind delimiters, but for those within quotes."""
    sign, content = file.delimiter.encode(), bytes(file.content())
    spaced = re.compile(re.escape(sign) + b" +")
    if b'"' not in content:
        return spaced.sub(sign, content)
    quoted = re.compile(_QUOTED.encode() + b"|" + spaced.pattern)
    return quoted.sub(lambda part: part[0] if part[0].startswith(b'"') else sign, content)


def records(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """The records of the file with the line each begins on, read slowly and strictly; a blank line has no fields."""
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            taken.append(line)
            yield line

    start = 1
    with file.open() as text:
        reader = csv.reader(lines(), delimiter=file.delimiter, strict=True)
        try:
            for fields in reader:
                if sum(line.count('"') for line in taken) % 2:
                    raise csv.Error("a quote stands within a field that does not begin with one")
                yield start, fields
                start = reader.line_num + 1
                taken.clear()
        except csv.Error as error:
            raise csv.Error(f"Line {start} of {file.label} has broken quoting: {error}") from None
        except UnicodeDecodeError:
            raise not_utf8(file) from None


def data_records(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """The records below the header, blank lines included, as Polars counts them."""
    everything = records(file)
    if file.header:
        everything = dropwhile(lambda record: not record[1], everything)
    return islice(everything, int(file.header), None)


def line_of(file: TextFile, row: int) -> int:
    """The line on which record number `row` (from 0) begins."""
    kept = (line for line, fields in data_records(file) if fields or len(file.names) == 1)
    return next(islice(kept, row, None))


def check_widths(file: TextFile) -> None:
    """Refuses the first record that has more or fewer fields than there are columns, by its line."""
    for line, fields in data_records(file):
        if fields and len(fields) != len(file.names):
            raise InputError(
                f"Line {line} of {file.label} has {len(fields)} fields instead of {len(file.names)}: "
                "correct it, or name the delimiter if it is not " + repr(file.delimiter) + "."
            )


def broken_quoting(error: csv.Error) -> InputError:
    """The error of a file whose quotes do not pair up."""
    return InputError(f"{error}. Put the field in quotes and double the quotes within it.")


def not_utf8(file: TextFile) -> InputError:
    """The error of a file that claims to be UTF-8, with the place of the first byte that is not."""
    content = bytes(file.content())
    try:
        content.decode()
    except UnicodeDecodeError as error:
        where = bad_byte(content, error.start)
        return InputError(
            f"{file.label} is not UTF-8: {where}. Name its encoding, for example --read encoding=latin-1."
        )
    raise AssertionError("called only for what is not UTF-8")


def nul_byte(file: TextFile) -> InputError:
    """The error of a file with a NUL byte, with its line."""
    content = file.content()
    line = np.count_nonzero(content[: np.argmin(content)] == ord("\n")) + 1
    return InputError(
        f"{file.label} is not plain text: line {line} holds a NUL byte. "
        "If it is UTF-16, name that with --read encoding=utf-16."
    )
