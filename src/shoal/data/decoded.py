"""Text files in UTF-8: the file itself where it is that already, otherwise its content, decoded block by block."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from shoal.data.encodings import LINES, Seen, called, judged, marked
from shoal.errors import InputError

BLOCK = 1 << 18  # bytes looked at together: few enough to stay in the cache
LIKE_ZLIB = (b"x^", b"x\x01")  # a column x^2: Polars would take the file for a compressed one
_FIELDS = re.compile(r"[,;\t|]")


def utf8_source(path: Path, encoding: str | None) -> Path | bytes:
    """The file itself when it is UTF-8 with line feeds, as most are; else its content turned into that."""
    content = unpacked(path) if path.suffix.lower() == ".gz" else None
    head = head_of(path, content)
    if not head:
        raise InputError(f"{path} is empty: give a line of column names and one for each record.")
    encoding = encoding or understood(path).encoding
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


def head_of(path: Path, content: bytes | None = None) -> bytes:
    """The first bytes of the file, or of its `content` where it had to be unpacked."""
    if content is not None:
        return content[:BLOCK]
    with path.open("rb") as stream:
        return stream.read(BLOCK)


def unpacked(path: Path) -> bytes:
    """The content of a gzip file."""
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}): fetch or pack it anew.") from error


# ---- which encoding


def understood(path: Path) -> Seen:
    """The encoding that the file is in; refused where two give different texts and neither is clearly right."""
    seen = seen_encoding(path)
    if seen is None:
        line, byte = _first_stray(path) or (0, 0)
        raise InputError(
            f"{path} is not UTF-8: line {line} holds the byte 0x{byte:02x}, and no encoding that is known by its words "
            "makes sense of it. Name its encoding, for example --read encoding=latin-1."
        )
    if seen.rival is not None:
        raise _unclear(path, seen, seen.rival)
    return seen


def seen_encoding(path: Path) -> Seen | None:
    """The encoding that the file seems to be in, perhaps with a rival; None where no reading makes words."""
    status = os.stat(path)
    return _understood(path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=16)
def _understood(path: Path, stamp: tuple[int, int, int]) -> Seen | None:
    """By all of the file; `stamp` tells one state of it from another."""
    head = next(_blocks(path), b"")
    if (by_mark := marked(head)) is not None:
        return by_mark
    if _first_stray(path) is None:
        return Seen("utf-8", True, "all of it is valid UTF-8")
    counts = np.zeros(256, dtype=np.int64)
    for block in _blocks(path):
        counts += np.bincount(np.frombuffer(block, dtype=np.uint8), minlength=256)
    return judged((line for _, line in _beyond_ascii(path)), np.flatnonzero(counts).tolist())


def _blocks(path: Path) -> Iterator[bytes]:
    if path.suffix.lower() == ".gz":
        content = unpacked(path)
        yield from (content[start : start + BLOCK] for start in range(0, len(content), BLOCK))
        return
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block


def _first_stray(path: Path) -> tuple[int, int] | None:
    """The line and the first byte that are not UTF-8, if any."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    try:
        for block in _blocks(path):
            decoder.decode(block)
            line += block.count(b"\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return line + error.object.count(b"\n", 0, error.start), error.object[error.start]
    return None


def _beyond_ascii(path: Path) -> Iterator[tuple[int, bytes]]:
    """The first lines that hold bytes beyond ASCII, each with its number."""
    rest, number, given = b"", 0, 0
    for block in (*_blocks(path), b"\n"):
        *lines, rest = (rest + block).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            number += 1
            if not line.isascii():
                given += 1
                yield number, line
        if given >= LINES:
            return


def _unclear(path: Path, seen: Seen, rival: str) -> InputError:
    """The error of a file that reads two ways, with both readings of the first field that differs."""
    for number, line in _beyond_ascii(path):
        texts = [_FIELDS.split(line.decode(name)) for name in (seen.encoding, rival)]
        if texts[0] != texts[1]:
            pairs = zip(*texts, strict=True) if len(texts[0]) == len(texts[1]) else iter([map(";".join, texts)])
            first, second = next((first, second) for first, second in pairs if first != second)
            return InputError(
                f"{path} is not UTF-8, and which encoding it has is not clear: line {number} holds {first!r} in "
                f"{called(seen.encoding)}, {second!r} in {called(rival)}. Say which it is: --read "
                f"encoding={seen.encoding} or --read encoding={rival}."
            )
    raise AssertionError("called only where two readings differ")


def encoding_note(path: Path) -> tuple[str, ...]:
    """What the custodian should know of an encoding that was neither stated nor beyond doubt."""
    seen = understood(path)
    if seen.encoding.startswith("utf"):
        return ()
    how = "surely" if seen.sure else "likely"
    return (
        f"{path.name} is read as {called(seen.encoding)} ({how}: {seen.why}); say --read encoding=... if names look "
        "wrong.",
    )


# ---- turned into UTF-8


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
    """The content in UTF-8, block by block; what claims to be UTF-8 already is judged by the parse."""
    if is_utf8(encoding):
        return content
    decoder = codecs.getincrementaldecoder(encoding)()
    checked = not codecs.lookup(encoding).name.startswith("utf")
    turned, pending = bytearray(), b""
    for start in range(0, len(content), BLOCK):
        block = content[start : start + BLOCK]
        try:
            text = decoder.decode(block, final=start + BLOCK >= len(content))
        except UnicodeDecodeError as error:
            at = start - len(error.object) + len(block) + error.start
            raise InputError(f"{path} is not {encoding}: {bad_byte(content, at)}.") from None
        left = decoder.getstate()[0]
        if checked and text.encode(encoding) + left != pending + block:
            raise InputError(
                f"{path} spells the same text by different bytes of {encoding}, which a reader can tell apart: "
                "save it in UTF-8."
            )
        pending = left
        turned += text.encode()
    return bytes(turned)


def bad_byte(content: bytes, at: int) -> str:
    """The line and the byte at which a text could not be decoded, in words."""
    line = content.count(b"\n", 0, at) + 1
    return f"line {line} holds the byte 0x{content[at]:02x} (byte {at + 1} of the file)"
