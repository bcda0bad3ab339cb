"""The independent look at a written file's bytes: nothing may stand in them that no row shows.

The rows are judged elsewhere. Here it is what readers skip: buffers, dictionaries, statistics, notes about the file
and its columns. A file is opened by another package than the one that wrote it (PyArrow for what Polars and Spark
write, plain XML for a workbook), and refused if any of these holds more than the rows need. Nothing is repaired: what
is written is made anew beforehand (`shoal.data.anew`).
"""

from __future__ import annotations

import base64
import json
import re
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import PromiseError

ENUM = b"_PL_ENUM_VALUES2"  # where Polars keeps the categories of an Enum: with the column
SCHEMA = b"ARROW:schema"
SPARK = b"org.apache.spark.sql.parquet.row.metadata"
SPARKS_OWN = {b"org.apache.spark.version", b"org.apache.spark.timeZone"}
ALIGNED = 64  # bytes between which Arrow's buffers begin


def refuse(what: str, path: object) -> PromiseError:
    return PromiseError(
        f"The written file {Path(str(path)).name} holds {what}, which no row shows: it is not released."
    )


# ---- Arrow


def inspect_arrow(path: Path) -> None:
    """An Arrow file: its notes, and every buffer against what the rows need."""
    whole = pa.memory_map(str(path)).read_buffer()
    reader = pa.ipc.open_file(whole)
    batches = [reader.get_batch_with_custom_metadata(i) for i in range(reader.num_record_batches)]
    if reader.schema.metadata or any(custom for _, custom in batches):
        raise refuse("notes about the table", path)
    held: list[pa.Buffer] = []
    for i, field in enumerate(reader.schema):
        arrays = [batch.column(i) for batch, _ in batches]
        if pa.types.is_dictionary(field.type):
            _check_dictionary(field, arrays, path)
            arrays += [array.dictionary for array in arrays]
        elif field.metadata:
            raise refuse(f"notes about the column {field.name!r}", path)
        for array in arrays:
            if slack := _slack(array):
                raise refuse(f"{slack} in the column {field.name!r}", path)
            held += [buffer for buffer in array.buffers() if buffer is not None and buffer.size]
    if not _apart_by_zeros(whole, held):
        raise refuse("bytes between its columns", path)


def _check_dictionary(field: pa.Field, arrays: list[pa.Array], path: Path) -> None:
    used: npt.NDArray[np.int64] = np.zeros(0, np.int64)
    for array in arrays:
        used = np.union1d(used, array.indices.drop_null().to_numpy())
    for array in arrays:
        if len(used) < len(array.dictionary):
            raise refuse(f"categories of {field.name!r}", path)
    _check_listed(field, arrays[0].dictionary.to_pylist() if arrays else [], path)


def _check_listed(field: pa.Field, shown: list[str], path: object) -> None:
    """The categories that stand beside a column are those that it shows, and no other note does."""
    listed = "".join(f"{len(category.encode())};{category}" for category in shown)
    if any(key != ENUM or value != listed.encode() for key, value in (field.metadata or {}).items()):
        raise refuse(f"categories or notes of {field.name!r}", path)


