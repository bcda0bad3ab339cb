"""`shoal profile`: what is shown, and a starting policy that works."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.cli.conftest import ROWS, Shoal
from tests.oracles.released import rows_of


def test_it_says_what_each_column_is(shoal: Shoal, discharges: Path) -> None:
    run = shoal("profile", discharges, "--json")
    assert (run.code, run.err) == (0, "")
    rows = rows_of(discharges)
    assert run.json["records"] == ROWS
    assert [attribute["name"] for attribute in run.json["attributes"]] == list(rows[0])
    for attribute in run.json["attributes"]:
        assert attribute["distinct"] == len({row[attribute["name"]] for row in rows})
        assert attribute.keys() >= {"kind", "missing", "role", "reason", "distinction", "separation"}


def test_the_table_for_people_fits_the_terminal(shoal: Shoal, discharges: Path) -> None:
    run = shoal("profile", discharges)
    assert (run.code, "patzip" in run.out) == (0, True)
    assert max(map(len, run.out.splitlines())) <= 80


def test_the_starting_policy_makes_a_release(shoal: Shoal, discharges: Path, tmp_path: Path) -> None:
    policy = tmp_path / "shoal.toml"
    run = shoal("profile", discharges, "--write-policy", policy, "--json")
    assert (run.code, str(policy) in run.err.replace("\n", "")) == (0, True)
    assert run.json["records"] == ROWS
    assert tomllib.loads(policy.read_text())["models"] == [{"name": "k-anonymity", "k": 5}]
    made = shoal("anonymize", discharges, "-o", tmp_path / "r.csv", "--policy", policy)
    assert made.code == 0
    assert shoal("check", tmp_path / "r.csv", "--policy", policy).code == 0


def test_the_starting_policy_is_never_written_over_the_table(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    run = shoal("profile", tmp_path / "d.csv", "--write-policy", tmp_path / "d.csv")
    assert (run.code, "choose another name" in run.sentence) == (2, True)
    assert (tmp_path / "d.csv").read_text() == "a,b\n1,2\n"
