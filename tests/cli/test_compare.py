"""`shoal compare`: the table, the JSON, the plot, the cache, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.compare import comparison
from shoal.compare.contenders import comparable
from shoal.compare.trials import Trials
from tests.cli.conftest import Shoal

ROWS = 120
ASKED = ("--methods", "noise,swap,hilbert", "--at-risk", "0.7", "--runs", "2")
KEYS = {
    "method", "parameter", "parameter_name", "risk", "risk_se", "utility", "utility_se", "correct_links",
    "correct_links_rank", "attained", "attainable", "meets", "reach",
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "shoal"


@pytest.fixture(scope="session")
def incomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(11)
    income = rng.lognormal(10, 0.5, ROWS)
    table = pl.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "income": income.round(2),
            "tax": (income * rng.uniform(0.1, 0.3, ROWS)).round(2),
            "county": rng.choice(["a", "b", "c"], ROWS),
        }
    )
    path = tmp_path_factory.mktemp("incomes") / "incomes.csv"
    table.write_csv(path)
    return path


def test_methods_are_brought_to_the_risk_and_ranked(shoal: Shoal, incomes: Path) -> None:
    run = shoal("compare", incomes, "--attributes", "age,income,tax", *ASKED, "--json")
    assert (run.code, run.err) == (0, "")
    found = run.json["methods"]
    assert {row["method"] for row in found} == {"noise", "swap", "hilbert"}
    assert all(row.keys() == KEYS for row in found)
    assert all(row["risk"] == pytest.approx(0.7, abs=0.01) for row in found if row["attained"])
    assert sum(row["attained"] for row in found) >= 2
    utilities = [row["utility"] for row in found if row["meets"]]
    assert utilities == sorted(utilities)
    assert run.json["asked"] == {"risk": 0.7}


def test_asking_again_prints_the_same_from_the_cache(
    shoal: Shoal, incomes: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("compare", incomes, "--attributes", "age,income", *ASKED, "--json")
    first = shoal(*asked)
    assert (cache / "measured.sqlite").is_file()

    def never(*ignored: object) -> None:
        raise AssertionError("masked again")

    monkeypatch.setattr(Trials, "_tried", never)
    assert shoal(*asked).out == first.out


def test_without_a_cache_nothing_is_kept(shoal: Shoal, incomes: Path, cache: Path) -> None:
    run = shoal("compare", incomes, "--attributes", "age,income", "--methods", "kd", "--frontier", "--no-cache")
    assert run.code == 0
    assert not cache.exists()


def test_the_table_fits_the_terminal_and_warns(shoal: Shoal, incomes: Path) -> None:
    run = shoal("compare", incomes, "--attributes", "age,income", *ASKED, "--frontier", "--also", "interval_disclosure")
    assert run.code == 0
    assert max(map(len, run.out.splitlines())) <= 80
    assert "is not equal re-identification" in " ".join(run.out.split())
    assert " links " in run.out


def test_help_names_every_method_and_shows_how(shoal: Shoal) -> None:
    shown = " ".join(shoal("compare", "--help").out.replace("│", " ").split())
    assert all(name in shown for name in comparable())
    assert shown.count("shoal compare d.csv") == 3


def test_at_equal_utility_the_safest_comes_first(shoal: Shoal, incomes: Path) -> None:
    run = shoal("compare", incomes, "--attributes", "age,income", "--methods", "noise,hilbert", "--at-utility", "0.1",
                "--runs", "2", "--json")  # fmt: skip
    risks = [row["risk"] for row in run.json["methods"] if row["attainable"]]
    assert len(risks) == 2
    assert risks == sorted(risks, reverse=True)


@pytest.mark.parametrize("name", ["f.png", "f.svg"])
def test_the_frontier_is_drawn(shoal: Shoal, incomes: Path, tmp_path: Path, name: str) -> None:
    run = shoal("compare", incomes, "--attributes", "age,income", "--methods", "kd,coarsen", "--frontier", "--json",
                "--plot", tmp_path / name)  # fmt: skip
    assert run.code == 0
    assert {point["method"] for point in run.json["frontier"]} == {"kd", "coarsen"}
    assert (tmp_path / name).stat().st_size > 5_000


def test_an_interruption_is_told_with_where_to_go_on(
    shoal: Shoal, incomes: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*ignored: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "_calibrated", stop)
    run = shoal("compare", incomes, "--attributes", "age,income", *ASKED)
    assert run.code == 130
    assert run.out == ""
    assert f"What was measured is kept in {cache}" in " ".join(run.err.split())


FOUND = ("--risk", "found_again", "--at-risk", "0.2")


@pytest.mark.parametrize("method", ["noise", "swap", "hilbert"])
def test_the_best_is_released_and_held_to_the_risk(shoal: Shoal, incomes: Path, tmp_path: Path, method: str) -> None:
    output = tmp_path / "release.csv"
    asked = ("--attributes", "age,income,tax", "--methods", method, *FOUND, "--runs", "2", "--best")
    run = shoal("compare", incomes, *asked, "-o", output, "--json")
    assert run.code == 0
    assert "'county'" in run.err  # left out, and said so
    promised = {model["name"]: model for model in run.json["release"]["models"]}
    assert promised["measured-risk"]["achieved"] <= promised["measured-risk"]["asked"] == 0.2
    assert ("k-anonymity" in promised) == (method == "hilbert")
    released = pl.read_csv(output)
    assert (released.columns, released.height) == (["age", "income", "tax"], ROWS)
    again = shoal("compare", incomes, *asked, "-o", output, "--overwrite")
    assert again.code == 0
    assert f"by {run.json['release']['method'].partition('(')[0]}" in " ".join(again.out.split())
    if method != "hilbert":  # what is drawn for a release is drawn anew
        assert sorted(pl.read_csv(output).rows()) != sorted(released.rows())


def test_where_no_method_reaches_the_risk_nothing_is_released(shoal: Shoal, incomes: Path, tmp_path: Path) -> None:
    output = tmp_path / "release.csv"
    run = shoal("compare", incomes, "--attributes", "age,income", "--methods", "resample", *FOUND, "--runs", "1",
                "--best", "-o", output)  # fmt: skip
    assert run.code == 1
    assert "No method reaches a found_again of 0.2" in run.sentence
    assert not output.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Say at which risk or utility"),
        (("--at-risk", "1", "--at-utility", "1"), "not both"),
        (("--at-risk", "1", "--methods", "nois"), "Did you mean 'noise'?"),
        (("--at-risk", "1", "--risk", "rank_linkge"), "Did you mean 'rank_linkage'?"),
        (("--at-risk", "1", "--utility", "earth"), "There is no utility measure 'earth'."),
        (("--at-risk", "1", "--also", "sse_"), "Did you mean 'sse'?"),
        (("--at-risk", "0.45", "--best", "-o", "r.csv"), "'rank_linkage' compares methods and promises nothing"),
        (("--at-risk", "1", "--attributes", "incom"), "Did you mean 'income'?"),
        (("--at-risk", "1", "--methods", "noise"), "'county'"),
        (("--at-risk", "1", "--plot", "plot.jpeg"), "must end in one of .png, .svg, .pdf"),
        (("--at-risk", "1", "--plot", "/nowhere/plot.png"), "the folder '/nowhere' does not exist"),
        (("--at-risk", "1", "--cache", ".", "--no-cache"), "give one of them"),
        (("--at-risk", "1", "--best"), "-o FILE"),
        (("--at-risk", "1", "-o", "r.csv"), "--best"),
        (("--at-utility", "1", "--best", "-o", "r.csv"), "--at-risk"),
        (("--at-risk", "1", "--methods", "no_such_module:f"), "cannot be imported"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    shoal: Shoal, incomes: Path, words: tuple[str, ...], sentence: str
) -> None:
    run = shoal("compare", incomes, *words)
    assert run.code == 2
    assert sentence in run.sentence


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x,y\n1,2\n3,n/a\n5,6\n7,8\n", "Column 'y' mixes numbers and text: line 3 holds 'n/a'"),
        ("x\n5\n5\n5\n5\n", "nothing to measure"),
        ("x,y\n1,2\n", "records"),
    ],
)
def test_tables_that_cannot_be_compared_are_told(shoal: Shoal, tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    run = shoal("compare", tmp_path / "t.csv", "--methods", "hilbert", "--at-risk", "0.1")
    assert run.code == 2
    assert sentence in run.sentence


def test_constant_columns_and_missing_values(shoal: Shoal, tmp_path: Path) -> None:
    lines = [f"{i},7,{'' if i % 5 == 0 else i * i}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,same,square", *lines]))
    asked = ("compare", tmp_path / "t.csv", "--frontier", "--runs", "2", "--json")
    run = shoal(*asked, "--methods", "hilbert,kd")
    assert run.code == 0
    assert any("'same' has one value only" in note for note in run.json["notes"])
    assert "Column 'same' holds one value only" in shoal(*asked, "--methods", "noise").sentence
    assert shoal(*asked, "--attributes", "x,square", "--methods", "noise,swap,multiplicative-noise,hilbert").code == 0
