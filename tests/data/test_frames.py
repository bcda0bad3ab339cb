"""Any frame in, the same kind out."""

from __future__ import annotations

import datetime as dt
import gc

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from shoal.data.clean_copy import made_anew
from shoal.data.frames import check_names, to_polars
from shoal.errors import InputError

FRAME = pl.DataFrame(
    {
        "a b": [1, None, 2**63 - 1],
        'say "hi"': ["", "é\n", None],
        "truth": [True, None, False],
        "day": [dt.date(2020, 1, 2), None, dt.date(1980, 1, 1)],
    }
)


def test_polars_passes_through_untouched() -> None:
    inside, restore = to_polars(FRAME)
    assert inside is FRAME
    assert restore(inside) is inside


def test_lazy_frames_come_back_lazy() -> None:
    inside, restore = to_polars(FRAME.lazy())
    assert_frame_equal(inside, FRAME)
    back = restore(inside)
    assert isinstance(back, pl.LazyFrame)
    assert_frame_equal(back.collect(), FRAME)


def test_arrow_comes_back_with_its_own_types() -> None:
    table = pa.table({"n": pa.array([1, None], pa.int32()), "s": pa.array(["x", None], pa.string())})
    inside, restore = to_polars(table)
    assert inside.rows() == [(1, "x"), (None, None)]
    back = restore(inside)
    assert isinstance(back, pa.Table)
    assert back.schema == table.schema
    assert back.equals(table)
    masked = restore(inside.with_columns(n=pl.lit("[1;2]")).select("n"))
    assert masked.column("n").to_pylist() == ["[1;2]", "[1;2]"]


def test_arrow_comes_back_without_notes_and_with_the_categories_that_occur() -> None:
    words = pa.array(["never", "b", "a"]).dictionary_encode()
    fields = [pa.field("c", words.type, metadata={"by": "Dr No"}), pa.field("n", pa.int32(), metadata={"by": "Dr No"})]
    numbers = pa.array([1, 2, 3], pa.int32())
    table = pa.table([words, numbers], schema=pa.schema(fields, metadata={"source": "ward 5"}))
    inside, restore = to_polars(table)
    back = restore(made_anew(inside[1:]))
    assert back.schema == pa.schema([pa.field("c", words.type), pa.field("n", pa.int32())])
    assert (back.schema.metadata, [field.metadata for field in back.schema]) == (None, [None, None])
    assert back["c"].to_pylist() == ["b", "a"]
    assert back["c"].chunk(0).dictionary.to_pylist() == ["b", "a"]


def test_doubled_names_in_arrow_are_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(InputError, match="'a' occurs more than once"):
        to_polars(table)


def test_duckdb_relations_come_back_as_relations_that_outlive_what_came_in() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(":memory:") as connection:
        connection.register("source", FRAME.to_arrow())
        relation = connection.sql("SELECT * FROM source")
        inside, restore = to_polars(relation)
        assert_frame_equal(inside, FRAME)
        back = restore(inside)
        del inside
        gc.collect()
    assert isinstance(back, duckdb.DuckDBPyRelation)
    assert_frame_equal(back.pl(), FRAME)
    assert restore(FRAME.head(1)).fetchall()[0][0] == 1


@pytest.mark.parametrize("thing", [None, 5, [1, 2], {"a": [1]}, object(), pl.Series([1]), np.zeros(3)])
def test_unknown_kinds_are_named(thing: object) -> None:
    with pytest.raises(InputError, match=type(thing).__name__):
        to_polars(thing)


def test_nan_is_missing_and_infinity_refused_in_any_frame() -> None:
    inside, _ = to_polars(pl.DataFrame({"x": [1.0, float("nan"), None], "y": [1, 2, 3]}))
    assert inside["x"].to_list() == [1.0, None, None]
    for bad in (float("inf"), float("-inf")):
        with pytest.raises(InputError, match=r"'x' holds an infinite number \(record 2\)"):
            to_polars(pl.DataFrame({"x": [1.0, bad, None]}))


def test_frames_without_columns_are_refused() -> None:
    with pytest.raises(InputError, match="no columns"):
        to_polars(pl.DataFrame())


