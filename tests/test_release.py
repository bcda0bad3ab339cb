"""The story of a release, in the API: the same kind of frame back, promises judged on what is shown, or nothing."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.anonymize import anonymize
from shoal.check import check
from shoal.data.files import read_table
from shoal.draft import draft
from shoal.errors import InputError, PromiseError
from shoal.masking.recoding.coarsening import Coarsen
from shoal.policy import Policy
from shoal.privacy import KAnonymity, LDiversity, TCloseness
from shoal.release import Release, write

TABLE = pl.DataFrame(
    {
        "name": [f"n{i}" for i in range(30)],
        "age": [20 + i * 7 % 30 for i in range(30)],
        "sex": ["M" if i % 3 else "F" for i in range(30)],
        "charge": [i * 1000 % 7000 for i in range(30)],
    }
)
POLICY = Policy(identifiers=["name"], quasi_identifiers=["age", "sex"], confidential=["charge"], models=[KAnonymity(3)])


def keeps_order(released: pl.DataFrame) -> bool:
    """Each row admits the original's, and shows its confidential value."""
    for row, before in zip(released.iter_rows(named=True), TABLE.iter_rows(named=True), strict=True):
        low, _, high = row["age"].strip("[]").partition(";")
        if not int(low) <= before["age"] <= int(high or low) or row["charge"] != before["charge"]:
            return False
    return True


# ---- the same kind of frame comes back


def test_polars_in_polars_out() -> None:
    release = anonymize(TABLE, POLICY)
    assert isinstance(release.frame, pl.DataFrame)
    assert release.frame.columns == ["age", "sex", "charge"]
    assert keeps_order(release.frame)
    assert isinstance(anonymize(TABLE.lazy(), POLICY).frame, pl.LazyFrame)


def test_pandas_in_pandas_out_without_its_index() -> None:
    pd = pytest.importorskip("pandas")
    frame = TABLE.to_pandas().set_index(pd.Index(np.random.default_rng(0).permutation(30) * 10))
    release = anonymize(frame, POLICY)
    assert isinstance(release.frame, pd.DataFrame)
    assert release.frame.index.equals(pd.RangeIndex(30))
    assert keeps_order(pl.from_pandas(release.frame))
    assert release.frame["charge"].dtype == frame["charge"].dtype


def test_who_was_suppressed_cannot_be_read_off_a_pandas_index() -> None:
    pd = pytest.importorskip("pandas")
    frame = pl.DataFrame({"age": [1] * 4 + [9]}).to_pandas().set_axis([50, 40, 30, 20, 10])
    policy = Policy(quasi_identifiers=["age"], models=[KAnonymity(2)], method=Coarsen(9), suppression=0.5)
    release = anonymize(frame, policy)
    assert release.frame.index.equals(pd.RangeIndex(4))
    assert release.suppressed == 1


def test_arrow_in_arrow_out() -> None:
    pa = pytest.importorskip("pyarrow")
    release = anonymize(TABLE.to_arrow(), POLICY)
    assert isinstance(release.frame, pa.Table)
    assert keeps_order(pl.DataFrame(release.frame))


