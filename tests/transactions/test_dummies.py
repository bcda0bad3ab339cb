"""Dummies: everybody of a cluster gets its goods, copied from purchases that took place."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.purchases import purchases as generated
from shoal.transactions.dummies import count_dummies, pad, padded_table
from shoal.transactions.histories import Histories, Roles, histories_of
from tests.oracles.balancing import dummies as count
from tests.oracles.transactions import histories

ROLES = Roles("who", "good", time="day", price="price", quantity="pieces", basket="bill")


def purchases(seed: int, customers: int = 12) -> Histories:
    """Each price and each day belongs to one good, so that a record that was made up would show."""
    rng = np.random.default_rng(seed)
    records = [
        (u, int(good), f"2024-01-{good + 1:02d}", good * 1.5, int(good) + 7, f"b{u}-{rng.integers(2)}")
        for u in range(customers)
        for good in rng.integers(0, 12, rng.integers(1, 9))
    ]
    return histories_of(pl.DataFrame(records, schema=list(ROLES.named.values()), orient="row"), ROLES)


def shown(original: Histories, label: np.ndarray, **limits: float) -> tuple[Histories, pl.DataFrame]:
    padded = pad(original, label, seed=1, **limits)
    table = padded_table(original, padded, original.customers)
    return histories_of(table, ROLES), table


def test_the_toys_of_section_3() -> None:
    sets = histories(["12", "23", "45"]).sets
    assert count_dummies(sets, np.array([0, 0, 0], np.int32)) == 9
    assert count_dummies(sets, np.array([0, 0, 1], np.int32)) == 2


@given(st.integers(0, 1000), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_all_of_a_cluster_have_its_goods_and_nothing_else(seed: int, labels: list[int]) -> None:
    original = purchases(seed)
    label = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    padded = pad(original, label, seed=seed)
    released = padded_table(original, padded, original.customers)
    goods = [frozenset(original.table.filter(pl.col("who") == u)["good"]) for u in range(12)]
    assert padded.dummies == count_dummies(original.sets, label) == count(goods, label.tolist())
    assert padded.altered == padded.deleted == 0
    for u in range(12):
        union = frozenset().union(*(goods[v] for v in range(12) if label[v] == label[u]))
        assert frozenset(released.filter(pl.col("who") == u)["good"]) == union
    real = released.head(len(original)).drop("bill")
    assert real.equals(original.table.drop("bill").select(real.columns))


def test_a_dummy_is_like_a_purchase_of_that_good_in_the_same_cluster() -> None:
    original = purchases(3)
    label = np.array([0, 1] * 6, np.int32)
    padded = pad(original, label, seed=1)
    made_up = slice(padded.kept, None)
    assert padded.dummies > 0
    assert (label[original.customer[padded.like[made_up]]] == label[padded.customer[made_up]]).all()
    table = padded_table(original, padded, original.customers)
    for column in ("price", "pieces"):  # each seen with that good, though not together
        alike = ["good", column]
        assert table.join(original.table.select(alike).unique(), on=alike, how="anti").is_empty()
    sold = original.table.group_by("good").agg(first=pl.col("day").min(), last=pl.col("day").max())
    days = table.join(sold, on="good")
    assert days.filter(~pl.col("day").is_between("first", "last")).is_empty()


def test_dummies_stand_among_their_customer_s_own_visits() -> None:
    """Neither a basket of dummies alone nor a copy of somebody's purchase tells what is real."""
    roles = Roles(customer="customer", item="good", time="date", price="price", quantity="quantity", basket="invoice")
    original = histories_of(generated(60, seed=3), roles)
    padded = pad(original, np.arange(60, dtype=np.int32) // 5, seed=1)
    table = padded_table(original, padded, original.customers)
    real, made_up = table.head(padded.kept), table.tail(padded.dummies)
    assert made_up.join(real, on=["customer", "invoice"], how="semi").height > 0.6 * made_up.height
    copies = made_up.join(real, on=["good", "date", "price", "quantity"], how="semi")
    assert copies.height < 0.3 * made_up.height


def test_baskets_are_numbered_anew_and_never_shared() -> None:
    original = purchases(5)
    released, table = shown(original, np.zeros(12, np.int32))
    assert table["bill"].dtype.is_integer()
    assert sorted(table["bill"].unique()) == list(range(1, table["bill"].n_unique() + 1))
    assert table.group_by("bill").agg(pl.col("who").n_unique())["who"].max() == 1
    real = table.head(len(original))
    before = pl.DataFrame({"old": original.table["bill"], "new": real["bill"]})
    assert before.group_by("old").agg(pl.col("new").n_unique())["new"].to_list() == [1] * before["old"].n_unique()
    assert len(released.customers) == 12


@given(st.integers(0, 1000), st.floats(0, 0.5), st.floats(0, 0.5))
def test_deleting_and_altering_keep_to_their_limits_and_the_sets_equal(seed: int, delete: float, alter: float) -> None:
    original = purchases(seed)
    label = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1], np.int32)
    padded = pad(original, label, delete=delete, alter=alter, seed=1)
    n = len(original)
    assert padded.deleted <= delete * n
    assert padded.altered <= alter * n
    assert padded.kept + padded.altered + padded.deleted == n
    assert padded.dummies + padded.deleted + padded.altered <= count_dummies(original.sets, label)
    released, _ = shown(original, label, delete=delete, alter=alter)
    sets = released.sets.toarray()
    assert len(sets) == 12
    for u in range(12):
        assert (sets[u] == sets[0 if label[u] == 0 else 7]).all()


def test_a_good_of_one_in_ten_is_deleted_rather_than_given_to_nine() -> None:
    original = histories(["ab" + ("z" if u == 0 else "") for u in range(10)])
    label = np.zeros(10, np.int32)
    assert pad(original, label).dummies == 9
    deleted = pad(original, label, delete=0.05)
    assert (deleted.deleted, deleted.dummies) == (1, 0)
    altered = pad(original, label, alter=0.05)
    assert (altered.altered, altered.deleted, altered.dummies) == (1, 0, 0)
    assert set(padded_table(original, altered, original.customers)["item"]) == {"a", "b"}


@pytest.mark.parametrize("limits", [{"delete": 1.0}, {"alter": 1.0}])
def test_nobody_is_left_with_nothing(limits: dict[str, float]) -> None:
    original = histories(["a", "b", "c", "d", "e", "f"])
    padded = pad(original, np.zeros(6, np.int32), **limits)
    assert set(padded.customer) == set(range(6))
