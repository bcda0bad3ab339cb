"""Method 1: k-means with cosine similarity."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.transactions import clustering
from shoal.transactions.clustering import cosine_k_means
from shoal.transactions.dummies import count_dummies
from shoal.transactions.histories import read_histories
from tests.oracles.transactions import histories

DATA = os.environ.get("SHOAL_DATA")


def test_the_clusters_of_figure_2() -> None:
    label = cosine_k_means(histories(["12", "123", "14", "145"]).sets, 2, seed=1)
    assert label[0] == label[1] != label[2] == label[3]


@pytest.mark.parametrize("seed", range(5))
def test_no_cluster_is_empty_though_customers_are_alike(seed: int) -> None:
    label = cosine_k_means(histories(["ab", "ab", "ab", "ab", "cd", "cd"]).sets, 5, seed=seed)
    assert np.bincount(label, minlength=5).min() == 1


def test_the_same_seed_gives_the_same_clusters() -> None:
    sets = histories(["abc", "abd", "xy", "xz", "pq", "pqr", "ax"]).sets
    assert (cosine_k_means(sets, 3, seed=4) == cosine_k_means(sets, 3, seed=4)).all()


def test_centres_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "MOST_CELLS", 5)
    with pytest.raises(InputError, match="'balanced'"):
        cosine_k_means(histories(["ab", "cd", "ef"]).sets, 2)


@pytest.mark.skipif(DATA is None, reason="SHOAL_DATA does not name the folder of real data")
@pytest.mark.parametrize(("clusters", "mean", "sd"), [(50, 179_268, 17_813), (125, 94_592, 8_132)])
def test_dummies_of_method_1_in_table_2(clusters: int, mean: float, sd: float) -> None:
    sets = read_histories(
        Path(str(DATA)) / "purchases" / "transactions_400.csv", customer="1", item="5", header=False
    ).sets
    for seed in range(3):
        label = cosine_k_means(sets, clusters, seed=seed)
        assert len(np.unique(label)) == clusters
        assert count_dummies(sets, label) == pytest.approx(mean, abs=3 * sd)
