"""Frames, files and folders of every kind open on their engine, and what comes out is of the same kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import shoal
from shoal.data.sample import discharges
from shoal.parted import opening
from shoal.parted.opening import engine_of, open_table, scan
from shoal.parted.release import PartedRelease

POLICY = shoal.Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge"])
TABLE = discharges(400, seed=1)


def holds(frame: object, engine: str | None = "disk") -> None:
    assert [verdict.holds for verdict in shoal.check(frame, POLICY, engine=engine)] == [True]


def test_a_lazy_frame_gives_a_lazy_frame() -> None:
    release = shoal.anonymize(TABLE.lazy(), POLICY, engine="disk")
    assert isinstance(release, PartedRelease)
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
        scan(tmp_path)
    with pytest.raises(shoal.InputError, match="is no Parquet, CSV or Arrow file"):
        scan(tmp_path / "x.xlsx")
    with pytest.raises(shoal.InputError, match="There is no file"):
        scan(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(shoal.InputError, match="cannot be read as parquet"):
        scan(tmp_path / "x.parquet")
    (tmp_path / "y.csv").write_text("a\n1\n")
    with pytest.raises(shoal.InputError, match="files of several kinds"):
        scan(tmp_path)
    with pytest.raises(shoal.InputError, match="Spark reads its own frames"):
        open_table(TABLE, "spark")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"method": shoal.CutPoints()}, "cannot do the method 'cut-points'"),
        ({"models": [shoal.KMap(5, fraction=0.1)]}, "cannot do the model 'k-map'"),
    ],
    ids=str,
)
def test_what_an_engine_cannot_do_is_refused_by_name(choice: dict[str, object], words: str) -> None:
    with pytest.raises(shoal.InputError, match=words):
        shoal.anonymize(TABLE, POLICY.model_copy(update=choice), engine="disk")


def test_what_needs_the_whole_table_is_refused() -> None:
    with pytest.raises(shoal.InputError, match="leave the original out"):
        shoal.check(TABLE, POLICY, original=TABLE, engine="disk")


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
        scan(tmp_path)
    with pytest.raises(shoal.InputError, match=re.escape(words)):  # before Spark is begun
        open_table(tmp_path, "spark")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_a_damaged_file_of_a_table_is_named(tmp_path: Path, kind: str) -> None:
    for name in "ab":
        path = tmp_path / f"{name}.{kind}"
        {"parquet": TWO.write_parquet, "arrow": TWO.write_ipc, "csv": TWO.write_csv}[kind](path)
    path.write_bytes(path.read_bytes()[:7] if kind != "csv" else b"")
    with pytest.raises(shoal.InputError, match=rf"b\.{kind}' cannot be read as .*Fetch it or write it anew"):
        scan(tmp_path)


def test_a_line_of_too_many_fields_is_told(tmp_path: Path) -> None:
    TWO.write_csv(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("age,charge\n1,2\n3,4,5,6\n")
    with pytest.raises(shoal.InputError, match="cannot be read to its end: found more fields"):
        open_table(tmp_path, "disk")


@pytest.mark.parametrize("publish", ["mean", "median"])
def test_a_few_missing_values_that_a_trial_does_not_see_are_shown_by_wildcards(publish: Any) -> None:
    n = 3000
    some = [None if i > n - 4 else i % 700 for i in range(n)]
    frame = pl.DataFrame({"age": [i % 90 for i in range(n)], "balance": some, "charge": range(n)})
    policy = shoal.Policy(
        quasi_identifiers=["age", "balance"], confidential=["charge"], method=shoal.Grouped(publish=publish)
    )
    release = shoal.anonymize(frame.lazy(), policy, engine="disk")
    shown = release.frame.collect()["balance"]
    assert shown.dtype == pl.String
    assert "*" in shown.to_list()
