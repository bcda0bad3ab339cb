"""A file that holds what no row shows is not released, in any format."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.data import files, hidden_content
from shoal.data.files import FORMATS, write_table
from shoal.errors import InputError, PromiseError

N = 300
SECRET = "the secret of somebody who was left out"
TABLE = pl.DataFrame(
    {
        "n": [i % 7 for i in range(N)],
        "t": [f"a long text, number {i % 50}" for i in range(N)],
        "x": [i / 3 if i % 4 else None for i in range(N)],
        "e": pl.Series([["low", "high"][i % 2] for i in range(N)], dtype=pl.Enum(["low", "high"])),
    }
)
WRITTEN = [known.suffixes[0] for known in FORMATS.values() if known.write is not None]


def leave_out(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as a selection from a larger one that shares its buffers."""
    secret = frame.head(20).with_columns(t=pl.lit(SECRET), n=pl.lit(987654321, pl.Int64))
    both = pl.read_ipc(as_file(pl.concat([secret, frame], rechunk=True)))
    return both[20:]


def as_file(frame: pl.DataFrame) -> io.BytesIO:
    file = io.BytesIO()
    frame.write_ipc(file)
    file.seek(0)
    return file


@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_is_written_stands_for_its_rows_alone(tmp_path: Path, suffix: str) -> None:
    kind = pl.Enum(["low", SECRET, "high"])
    frame = leave_out(TABLE.with_columns(pl.col("e").cast(pl.String).cast(kind)))
    write_table(frame, tmp_path / f"r{suffix}")
    content = (tmp_path / f"r{suffix}").read_bytes()
    if suffix == ".xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            content = b"".join(book.read(name) for name in book.namelist())
    assert SECRET.encode() not in (gzip.decompress(content) if suffix.endswith(".gz") else content)
    assert files.read_table(tmp_path / f"r{suffix}").height == N


def test_files_of_every_type_pass(tmp_path: Path) -> None:
    rows = pl.Series(range(N))
    columns = {
        str(dtype): (rows % 200).cast(dtype) for dtype in (pl.UInt8, pl.UInt32, pl.UInt64, pl.Float16, pl.Float32)
    }
    columns |= {"decimal": rows.cast(pl.Decimal(10, 2)), "truth": rows > 30, "time": rows.cast(pl.Time)}
    columns |= {"day": rows.cast(pl.Int32).cast(pl.Date), "moment": rows.cast(pl.Datetime("ms", "Europe/Paris"))}
    columns |= {"long": rows.cast(pl.String) + "z" * 200, "high": pl.Series([2**64 - 1] * N, dtype=pl.UInt64)}
    columns |= {"a": rows, "a.b": rows, "none": pl.Series([None] * N), "below": -rows, "é": pl.Series(["é" * 90] * N)}
    columns |= {"e": pl.Series(["é", None] * (N // 2), dtype=pl.Enum(["é"])), "span": rows.cast(pl.Duration("ns"))}
    frame = pl.DataFrame(columns).with_columns(pl.when(rows % 5 != 0).then(pl.exclude("high")))
    for suffix in (".parquet", ".arrow"):
        for table in (frame, frame.head(1), frame.clear()):
            write_table(table, tmp_path / f"r{suffix}", overwrite=True)


def test_large_files_are_divided_and_pass(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": np.arange(600_000) % 1000, "t": pl.Series(np.arange(600_000)).cast(pl.String)})
    frame = frame.with_columns(e=pl.Series(["b"] * 300_000 + ["a"] * 300_000, dtype=pl.Enum(["a", "b"])))
    for suffix in (".parquet", ".arrow"):
        write_table(frame, tmp_path / f"r{suffix}")


def refused(path: Path) -> str:
    with pytest.raises(PromiseError) as told:
        files.format_of(path).inspect(path)
    return str(told.value)


class TestArrow:
    def write(self, path: Path, table: pa.Table) -> Path:
        with pa.ipc.new_file(path, table.schema) as target:
            target.write_table(table)
        return path

    def test_notes_are_seen(self, tmp_path: Path) -> None:
        table = pa.table({"n": pa.array([1, 2])})
        path = self.write(tmp_path / "r.arrow", table.replace_schema_metadata({"by": "Dr No"}))
        assert "r.arrow holds notes about the table" in refused(path)
        field = pa.field("n", pa.int64(), metadata={"by": "Dr No"})
        path = self.write(tmp_path / "r.arrow", table.cast(pa.schema([field])))
        assert "notes about the column 'n'" in refused(path)

    def test_texts_that_no_row_shows_are_seen(self, tmp_path: Path) -> None:
        letters = pa.py_buffer(SECRET.encode())
        short = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([0, 3])), letters)
        late = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([30, len(SECRET)])), letters)
        null = pa.LargeStringArray.from_buffers(
            1, pa.py_buffer(np.array([0, len(SECRET)])), letters, pa.py_buffer(b"\0")
        )
        for array, what in ((null, "texts of missing cells in the column 't'"),):
            assert what in refused(self.write(tmp_path / "r.arrow", pa.table({"t": array})))
        for array in (short, late):  # PyArrow itself cuts these off: seen in the array that another writer would keep
            assert hidden_content._slack(array) == "texts"

    def test_values_of_missing_cells_are_seen(self, tmp_path: Path) -> None:
        bits, values = pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1, 987654321]))
        for kind in (pa.int64(), pa.timestamp("us")):
            array = pa.Array.from_buffers(kind, 2, [bits, values])
            assert "values of missing cells" in refused(self.write(tmp_path / "r.arrow", pa.table({"n": array})))
        truth = pa.Array.from_buffers(pa.bool_(), 2, [bits, pa.py_buffer(b"\x03")])
        assert "values of missing cells" in refused(self.write(tmp_path / "r.arrow", pa.table({"n": truth})))

    def test_categories_that_no_row_shows_are_seen(self, tmp_path: Path) -> None:
        array = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), pa.array(["a", "b", SECRET], pa.large_string()))
        assert "categories of 'c'" in refused(self.write(tmp_path / "r.arrow", pa.table({"c": array})))

    def test_views_share_buffers_and_are_not_released(self, tmp_path: Path) -> None:
        frame = leave_out(TABLE).select("t")
        frame.write_ipc(tmp_path / "r.arrow")
        assert SECRET.encode() in (tmp_path / "r.arrow").read_bytes()
        assert "in the column 't'" in refused(tmp_path / "r.arrow")


