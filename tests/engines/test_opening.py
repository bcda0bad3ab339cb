"""Frames, files and folders of every kind open on their engine, and what comes out is of the same kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import shoal
from shoal.chunked_release import ChunkedRelease
from shoal.data.discharges import discharges
from shoal.engines import opening
from shoal.engines.opening import engine_of, open_table
from tests.engines.test_table import collected

POLICY = shoal.Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge"])
TABLE = discharges(400, seed=1)


def holds(frame: object, engine: str | None = "disk") -> None:
    assert [verdict.holds for verdict in shoal.check(frame, POLICY, engine=engine)] == [True]


def test_a_lazy_frame_gives_a_lazy_frame() -> None:
    release = shoal.anonymize(TABLE.lazy(), POLICY, engine="disk")
    assert isinstance(release, ChunkedRelease)
    assert isinstance(release.frame, pl.LazyFrame)
    assert release.frame.collect().height == 400
    holds(release.frame)


def test_a_duckdb_relation_gives_a_duckdb_relation() -> None:
    with duckdb.connect() as connection:
        connection.register("discharges", TABLE.to_arrow())
        release = shoal.anonymize(connection.table("discharges"), POLICY, engine="disk")
        assert isinstance(release.frame, duckdb.DuckDBPyRelation)
        assert release.frame.aggregate("count(*)").fetchall() == [(400,)]
        holds(release.frame)


def test_a_pandas_frame_and_a_folder_go_to_disk(tmp_path: Path) -> None:
    holds(shoal.anonymize(TABLE.to_pandas(), POLICY, engine="disk").frame)
    (tmp_path / "year=2020").mkdir()
    TABLE.write_parquet(tmp_path / "year=2020" / "a.parquet")
    TABLE.write_parquet(tmp_path / "b.parquet")
    (tmp_path / "_SUCCESS").touch()
    release = shoal.anonymize(str(tmp_path), POLICY)
    assert release.records == 800


def test_a_folder_of_text_is_judged_as_it_stands(tmp_path: Path) -> None:
    shoal.anonymize(TABLE, POLICY, engine="disk").write(tmp_path / "r", "csv")
    assert {path.suffix for path in (tmp_path / "r").glob("part*")} == {".csv"}
    holds(tmp_path / "r", None)


def test_engines_are_known_by_name() -> None:
    with pytest.raises(shoal.InputError, match=r"no engine 'dsik'.* 'disk'"):
        engine_of(TABLE, "dsik")
    with pytest.raises(shoal.InputError, match=r"no engine 'x'\. Known are memory, disk, spark"):
        engine_of(TABLE, "x")
    assert engine_of(TABLE) == "memory"


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(shoal.InputError, match="holds no Parquet, CSV or Arrow files"):
        open_table(tmp_path, "disk")
    with pytest.raises(shoal.InputError, match="is no Parquet, CSV or Arrow file"):
        open_table(tmp_path / "x.xlsx", "disk")
    with pytest.raises(shoal.InputError, match="There is no file"):
        open_table(tmp_path / "x.parquet", "disk")
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(shoal.InputError, match="cannot be read as parquet"):
        open_table(tmp_path / "x.parquet", "disk")
    (tmp_path / "y.csv").write_text("a\n1\n")
    with pytest.raises(shoal.InputError, match="files of several kinds"):
        open_table(tmp_path, "disk")
    with pytest.raises(shoal.InputError, match="Spark reads its own frames"):
        open_table(TABLE, "spark")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            {"method": shoal.Coarsen(4), "suppression": 0.1, "models": [shoal.KMap(5, population=TABLE)]},
            "cannot suppress classes that miss k-map after method 'coarsen'",
        ),
        ({"models": [shoal.KMap(5, fraction=0.1)]}, "k-map cannot be inferred"),
    ],
    ids=["people", "fraction"],
)
def test_what_an_engine_cannot_do_is_refused_by_name(choice: dict[str, object], words: str) -> None:
    with pytest.raises(shoal.InputError, match=words):
        shoal.anonymize(TABLE, POLICY.model_copy(update=choice), engine="disk")


def test_what_needs_the_whole_table_is_refused() -> None:
    with pytest.raises(shoal.InputError, match="leave the original out"):
        shoal.check(TABLE, POLICY, original=TABLE, engine="disk")


def test_what_spark_does_not_read_is_refused_before_it_is_begun(tmp_path: Path) -> None:
    TABLE.write_ipc(tmp_path / "part-0.arrow")
    with pytest.raises(shoal.InputError, match="holds arrow: write it as Parquet"):
        open_table(tmp_path, "spark")


def test_codes_keep_their_leading_zeros(tmp_path: Path) -> None:
    codes = pl.DataFrame({"zip": ["00501", "02134"] * 200, "sex": [1, 2] * 200, "charge": range(400)})
    codes.write_csv(tmp_path / "d.csv")
    policy = shoal.Policy(quasi_identifiers=["zip", "sex"], confidential=["charge"])
    release = shoal.anonymize(tmp_path / "d.csv", policy, engine="disk")
    assert set(release.frame.collect()["zip"]) == {"00501", "02134"}


@pytest.mark.parametrize(
    ("name", "is_one"), [("warehouse.discharges", True), ("discharges", True), ("s3a://b/d", False), ("in/d", False)]
)
def test_a_table_of_the_catalogue_is_known_by_its_name(name: str, is_one: bool) -> None:
    assert opening._names_a_table(name) is is_one


TWO = pl.DataFrame({"age": [1, 2], "charge": [3, 4]})


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (TWO.rename({"age": "years"}), "'b.parquet' lacks the column 'age', compared with 'a.parquet'"),
        (TWO.with_columns(x=1), "'b.parquet' has a column 'x' of its own"),
        (TWO.select("charge", "age"), "'b.parquet' has its columns in another order"),
        (TWO.cast(pl.Float64), "'b.parquet' holds Float64 in column 'age', 'a.parquet' holds Int64"),
        (TWO.cast({"age": pl.String}), "'b.parquet' holds String in column 'age'"),
    ],
)
def test_files_of_a_table_that_differ_are_refused_by_name(tmp_path: Path, second: pl.DataFrame, words: str) -> None:
    TWO.write_parquet(tmp_path / "a.parquet")
    second.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(shoal.InputError, match=re.escape(words)):
        open_table(tmp_path, "disk")
    with pytest.raises(shoal.InputError, match=re.escape(words)):  # before Spark is begun
        open_table(tmp_path, "spark")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_damaged_file_of_a_table_is_named(tmp_path: Path, kind: str) -> None:
    for name in "ab":
        path = tmp_path / f"{name}.{kind}"
        {"parquet": TWO.write_parquet, "arrow": TWO.write_ipc}[kind](path)
    path.write_bytes(path.read_bytes()[:7])
    with pytest.raises(shoal.InputError, match=rf"b\.{kind}' cannot be read as .*Fetch it or write it anew"):
        open_table(tmp_path, "disk")


# ---- text


NOT_WHOLE = [
    ("age,charge\n,7\n\n\n1,2\n", r"Line 3 of .*b\.csv is blank\. Take it out"),
    ("age,charge\n1\n1,2\n", r"Line 2 of .*b\.csv has 1 fields instead of 2"),
    ("age,charge\n1,2\n3,4,5,6\n", r"Line 3 of .*b\.csv has 4 fields instead of 2"),
    ('age,charge\n1,"2\n', r"Line 2 of .*b\.csv has broken quoting"),
    ("age,charge\n1,é2\n".encode("latin-1"), r"b\.csv is not UTF-8"),
    ("age\tcharge\n1\t2\n", r"b\.csv has its fields parted by '\\t'"),
    ("age,sum\n1,2\n", r"'b\.csv' lacks the column 'charge', compared with 'a\.csv'"),
    ("", r"b\.csv is empty"),
]


@pytest.mark.parametrize("engine", ["disk", "spark"])  # before Spark is begun
@pytest.mark.parametrize(("content", "words"), NOT_WHOLE)
def test_text_that_is_not_whole_records_is_refused(
    tmp_path: Path, engine: str, content: str | bytes, words: str
) -> None:
    TWO.write_csv(tmp_path / "a.csv")
    second = tmp_path / "b.csv"
    second.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(shoal.InputError, match=words):
        open_table(tmp_path, engine)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("age\n1\n\n1\n", "has blank lines, which Spark would leave out: write the missing values"),
        (
            "age,charge\n1,2\r\n1,2\n",
            "end in a carriage return and a line feed, others in a line feed.*all lines alike",
        ),
    ],
)
def test_text_that_spark_would_misread_is_refused_before_it_is_begun(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    for name in (path, str(path), path.as_uri(), tmp_path.as_uri() + "/a.csv"):
        with pytest.raises(shoal.InputError, match=words):
            open_table(name, "spark")
    open_table(path, "disk")


def test_blank_and_short_lines_are_nobody_to_hide_among(tmp_path: Path) -> None:
    for lines in (",,Alice\n\n\n5,1,x\n5,1,x\n5,1,x\n", "5,1,x\n5,1,x\n5,1,x\n,,Alice\n\n,\n", ",,Alice\n\n\n"):
        (tmp_path / "t.csv").write_text("a,b,c\n" + lines)
        policy = shoal.Policy(quasi_identifiers=["a", "b"], confidential=["c"], models=[shoal.KAnonymity(3)])
        try:
            verdicts = shoal.check(tmp_path / "t.csv", policy, engine="disk")
        except shoal.InputError:
            continue
        assert [verdict.holds for verdict in verdicts] == [False]


def test_text_is_read_whatever_its_columns_are_called(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x^2,"a""b","a, b"\n1,"x\ny",3\n\n\n')
    table = collected(open_table(tmp_path / "t.csv", "disk"))
    assert table.to_dicts() == [{"x^2": 1, 'a"b': "x\ny", "a, b": 3}]
    frame = pl.DataFrame({"x^2": [1, 2] * 50, 'a"b': [1, None] * 50})
    policy = shoal.Policy(quasi_identifiers=["x^2"], confidential=['a"b'])
    release = shoal.anonymize(frame, policy, engine="disk")
    release.write(tmp_path / "r", "csv")
    assert [verdict.holds for verdict in shoal.check(tmp_path / "r", policy)] == [True]


def test_text_without_records_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n\n")
    with pytest.raises(shoal.InputError, match="holds no records, only column names"):
        open_table(tmp_path / "t.csv", "disk")


def test_text_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2\n")
    table = open_table(tmp_path / "t.csv", "disk")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2\n\n")
    with pytest.raises(shoal.InputError, match="held 2 records, and now 3 were read: let nothing write to them"):
        collected(table)


@pytest.mark.parametrize("publish", ["mean", "median"])
def test_a_few_missing_values_that_a_trial_does_not_see_are_shown_by_wildcards(publish: Any) -> None:
    n = 3000
    some = [None if i > n - 4 else i % 700 for i in range(n)]
    frame = pl.DataFrame({"age": [i % 90 for i in range(n)], "balance": some, "charge": range(n)})
    policy = shoal.Policy(
        quasi_identifiers=["age", "balance"], confidential=["charge"], method=shoal.Hilbert(publish=publish)
    )
    release = shoal.anonymize(frame.lazy(), policy, engine="disk")
    shown = release.frame.collect()["balance"]
    assert shown.dtype == pl.String
    assert "*" in shown.to_list()
