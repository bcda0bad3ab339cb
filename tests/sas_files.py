"""A SAS data set written byte by byte, as nothing else that is free writes one: 32 bits, little-endian, UTF-8."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

MAGIC = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
HEADER, PAGE = 1024, 65536
META, DATA = 0x0000, 0x0100  # kinds of pages
WIDTH = 8  # bytes of a number, and here of a text too


def write_sas7bdat(path: Path, columns: Mapping[str, Sequence[float | str]], labels: Mapping[str, str]) -> None:
    """Columns of numbers or short texts, with their labels."""
    rows = list(zip(*columns.values(), strict=True))
    data = b"".join(_cell(value) for row in rows for value in row)
    page = _page(DATA, len(rows), b"", data)
    path.write_bytes(_header(2) + _meta(columns, labels, len(rows)) + page)


def _cell(value: float | str) -> bytes:
    return value.encode().ljust(WIDTH) if isinstance(value, str) else struct.pack("<d", value)


def _header(pages: int) -> bytes:
    start = bytearray(HEADER)
    start[: len(MAGIC)] = MAGIC
    start[32], start[35], start[37], start[39], start[70] = 0x22, 0x22, 1, ord("1"), 20
    start[84:92], start[92:156], start[156:164] = b"SAS FILE", b"D".ljust(64), b"DATA    "
    struct.pack_into("<2d16x3I8x", start, 164, 0.0, 0.0, HEADER, PAGE, pages)
    start[216:224], start[224:240] = b"9.0401M1", b"Linux".ljust(16)
    return bytes(start)


def _meta(columns: Mapping[str, Sequence[float | str]], labels: Mapping[str, str], rows: int) -> bytes:
    text, refs = bytearray(24), dict[str, tuple[int, int, int]]()  # texts stand together, each known by where it begins
    for word in (*columns, *(labels[name] for name in columns)):
        refs[word] = (0, len(text), len(word.encode()))
        text += word.encode() + bytes(-len(word.encode()) % 4)
    size = WIDTH * len(columns)
    row_size = bytearray(480)
    struct.pack_into("<I16x2I", row_size, 0, 0xF7F7F7F7, size, rows)
    struct.pack_into("<2I", row_size, 36, len(columns), 0)
    struct.pack_into("<2I", row_size, 52, PAGE, 0)
    struct.pack_into("<I", row_size, 60, rows)
    names = b"".join(struct.pack("<4H", *refs[name], 0) for name in columns)
    kinds = b"".join(
        struct.pack("<2IHBx", WIDTH * i, WIDTH, 4, 2 if isinstance(cells[0], str) else 1)
        for i, cells in enumerate(columns.values())
    )
    blocks = [
        bytes(row_size),
        struct.pack("<2I4x", 0xF6F6F6F6, len(columns)),
        _sized(0xFFFFFFFD, bytes(text[2:]), 0),
        _sized(0xFFFFFFFF, bytes(6) + names, 8),
        _sized(0xFFFFFFFC, bytes(6) + kinds, 8),
    ]
    for name in columns:
        block = bytearray(52)
        struct.pack_into("<I", block, 0, 0xFFFFFBFE)
        struct.pack_into("<3H", block, 40, *refs[labels[name]])
        blocks.append(bytes(block))
    pointers, place, content = b"", PAGE, b""
    for block in blocks:
        place -= len(block)
        pointers += struct.pack("<2I2B2x", place, len(block), 0, 0)
        content = block + content
    return _page(META, len(blocks), pointers, b"", content)


def _sized(signature: int, content: bytes, behind: int) -> bytes:
    """A block that begins with its own length, less what surrounds it."""
    length = 4 + 2 + len(content) + behind
    length += -length % 4
    return (struct.pack("<IH", signature, length - 12) + content).ljust(length, b"\0")


def _page(kind: int, blocks: int, pointers: bytes, data: bytes, end: bytes = b"") -> bytes:
    head = bytes(16) + struct.pack("<3H2x", kind, blocks, blocks if kind == META else 0)
    body = head + pointers + data
    return body + bytes(PAGE - len(body) - len(end)) + end
