"""A table made anew shows the same, and its buffers hold nothing else."""

from __future__ import annotations

import datetime as dt
import io

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from shoal.data.clean_copy import made_anew
from shoal.errors import InputError

N = 60
ROWS = pl.Series(range(N))
SECRET = pl.Series([i % 3 == 0 for i in range(N)])  # cells that were masked after they had held something


def of_all_types() -> pl.DataFrame:
    numbers = (pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64)
    columns = {str(dtype): ROWS.cast(dtype) for dtype in numbers}
    columns |= {"decimal": ROWS.cast(pl.Decimal(10, 2)), "truth": ROWS > 30, "time": ROWS.cast(pl.Time)}
    columns |= {"day": ROWS.cast(pl.Int32).cast(pl.Date), "moment": ROWS.cast(pl.Datetime("ms", "Europe/Paris"))}
    columns |= {"span": ROWS.cast(pl.Duration("ns")), "text": pl.Series([f"a secret, number {i}" for i in range(N)])}
    columns |= {"short": ROWS.cast(pl.String), "none": pl.Series([None] * N)}
    return pl.DataFrame(columns).with_columns(pl.when(~SECRET).then(pl.all()))


def raw(frame: pl.DataFrame) -> bytes:
    """All that the buffers hold, as Arrow hands them out."""
    arrays = (chunk for column in frame.to_arrow().columns for chunk in column.chunks)
    return b"".join(buffer.to_pybytes() for array in arrays for buffer in array.buffers() if buffer is not None)


@pytest.mark.parametrize("cut", [slice(None), slice(7, 29), slice(0, 0), slice(None, None, -1)])
def test_every_type_shows_the_same(cut: slice) -> None:
    frame = of_all_types()[cut]
    assert_frame_equal(made_anew(frame), frame)
    assert_frame_equal(made_anew(pl.concat([frame, frame], rechunk=False)), pl.concat([frame, frame]))


def test_what_stood_in_a_missing_cell_is_gone() -> None:
    number = pl.Series("n", [1234567890123] * N).set(SECRET, None)
    text = pl.Series("t", ["the secret of somebody"] * N).set(SECRET, None)
    hidden = pl.DataFrame([number.filter(SECRET), text.filter(SECRET)])
    assert b"the secret" in raw(hidden)  # else there is nothing to be mended
    assert b"the secret" not in raw(made_anew(hidden))
    assert np.int64(1234567890123).tobytes() in raw(hidden)
    assert np.int64(1234567890123).tobytes() not in raw(made_anew(hidden))


def test_texts_lie_in_the_order_of_the_records_and_of_no_others() -> None:
    source = pl.read_ipc(as_file(pl.DataFrame({"t": [f"a long text, number {i:03d}" for i in range(N)]})))
    order = np.random.default_rng(0).permutation(N)[:55]
    shown = source[order]
    held = raw_views(made_anew(shown))
    assert held == "".join(shown["t"])
    assert len(raw_views(shown)) > len(held)  # else there is nothing to be mended


def as_file(frame: pl.DataFrame) -> io.BytesIO:
    file = io.BytesIO()
    frame.write_ipc(file)
    file.seek(0)
    return file


def raw_views(frame: pl.DataFrame) -> str:
    """The buffers behind the views of a column of long texts."""
    file = as_file(frame)
    array = pa.ipc.open_file(file).get_batch(0).column(0)
    assert array.type == pa.string_view()
    return b"".join(buffer.to_pybytes() for buffer in array.buffers()[2:]).decode()


def test_an_enum_keeps_its_order_and_the_categories_that_occur() -> None:
    made = made_anew(pl.DataFrame({"e": pl.Series(["b", None, "z"], dtype=pl.Enum(["z", "never", "b", "a"]))}))
    assert made["e"].to_list() == ["b", None, "z"]
    assert made["e"].dtype == pl.Enum(["z", "b"])


def test_categories_without_an_order_become_text() -> None:
    source = pl.DataFrame({"c": pl.Series(["x", "never", "a"], dtype=pl.Categorical)})
    made = made_anew(source.filter(pl.col("c") != "never"))
    assert made.schema == {"c": pl.String}
    assert made["c"].to_list() == ["x", "a"]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1, None], pl.Int64), ([2**70, None], pl.Decimal(38, 0)), ([-(2**127), None], pl.String)],
)
def test_sums_of_a_database_take_a_type_that_files_know(values: list[int | None], dtype: pl.DataType) -> None:
    made = made_anew(pl.DataFrame({"n": pl.Series(values, dtype=pl.Int128)}))["n"]
    assert made.dtype == dtype
    assert [None if value is None else int(value) for value in made] == values


def test_values_of_which_it_cannot_be_said_what_they_show_are_refused() -> None:
    with pytest.raises(InputError, match="'x' holds values of type List"):
        made_anew(pl.DataFrame({"x": [[1, 2]], "day": [dt.date(2020, 1, 1)]}))
