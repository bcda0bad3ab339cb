"""A release of histories: what it promises, what it refuses, what it never shows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.data.pseudonyms import fresh_key, pseudonyms, read_key
from shoal.data.purchases import purchases
from shoal.errors import InputError, PromiseError
from shoal.transactions import release as module
from shoal.transactions.alike import alike, refuse_distinct, wholly_alike
from shoal.transactions.dummies import Dummies, Padded
from shoal.transactions.histories import Histories, Roles, histories_of, read_histories
from shoal.transactions.release import anonymize_transactions
from tests.oracles.transactions import histories

DATA = os.environ.get("SHOAL_DATA")
TOY = ["abc", "abd", "acd", "ax", "xyz", "pq", "pqr", "pqs"]


def shop(tmp_path: Path) -> Histories:
    rng = np.random.default_rng(1)
    lines = [f"c{rng.integers(40)},{rng.integers(30)},2024-03-{rng.integers(1, 29)},secret" for _ in range(400)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["who,good,day,note", *lines]))
    return read_histories(path, customer="who", item="good", time="day")


@pytest.mark.parametrize("method", ["balanced", "method-2"])
def test_everybody_shares_a_set_with_enough_others_in_the_written_file(tmp_path: Path, method: str) -> None:
    original = shop(tmp_path)
    release = anonymize_transactions(
        original,
        min_size=4,
        method=method,
        show=["day"],
        dummies="records",
        seed=1,  # type: ignore[arg-type]
    )
    path, secret, log = tmp_path / "r.csv", tmp_path / "map.csv", tmp_path / "log.csv"
    release.write(path, secret_map=secret, log=log)
    written = pl.read_csv(path)
    assert written.columns == ["who", "good", "day"]  # what no role names is left out
    goods = written.group_by("who").agg(pl.col("good").unique().sort())
    assert goods.group_by("good").len()["len"].min() >= 4
    assert set(written["who"]) == set(range(1, 41))
    facts = release.to_dict()
    assert facts["smallest_cluster"] >= 4
    assert facts["records"] == written.height == 400 + facts["dummies"]
    assert facts["clusters"] == 10
    # the map and the log give the original back
    origins = pl.read_csv(log)
    real = written.filter(origins["origin"] == "kept").join(pl.read_csv(secret), left_on="who", right_on="pseudonym")
    assert sorted(real.select("customer", "good").rows()) == sorted(
        original.table.select("who", pl.col("good").cast(pl.Int64)).rows()
    )


def test_without_a_header_columns_keep_their_numbers(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    source.write_text("".join(f"{u},x,{g}\n" for u, goods in enumerate(TOY) for g in goods))
    original = read_histories(source, customer="1", item="3", header=False)
    anonymize_transactions(original, clusters=2, seed=1).write(tmp_path / "r.csv", header=False)
    written = read_histories(tmp_path / "r.csv", customer="1", item="3", header=False)
    assert alike(written).min() >= 4
    assert written.table[:, 1].null_count() == len(written)


def test_method_1_promises_nothing_and_says_so() -> None:
    release = anonymize_transactions(histories([*TOY, "lmn"]), clusters=5, method="method-1", seed=1)
    assert release.least == 1
    assert release.sizes.min() == 1
    assert any("alone in a cluster" in note for note in release.notes)


def test_the_size_follows_from_the_number_and_the_number_from_the_size() -> None:
    original = histories(TOY)
    assert anonymize_transactions(original, clusters=2, seed=1).least == 4
    assert len(anonymize_transactions(original, min_size=3, seed=1).sizes) == 2
    assert anonymize_transactions(original, seed=1).sizes.min() >= 2  # the paper's best number


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"min_size": 9}, "larger than the 8 customers"),
        ({"clusters": 9}, "more than the 8 customers"),
        ({"clusters": 3, "min_size": 3}, "at most 2 clusters, or for a size of at most 2"),
        ({"clusters": 0}, "'clusters'"),
        ({"min_size": 0}, "'min_size'"),
        ({"method": "ballanced"}, "Did you mean 'balanced'"),
        ({"method": "method-1", "min_size": 2}, "Method 1 cannot promise"),
        ({"delete": 1.5}, "'delete'"),
        ({"alter": -0.1}, "'alter'"),
        ({"show": ["day"]}, "'day' cannot be shown beside customer and item"),
        ({"dummies": "visit"}, "Did you mean 'visits'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(asked: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        anonymize_transactions(histories(TOY), **asked)  # type: ignore[arg-type]


def test_a_release_that_breaks_its_promise_is_neither_handed_out_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = shop(tmp_path)
    good = anonymize_transactions(original, min_size=4, seed=1)
    broken = replace(good, table=good.table.head(300))
    target, secret = tmp_path / "r.csv", tmp_path / "map.csv"
    with pytest.raises(PromiseError, match="4 were promised"):
        broken.write(target, secret_map=secret)
    assert not target.exists()
    assert not secret.exists()

    def without_dummies(histories: Histories, label: object, **options: object) -> Padded:
        records = np.arange(len(histories), dtype=np.int32)
        return Padded(histories.customer, records, records, records, records, len(histories), 0, 0)

    monkeypatch.setattr(module, "pad", without_dummies)
    with pytest.raises(PromiseError):
        anonymize_transactions(original, min_size=4, seed=1)


def test_a_history_that_is_somebody_s_alone_is_not_released(tmp_path: Path) -> None:
    """Sets of goods may be alike while one quantity or basket tells a customer apart."""
    original = shop(tmp_path)
    good = anonymize_transactions(original, min_size=4, show=["day"], seed=1)
    day = good.table["day"].to_list()
    other = ["2030-01-01", *day[1:]]
    broken = replace(good, table=good.table.with_columns(day=pl.Series(other)))
    with pytest.raises(PromiseError, match="A whole history is that of 1 customer only, 4 were promised"):
        broken.write(tmp_path / "r.csv")
    assert not (tmp_path / "r.csv").exists()


def test_by_default_customer_and_good_are_shown_and_a_pair_is_one_record(tmp_path: Path) -> None:
    original = shop(tmp_path)
    release = anonymize_transactions(original, min_size=4, seed=1)
    assert release.table.columns == ["who", "good"]
    assert release.table.unique().height == release.table.height
    assert wholly_alike(histories_of(release.table, release.roles), release.roles).min() >= 4
    assert any("'day'" in note and "--show" in note for note in release.notes)
    assert release.attacked().trained is None
    assert int(release.made_up.sum()) == release.table.height - original.sets.nnz


@pytest.mark.parametrize("dummies", ["scattered", "visits"])
def test_all_purchases_of_a_cluster_make_its_histories_the_same(dummies: Dummies) -> None:
    roles = Roles("customer", "good", time="date", price="price", quantity="quantity", basket="invoice")
    original = histories_of(purchases(30, seed=5), roles)
    release = anonymize_transactions(
        original,
        min_size=3,
        show=["date", "price", "quantity", "invoice"],
        dummies=dummies,
        delete=0.02,
        seed=1,
    )
    shown = histories_of(release.table, release.roles)
    assert wholly_alike(shown, release.roles).tolist() == wholly_alike(shown, Roles("customer", "good")).tolist()
    assert wholly_alike(shown, release.roles).min() >= 3
    # every purchase that was not deleted is there once for each customer of its cluster
    sizes = release.sizes[release.label[original.customer]]
    assert release.table.height == sizes[np.isin(np.arange(len(original)), release.padded.like)].sum()
    baskets = release.table.group_by("invoice").agg(pl.col("customer").n_unique())
    assert baskets["customer"].max() == 1
    assert sorted(baskets["invoice"]) == list(range(1, baskets.height + 1))


def test_scattered_days_and_baskets_are_those_of_the_cluster(tmp_path: Path) -> None:
    original = shop(tmp_path)
    whole, apart = (
        anonymize_transactions(original, clusters=1, show=["day"], dummies=each, seed=1, key=b"k" * 16).table
        for each in ("visits", "scattered")
    )
    for column in ("good", "day"):
        counts = [table.group_by("who", column).len().sort("who", column) for table in (whole, apart)]
        assert counts[0].equals(counts[1])
    together = [table.group_by("who", "good", "day").len().sort("who", "good", "day") for table in (whole, apart)]
    assert not together[0].equals(together[1])


def test_whole_visits_cannot_be_altered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave 'alter' out"):
        anonymize_transactions(shop(tmp_path), min_size=4, show=["day"], alter=0.1)


def test_of_the_paper_s_dummies_no_rate_is_promised(tmp_path: Path) -> None:
    original = shop(tmp_path)
    release = anonymize_transactions(original, min_size=4, show=["day"], dummies="records", seed=1)
    assert any("no rate of re-identification is promised" in note for note in release.notes)
    assert release.to_dict()["trained"] is None  # telling what is known attacks nobody
    facts = release.attacked().to_dict()
    assert facts["trained"]["customer"]["people"] == 40
    assert facts["records"] == facts["records_with_records"] < facts["records_with_visits"]
    assert facts["found_if_alike"] == 10 / 40


def test_histories_are_compared_by_content_and_not_by_the_numbers_of_baskets() -> None:
    rows = [("a", "x", 1, 7), ("a", "y", 1, 7), ("b", "y", 1, 9), ("b", "x", 1, 9), ("c", "x", 1, 1), ("c", "y", 1, 2)]
    table = pl.DataFrame(rows, schema=["who", "good", "pieces", "bill"], orient="row")
    found = histories_of(table, Roles("who", "good"))
    assert wholly_alike(found, Roles("who", "good", quantity="pieces")).tolist() == [3]
    assert sorted(wholly_alike(found, Roles("who", "good", basket="bill"))) == [1, 2]  # c bought them apart
    with pytest.raises(InputError, match="no column 'day' to be the time"):
        wholly_alike(found, Roles("who", "good", time="day"))


def test_sets_are_counted_not_records() -> None:
    table = pl.DataFrame({"c": [1, 1, 1, 2, 2, 3, 4], "g": ["a", "b", "b", "b", "a", "a", "a"]})
    found = histories_of(table, Roles("c", "g"))
    assert sorted(alike(found)) == [2, 2]
    refuse_distinct(found, 2)
    with pytest.raises(PromiseError, match="2 customers only, 3 were promised"):
        refuse_distinct(found, 3)


def test_pseudonyms_depend_on_the_key_alone(tmp_path: Path) -> None:
    customers = pl.Series(["12346", "12347", "9", "b", "c", "d", "e", "f"])
    key = fresh_key()
    first = pseudonyms(customers, key)
    assert sorted(first) == list(range(1, 9))
    assert pseudonyms(customers.reverse(), key).reverse().equals(first)
    assert any(not pseudonyms(customers, fresh_key()).equals(first) for _ in range(3))
    path = tmp_path / "key"
    path.write_bytes(b"short")
    with pytest.raises(InputError, match="5 bytes"):
        read_key(path)
    path.write_bytes(b"x" * 16)
    assert read_key(path) == b"x" * 16


def test_the_same_seed_and_key_give_the_same_records_in_another_order() -> None:
    """A seed may be guessed: the order, in which real records would come first, must not follow from it."""
    original = histories(TOY)
    first, second = (anonymize_transactions(original, clusters=3, seed=5, key=b"k" * 16).table for _ in range(2))
    assert not first.equals(second)
    assert first.sort(first.columns).equals(second.sort(second.columns))


def test_as_many_clusters_as_customers_hide_nobody() -> None:
    original = histories(TOY)
    with pytest.raises(InputError, match="leave some alone: ask for at most"):
        anonymize_transactions(original, clusters=len(original.customers))


def test_a_size_of_one_hides_nobody() -> None:
    with pytest.raises(InputError, match=r"min_size.*2 or more"):
        anonymize_transactions(histories(TOY), min_size=1)


def test_of_very_many_customers_some_are_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ATTACKED", 5)
    monkeypatch.setattr(module, "SAMPLED", 3)
    assert anonymize_transactions(histories(TOY), clusters=2, seed=5).attacked().to_dict()["attacked"] == 3


@pytest.mark.skipif(DATA is None, reason="SHOAL_DATA does not name the folder of real data")
def test_the_paper_s_customers_in_fifty_clusters_of_eight() -> None:
    original = read_histories(
        Path(str(DATA)) / "purchases" / "transactions_400.csv", customer="1", item="5", header=False
    )
    facts = anonymize_transactions(original, clusters=50, min_size=8, seed=1).attacked().to_dict()
    assert facts["smallest_cluster"] == facts["largest_cluster"] == 8
    assert facts["records"] == original.sets.nnz + facts["dummies"]
    assert facts["dummies"] < 0.85 * 125_798
    assert facts["reid"] == pytest.approx(50 / 400, abs=0.015)
    assert 0.16 < facts["jaccard"] < 0.20
    assert facts["dummies_in_theory"] == pytest.approx(141_131, abs=1)