class TestParquet:
    def test_notes_are_seen(self, tmp_path: Path) -> None:
        path = tmp_path / "r.parquet"
        table = pa.table({"n": pa.array([1, 2])})
        pq.write_table(table.replace_schema_metadata({"pandas": "{}"}), path)
        assert "r.parquet holds" in refused(path)
        pl.DataFrame({"n": [1]}).write_parquet(path, metadata={"by": "Dr No"})
        assert "a note 'by'" in refused(path)

    def test_categories_that_no_row_shows_are_seen(self, tmp_path: Path) -> None:
        kind = pl.Enum(["a", "b", SECRET])
        pl.DataFrame({"e": pl.Series(["a", "b"], dtype=kind)}).write_parquet(tmp_path / "r.parquet")
        assert "categories of 'e'" in refused(tmp_path / "r.parquet")

    @pytest.mark.parametrize("values", [["a", "b", SECRET], [1, 2, 987654321]])
    def test_entries_of_a_dictionary_page_that_no_row_shows_are_seen(self, tmp_path: Path, values: list) -> None:
        array = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1] * 9), pa.array(values))
        pq.write_table(pa.table({"c": array}), tmp_path / "r.parquet", store_schema=False)
        told = "values of the column 'c'"
        if told_of_ints := isinstance(values[0], int):  # PyArrow drops what is not used of these itself
            files.format_of(tmp_path / "r.parquet").inspect(tmp_path / "r.parquet")
        assert told_of_ints or told in refused(tmp_path / "r.parquet")

    def test_types_of_other_writers_are_not_taken_for_something_hidden(self, tmp_path: Path) -> None:
        kinds = (pa.time32("ms"), pa.time64("us"), pa.timestamp("s"), pa.int8(), pa.uint32(), pa.float64())
        columns = {str(kind): pa.array([1, 2, None], kind) for kind in kinds}
        columns |= {"days": pa.array([86_400_000, None, 0], pa.date64())}
        columns |= {"words": pa.array(["a", "b", None]).dictionary_encode()}
        pq.write_table(pa.table(columns), tmp_path / "r.parquet")
        files.format_of(tmp_path / "r.parquet").inspect(tmp_path / "r.parquet")

    @pytest.mark.parametrize("values", [[["a"], ["b"]], [b"a", b"b"], [{"a": 1}, {"a": 2}]])
    def test_lists_and_bytes_are_refused(self, tmp_path: Path, values: list) -> None:
        pq.write_table(pa.table({"l": values}), tmp_path / "r.parquet")
        with pytest.raises(InputError, match="columns of bytes or of several values a record"):
            files.format_of(tmp_path / "r.parquet").inspect(tmp_path / "r.parquet")


class TestExcel:
    def with_part(self, path: Path, name: str, change: tuple[bytes, bytes] | None) -> None:
        with zipfile.ZipFile(path) as book:
            parts = {part: book.read(part) for part in book.namelist()}
        parts[name] = parts[name].replace(*change) if change else b"<x/>"
        with zipfile.ZipFile(path, "w") as book:
            for part, content in parts.items():
                book.writestr(part, content)

    @pytest.mark.parametrize(
        ("name", "change", "told"),
        [
            ("docProps/custom.xml", None, "a part 'docProps/custom.xml'"),
            ("docProps/core.xml", (b"<dc:creator>", b"<dc:creator>Dr No"), "the name of somebody"),
            ("xl/sharedStrings.xml", (b"</sst>", b"<si><t>secret</t></si></sst>"), "texts"),
        ],
    )
    def test_what_stands_beside_the_cells_is_seen(self, tmp_path: Path, name: str, change, told: str) -> None:
        path = tmp_path / "r.xlsx"
        write_table(TABLE, path)
        self.with_part(path, name, change)
        assert told in refused(path)

    def test_the_time_of_writing_is_not_told(self, tmp_path: Path) -> None:
        write_table(TABLE, tmp_path / "r.xlsx")
        with zipfile.ZipFile(tmp_path / "r.xlsx") as book:
            assert b"1980-01-01T00:00:00Z" in book.read("docProps/core.xml")
            assert {info.date_time[0] for info in book.infolist()} == {1980}


@pytest.mark.parametrize(("suffix", "write"), [(".dta", "write_dta"), (".sav", "write_sav"), (".xpt", "write_xport")])
def test_labels_of_statistical_packages_are_seen(tmp_path: Path, suffix: str, write: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / f"r{suffix}"
    getattr(pyreadstat, write)(TABLE.select("n"), path, file_label="of Dr No")
    assert "labels or notes" in refused(path)


def test_the_head_of_a_compressed_file_names_no_other(tmp_path: Path) -> None:
    path = tmp_path / "r.csv.gz"
    with gzip.open(path, "wb") as target:  # its head holds the file's name and the time
        target.write(b"n\n1\n")
    assert "the name or the time of another file" in refused(path)
