"""The trained intruder: she tells the paper's dummies, and nothing where everybody of a cluster is shown alike."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.data.purchases import purchases
from shoal.errors import InputError
from shoal.transactions import trained as module
from shoal.transactions.dummies import Dummies
from shoal.transactions.histories import Histories, Roles, histories_of, read_histories
from shoal.transactions.release import TransactionRelease, anonymize_transactions
from shoal.transactions.trained import Trained, area, real_records, trained_attack
from tests.oracles.transactions import histories

DATA = os.environ.get("SHOAL_DATA")
ROLES = Roles("customer", "good", time="date", price="price", quantity="quantity", basket="invoice")
MORE = ["date", "price", "quantity", "invoice"]
SIZE = 5


@pytest.fixture(scope="module")
def shop() -> Histories:
    return histories_of(purchases(80, seed=3), ROLES)


@pytest.fixture(autouse=True)
def a_quick_intruder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEARNT_FROM", 6_000)
    monkeypatch.setattr(module, "LEARNT_FOR_CONTROL", 1_000)
    monkeypatch.setattr(module, "ROUNDS", 40)


def made(original: Histories, show: list[str], dummies: Dummies = "scattered", size: int = SIZE) -> TransactionRelease:
    return anonymize_transactions(original, min_size=size, show=show, dummies=dummies, seed=1)


def attacked(release: TransactionRelease) -> Trained:
    shown = histories_of(release.table, release.roles)
    return trained_attack(release.original, shown, truth=release.secret_map, seed=1)


def assert_blind(found: Trained, clusters: int, customers: int) -> None:
    """AUC at most 0.6, and no more customers found than 1.5 c/n, by the interval's lower end."""
    assert found.auc is not None
    assert found.auc <= 0.6
    assert found.auc_same_good == pytest.approx(0.5, abs=0.02)
    low, _ = found.customer.interval
    assert low <= 1.5 * clusters / customers
    assert found.customer.rate <= 1.5 * clusters / customers


def test_she_tells_the_paper_s_dummies_and_finds_their_customers(shop: Histories) -> None:
    found = attacked(made(shop, MORE, "records"))
    assert found.auc is not None
    assert found.auc_control is not None
    assert found.auc > 0.7
    assert abs(found.auc_control - 0.5) < 0.1
    low, _ = found.customer.interval
    assert low > 2 / SIZE > found.customer.baseline
    assert found.customer.control is not None
    assert found.customer.control < low
    assert found.surest > 0.9
    assert found.dummies == made(shop, MORE, "records").padded.dummies


@pytest.mark.parametrize(
    ("show", "dummies"),
    [
        ([], "scattered"),
        pytest.param(MORE, "scattered", marks=pytest.mark.slow),
        pytest.param(["price", "quantity"], "visits", marks=pytest.mark.slow),
    ],
    ids=["default", "scattered", "no visits"],
)
def test_she_is_blind_where_a_cluster_is_shown_alike(shop: Histories, show: list[str], dummies: Dummies) -> None:
    release = made(shop, show, dummies)
    assert_blind(attacked(release), len(release.sizes), len(shop.customers))


@pytest.mark.slow
def test_whole_visits_hide_who_and_give_their_other_goods_away(shop: Histories) -> None:
    """What is promised is who is who; what else is bought in a visit is read by who knows a part of it."""
    release = made(shop, MORE, "visits")
    found = attacked(release)
    assert_blind(found, len(release.sizes), len(shop.customers))
    scattered = attacked(made(shop, MORE)).good
    assert found.good.interval[0] > max(found.good.baseline, scattered.interval[1])


def test_real_records_are_those_of_the_original_by_all_that_is_shown() -> None:
    columns = ["customer", "good", "quantity"]
    roles = Roles("customer", "good", quantity="quantity")
    before = pl.DataFrame([("a", "x", 1), ("a", "x", 1), ("b", "y", 2)], schema=columns, orient="row")
    after = pl.DataFrame(
        [("a", "x", 1), ("a", "x", 1), ("a", "x", 1), ("a", "x", 2), ("b", "y", 2), ("b", "x", 1)],
        schema=columns,
        orient="row",
    )
    found = real_records(histories_of(before, roles), histories_of(after, roles), np.array([0, 1]))
    assert found.tolist() == [True, True, False, False, True, False]


def test_where_days_were_dealt_anew_a_purchase_is_known_by_its_good() -> None:
    roles = Roles("customer", "good", time="day")
    rows = [("a", "x", "2024-01-01"), ("a", "y", "2024-01-02"), ("b", "y", "2024-01-03")]
    before = pl.DataFrame(rows, schema=["customer", "good", "day"], orient="row")
    after = before.with_columns(day=pl.Series(["2024-01-03", "2024-01-02", "2024-01-01"]))
    after = pl.concat([after, after.with_columns(customer=pl.lit("b"), good=pl.lit("x"))[:1]])
    found = real_records(histories_of(before, roles), histories_of(after, roles), np.array([0, 1]))
    assert found.tolist() == [True, True, True, False]


def test_the_area_counts_pairs_and_equals_by_half() -> None:
    score, real = np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
    assert area(score, real) == (1 + 1 + 0.5 + 1) / 4
    assert area(score, real, np.array([0, 1, 1, 0])) == (1 + 0.5) / 2
    assert area(score, np.ones(4, np.bool_)) is None


def test_of_many_records_some_clusters_are_attacked(shop: Histories, monkeypatch: pytest.MonkeyPatch) -> None:
    release = made(shop, ["quantity"])
    most = release.table.height // 2
    monkeypatch.setattr(module, "MOST_RECORDS", most)
    found = attacked(release)
    assert 0 < found.records <= most
    assert found.customer.people < len(shop.customers)


def test_one_cluster_leaves_nobody_to_learn_from() -> None:
    release = anonymize_transactions(histories(["ab", "bc", "cd"]), clusters=1, seed=1)
    with pytest.raises(InputError, match="no other clusters to train"):
        attacked(release)
    assert release.attacked().trained is None


def test_what_she_knows_has_to_be_something(shop: Histories) -> None:
    with pytest.raises(InputError, match="'known'"):
        trained_attack(shop, shop, known=0)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="SHOAL_DATA does not name the folder of real data")
def test_she_is_blind_on_the_paper_s_customers(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, and with all columns; a part of the clusters, so that it takes seconds."""
    monkeypatch.setattr(module, "MOST_RECORDS", 40_000)
    original = read_histories(
        Path(str(DATA)) / "purchases" / "transactions_400.csv",
        customer="1", basket="2", time="3", item="5", price="6", quantity="7", header=False,
    )  # fmt: skip
    every = ["column_2", "column_3", "column_6", "column_7"]
    for show in ([], every):
        release = made(original, show, size=8)
        assert_blind(attacked(release), len(release.sizes), len(original.customers))
    told = attacked(made(original, every, "records", size=8))
    assert told.auc is not None
    assert told.auc > 0.75
    assert told.customer.interval[0] > 2 * told.customer.baseline
