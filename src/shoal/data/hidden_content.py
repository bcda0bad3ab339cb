"""The independent look at a file's bytes: nothing may stand in them that no row shows.

The rows are judged elsewhere. Here it is what readers skip: buffers, dictionaries, statistics, notes about the file
and its columns. A file is opened by another package than the one that wrote it (PyArrow for what Polars and Spark
write, plain XML for a workbook: `shoal.data.workbook`), and refused if any of these holds more than the rows need.
Nothing is repaired: what is written is made anew beforehand (`shoal.data.clean_copy`). A file that somebody else wrote
is looked at in the same way (`shoal check`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, PromiseError

ENUM = b"_PL_ENUM_VALUES2"  # where Polars keeps the categories of an Enum: with the column
SCHEMA = b"ARROW:schema"
SPARK = b"org.apache.spark.sql.parquet.row.metadata"
SPARKS_OWN = {b"org.apache.spark.version", b"org.apache.spark.timeZone"}
OF_SPARK = re.compile(r"[\w.+/:-]{1,40}")  # a version, a time zone
MADE_BY = re.compile(
    r"(Polars|DuckDB|fastparquet|impala|parquet-(cpp|cpp-arrow|cpp-velox|mr|rs|go))( \(python\)|-python)?"
    r"( version [\w.+-]{1,40})?( \(build \w{0,40}\))?"
)
ALIGNED = 64  # bytes between which Arrow's buffers begin
SHOWN = 60  # characters


def refuse(what: str, path: object) -> PromiseError:
    """The error of a file that holds `what`, which no row shows."""
    return PromiseError(
        f"The file {Path(str(path)).name} holds {what}, which no row shows: do not publish it. "
        "Write the table anew, without notes (shoal does so)."
    )


def cut_short(text: str) -> str:
    """A text as a sentence quotes it: its beginning, where it is long."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


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
    shown = arrays[0].dictionary.to_pylist() if arrays else []
    _check_listed(field, [str(category) for category in shown], path)


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
    if pa.types.is_large_string(array.type) or pa.types.is_string(array.type):
        width = np.int64 if pa.types.is_large_string(array.type) else np.int32
        return _slack_of_text(len(array), np.frombuffer(values or b"", width), letters[0], missing)
    if pa.types.is_dictionary(array.type):
        return _slack(array.indices)
    if pa.types.is_boolean(array.type):
        return _slack_of_bits(_bits(values), missing)
    if pa.types.is_null(array.type):
        return ""
    if not (pa.types.is_primitive(array.type) or pa.types.is_decimal(array.type)):
        return f"values of the type {array.type}"
    return _slack_of_cells(len(array), values, array.type.bit_width // 8, missing)


def _slack_of_text(
    n: int, begins: npt.NDArray[np.signedinteger[Any]], letters: pa.Buffer | None, missing: npt.NDArray[np.bool_]
) -> str:
    text = np.frombuffer(letters or b"", np.uint8)
    if not n:
        return "texts" if text.any() else ""
    begins, beyond = begins[: n + 1], begins[n + 1 :]
    if begins[0] != 0 or beyond.any() or text[begins[-1] :].any():
        return "texts"
    return "texts of missing cells" if np.diff(begins)[missing].any() else ""


def _slack_of_bits(bits: npt.NDArray[np.uint8], missing: npt.NDArray[np.bool_]) -> str:
    return "values of missing cells" if bits[len(missing) :].any() or bits[: len(missing)][missing].any() else ""


def _slack_of_cells(n: int, values: pa.Buffer, width: int, missing: npt.NDArray[np.bool_]) -> str:
    if not n:
        return ""
    cells = np.frombuffer(values, np.uint8)
    if cells[n * width :].any():
        return "values"
    own = cells[: n * width].reshape(n, width)
    return "values of missing cells" if missing.any() and own[missing].any() else ""


def _bits(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    return np.unpackbits(np.frombuffer(buffer or b"", np.uint8), bitorder="little")


def _apart_by_zeros(whole: pa.Buffer, held: list[pa.Buffer]) -> bool:
    """Between one buffer and the next there is padding, or the head of the next batch."""
    bytes_of = np.frombuffer(whole, np.uint8)
    places = ((buffer.address - whole.address, buffer.size) for buffer in held)
    ends = sorted((begin, size) for begin, size in places if 0 <= begin < whole.size)  # others were compressed
    for (begin, size), (after, _) in pairwise(ends):
        if 0 < after - begin - size < ALIGNED and bytes_of[begin + size : after].any():
            return False
    return True


# ---- Parquet


def inspect_parquet(path: Path) -> None:
    """A Parquet file: its notes, its dictionary pages by their size, and its statistics."""
    inspect_parquet_bytes(pa.memory_map(str(path)).read_buffer(), path.name)


def inspect_parquet_bytes(content: pa.Buffer, name: str) -> None:
    """Inspects the content of a Parquet file as `inspect_parquet` does; `name` is what messages call it."""
    file = pq.ParquetFile(pa.BufferReader(content))
    if not MADE_BY.fullmatch(file.metadata.created_by or "Polars"):
        raise refuse(f"a note of who made it, {cut_short(file.metadata.created_by)}", name)
    columns = file.schema_arrow.names
    opaque = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    if any(is_such(field.type) for field in file.schema_arrow for is_such in opaque):
        raise InputError(
            f"{name} holds columns of bytes or of several values a record (lists, structures), of which it cannot be "
            "said what they show: turn them into columns of numbers, dates or text."
        )
    fields = _check_notes(file.metadata.metadata or {}, columns, name)
    described = [fields.get(field.name, field) for field in file.schema_arrow]
    _check_columns(file, described, content, name)


def _check_notes(notes: Mapping[bytes, bytes], columns: list[str], name: str) -> dict[str, pa.Field]:
    """What a writer says of types, and nothing else; gives the columns as they are described there."""
    fields: dict[str, pa.Field] = {}
    for key, note in notes.items():
        if key == SCHEMA:
            schema = _described_by_arrow(note)
            if schema is None or schema.names != columns:
                raise refuse("a description of other columns", name)
            if schema.metadata:
                raise refuse(f"notes about the table, {_listed(schema.metadata)}", name)
            fields = {field.name: field for field in schema}
        elif key == SPARK:
            if not _described_by_spark(note, columns):
                raise refuse("notes about its columns", name)
        elif key not in SPARKS_OWN or not OF_SPARK.fullmatch(note.decode(errors="replace")):
            raise refuse(f"a note {cut_short(key.decode(errors='replace'))}", name)
    return fields


def _listed(notes: Mapping[bytes, bytes]) -> str:
    return ", ".join(cut_short(key.decode(errors="replace")) for key in notes)


def _described_by_arrow(note: bytes) -> pa.Schema | None:
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(note, validate=True)))
    except (pa.ArrowException, binascii.Error, OSError):
        return None