def test_duckdb_in_duckdb_out() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", TABLE.to_arrow())
    release = anonymize(connection.sql("SELECT * FROM people"), POLICY)
    assert isinstance(release.frame, duckdb.DuckDBPyRelation)
    assert keeps_order(release.frame.pl())


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_relation_handed_out_holds_nothing_of_the_query_that_came_in(engine: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = ", ".join(f"({20 + i % 3}, 'SECRET{i}')" for i in range(12))
    relation = duckdb.connect().sql(f"SELECT * FROM (VALUES {rows}) people(age, name)").set_alias("SECRET_people")
    frame: Any = anonymize(relation, Policy(quasi_identifiers=["age"], models=[KAnonymity(2)]), engine=engine).frame
    derived = frame.filter("age IS NOT NULL")
    told = [each.sql_query() + each.explain() + each.alias + repr(each.description) for each in (frame, derived)]
    assert "SECRET" not in "".join(told)
    assert frame.columns == ["age"]
    assert len(frame.fetchall()) == 12


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_lazy_frame_handed_out_holds_nothing_of_the_plan_that_came_in(tmp_path: Path, engine: str) -> None:
    people = pl.DataFrame({"age": [20, 21, 22] * 4, "name": [f"SECRET{i}" for i in range(12)]})
    people.write_parquet(source := tmp_path / "SECRET.parquet")
    policy = Policy(quasi_identifiers=["age"], models=[KAnonymity(2)])
    for lazy in (people.lazy(), pl.scan_parquet(source)):
        frame: Any = anonymize(lazy.filter(pl.col("name") != "SECRET99"), policy, engine=engine).frame
        told = (frame.explain(optimized=False) + frame.explain()).encode() + frame.serialize()
        assert b"SECRET" not in told


def test_what_is_no_frame_is_told() -> None:
    with pytest.raises(InputError, match="list"):
        anonymize([1, 2], POLICY)
    with pytest.raises(InputError, match="no records"):
        anonymize(TABLE.clear(), POLICY)


# ---- the written file


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_any_type_are_released_and_judged_again(tmp_path: Path, suffix: str) -> None:
    n = 12
    table = pl.DataFrame(
        {
            "whole": range(n),
            "float": pl.Series([i / 3 if i % 5 else None for i in range(n)]),
            'text, with "quotes"\nand lines': ['a,"b"', "c\nd", "", None] * 3,
            "truth": [True, False, None] * 4,
            "day": [dt.date(2020, 1, 1 + i) for i in range(n)],
            "moment": [dt.datetime(2020, 1, 1, 1, 2, 3, i) for i in range(n)],
            "zoned": pl.Series([dt.datetime(2020, 1, 1 + i) for i in range(n)]).dt.replace_time_zone("UTC"),
            "category": pl.Series(["x", "y", "z"] * 4, dtype=pl.Categorical),
            "ordered": pl.Series(["low", "high", None] * 4, dtype=pl.Enum(["low", "mid", "high"])),
            "long": [2**63 - 1 - i for i in range(n)],
            "unsigned": pl.Series([2**64 - 1 - i for i in range(n)], dtype=pl.UInt64),
            "decimal": pl.Series([f"{i}.25" for i in range(n)]).cast(pl.Decimal(10, 2)),
            "nothing": [None] * n,
            "time": [dt.time(1, i) for i in range(n)],
        }
    )
    for names in (table.columns[:5], table.columns[5:10]):
        policy = Policy(quasi_identifiers=names, rest="insensitive", models=[KAnonymity(3)])
        anonymize(table, policy).write(tmp_path / f"r{suffix}", overwrite=True)
    confidential = [name for name in table.columns if name not in ("whole", "nothing", "time")]
    policy = Policy(
        quasi_identifiers=["whole"], confidential=confidential, models=[KAnonymity(3), LDiversity(2), TCloseness(0.5)]
    )
    certificate = tmp_path / "c.json"
    anonymize(table, policy).write(tmp_path / f"r{suffix}", certificate=certificate, overwrite=True)
    assert shoal.data.files.read_table(tmp_path / f"r{suffix}").height == n
    from shoal.report.certificate import read_certificate

    again = read_certificate(certificate, tmp_path / f"r{suffix}")
    released = shoal.data.files.read_table(tmp_path / f"r{suffix}")
    verdicts = shoal.check(released, again.policy)
    again.verify(released, verdicts)
    assert all(verdict.holds for verdict in verdicts)


def test_a_release_leaves_the_frame_and_its_own_order_alone(tmp_path: Path) -> None:
    before = TABLE.clone()
    release = anonymize(TABLE, POLICY, seed=1).write(tmp_path / "r.csv", seed=1)
    assert TABLE.equals(before)
    assert keeps_order(release.frame)
    written = shoal.data.files.read_table(tmp_path / "r.csv")
    assert sorted(written.rows()) == sorted(release.frame.rows())
    assert written.rows() != release.frame.rows()
    release.write(tmp_path / "kept.csv", keep_order=True)
    assert keeps_order(shoal.data.files.read_table(tmp_path / "kept.csv"))


def test_a_certificate_that_cannot_be_written_stops_the_release(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no/c\.json"):
        anonymize(TABLE, POLICY).write(tmp_path / "r.csv", certificate=tmp_path / "no" / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_releases_that_look_alike_have_the_same_certificate() -> None:
    """Made of other values, of more records, by another method: the certificate does not tell."""

    def released(ages: list[int], **choices: Any) -> Release:
        policy = Policy(quasi_identifiers=["age"], models=[KAnonymity(3)], **choices)
        return anonymize(pl.DataFrame({"age": ages}), policy)

    a = released([20, 21, 30])
    b = released([20, 29, 30], identifiers=[])
    c = released([20, 30, 30, 50, 60], method=Coarsen(2), suppression=0.4)
    assert c.suppressed == 2
    assert a.table.equals(b.table)
    assert a.table.equals(c.table)
    assert a.certificate == b.certificate == c.certificate


# ---- promises


def test_a_method_that_keeps_no_promise_releases_nothing() -> None:
    with pytest.raises(PromiseError, match="k-anonymity: 3 was asked for, 1 is reached"):
        anonymize(TABLE, POLICY.model_copy(update={"method": Coarsen(99)}))


def test_check_judges_any_frame() -> None:
    release = anonymize(TABLE, POLICY)
    assert [verdict.holds for verdict in check(release.frame, POLICY)] == [True]
    raw = TABLE.drop("name")
    assert [verdict.holds for verdict in check(raw, POLICY)] == [False]
    with pytest.raises(PromiseError, match="'name'"):
        check(TABLE, POLICY)


orders = st.permutations(["low", "mid", "high", "top"])


@given(
    words=st.lists(st.sampled_from(["low", "mid", "high", None]), min_size=4, max_size=40),
    order=orders,
    t=st.sampled_from([0.05, 0.15, 0.3]),
)
def test_ordered_categories_are_close_in_their_declared_order(
    words: list[str | None], order: list[str], t: float
) -> None:
    """The method and the check must measure along the same line, over the values that occur."""
    if all(word is None for word in words):
        return
    table = pl.DataFrame({"age": np.arange(len(words)) * 7 % 13, "word": pl.Series(words, dtype=pl.String)})
    policy = Policy(
        quasi_identifiers=["age"],
        confidential=["word"],
        models=[KAnonymity(2), TCloseness(t)],
        attributes={"word": {"kind": "ordinal", "domain": order}},
    )
    release = anonymize(table, policy)
    (verdict,) = (verdict for verdict in release.verdicts if verdict.attribute)
    assert verdict.achieved == pytest.approx(farthest(release.table, order))
    assert verdict.achieved <= t + 1e-9


def farthest(released: pl.DataFrame, order: list[str]) -> float:
    everyone = released["word"].to_list()
    line = [word for word in (*order, None) if word in everyone]

    def running(members: list[str | None]) -> list[float]:
        return [sum(line.index(m) <= i for m in members) / len(members) for i in range(len(line))]

    distances = [0.0]
    for (_,), members in released.group_by("age"):
        pairs = zip(running(members["word"].to_list()), running(everyone), strict=True)
        distances.append(sum(abs(a - b) for a, b in pairs) / max(len(line) - 1, 1))
    return max(distances)


def test_a_category_that_the_declared_order_lacks_is_told() -> None:
    policy = Policy(
        quasi_identifiers=["age"],
        confidential=["word"],
        models=[TCloseness(1)],
        attributes={"word": {"kind": "ordinal", "domain": ["low", "high"]}},
    )
    with pytest.raises(InputError, match="'word' holds 'mid'"):
        check(pl.DataFrame({"age": [1, 1], "word": ["low", "mid"]}), policy)


# ---- what is told


def test_columns_that_are_left_out_are_noted() -> None:
    release = anonymize(TABLE, Policy(quasi_identifiers=["age"], models=[KAnonymity(3)]))
    assert release.frame.columns == ["age"]
    assert "'name', 'sex', 'charge'" in release.notes[0]
    wide = TABLE.with_columns(pl.lit(0).alias(f"c{i}") for i in range(20))
    (note,) = anonymize(wide, Policy(quasi_identifiers=["age"], models=[KAnonymity(3)])).notes
    assert "and 15 more" in note


def test_progress_is_told_stage_by_stage() -> None:
    stages: list[str] = []
    anonymize(TABLE, POLICY, progress=stages.append)
    assert stages == ["checking the table", "masking", "publishing", "judging the result"]


def test_risk_and_utility_of_a_release() -> None:
    release = anonymize(TABLE, POLICY)
    assert release.risk().uniques == 0
    assert shoal.risk(release.frame, POLICY).classes.smallest_class >= 3
    loss = shoal.utility(TABLE, release.frame, POLICY).information_loss
    assert loss == pytest.approx(release.information_loss)


def test_ordered_categories_keep_their_order_in_a_text_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    stage = pl.Series(rng.choice(["low", "middle", "high"], 40, p=[0.6, 0.3, 0.1]))
    table = pl.DataFrame({"age": rng.integers(0, 4, 40), "stage": stage.cast(pl.Enum(["low", "middle", "high"]))})
    policy = shoal.Policy(quasi_identifiers=["age"], confidential=["stage"], models=[shoal.TCloseness(0.3)])
    release = shoal.anonymize(table, policy)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json")
    stated = json.loads((tmp_path / "c.json").read_text())
    assert stated["attributes"]["stage"]["domain"] == ["low", "middle", "high"]
    assert stated["models"][0]["achieved"] == release.verdicts[0].achieved


def test_shuffled_records_are_not_put_back_by_where_their_texts_lie(tmp_path: Path) -> None:
    texts = pl.DataFrame(
        {"age": [i % 9 for i in range(500)], "note": [f"a long note, number {i:05d}" for i in range(500)]}
    )
    texts.write_ipc(tmp_path / "source.arrow")
    policy = Policy(quasi_identifiers=["age"], insensitive=["note"], models=[KAnonymity(3)])
    write(draft(read_table(tmp_path / "source.arrow"), policy), tmp_path / "release.arrow", seed=1)
    content = (tmp_path / "release.arrow").read_bytes()
    in_file = [content.index(note.encode()) for note in read_table(tmp_path / "release.arrow")["note"]]
    assert in_file == sorted(in_file)  # text after text as the release shows them


def test_a_frame_handed_out_holds_nothing_of_records_that_were_suppressed() -> None:
    secret = "of somebody who is left out"
    table = pl.DataFrame({"age": [1] * 40 + [9], "note": ["the note of somebody else"] * 40 + [secret]})
    policy = Policy(quasi_identifiers=["age"], insensitive=["note"], models=[KAnonymity(2)], method=Coarsen(9))
    release = anonymize(table, policy.model_copy(update={"suppression": 0.5}))
    assert release.suppressed == 1
    target = io.BytesIO()
    release.frame.write_ipc(target)  # with all its buffers
    assert secret.encode() not in target.getvalue()


def test_minus_zero_leaves_as_zero(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [1, 1, 1], "score": [-0.0, 0.0, None]})
    policy = Policy(quasi_identifiers=["age"], insensitive=["score"], models=[KAnonymity(3)])
    write(draft(table, policy), tmp_path / "r.csv", keep_order=True)
    assert (tmp_path / "r.csv").read_text() == "age,score\n1,0.0\n1,0.0\n1,\n"


def test_formulas_are_disarmed_where_asked(tmp_path: Path) -> None:
    words = ["=HYPERLINK(1)", "+1 a", "-x", "@sum", "\tx", "'=x", "-5", "+5", "plain", None]
    table = pl.DataFrame({"age": [1] * 10, "code": ["=a", "b"] * 5, "note": words, "n": [-5] * 10})
    policy = Policy(quasi_identifiers=["age", "code"], insensitive=["note", "n"], models=[KAnonymity(5)])
    made, certificate = draft(table, policy), tmp_path / "c.json"
    write(made, tmp_path / "r.csv", keep_order=True, disarm=True, certificate=certificate)
    back = read_table(tmp_path / "r.csv", text=["note"])
    armed = ["'=HYPERLINK(1)", "'+1 a", "'-x", "'@sum", "'\tx", "''=x"]
    assert back["note"].to_list() == [*armed, "-5", "+5", "plain", None]
    assert back["n"].to_list() == [-5] * 10
    assert set(back["code"]) <= {"'=a", "b", "{=a;b}"}
    assert (
        json.loads(certificate.read_text())["sha256"] == hashlib.sha256((tmp_path / "r.csv").read_bytes()).hexdigest()
    )
    assert all(verdict.holds for verdict in check(back, policy))
    with pytest.raises(InputError, match="disarmed in text files"):
        write(made, tmp_path / "r.parquet", disarm=True)
    named = Policy(quasi_identifiers=["=a"], models=[KAnonymity(5)])
    with pytest.raises(InputError, match="'=a' begins like a formula"):
        write(draft(pl.DataFrame({"=a": [1] * 5}), named), tmp_path / "s.csv", disarm=True)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_file_is_checked_by_its_name_as_by_the_command(tmp_path: Path, engine: str) -> None:
    policy = Policy(quasi_identifiers=["age"], models=[KAnonymity(2)])
    (tmp_path / "r.csv").write_text("age\n5\n5\n6\n6\n")
    assert [verdict.holds for verdict in check(tmp_path / "r.csv", policy, engine=engine)] == [True]
    (tmp_path / "spelled.csv").write_text("age\n5\n5.0\n6\n6\n")  # two values to whoever reads the file
    assert [verdict.holds for verdict in check(str(tmp_path / "spelled.csv"), policy, engine=engine)] == [False]
    (tmp_path / "more.csv").write_text("age,name\n5,a\n5,b\n")
    with pytest.raises(PromiseError, match="shows 'name', which the policy names no role for"):
        check(tmp_path / "more.csv", policy, engine=engine)
    noted = pl.DataFrame({"age": [5, 5]}).to_arrow().replace_schema_metadata({"note": "Ann is 5"})
    pq.write_table(noted, tmp_path / "noted.parquet")
    with pytest.raises(PromiseError):
        check(tmp_path / "noted.parquet", policy, engine=engine)
    with pytest.raises(InputError, match="no file"):
        check(tmp_path / "gone.csv", policy, engine=engine)
