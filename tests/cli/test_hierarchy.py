"""`shoal hierarchy` shows, builds and checks; what it writes, it reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.data.hierarchy_files import read_hierarchy
from tests.cli.conftest import Shoal

BUILT = [
    ("age", ["--steps", "5,10,20"], ["7", "[5;9]", "[0;9]", "[0;19]", "*"]),
    ("age", ["--width", "10"], ["7", "[0;9]", "[0;19]", "[0;39]", "*"]),
    ("age", ["--frequency", "2"], ["7", "[0;36]", "*"]),
    ("age", ["--cuts", "18,40,65", "--cuts", "40"], ["7", "[0;17]", "[0;39]", "*"]),
    ("zip", ["--mask"], ["93007", "9300*", "930**", "*"]),
    ("zip", ["--mask-left"], ["93007", "***07", "****7", "*"]),
    ("day", ["--dates", "month,year"], ["2024-01-08", "2024-01", "*"]),
    ("size", ["--order", "S,M,L,XL"], ["S", "S to M", "*"]),
    ("size", ["--tree", "pairs.csv"], ["S", "small", "any"]),
    ("size", ["--auto"], ["S", "S to M", "*"]),
]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    days = pl.select(pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 3, 15), "1d")).to_series()
    ages = pl.int_range(75, eager=True)
    pl.DataFrame(
        {
            "age": ages,
            "zip": pl.Series([f"93{age % 2}{age // 2:02d}" for age in ages]),
            "day": days,
            "size": pl.Series([["S", "M", "L", None][age % 4] for age in ages]),
        }
    ).write_csv("d.csv")
    Path("pairs.csv").write_text("S;small\nM;small\nL;large\nXL;large\nsmall;any\nlarge;any\n")
    return tmp_path / "d.csv"


@pytest.mark.parametrize(("column", "how", "line"), BUILT, ids=[how[0] for _, how, _ in BUILT])
def test_what_is_built_is_written_and_covers_the_table(
    shoal: Shoal, table: Path, column: str, how: list[str], line: list[str]
) -> None:
    built = shoal("hierarchy", "build", table, column, "-o", f"{column}.csv", *how, "--json")
    assert built.code == 0
    tree = read_hierarchy(f"{column}.csv", column)
    assert line in [list(nodes) for nodes in zip(*tree.nodes, strict=True)]
    assert [level["values"] for level in built.json["levels"]] == [len(tree.labels(i)) for i in range(tree.levels)]
    assert shoal("hierarchy", "check", f"{column}.csv", "--data", table).code == 0


def test_a_hierarchy_is_shown_with_its_levels_and_a_part_of_the_tree(shoal: Shoal, table: Path) -> None:
    shoal("hierarchy", "build", table, "age", "-o", "age.csv", "--steps", "5,10")
    shown = shoal("hierarchy", "show", "age.csv")
    assert shown.code == 0
    for words in ("bands of 10", "not shown", "[0;9]  (10 values)", "[0;4]", "... 4 more"):
        assert words in shown.out
    facts = shoal("hierarchy", "show", "age.csv", "--json").json
    assert (facts["attribute"], facts["values"], len(facts["levels"])) == ("age", 75, 4)
    assert facts["levels"][2] == {"level": 2, "name": "bands of 10", "values": 8, "smallest": 5, "largest": 10}


def test_lines_that_stand_twice_are_told(shoal: Shoal, table: Path) -> None:
    Path("size.csv").write_text("S;*\nM;*\nL;*\nM;*\n")
    checked = shoal("hierarchy", "check", "size.csv", "--data", table)
    assert checked.code == 0
    assert "'M' stands on 2 equal lines" in checked.out
    assert shoal("hierarchy", "check", "size.csv", "--json").json["repeated"] == {"M": 2}


def test_a_value_that_is_not_listed_ends_in_its_name(shoal: Shoal, table: Path) -> None:
    Path("h.csv").write_text("S;*\nM;*\n")
    assert shoal("hierarchy", "check", "h.csv").code == 0
    failed = shoal("hierarchy", "check", "h.csv", "--data", table, "--column", "size")
    assert failed.code == 2
    assert "'L' in record 3" in failed.sentence


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["build", "d.csv", "age", "-o", "x.csv"], "--steps"),
        (["build", "d.csv", "age", "-o", "x.csv", "--auto", "--mask"], "--mask and --auto"),
        (["build", "d.csv", "agee", "-o", "x.csv", "--auto"], "Did you mean 'age'?"),
        (["build", "d.csv", "age", "-o", "d.csv", "--auto"], "which this command reads"),
        (["build", "d.csv", "age", "-o", "x.csv", "--steps", "5,ten"], "'5,ten'"),
        (["build", "d.csv", "age", "-o", "x.csv", "--steps", "5,12"], "multiple"),
        (["build", "d.csv", "size", "-o", "x.csv", "--steps", "5"], "no number"),
        (["build", "d.csv", "size", "-o", "x.csv", "--tree", "three.csv"], "child;parent"),
        (["build", "d.csv", "age", "-o", "no/x.csv", "--auto"], "cannot be written"),
        (["show", "nowhere.csv"], "no file"),
        (["check", "three.csv"], "not coarser"),
    ],
)
def test_faults_end_in_one_sentence_and_nothing_is_written(
    shoal: Shoal, table: Path, words: list[str], said: str
) -> None:
    Path("three.csv").write_text("a;b;c\nd;e;f\n")
    before = table.read_bytes()
    failed = shoal("hierarchy", *words)
    assert failed.code == 2
    assert said in failed.sentence
    assert not Path("x.csv").exists()
    assert table.read_bytes() == before


@pytest.mark.parametrize("command", ["show", "build", "check"])
def test_help_gives_examples(shoal: Shoal, command: str) -> None:
    assert shoal("hierarchy", command, "--help").out.count(f"shoal hierarchy {command}") >= 2