def _described_by_spark(note: bytes, columns: list[str]) -> bool:
    """Names and types, and no word more."""
    try:
        table = json.loads(note)
    except (ValueError, RecursionError):
        return False
    if not isinstance(table, dict) or set(table) != {"type", "fields"} or table["type"] != "struct":
        return False
    if not isinstance(table["fields"], list) or not all(isinstance(field, dict) for field in table["fields"]):
        return False
    keys = {"name", "type", "nullable", "metadata"}
    plain = all(
        set(field) == keys
        and field["metadata"] == {}
        and isinstance(field["nullable"], bool)
        and re.fullmatch(r"[a-z_]+(\(\d+(,\d+)?\))?", str(field["type"]))
        for field in table["fields"]
    )
    return plain and [field["name"] for field in table["fields"]] == columns


def _check_columns(file: pq.ParquetFile, fields: list[pa.Field], content: pa.Buffer, name: str) -> None:
    categories: dict[str, set[str]] = {field.name: set() for field in fields}
    for group in range(file.metadata.num_row_groups):
        rows = file.read_row_group(group)
        for i, field in enumerate(fields):
            about = file.metadata.row_group(group).column(i)
            shown = pl.Series(_as_stored(rows.column(i))).drop_nulls()
            listed = _categories(field)
            if listed:
                categories[field.name].update(shown.unique())
            room = len(listed) or shown.n_unique()
            if about.has_dictionary_page and _entries(content, about.dictionary_page_offset) > room:
                raise refuse(f"values of the column {field.name!r}", name)
            if about.statistics is not None and about.statistics.has_min_max:
                _check_ends(about, shown, field, name)
    for field in fields:
        order = _categories(field)
        if set(order) != categories[field.name]:
            raise refuse(f"categories of {field.name!r}", name)
        _check_listed(field, order, name)


