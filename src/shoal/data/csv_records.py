"""Delimited files too large for memory: whether they are made of whole records, by one look at their bytes in blocks.

Parsers that read a file bit by bit fill up short lines with missing values, and count blank lines as people. Before one
is let at a file, each of its records is seen to have as many fields as there are columns, and each quote to stand where
one may stand. Then parsers agree on what the file holds, and the number of its records is known beforehand.
"""

from __future__ import annotations

import codecs
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.csv_layout import TextFile, laid_out
from shoal.data.decoded import BLOCK, LIKE_ZLIB
from shoal.data.reading import Reading
from shoal.errors import InputError

NEWLINE, RETURN, QUOTE = ord("\n"), ord("\r"), ord('"')
BOM = codecs.BOM_UTF8
QUOTING = "Put the field in quotes and double the quotes within it"

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WholeFile:
    """A file of whole records, and what is known of it besides."""

    path: Path
    names: tuple[str, ...]
    records: int
    blank_records: bool  # of one column: some lines are blank, their only value is missing
    blank_end: bool  # of several columns: blank lines follow the last record, which are none
    mixed_ends: bool  # some lines end in a carriage return and a line feed, others in a line feed


def whole_file(path: Path, names: str | None = None) -> WholeFile:
    """Refuses, by its line, what is no whole record or not UTF-8; fields are parted by commas."""
    _check_utf8(path)
    file = laid_out(path, Reading(names=names), source=path, as_it_stands=True)
    if file.blank_led:
        raise InputError(
            f"In {path} a blank follows each {file.delimiter!r}, which the engines 'disk' and 'spark' would take for "
            "part of the values: write it without, or use --engine memory."
        )
    if file.delimiter != ",":
        raise InputError(
            f"{path} has its fields parted by {file.delimiter!r}; the engines 'disk' and 'spark' read commas: "
            "write it with commas, or as Parquet."
        )
    return _Scan(file).whole(path)


def scan_text(files: Sequence[WholeFile], folder: Callable[[], Path]) -> pl.LazyFrame:
    """All of them one after the other, as text, read when asked for; `folder` gives one to put copies in."""

    def scanned(paths: list[Path]) -> pl.LazyFrame:
        schema = dict.fromkeys(files[0].names, pl.String())  # Polars leaves doubled quotes in names
        return pl.scan_csv(paths, schema=schema, has_header=False, skip_rows=1, glob=False)

    paths = [_not_like_zlib(file.path, folder) for file in files]
    if not any(file.blank_end for file in files):
        return scanned(paths)
    return pl.concat([scanned([path]).head(file.records) for path, file in zip(paths, files, strict=True)])


def _not_like_zlib(path: Path, folder: Callable[[], Path]) -> Path:
    """The file, or a copy that begins with a byte order mark: one whose first column is x^2 passes for compressed."""
    with path.open("rb") as source:
        if not source.read(2).startswith(LIKE_ZLIB):
            return path
        source.seek(0)
        copy = folder() / path.name
        with copy.open("wb") as target:
            target.write(BOM)
            shutil.copyfileobj(source, target)
    return copy


