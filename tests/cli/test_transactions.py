"""`shoal transactions attack` and `risk`, and `shoal sample purchases`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Shoal

ORIGINAL = "1,a,2011/1/1,2\n1,b,2011/1/2,2\n2,b,2011/1/3,2\n2,c,2011/1/4,9\n3,POST,2011/1/5,1\n"
COLUMNS = ("--customer", "1", "--item", "2", "--no-header")


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(ORIGINAL)
    return path


def test_the_attack_prints_its_rates(shoal: Shoal, original: Path) -> None:
    run = shoal("transactions", "attack", original, original, *COLUMNS, "--json", "--one-to-one", "--seed", "1")
    assert run.code == 0, run.err
    assert run.json == {
        "customers": 3,
        "originals": 3,
        "similarity": "jaccard",
        "reid": 1,
        "reid_fair": 1,
        "reid_assigned": 1,
        "baseline": 1 / 3,
        "own_similarity": 1,
        "tied": 0,
        "trained": None,
    }
    table = shoal("transactions", "attack", original, original, *COLUMNS)
    assert "nearest original, ties by lot" in table.out
    assert "100.00%" in table.out


def test_pseudonyms_a_window_and_the_guesses_as_a_file(shoal: Shoal, original: Path, tmp_path: Path) -> None:
    masked, truth, guesses = (tmp_path / name for name in ("m.csv", "map.csv", "g.csv"))
    masked.write_text("x,b\nx,c\ny,a\nz,POST\n")
    truth.write_text("pseudonym,customer\nx,2\ny,1\nz,3\n")
    words = ("transactions", "attack", original, masked, *COLUMNS, "--truth", truth)
    assert shoal(*words, "--json").json["reid"] == 1
    window = ("--time", "3", "--from", "2011-01-02", "--to", "2011-01-03", "-o", guesses)
    run = shoal(*words, *window, "--json")
    assert run.json["reid"] == 1 / 3  # 1 and 2 are known by b alone, 3 by nothing: all guesses fall on the first
    assert run.json["reid_fair"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 3) / 3)
    assert pl.read_csv(guesses)["guess"].to_list() == [1, 1, 1]
    before = truth.read_bytes()
    assert "choose another name" in shoal(*words, "-o", truth).sentence
    assert truth.read_bytes() == before


def test_the_risk_of_a_table(shoal: Shoal, original: Path) -> None:
    run = shoal("transactions", "risk", original, *COLUMNS, "--time", "3", "--price", "4", "--seed", "1", "--json")
    assert run.code == 0, run.err
    found = run.json
    assert (found["customers"], found["records"], found["goods"], found["b"]) == (3, 5, 4, 5 / 3)
    assert found["mean_jaccard"] == pytest.approx(1 / 9)
    assert found["shared_goods"] == pytest.approx(1 / 3)
    assert found["unicity"]["shares"]["item, day"] == [1.0] * 10
    assert list(found["unicity"]["shares"]) == ["item", "item, day", "item, day, price band"]
    table = shoal("transactions", "risk", original, *COLUMNS)
    assert "by Proposition 1" in table.out
    assert "fewer than m purchases" in table.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--customer", "1", "--item", "7", "--no-header"), "the item is a column's number from 1 to 4. Got '7'"),
        (("--customer", "id", "--item", "good"), "purchases are read without one by --no-header"),
        (
            ("--customer", "id", "--item", "good", "--read", "names=first-line"),
            "There is no column 'id' to be the customer",
        ),
        ((*COLUMNS, "--time", "4"), "'column_4' holds '2' in line 1"),
        ((*COLUMNS, "--time", "3", "--price", "2"), "'column_2'"),
        (("--customer", "1"), "--item"),
    ],
)
def test_bad_input_is_told_in_one_sentence(shoal: Shoal, original: Path, words: tuple[str, ...], sentence: str) -> None:
    run = shoal("transactions", "risk", original, *words)
    assert run.code == 2
    assert sentence in run.sentence


def test_more_bad_input_of_the_attack(shoal: Shoal, original: Path, tmp_path: Path) -> None:
    attack = ("transactions", "attack", original, original, *COLUMNS)
    assert "no column of times" in shoal(*attack, "--to", "2011-01-01").sentence
    assert "Did you mean 'tfidf'" in shoal(*attack, "--similarity", "tf-idf").sentence
    assert "There is no file" in shoal("transactions", "attack", original, tmp_path / "no.csv", *COLUMNS).sentence
    (tmp_path / "c.csv").write_text("1,f\n2,m\n3,m\n4,f\n")
    run = shoal("transactions", "risk", original, *COLUMNS, "--customers", tmp_path / "c.csv")
    assert "customer 4 there are no items" in run.sentence


def test_generated_purchases(shoal: Shoal, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        run = shoal("sample", "purchases", "--customers", "30", "--seed", "2", "-o", tmp_path / name)
        assert (run.code, run.out) == (0, "")
    assert "of 30 customers" in run.err
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    words = ("--customer", "customer", "--item", "good", "--time", "date", "--price", "price", "--json")
    assert shoal("transactions", "risk", tmp_path / "a.csv", *words).json["customers"] == 30
    assert shoal("sample", "purchases", "--customers", "1", "-o", tmp_path / "c.csv").code == 2