class TestPandas:
    @pytest.fixture(autouse=True)
    def pandas(self):
        return pytest.importorskip("pandas")

    def test_an_index_and_notes_do_not_come_back(self, pandas) -> None:
        frame = pandas.DataFrame({"a": [10, 20, 30], "s": ["x", "y", None]}, index=pandas.Index([7, 3, 5], name="who"))
        frame.columns.name = "clinic of Dr No"
        frame.attrs["author"] = "Dr No"
        inside, restore = to_polars(frame)
        assert inside["a"].to_list() == [10, 20, 30]
        assert inside["s"].to_list() == ["x", "y", None]
        assert inside.columns == ["a", "s"]
        back = restore(inside)
        assert back.index.equals(pandas.RangeIndex(3))
        assert (back.index.name, back.columns.name, back.attrs) == (None, None, {})
        pandas.testing.assert_frame_equal(back, frame.reset_index(drop=True), check_names=False)

    def test_columns_of_several_levels_keep_their_labels_only(self, pandas) -> None:
        columns = pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "z")], names=["who", "what"])
        inside, restore = to_polars(pandas.DataFrame([[1, 2, 3], [4, 5, 6]], columns=columns))
        back = restore(inside.select(inside.columns[:2]))
        assert back.columns.to_list() == [("a", "x"), ("a", "y")]
        assert list(back.columns.names) == [None]

    @pytest.mark.parametrize("ordered", [False, True])
    @pytest.mark.parametrize("values", [["d", "b", "a"], [4, 2, 1]])
    def test_categories_that_no_record_has_do_not_come_back(self, pandas, ordered: bool, values: list) -> None:
        kind = pandas.CategoricalDtype([values[0], "never" if values[0] == "d" else 7, *values[1:]], ordered=ordered)
        inside, restore = to_polars(pandas.DataFrame({"c": pandas.Series([*values, None], dtype=kind)}))
        back = restore(made_anew(inside.filter(pl.col("c").cast(pl.String) != str(values[1]))))
        assert back["c"].to_list() == [values[0], values[2]]
        expected = [values[0], values[2]] if ordered else sorted([values[0], values[2]])
        assert list(back["c"].cat.categories) == expected
        assert back["c"].cat.ordered == ordered

    def test_types_survive(self, pandas) -> None:
        frame = pandas.DataFrame(
            {
                "small": pandas.array([1, None, 3], dtype="Int8"),
                "long": [2**63 - 1, -(2**63), 0],
                "category": pandas.Categorical(["b", "a", None], categories=["a", "b"]),
                "moment": pandas.to_datetime(["2020-01-01", None, "2021-05-06"]),
                "zoned": pandas.to_datetime(["2020-01-01", None, "2021-05-06"], utc=True),
                "float": [1.5, None, 3.0],
                "truth": pandas.array([True, None, False], dtype="boolean"),
            }
        )
        inside, restore = to_polars(frame)
        assert inside["float"].null_count() == 1
        assert inside["long"].to_list() == [2**63 - 1, -(2**63), 0]
        pandas.testing.assert_frame_equal(restore(inside), frame)

    def test_masked_columns_come_back_as_text(self, pandas) -> None:
        frame = pandas.DataFrame({"age": [24, 28], "n": [1, 2]})
        inside, restore = to_polars(frame)
        back = restore(inside.with_columns(age=pl.lit("[24;28]")))
        assert list(back["age"]) == ["[24;28]", "[24;28]"]
        assert back["n"].dtype == frame["n"].dtype

    def test_missing_values_that_come_in_do_not_break_integers(self, pandas) -> None:
        _, restore = to_polars(pandas.DataFrame({"n": [1, 2]}))
        back = restore(pl.DataFrame({"n": [1, None]}))
        assert back["n"].isna().tolist() == [False, True]

    def test_names_that_are_not_text(self, pandas) -> None:
        frame = pandas.DataFrame({0: [1], "b": [2]})
        inside, restore = to_polars(frame)
        assert inside.columns == ["0", "b"]
        assert list(restore(inside).columns) == [0, "b"]

    def test_doubled_names_are_refused(self, pandas) -> None:
        for names in (["a", "a"], ["0", 0]):
            with pytest.raises(InputError, match="more than once"):
                to_polars(pandas.DataFrame([[1, 2]], columns=names))

    def test_mixed_columns_are_refused(self, pandas) -> None:
        frame = pandas.DataFrame({"ok": [1, 2], "mix": pandas.Series([1, "x"], dtype=object)})
        with pytest.raises(InputError, match=r"'mix'.*int, str"):
            to_polars(frame)


def test_names_are_counted_once_however_many_there_are() -> None:
    class Names(list[str]):
        def count(self, value: object) -> int:
            raise AssertionError("a pass over all names for each of them")

    check_names(Names(f"c{i}" for i in range(20_000)), "The frame")
    with pytest.raises(InputError, match="'b' occurs more than once"):
        check_names(Names("abcb"), "The frame")
