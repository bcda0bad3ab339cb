"""`shoal transactions anonymize --ledger` and `shoal transactions audit`, as typed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.data.purchases import purchases
from tests.cli.conftest import Shoal


def test_purchases_go_into_the_ledger(shoal: Shoal, tmp_path: Path) -> None:
    table = purchases(120, seed=7).select("customer", "good").unique(maintain_order=True)
    table.write_csv(tmp_path / "t.csv")
    columns = ("--customer", "customer", "--item", "good", "--min-size", "6")
    ledger = ("--ledger", f"{tmp_path / 'l.db'},key={tmp_path / 'key'}")
    source = tmp_path / "t.csv"
    first = shoal("transactions", "anonymize", source, "-o", tmp_path / "a.csv", *columns, *ledger,
                  "--map", tmp_path / "m.csv", "--seed", "1", "--json")  # fmt: skip
    assert first.code == 0
    more = pl.concat([table, table.head(3).with_columns(good=pl.lit(987_654, pl.Int64))])
    more.write_csv(source)
    second = shoal("transactions", "anonymize", source, "-o", tmp_path / "b.csv", *columns, *ledger, "--seed", "2")
    assert second.code == 1
    assert not (tmp_path / "b.csv").exists()
    third = shoal("transactions", "anonymize", source, "-o", tmp_path / "b.csv", *columns, *ledger, "--incremental",
                  "--map", tmp_path / "n.csv", "--json")  # fmt: skip
    assert third.code == 0, third.err
    assert any("customers are withheld" in note for note in third.json["notes"])
    assert shoal("releases", "audit", "--ledger", tmp_path / "l.db", "--json").json["subjects_below_k"] == 0
    maps = ("--map", tmp_path / "m.csv", "--map", tmp_path / "n.csv")
    found = shoal("transactions", "audit", source, tmp_path / "a.csv", tmp_path / "b.csv", *columns[:4], *maps)
    assert found.code == 0
    assert "linked releases" in found.out
    strangers = table.with_columns(customer="x" + pl.col("customer").cast(pl.String))
    strangers.write_csv(source)
    told = shoal("transactions", "anonymize", source, "-o", tmp_path / "c.csv", *columns, *ledger, "--json")
    assert any("known to the ledger" in note for note in told.json["notes"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--ledger", "l.db,key=k,limit=2"), "its limit, which has no part here"),
        (("--incremental",), "give --ledger as well"),
        (("--ledger", "l.db,key=k", "--k", "2", "--m", "2"), "clusters of customers"),
        (("--ledger", "l.db,key=k", "--key", "key"), "leave out --key"),
        (("--ledger", "l.db,key=k", "--incremental", "--clusters", "3"), "--min-size alone"),
    ],
)
def test_what_a_ledger_cannot_judge_is_said(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    purchases(120, seed=7).write_csv("t.csv")
    run = shoal("transactions", "anonymize", "t.csv", "-o", "r.csv", "--customer", "customer", "--item", "good", *words)
    assert run.code == 2
    assert sentence in run.sentence


def test_the_map_is_given_twice(shoal: Shoal, tmp_path: Path) -> None:
    run = shoal("transactions", "audit", "t.csv", "a.csv", "b.csv", "--customer", "c", "--item", "g", "--map", "m.csv")
    assert run.code == 2
    assert "Give --map twice" in run.sentence
