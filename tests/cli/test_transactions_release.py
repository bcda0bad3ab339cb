"""`shoal transactions anonymize` and `utility`, as typed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shoal.cli.transactions_release  # noqa: F401  (registers the commands)
from shoal.transactions.alike import alike
from shoal.transactions.histories import read_histories
from tests.cli.conftest import Shoal

COLUMNS = ("--customer", "1", "--item", "3", "--no-header")


@pytest.fixture
def purchases(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    path = tmp_path / "t.csv"
    lines = (f"{rng.integers(30)},x,{rng.integers(25)},2024-01-{rng.integers(1, 29)},2.5,3\n" for _ in range(300))
    path.write_text("".join(lines))
    return path


def test_anonymize_prints_what_was_made_and_writes_it(shoal: Shoal, purchases: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.csv"
    made = shoal(
        "transactions", "anonymize", purchases, "-o", target, *COLUMNS, "--clusters", "6", "--min-size", "5", "--json"
    )
    assert made.code == 0
    facts = made.json
    assert (facts["customers"], facts["clusters"]) == (30, 6)
    assert facts["smallest_cluster"] >= 5
    original = read_histories(purchases, customer="1", item="3", header=False)
    assert facts["records"] == original.sets.nnz + facts["dummies"]
    assert facts["columns"] == ["column_1", "column_3"]
    assert facts["trained"] is None
    assert {"reid", "jaccard", "largest_cluster", "dummies_in_theory"} <= set(facts)
    written = read_histories(target, customer="1", item="3", header=False)
    assert alike(written).min() >= 5
    assert len(written) == facts["records"]


def test_the_release_can_be_attacked_and_measured_with_the_same_options(
    shoal: Shoal, purchases: Path, tmp_path: Path
) -> None:
    target, secret = tmp_path / "r.csv", tmp_path / "map.csv"
    columns = (*COLUMNS, "--time", "4", "--price", "5", "--quantity", "6")
    made = shoal(
        "transactions",
        "anonymize",
        purchases,
        "-o",
        target,
        *columns,
        "--show",
        "4,5,6",
        "--min-size",
        "5",
        "--map",
        secret,
        "--seed",
        "1",
        "--json",
    )
    assert made.code == 0
    attacked = shoal("transactions", "attack", purchases, target, *COLUMNS, "--truth", secret, "--json")
    assert attacked.json["reid"] == pytest.approx(made.json["reid"])
    measured = shoal("transactions", "utility", purchases, target, *columns, "--truth", secret, "--json")
    assert measured.code == 0
    assert measured.json["u2"] > 0
    assert measured.json["left_out"] == {}


def test_a_check_of_named_columns_judges_whole_histories(shoal: Shoal, purchases: Path, tmp_path: Path) -> None:
    columns = (*COLUMNS, "--time", "4", "--quantity", "6")
    made = ("transactions", "anonymize", purchases, "-o", tmp_path / "r.csv", "--overwrite", *columns, "--show", "4,6")
    sized = ("--min-size", "5")
    assert shoal(*made, *sized, "--seed", "1", "--json").code == 0
    checked = shoal("transactions", "check", tmp_path / "r.csv", *columns, *sized, "--json")
    assert checked.code == 0
    assert checked.json["share_a_history"] >= 5
    assert checked.json["not_judged"] == []
    assert shoal(*made, *sized, "--dummies", "records", "--seed", "1", "--json").code == 0
    assert shoal("transactions", "check", tmp_path / "r.csv", *COLUMNS, *sized, "--goods-only").code == 0
    whole = shoal("transactions", "check", tmp_path / "r.csv", *columns, *sized)
    assert whole.code == 1
    assert "histories are not" in whole.err


def test_who_is_shown_with_the_same_goods_as_all_others_leaves_nothing_to_train_on(
    shoal: Shoal, tmp_path: Path
) -> None:
    """Two clusters of the same goods: the release is whole, and says so."""
    rows = [f"c{customer},g{good},{customer * 3 + good}\n" for customer in range(4) for good in range(2)]
    (tmp_path / "t.csv").write_text("who,good,visit\n" + "".join(rows))
    run = shoal(
        "transactions", "anonymize", tmp_path / "t.csv", "-o", tmp_path / "r.csv", "--customer", "who",
        "--item", "good", "--basket", "visit", "--show", "visit", "--min-size", "2", "--clusters", "2", "--json",
    )  # fmt: skip
    assert run.code == 0
    assert (run.json["clusters"], run.json["trained"]) == (2, None)
    assert (tmp_path / "r.csv").exists()


def test_the_trained_intruder_is_shown_beside_the_paper_s(shoal: Shoal, purchases: Path, tmp_path: Path) -> None:
    target, secret = tmp_path / "r.csv", tmp_path / "map.csv"
    columns = (*COLUMNS, "--time", "4", "--quantity", "6")
    made = shoal(
        "transactions", "anonymize", purchases, "-o", target, *columns, "--show", "4,6", "--dummies", "records",
        "--min-size", "5", "--map", secret, "--seed", "1",
    )  # fmt: skip
    assert "Trained intruder" in made.out
    assert "no rate of re-identification is promised" in made.err
    attack = ("transactions", "attack", purchases, target, *columns, "--truth", secret, "--trained", "--seed", "1")
    assert "customers found by 10 goods" in shoal(*attack).out
    found = shoal(*attack, "--known", "4", "--json").json["trained"]
    assert found["known"] == 4
    assert found["customer"]["people"] == 30
    low, high = found["customer"]["interval"]
    assert low <= found["customer"]["rate"] <= high


def test_a_table_for_people(shoal: Shoal, purchases: Path, tmp_path: Path) -> None:
    made = shoal("transactions", "anonymize", purchases, "-o", tmp_path / "r.csv", *COLUMNS, "--clusters", "6")
    assert "smallest cluster" in made.out
    assert "left out of the release" in made.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--min-size", "31"), "larger than the 30 customers"),
        (("--clusters", "31"), "more than the 30 customers"),
        (("--clusters", "6", "--min-size", "6"), "need 36 customers, there are 30"),
        (("--method", "method-3"), "There is no method 'method-3'"),
        (("--delete", "2"), "'delete'"),
        (("--time", "4", "--show", "5"), "'column_5' cannot be shown beside customer and item"),
        (("--time", "4", "--show", "4", "--dummies", "rows"), "There are no dummies 'rows'"),
        (("--time", "4", "--show", "4", "--alter", "0.1"), "leave 'alter' out"),
        (("--key", "nowhere"), "There is no file 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(
    shoal: Shoal, purchases: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    target = tmp_path / "r.csv"
    refused = shoal("transactions", "anonymize", purchases, "-o", target, *COLUMNS, *options)
    assert refused.code == 2
    assert words in refused.sentence
    assert not target.exists()


def test_the_input_is_never_written_over(shoal: Shoal, purchases: Path) -> None:
    before = purchases.read_bytes()
    refused = shoal("transactions", "anonymize", purchases, "-o", purchases, *COLUMNS)
    assert refused.code == 2
    assert "would replace" in refused.sentence
    assert purchases.read_bytes() == before


@pytest.mark.parametrize("promise", [("--min-size", "2"), ("--k", "2", "--m", "1")])
def test_a_file_that_shows_what_nobody_judged_does_not_pass(
    shoal: Shoal, tmp_path: Path, promise: tuple[str, ...]
) -> None:
    file = tmp_path / "r.csv"
    file.write_text("who,good,day,empty\n1,a,2024-01-01,\n2,a,2024-01-02,\n")
    words = ("transactions", "check", file, "--customer", "who", "--item", "good", *promise)
    by_goods = shoal(*words, "--json")
    assert by_goods.code == 1
    assert (by_goods.json["holds"], by_goods.json["not_judged"]) == (False, ["day"])
    assert "Nothing was judged of what 'day' tell: name the columns" in by_goods.err
    stated = shoal(*words, "--goods-only", "--json")
    assert stated.code == 0
    assert (stated.json["holds"], stated.json["not_judged"]) == (True, ["day"])
    assert shoal(*words, "--goods-only", "--time", "day").sentence.startswith("--goods-only judges the sets of goods")
    file.write_text("who,good\n1,a\n2,a\n")
    assert shoal(*words).code == 0


def test_baskets_are_recoded_and_checked(shoal: Shoal, tmp_path: Path) -> None:
    source, taxonomy, target = tmp_path / "b.csv", tmp_path / "goods.csv", tmp_path / "r.csv"
    source.write_text("beer,cheese\nbeer,ham\nbeer\nham\ncheese\n")
    taxonomy.write_text("beer;drinks\ncheese;food\nham;food\n")
    promise = ("--k", "2", "--m", "2")
    assert shoal("transactions", "check", source, "--baskets", *promise).code == 1
    made = shoal(
        "transactions", "anonymize", source, "-o", target, "--baskets", *promise, "--taxonomy", taxonomy, "--json"
    )
    assert made.code == 0
    assert (made.json["baskets"], made.json["goods"]) == (5, 2)
    columns = ("--customer", "customer", "--item", "item")
    checked = shoal("transactions", "check", target, *columns, *promise, "--json")
    assert checked.code == 0
    assert checked.json["holds"] is True
    assert shoal("transactions", "check", target, *columns, "--min-size", "3").code == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--k", "2"), "needs both --k"),
        (("--k", "2", "--m", "2", "--clusters", "3"), "--clusters has no part in recoding goods"),
        (("--taxonomy", "t.csv"), "There is no file 't.csv'"),
    ],
)
def test_options_that_do_not_go_together(
    shoal: Shoal, purchases: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    if "--taxonomy" in options:
        options = (*options, "--k", "2", "--m", "1")
    refused = shoal("transactions", "anonymize", purchases, "-o", tmp_path / "r.csv", *COLUMNS, *options)
    assert refused.code == 2
    assert words in refused.sentence


def test_a_promise_has_to_be_named_and_columns_too(shoal: Shoal, purchases: Path, tmp_path: Path) -> None:
    assert "Say what was promised" in shoal("transactions", "check", purchases, *COLUMNS).sentence
    assert "--baskets" in shoal("transactions", "anonymize", purchases, "-o", tmp_path / "r.csv").sentence