def _slack(array: pa.Array) -> str:
    """What stands in the array's buffers beyond its cells; nothing, if all is well."""
    present, values, *letters = array.buffers() if not pa.types.is_null(array.type) else (None, None)
    missing = np.asarray(array.is_null())
    if array.offset:
        return "cells of other records"
    if present is not None and _bits(present)[len(array) :].any():
        return "marks of other records"
    if pa.types.is_large_string(array.type):
        return _slack_of_text(len(array), values, letters[0], missing)
    if pa.types.is_dictionary(array.type):
        return _slack(array.indices)
    if pa.types.is_boolean(array.type):
        return _slack_of_bits(_bits(values), missing)
    if pa.types.is_null(array.type):
        return ""
    if not (pa.types.is_primitive(array.type) or pa.types.is_decimal(array.type)):
        return f"values of the type {array.type}"
    return _slack_of_cells(len(array), values, array.type.bit_width // 8, missing)


def _slack_of_text(n: int, offsets: pa.Buffer, letters: pa.Buffer | None, missing: npt.NDArray[np.bool_]) -> str:
    if not n:
        return "texts" if letters is not None and letters.size else ""
    begins = np.frombuffer(offsets, np.int64)
    if len(begins) != n + 1 or begins[0] != 0 or begins[-1] != (0 if letters is None else letters.size):
        return "texts"
    return "texts of missing cells" if np.diff(begins)[missing].any() else ""


def _slack_of_bits(bits: npt.NDArray[np.uint8], missing: npt.NDArray[np.bool_]) -> str:
    return "values of missing cells" if bits[len(missing) :].any() or bits[: len(missing)][missing].any() else ""


def _slack_of_cells(n: int, values: pa.Buffer, width: int, missing: npt.NDArray[np.bool_]) -> str:
    if not n:
        return ""
    cells = np.frombuffer(values, np.uint8)
    if len(cells) != n * width:
        return "values"
    return "values of missing cells" if missing.any() and cells.reshape(n, width)[missing].any() else ""


def _bits(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(buffer or b"", np.uint8), bitorder="little")


def _apart_by_zeros(whole: pa.Buffer, held: list[pa.Buffer]) -> bool:
    """Between one buffer and the next there is padding, or the head of the next batch."""
    bytes_of = np.frombuffer(whole, np.uint8)
    ends = sorted((buffer.address - whole.address, buffer.size) for buffer in held)
    for (begin, size), (after, _) in pairwise(ends):
        if 0 < after - begin - size < ALIGNED and bytes_of[begin + size : after].any():
            return False
    return True


# ---- Parquet


def inspect_parquet(path: Path) -> None:
    """A Parquet file: its notes, its dictionary pages by their size, and its statistics."""
    inspect_parquet_bytes(pa.memory_map(str(path)).read_buffer(), path.name)


def inspect_parquet_bytes(content: pa.Buffer, name: str) -> None:
    file = pq.ParquetFile(pa.BufferReader(content))
    fields = _check_notes(file.metadata.metadata or {}, name)
    described = [fields.get(field.name, field) for field in file.schema_arrow]
    _check_columns(file, described, content, name)


def _check_notes(notes: Mapping[bytes, bytes], name: str) -> dict[str, pa.Field]:
    """What a writer says of types, and nothing else; gives the columns as they are described there."""
    fields: dict[str, pa.Field] = {}
    for key, note in notes.items():
        if key == SCHEMA:
            schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(note)))
            if schema.metadata:
                raise refuse("notes about the table", name)
            fields = {field.name: field for field in schema}
        elif key == SPARK:
            if any(field["metadata"] for field in json.loads(note)["fields"]):
                raise refuse("notes about its columns", name)
        elif key not in SPARKS_OWN:
            raise refuse(f"a note {key.decode(errors='replace')!r}", name)
    return fields


def _check_columns(file: pq.ParquetFile, fields: list[pa.Field], content: pa.Buffer, name: str) -> None:
    categories: dict[str, set[str]] = {field.name: set() for field in fields}
    for group in range(file.metadata.num_row_groups):
        rows = file.read_row_group(group)
        for i, field in enumerate(fields):
            about = file.metadata.row_group(group).column(i)
            listed = pa.types.is_dictionary(field.type)
            shown = pl.Series(rows.column(i).cast(pa.large_string()) if listed else rows.column(i)).drop_nulls()
            if listed:
                categories[field.name].update(shown.unique())
            elif about.has_dictionary_page and _entries(content, about.dictionary_page_offset) > shown.n_unique():
                raise refuse(f"values of the column {field.name!r}", name)
            if about.statistics is not None and about.statistics.has_min_max:
                _check_ends(about, shown, field, name)
    for field in fields:
        order = _categories(field)
        if set(order) != categories[field.name]:
            raise refuse(f"categories of {field.name!r}", name)
        _check_listed(field, order, name)


