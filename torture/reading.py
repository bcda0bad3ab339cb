"""What stands in a released file, read without Shoal: rows as texts, and everything else the bytes say."""

from __future__ import annotations

import base64
import contextlib
import gzip
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, str | None]


def read_release(path: Path) -> list[Row]:
    """The rows of a file, or of all files in a folder; a cell that is missing is None."""
    if path.is_dir():
        parts = sorted(part for part in path.iterdir() if not part.name.startswith(("_", ".")))
        return [row for part in parts for row in read_release(part)]
    if path.name.endswith((".csv", ".tsv", ".csv.gz")):
        packed = path.read_bytes()
        text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode("utf-8")
        return _rows(list(records_of(text, "\t" if ".tsv" in path.name else ",")))
    if path.suffix == ".xlsx":
        return _rows(_sheet(path))
    if path.suffix == ".db":
        return _database(path)
    if path.suffix in (".dta", ".sav", ".xpt"):
        import pyreadstat

        read = {".dta": pyreadstat.read_dta, ".sav": pyreadstat.read_sav, ".xpt": pyreadstat.read_xport}[path.suffix]
        frame = read(path, output_format="polars")[0]
        return [{name: _text(cell) or None for name, cell in row.items()} for row in frame.to_dicts()]
    table = pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()
    return [{name: _text(cell) for name, cell in row.items()} for row in table.to_pylist()]


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)


def _database(path: Path) -> list[Row]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        found = database.execute("select * from people")
        names = [column[0] for column in found.description]
        return [{name: _text(cell) for name, cell in zip(names, row, strict=True)} for row in found]


def _rows(records: list[list[str | None]]) -> list[Row]:
    names, *rest = records
    return [dict(zip((name or "" for name in names), record, strict=True)) for record in rest]


def records_of(text: str, delimiter: str) -> Iterator[list[str | None]]:
    """Fields as they stand: None for nothing, an empty text only where it is quoted."""
    field = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{re.escape(delimiter)}\n]*))({re.escape(delimiter)}|\n|\Z)')
    record: list[str | None] = []
    place = 0
    while place < len(text):
        match = field.match(text, place)
        assert match, f"The file is broken at character {place}."
        quoted, plain, end = match.groups()
        record.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        place = match.end()
        if end == delimiter and place == len(text):
            record.append(None)
        if end != delimiter or place == len(text):
            yield record
            record = []


def _sheet(path: Path) -> list[list[str | None]]:
    """The cells of a workbook's first sheet."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as book:
        shared: list[str] = []
        if "xl/sharedStrings.xml" in book.namelist():
            strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
            shared = ["".join(part.text or "" for part in item.iter(f"{space}t")) for item in strings]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    width = 0
    found: list[list[str | None]] = []
    for row in sheet.iter(f"{space}row"):
        cells: dict[int, str | None] = {}
        for cell in row:
            value = cell.find(f"{space}v")
            text = None if value is None else value.text
            cells[_column_number(cell.attrib["r"])] = shared[int(text)] if cell.get("t") == "s" and text else text
        width = max(width, *cells, 0) if cells else width
        found.append([cells.get(j) for j in range(1, width + 1)])
    return [row + [None] * (width - len(row)) for row in found]


def _column_number(place: str) -> int:
    number = 0
    for letter in re.match(r"[A-Z]+", place)[0]:  # type: ignore[index]
        number = number * 26 + ord(letter) - 64
    return number


def all_bytes(path: Path) -> bytes:
    """Everything a file holds, unpacked where it is packed, metadata included."""
    if path.is_dir():
        return b"".join(all_bytes(part) for part in sorted(path.iterdir()))
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw += gzip.decompress(raw)
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            raw += b"".join(book.read(name) for name in book.namelist())
    if path.suffix == ".parquet":
        raw += _parquet(path)
    if path.suffix == ".arrow":
        raw += _arrow(path)
    return raw


def _arrow(path: Path) -> bytes:
    """The buffers, which may be packed in the file, and dictionaries as they stand."""
    found: list[bytes] = []
    with pa.memory_map(str(path)) as source:
        for chunk in pa.ipc.open_file(source).read_all().itercolumns():
            for part in chunk.chunks:
                held = [part, part.dictionary] if pa.types.is_dictionary(part.type) else [part]
                found += [buffer.to_pybytes() for one in held for buffer in one.buffers() if buffer is not None]
    return b"\n".join(found)


def _parquet(path: Path) -> bytes:
    """Metadata, statistics, and dictionaries as they stand in the pages."""
    file = pq.ParquetFile(path)
    said = [repr(file.metadata.row_group(i)).encode() for i in range(file.metadata.num_row_groups)]
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        said += [repr(group.column(j).statistics).encode() for j in range(group.num_columns)]
    for key, value in (file.metadata.metadata or {}).items():
        said += [key, value]
        if key == b"ARROW:schema":
            said.append(base64.b64decode(value))
    texts = [column.name for column in file.schema_arrow if pa.types.is_large_string(column.type)]
    texts += [column.name for column in file.schema_arrow if pa.types.is_string(column.type)]
    for chunk in pq.read_table(path, read_dictionary=texts).itercolumns():
        for part in chunk.chunks:
            if pa.types.is_dictionary(part.type):
                said.append("\n".join(map(str, part.dictionary.to_pylist())).encode())
    return b"\n".join(said)
