"""Delimited text before it is parsed: encoding, delimiter, column names, records, and where it is broken."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import dropwhile, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.data.frames import check_names
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.errors import InputError

DELIMITERS = ",;\t|"
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HEAD = 100  # records that show the delimiter
TYPED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}  # as they are typed in a shell
BLOCK = 1 << 18  # bytes looked at together: few enough to stay in the cache
LIKE_ZLIB = (b"x^", b"x\x01")  # a column x^2: Polars would take the file for a compressed one


@dataclass(frozen=True)
class TextFile:
    """A delimited file in UTF-8 and its layout."""

    label: str  # what messages call it
    source: Path | bytes  # the file itself or, where it had to be decoded, its content
    delimiter: str
    header: bool
    names: tuple[str, ...] = ()

    def open(self) -> io.TextIOWrapper:
        """The text, from its beginning, line ends as they are."""
        stream = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")
        return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    def content(self) -> npt.NDArray[np.uint8]:
        """All bytes; those of a file are mapped, not read."""
        if isinstance(self.source, bytes):
            return np.frombuffer(self.source, dtype=np.uint8)
        return np.asarray(np.memmap(self.source, dtype=np.uint8, mode="r"))


def utf8_source(path: Path, encoding: str | None) -> Path | bytes:
    """The file itself when it is UTF-8 with line feeds, as most are; else its content turned into that."""
    content = unpacked(path) if path.suffix.lower() == ".gz" else None
    with path.open("rb") as stream:
        head = stream.read(BLOCK) if content is None else content[:BLOCK]
    if not head:
        raise InputError(f"{path} is empty: give a line of column names and one for each record.")
    encoding = encoding or ("utf-16" if head.startswith(UTF16_MARKS) else "utf-8")
    old_mac = b"\r" in head and b"\n" not in head
    like_zlib = head.startswith(LIKE_ZLIB)
    if content is None:
        if is_utf8(encoding) and not old_mac and not like_zlib:
            return path
        content = path.read_bytes()
    content = recoded(content, encoding, path)
    if old_mac:
        content = content.replace(b"\r", b"\n")
    return codecs.BOM_UTF8 + content if like_zlib else content


def begins_as_utf16(path: Path) -> bool:
    """Whether the file begins with a byte order mark of UTF-16."""
    content = unpacked(path) if path.suffix.lower() == ".gz" else None
    with path.open("rb") as stream:
        return (stream.read(2) if content is None else content).startswith(UTF16_MARKS)


def unpacked(path: Path) -> bytes:
    """The content of a gzip file."""
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}): fetch or pack it anew.") from error


_CHARACTER_SET = re.compile(
    r"utf-(8|8-sig|16|16-le|16-be|32|32-le|32-be)|ascii|iso8859-\d+|cp\d+|mac-[a-z]+|koi8-[rtu]|tis-620|hp-roman8|ptcp154"
    r"|kz1048|big5|big5hkscs|gb2312|gbk|gb18030|euc_(jp|jis_2004|jisx0213|kr)|shift_jis(_2004|x0213)?|johab"
)


def is_utf8(encoding: str) -> bool:
    """Whether nothing has to be turned; character sets only, no escapes (utf-7) nor other codecs (rot13)."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):  # the latter of names that are none, with a NUL
        name = ""
    if not _CHARACTER_SET.fullmatch(name.replace("_", "-") if name.startswith("utf") else name):
        raise InputError(f"There is no encoding {encoding!r}, as character sets go; try latin-1, cp1252 or utf-16.")
    return name in ("utf-8", "utf-8-sig", "ascii")


def recoded(content: bytes, encoding: str, path: Path) -> bytes:
    """The content in UTF-8; what claims to be UTF-8 already is judged by the parse."""
    if is_utf8(encoding):
        return content
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not {encoding}: {first_bad_byte(content, error)}.") from None
    if not codecs.lookup(encoding).name.startswith("utf") and text.encode(encoding) != content:
        raise InputError(
            f"{path} spells the same text by different bytes of {encoding}, which a reader can tell apart: "
            "save it in UTF-8."
        )
    return text.encode()


def laid_out(
    path: Path, reading: Reading = AS_IT_SEEMS, header: bool = True, source: Path | bytes | None = None
) -> TextFile:
    """The text, its delimiter and the column names, from the first records; `source` is what is UTF-8 already."""
    source = utf8_source(path, reading.encoding) if source is None else source
    delimiter = TYPED.get(reading.delimiter or "", reading.delimiter)
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise InputError(f"A delimiter is one character such as ',' or ';'. Got {delimiter!r} instead.")
    file = TextFile(str(path), source, delimiter or ",", header)
    if delimiter is None:
        file = replace(file, delimiter=likely_delimiter(file))
    try:
        first = next((fields for _, fields in records(file) if fields), None)
    except csv.Error as error:
        raise broken_quoting(error) from None
    if first is None:
        raise InputError(f"{path} is empty: give a line of column names and one for each record.")
    names = tuple(first) if header else tuple(f"column_{i + 1}" for i in range(len(first)))
    check_names(names, str(path))
    return replace(file, names=names)


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
        where = first_bad_byte(content, error)
        return InputError(
            f"{file.label} is not UTF-8: {where}. Name its encoding, for example --read encoding=latin-1."
        )
    raise AssertionError("called only for what is not UTF-8")


def first_bad_byte(content: bytes, error: UnicodeDecodeError) -> str:
    """The line and the byte at which a text could not be decoded, in words."""
    line = content.count(b"\n", 0, error.start) + 1
    return f"line {line} holds the byte 0x{content[error.start]:02x} (byte {error.start + 1} of the file)"


def nul_byte(file: TextFile) -> InputError:
    """The error of a file with a NUL byte, with its line."""
    content = file.content()
    line = np.count_nonzero(content[: np.argmin(content)] == ord("\n")) + 1
    return InputError(
        f"{file.label} is not plain text: line {line} holds a NUL byte. "
        "If it is UTF-16, name that with --read encoding=utf-16."
    )