def _categories(field: pa.Field) -> list[str]:
    """Read from Polars' note: each category after its length."""
    note, found = (field.metadata or {}).get(ENUM, b""), []
    while note:
        length, _, rest = note.partition(b";")
        found.append(rest[: int(length)].decode())
        note = rest[int(length) :]
    return found


def _entries(content: pa.Buffer, offset: int) -> int:
    """How many values a dictionary page has: field 7.1 of its header, in Thrift's compact form."""
    place, field = offset, 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = int(content[place])
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value >> 1

    while True:
        field += content[place] >> 4
        place += 1
        if field == 7:
            place += 1
            return number()
        number()


def _check_ends(about: Any, shown: pl.Series, field: pa.Field, name: str) -> None:
    """The least and the greatest value that stand beside a column are its own, long texts cut short."""
    low, high = about.statistics.min_raw, about.statistics.max_raw
    if shown.dtype == pl.String:
        least, greatest = (str(end).encode() for end in (shown.min(), shown.max()))
        fits = least.startswith(low) and (high == greatest or greatest.startswith(high[:-1]))
    else:
        fits = all(_same(raw, end, about.physical_type) for raw, end in zip((low, high), _ends(shown), strict=True))
    if not fits:
        raise refuse(f"statistics of the column {field.name!r}", name)


def _ends(shown: pl.Series) -> tuple[Any, Any]:
    line = shown if shown.dtype == pl.Float16 else shown.to_physical()
    return line.min(), line.max()


def _same(raw: Any, shown: Any, physical: str) -> bool:
    if isinstance(raw, bytes):
        value = np.frombuffer(raw, np.float16)[0] if len(raw) == 2 else int.from_bytes(raw, signed=True)
        return bool(value == shown)
    bits = {"INT32": 32, "INT64": 64}.get(physical)
    return bool(raw == shown) if bits is None else (int(raw) - int(shown)) % 2**bits == 0


# ---- workbooks, statistical packages, compressed text


MEMBERS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(app|core)\.xml|xl/(workbook|styles|sharedStrings|theme/theme1"
    r"|worksheets/sheet1|tables/table1)\.xml|xl/(worksheets/)?_rels/(workbook|sheet1)\.xml\.rels"
)


def inspect_excel(path: Path) -> None:
    """A workbook: its parts, who made it, and the list of its texts."""
    with zipfile.ZipFile(path) as book:
        if extra := [name for name in book.namelist() if not MEMBERS.fullmatch(name)]:
            raise refuse(f"a part {extra[0]!r}", path)
        if re.search(rb"<(dc:creator|cp:lastModifiedBy|dc:title|dc:subject|dc:description)>[^<]", _part(book, "core")):
            raise refuse("the name of somebody, or a title", path)
        texts = len(re.findall(rb"<si>", book.read("xl/sharedStrings.xml"))) if _has_texts(book) else 0
        used = set(re.findall(rb't="s"><v>(\d+)</v>', book.read("xl/worksheets/sheet1.xml")))
    if len(used) != texts:
        raise refuse("texts", path)


def _part(book: zipfile.ZipFile, name: str) -> bytes:
    return book.read(f"docProps/{name}.xml")


def _has_texts(book: zipfile.ZipFile) -> bool:
    return "xl/sharedStrings.xml" in book.namelist()


def inspect_statistical(about: Any, path: Path) -> None:
    """What pyreadstat says of a Stata, SPSS or SAS file: no labels and no notes."""
    labels = [label for label in about.column_labels if label]
    if about.file_label or about.notes or labels or about.variable_value_labels:
        raise refuse("labels or notes", path)


def inspect_gzip(path: Path) -> None:
    """The head of a compressed file can name a file and its time."""
    with path.open("rb") as file:
        head = file.read(10)
    if head[3] or any(head[4:8]):
        raise refuse("the name or the time of another file", path)


def nothing(path: Path) -> None:
    """Text shows all there is."""