class _Scan:
    """What is known of a file at the end of each block."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._content = file.content()
        self._delimiter = ord(file.delimiter)
        self._first = len(BOM) if bytes(self._content[: len(BOM)]) == BOM else 0
        self._quoted = 0  # 1 within quotes
        self._delimiters = 0  # of the record that is not yet ended
        self._begin = self._first  # where that begins
        self._records = 0
        self._blank = 0
        self._returns = 0  # records ended by a carriage return and a line feed

    def whole(self, path: Path) -> WholeFile:
        one_column = len(self._file.names) == 1
        if self._content[self._first] in (NEWLINE, RETURN):
            raise self._not_whole(self._first, self._first, 1)
        size = _before_last_end(self._content) if one_column else _before_all_ends(self._content)
        for start in range(self._first, size, BLOCK):
            self._look_at(start, min(start + BLOCK, size))
        if self._quoted:
            raise self._fault(self._begin, "has broken quoting: a quote is opened and never closed", QUOTING)
        ended = self._records + int(size < len(self._content))
        self._count_records(np.array([size]), np.array([True]))  # the last line may have no end
        for start in range(size, len(self._content), BLOCK):
            self._check_returns(start + np.flatnonzero(self._content[start : start + BLOCK] == RETURN))
        ends_left = int(np.count_nonzero(self._content[size : size + 4] == NEWLINE))
        return WholeFile(
            path=path,
            names=self._file.names,
            records=self._records - 1,  # the first are the names
            blank_records=self._blank > 0,
            blank_end=ends_left > 1,
            mixed_ends=self._returns not in (0, ended),
        )

    def _look_at(self, start: int, stop: int) -> None:
        block = self._content[start:stop]
        if not block.all():
            raise self._fault(start + int(np.argmin(block)), "holds a NUL byte: it is not plain text", "Take it out")
        quotes = block == QUOTE
        outside = np.ones(len(block), dtype=bool)
        if self._quoted or quotes.any():
            quoted = (np.cumsum(quotes) + self._quoted) & 1  # after each byte
            self._check_quotes(start + np.flatnonzero(quotes), quoted[quotes])
            self._quoted = int(quoted[-1])
            outside = quoted == 0
        self._check_returns(start + np.flatnonzero((block == RETURN) & outside))
        marks = np.flatnonzero(((block == NEWLINE) | (block == self._delimiter)) & outside)
        self._count_records(start + marks, block[marks] == NEWLINE)

    def _count_records(self, marks: Places, ends: npt.NDArray[np.bool_]) -> None:
        """`marks` are delimiters and line ends outside of quotes."""
        at = np.flatnonzero(ends)
        if not len(at):
            self._delimiters += len(marks)
            return
        delimiters = np.diff(at, prepend=-1) - 1
        delimiters[0] += self._delimiters
        stops = marks[at]
        starts = np.append(self._begin, stops[:-1] + 1)
        wrong = np.flatnonzero(delimiters != len(self._file.names) - 1)
        if len(wrong):
            first = wrong[0]
            raise self._not_whole(int(starts[first]), int(stops[first]), int(delimiters[first]) + 1)
        returned = (self._around(stops - 1) == RETURN) | (self._around(stops) == RETURN)
        self._returns += int(np.count_nonzero(returned))
        self._blank += int(np.count_nonzero(stops - starts == (self._around(stops - 1) == RETURN)))
        self._records += len(at)
        self._begin = int(stops[-1]) + 1
        self._delimiters = len(marks) - int(at[-1]) - 1

    def _check_quotes(self, places: Places, opens: Places) -> None:
        """One is opened where a field begins and closed where it ends; a doubled one is closed and opened again."""
        before, after = self._around(places - 1), self._around(places + 1)
        begins = (before == self._delimiter) | (before == NEWLINE) | (before == QUOTE)
        finishes = (after == self._delimiter) | (after == NEWLINE) | (after == RETURN) | (after == QUOTE)
        wrong = np.flatnonzero(np.where(opens == 1, ~begins, ~finishes))
        if len(wrong):
            where = "within a field that does not begin with one" if opens[wrong[0]] else "before the field ends"
            raise self._fault(int(places[wrong[0]]), f"has broken quoting: a quote stands {where}", QUOTING)

    def _check_returns(self, places: Places) -> None:
        wrong = np.flatnonzero((self._around(places + 1) != NEWLINE) | (places + 1 == len(self._content)))
        if len(wrong):
            what = "holds a carriage return, outside of quotes, without a line feed"
            raise self._fault(int(places[wrong[0]]), what, "Take it out, or end all lines with line feeds")

    def _around(self, places: Places) -> Bytes:
        """The bytes there; before the file and after it, a line end."""
        within = (places >= self._first) & (places < len(self._content))
        around = np.full(len(places), NEWLINE, dtype=np.uint8)
        around[within] = self._content[places[within]]
        return around

    def _not_whole(self, begin: int, end: int, fields: int) -> InputError:
        if bytes(self._content[begin : min(end, begin + 2)]) in (b"", b"\r"):
            return self._fault(begin, "is blank", "Take it out: it is no record")
        what = f"has {fields} fields instead of {len(self._file.names)}"
        return self._fault(begin, what, "Correct it")

    def _fault(self, place: int, what: str, cure: str) -> InputError:
        return InputError(f"Line {_line(self._content, place)} of {self._file.label} {what}. {cure}.")


def _line(content: Bytes, place: int) -> int:
    blocks = (content[start : min(start + BLOCK, place)] for start in range(0, place, BLOCK))
    return 1 + sum(int(np.count_nonzero(block == NEWLINE)) for block in blocks)


def _before_all_ends(content: Bytes) -> int:
    """How many bytes come before the line ends at the end of the file."""
    for stop in range(len(content), 0, -BLOCK):
        start = max(stop - BLOCK, 0)
        tail = content[start:stop]
        kept = np.flatnonzero((tail != NEWLINE) & (tail != RETURN))
        if len(kept):
            return start + int(kept[-1]) + 1
    return 0


def _before_last_end(content: Bytes) -> int:
    last_two = bytes(content[-2:])
    return len(content) - (2 if last_two == b"\r\n" else int(last_two.endswith(b"\n")))


def _check_utf8(path: Path) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1  # on which the block begins
    with path.open("rb") as source:
        block = source.read(BLOCK)
        while block:
            try:
                following = source.read(BLOCK)
                decoder.decode(block, final=not following)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise InputError(
                    f"{path} is not UTF-8: line {line} holds the byte 0x{error.object[error.start]:02x}. "
                    "Write it as UTF-8, which the engines 'disk' and 'spark' read."
                ) from None
            line += block.count(b"\n")
            block = following