def _as_stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of types that Polars would turn into others, what stands in the file."""
    if pa.types.is_dictionary(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_time(column.type):
        return column.cast(pa.int64() if column.type.bit_width == 64 else pa.int32())
    return column.cast(pa.date32()) if pa.types.is_date64(column.type) else column


def _categories(field: pa.Field) -> list[str]:
    """Read from Polars' note: each category after its length. A note that is none lists nothing, and is refused."""
    note, categories = (field.metadata or {}).get(ENUM, b""), []
    while note:
        length, _, rest = note.partition(b";")
        if not length.isdigit() or len(length) > 9 or len(rest) < int(length):
            return []
        categories.append(rest[: int(length)].decode(errors="replace"))
        note = rest[int(length) :]
    return categories


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
    if shown.is_empty():
        fits = False
    elif shown.dtype == pl.String:
        least, greatest = (str(end).encode() for end in (shown.min(), shown.max()))
        fits = least.startswith(low) and (high == greatest or (bool(high) and greatest.startswith(high[:-1])))
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


# ---- statistical packages, compressed text


def inspect_statistical(about: Any, path: Path, shown: Mapping[str, Collection[Any]]) -> None:
    """Refuses a Stata, SPSS or SAS file with notes, or labels of codes that no row shows.

    `about` is what pyreadstat says of it, `shown` the codes of each column that labels them. Labels of columns say what
    a column is and are no more hidden than its name.
    """
    if about.file_label:
        raise refuse(f"labels or notes, {cut_short(about.file_label)}", path)
    if about.notes:
        raise refuse(f"labels or notes, {cut_short(str(about.notes[0]))}", path)
    for name, labels in about.variable_value_labels.items():
        for code, label in labels.items():
            if code not in shown[name]:
                raise refuse(f"labels or notes: of a value of the column {name!r}, {cut_short(str(label))}", path)
    if getattr(about, "mr_sets", None):
        raise refuse("labels or notes: of sets of columns", path)
    if path.suffix.lower() == ".dta":
        _inspect_stata(path)


def _inspect_stata(path: Path) -> None:
    """Stata's characteristics, which pyreadstat skips; formats before Stata 13 have no marks to find them by."""
    content = path.read_bytes()
    head = content.partition(b"<data>")[0]
    if not head.startswith(b"<stata_dta>"):
        raise InputError(
            f"{path} is of a format before Stata 13, of which it cannot be said what stands there besides the rows: "
            "save it in a newer one."
        )
    if b"<characteristics></characteristics>" not in head:
        raise refuse("labels or notes: characteristics of Stata", path)
    if b"<strls></strls>" not in content and b"GSO" in content:
        raise refuse("long texts kept apart from the rows (strL)", path)


def inspect_gzip(path: Path) -> None:
    """The head of a compressed file can name a file and its time, and others can follow it."""
    with path.open("rb") as file:
        head = file.read(10)
        if head[3] or any(head[4:8]):
            raise refuse("the name or the time of another file", path)
        file.seek(0)
        unpack = zlib.decompressobj(wbits=31)
        while (block := file.read(1 << 20)) and not unpack.eof:
            unpack.decompress(block)
        if unpack.unused_data or block:
            raise refuse("something behind the compressed text", path)


def inspect_unknown(path: Path) -> None:
    """Refuses a format of which nobody can say what it holds besides the rows."""
    raise InputError(
        f"Of files such as {path.name} it cannot be said what stands there besides the rows: "
        "check the table as .csv, .parquet or .xlsx."
    )


def nothing(path: Path) -> None:
    """Inspects nothing, for plain text: it shows all there is."""
