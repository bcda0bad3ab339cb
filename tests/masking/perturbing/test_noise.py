"""Added noise: its covariance, what is kept of the moments, and gaps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.masking.perturbing.moments import factor
from shoal.masking.perturbing.noise import Noise
from tests.masking.perturbing.tables import normal, shown, table
from tests.oracles import perturbing as oracle

N = 40_000
WITHIN = 6 / np.sqrt(N)  # sampling errors of a correlation, and to spare


def standard(frame: pl.DataFrame, like: pl.DataFrame) -> np.ndarray:
    """A row an attribute, in the units of the table it is like."""
    return frame.to_numpy().T / like.to_numpy().std(axis=0, ddof=1)[:, None]


def test_the_noise_has_gamma_times_the_covariance() -> None:
    frame = normal(N)
    noise = standard(shown(Noise(0.3), table(frame)), frame) - standard(frame, frame)
    assert np.cov(noise) == pytest.approx(0.3 * np.corrcoef(frame.to_numpy().T), abs=0.3 * WITHIN)
    assert noise.mean(axis=1) == pytest.approx(0, abs=WITHIN)
    against = np.corrcoef(np.vstack([noise, frame.to_numpy().T]))[:3, 3:]
    assert against == pytest.approx(0, abs=WITHIN)


def test_uncorrelated_noise_has_its_diagonal() -> None:
    frame = normal(N)
    noise = standard(shown(Noise(0.3, correlated=False), table(frame)), frame) - standard(frame, frame)
    assert np.cov(noise) == pytest.approx(0.3 * np.eye(3), abs=0.3 * WITHIN)


def test_correlations_are_kept_and_with_the_correction_means_and_covariances_too() -> None:
    frame = normal(N)
    before = np.cov(standard(frame, frame))
    plain, kept = (standard(shown(Noise(0.5, keep_moments=k), table(frame)), frame) for k in (False, True))
    assert np.cov(plain) == pytest.approx(1.5 * before, abs=1.5 * WITHIN)
    assert np.cov(kept) == pytest.approx(before, abs=WITHIN)
    assert kept.mean(axis=1) == pytest.approx(standard(frame, frame).mean(axis=1), abs=WITHIN)


def test_the_covariance_is_the_samples() -> None:
    """One draw on a table so small that n and n - 1 differ: the noise scales with the oracle's covariance."""
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0, 9.0]})
    drawn = shown(Noise(1.0, within="anywhere"), table(frame))["x"] - frame["x"]
    doubled = shown(Noise(1.0, within="anywhere"), table(frame * 2))["x"] - 2 * frame["x"]
    unit = (
        shown(Noise(1 / oracle.covariance(frame["x"], frame["x"]), within="anywhere"), table(frame))["x"] - frame["x"]
    )
    assert doubled.to_list() == pytest.approx((2 * drawn).to_list())
    stream = np.random.default_rng([1, *b"x"])
    assert unit.to_list() == pytest.approx(stream.standard_normal(4).tolist())


def test_a_singular_covariance_works() -> None:
    """A sum gets the sum of its parts' noise: it stays their sum."""
    frame = normal(500).with_columns(total=pl.col("a") + pl.col("b"), twice=2 * pl.col("a"))
    after = shown(Noise(0.5, within="anywhere"), table(frame))
    assert (after["a"] + after["b"] - after["total"]).abs().max() < 1e-6 * frame["total"].std()  # type: ignore[operator]
    assert (2 * after["a"] - after["twice"]).abs().max() < 1e-6 * frame["twice"].std()  # type: ignore[operator]
    assert shown(Noise(0.5), table(frame.head(3))).height == 3  # fewer records than attributes


def test_incomplete_records_get_their_noise_and_other_gaps() -> None:
    rng = np.random.default_rng(5)
    frame = normal(N)
    gaps = frame.with_columns(
        pl.when(pl.Series(rng.random(N) < 0.4)).then(None).otherwise(pl.col(c)).alias(c) for c in "ab"
    )
    after = shown(Noise(0.3), table(gaps))
    assert not np.isin(after["a"].drop_nulls(), gaps["a"].drop_nulls()).any()
    for name in "ab":
        assert after[name].null_count() == gaps[name].null_count()
        both = (after[name].is_null() & gaps[name].is_null()).mean()
        assert both == pytest.approx(0.4 * 0.4, abs=WITHIN)  # as often as chance has it
    assert np.corrcoef(after.drop_nulls().select("a", "b").to_numpy().T)[0, 1] > 0.6  # of 0.8


def test_the_factor_is_lower_triangular_and_gives_the_covariance() -> None:
    rng = np.random.default_rng(3)
    for rank in range(1, 6):
        root = rng.standard_normal((5, rank))
        L = factor(root @ root.T)
        assert pytest.approx(root @ root.T) == L @ L.T
        assert np.array_equal(L, np.tril(L))
