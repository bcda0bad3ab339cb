"""Resample: the mean of sorted samples by rank, and how it scatters."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.masking.perturbing.resampling import Resample
from tests.masking.perturbing.tables import normal, shown, table
from tests.oracles import perturbing as oracle


def test_each_rank_gets_the_mean_of_the_samples_values_of_that_rank() -> None:
    x = [30.0, 10.0, 20.0, 70.0, 50.0]
    rng = np.random.default_rng([1, *b"x"])
    by_rank = [sorted(range(5), key=x.__getitem__)[i] for i in range(5)]
    samples = [[by_rank[i] for i in rng.integers(5, size=5)] for _ in range(4)]
    assert shown(Resample(0.25), table({"x": x}))["x"].to_list() == pytest.approx(oracle.resampled(x, samples))


def test_ranks_and_range_are_kept() -> None:
    frame = normal(500)
    after = shown(Resample(0.5), table(frame))
    for name in frame.columns:
        assert (after[name].gather(frame[name].arg_sort()).diff().drop_nulls() >= 0).all()
        assert frame[name].min() <= after[name].min() <= after[name].max() <= frame[name].max()  # type: ignore[operator]


def test_more_weight_scatters_more() -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(0).random(2_000)})
    scatter = [
        np.mean([((shown(Resample(w), table(frame), seed)["x"] - frame["x"]) ** 2).mean() for seed in range(20)])
        for w in (0.05, 0.25, 1.0)
    ]
    assert scatter[2] / scatter[1] == pytest.approx(4, rel=0.5)
    assert scatter[1] / scatter[0] == pytest.approx(5, rel=0.5)
