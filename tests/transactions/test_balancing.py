"""Clusters with a least size: Method 2 against its oracle and Table 2, and ours that needs fewer dummies."""

from __future__ import annotations

import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.balancing import anneal, grow
from shoal.transactions import balanced
from shoal.transactions.balanced import balanced_clusters
from shoal.transactions.balancing import balance
from shoal.transactions.clustering import cosine_k_means
from shoal.transactions.dummies import count_dummies
from shoal.transactions.histories import Histories, read_histories
from tests.oracles import balancing as oracle
from tests.oracles.transactions import histories

DATA = os.environ.get("SHOAL_DATA")
TOY = ["abc", "abd", "acd", "ax", "xyz", "pq", "pqr"]

baskets = st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1).map(sorted).map("".join), min_size=4, max_size=14)


@pytest.fixture(scope="module")
def four_hundred() -> Histories:
    if DATA is None:
        pytest.skip("SHOAL_DATA does not name the folder of real data")
    return read_histories(Path(DATA) / "purchases" / "transactions_400.csv", customer="1", item="5", header=False)


def test_the_toy_of_method_2() -> None:
    sets = histories(TOY).sets
    label = np.array([0, 0, 0, 0, 1, 2, 2], np.int32)
    assert count_dummies(sets, label) == 10
    balanced = balance(sets, label, 2)
    assert balanced.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert count_dummies(sets, balanced) == 7


@given(baskets, st.data())
def test_method_2_is_algorithm_3(goods: list[str], data: st.DataObject) -> None:
    clusters = data.draw(st.integers(1, 4))
    label = data.draw(st.permutations([*range(clusters), *data.draw(
        st.lists(st.integers(0, clusters - 1), min_size=len(goods) - clusters, max_size=len(goods) - clusters)
    )]))  # fmt: skip
    min_size = data.draw(st.integers(1, len(goods) // clusters))
    found = balance(histories(goods).sets, np.array(label, np.int32), min_size)
    assert found.tolist() == oracle.balance([frozenset(own) for own in goods], label, min_size)
    assert np.bincount(found).min() >= min_size


@given(baskets, st.data())
def test_ours_keeps_the_sizes_and_counts_what_it_lowers(goods: list[str], data: st.DataObject) -> None:
    clusters = data.draw(st.integers(1, len(goods) // 2))
    min_size = data.draw(st.integers(1, len(goods) // clusters))
    sets = histories(goods).sets
    starts, items = sets.indptr.astype(np.int64), sets.indices.astype(np.int32)
    sizes = np.full(clusters, len(goods) // clusters)
    sizes[: len(goods) % clusters] += 1
    grown = grow(starts, items, sets.shape[1], sizes)
    assert np.bincount(grown).tolist() == sizes.tolist()
    columns = sets.tocsc()
    buyer_starts, buyers = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
    label = grown.copy()
    change = anneal(starts, items, buyer_starts, buyers, label, clusters, min_size, 500, 4.0, 0.5, 1)
    assert np.bincount(label, minlength=clusters).min() >= min_size
    own = [frozenset(each) for each in goods]
    assert oracle.dummies(own, label.tolist()) == oracle.dummies(own, grown.tolist()) + change
    assert count_dummies(sets, label) == oracle.dummies(own, label.tolist())


@given(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=6, max_size=6))
def test_ours_finds_the_least_dummies_of_six_customers(goods: list[set[str]]) -> None:
    own = [frozenset(each) for each in goods]
    best = min(oracle.dummies(own, label) for label in set(permutations([0, 0, 1, 1, 2, 2])))
    label = balanced_clusters(histories(["".join(sorted(each)) for each in goods]).sets, 3, 2, seed=1)
    assert oracle.dummies(own, label.tolist()) == best


def test_blocks_of_customers_keep_the_promise_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balanced, "BLOCK", 30)
    rng = np.random.default_rng(1)
    goods = ["".join(sorted(set(rng.choice(list("abcdefghijklmnop"), rng.integers(1, 9))))) for _ in range(100)]
    sets = histories(goods).sets
    for clusters, min_size in ((33, 3), (20, 2), (1, 100), (7, 14)):
        label = balanced_clusters(sets, clusters, min_size, seed=1)
        sizes = np.bincount(label, minlength=clusters)
        assert len(sizes) == clusters
        assert sizes.min() >= min_size
        assert (label == balanced_clusters(sets, clusters, min_size, seed=1)).all()


@pytest.mark.parametrize(("clusters", "min_size", "mean"), [(50, 8, 128_060), (100, 4, 61_306), (125, 3, 46_565)])
def test_dummies_of_method_2_in_table_2(four_hundred: Histories, clusters: int, min_size: int, mean: int) -> None:
    for seed in range(2):
        label = balance(four_hundred.sets, cosine_k_means(four_hundred.sets, clusters, seed=seed), min_size)
        assert count_dummies(four_hundred.sets, label) == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(
    ("clusters", "min_size", "method_2", "fewer"),
    [(50, 8, 128_060, 0.16), (100, 4, 61_306, 0.125), (125, 3, 46_565, 0.175)],
)
def test_ours_needs_far_fewer_dummies(
    four_hundred: Histories, clusters: int, min_size: int, method_2: int, fewer: float
) -> None:
    label = balanced_clusters(four_hundred.sets, clusters, min_size, seed=1)
    assert np.bincount(label).min() >= min_size
    assert count_dummies(four_hundred.sets, label) < (1 - fewer) * method_2
