"""Data shuffling: distributions exact, correlations kept, and what is drawn anew."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.masking.perturbing.shuffling import Shuffle
from tests.masking.perturbing.tables import normal, shown, table

N = 20_000


def ranks(*columns: pl.Series) -> np.ndarray:
    return np.stack([column.rank().to_numpy() for column in columns])


@pytest.mark.parametrize("p", [0.2, 0.7, 1.0])
def test_rank_correlations_are_kept_and_the_tie_to_the_original_is_what_p_leaves(p: float) -> None:
    frame = normal(N).with_columns(b=(pl.col("b") / 1000).exp().round(1))  # skewed, with ties
    after = shown(Shuffle(p), table(frame))
    for name in frame.columns:
        assert after[name].sort().equals(frame[name].sort())
    assert np.corrcoef(ranks(*after)) == pytest.approx(np.corrcoef(ranks(*frame)), abs=0.03)
    # Of normal scores the correlation is √(1 - p), of ranks (6/π) asin(ρ/2) (Pearson).
    rho = 6 / np.pi * np.arcsin(np.sqrt(1 - p) / 2)
    for name in "ac":
        assert np.corrcoef(ranks(frame[name], after[name]))[0, 1] == pytest.approx(rho, abs=0.03)


def test_what_is_released_unchanged_keeps_its_part() -> None:
    """With p = 1, masked and original are tied by the unchanged attribute alone."""
    rng = np.random.default_rng(4)
    s, r = rng.standard_normal((2, N))
    frame = pl.DataFrame({"x": 0.8 * s + 0.6 * r, "salary": s})
    after = shown(Shuffle(1.0), table(frame, ["x"]))["x"]
    assert np.corrcoef(after, frame["salary"])[0, 1] == pytest.approx(0.8, abs=0.02)
    assert np.corrcoef(after, frame["x"])[0, 1] == pytest.approx(0.64, abs=0.02)
    residual = frame["x"] - 0.8 * frame["salary"]
    assert np.corrcoef(after, residual)[0, 1] == pytest.approx(0, abs=0.02)
    alone = shown(Shuffle(1.0), table(frame.select("x")))["x"]
    assert np.corrcoef(alone, frame["x"])[0, 1] == pytest.approx(0, abs=0.02)


def test_gaps_weaken_neither_the_shuffling_nor_the_model() -> None:
    rng = np.random.default_rng(8)
    frame = normal(N).with_columns(a=pl.when(pl.Series(rng.random(N) < 0.8)).then(None).otherwise("a"))
    after = shown(Shuffle(0.5), table(frame))
    both = pl.DataFrame({"after": after["a"], "b": after["b"]}).drop_nulls()
    assert both.height == frame["a"].count()
    assert np.corrcoef(ranks(both["after"], both["b"]))[0, 1] > 0.4


def test_what_the_unchanged_attributes_tell_in_full_stays() -> None:
    frame = pl.DataFrame({"x": range(100), "twice": range(0, 200, 2)})
    after = shown(Shuffle(1.0), table(frame, ["x"]))["x"]
    assert np.corrcoef(after, frame["x"])[0, 1] > 0.999


def test_an_unchanged_attribute_without_a_value_tells_nothing() -> None:
    frame = normal(50).with_columns(empty=pl.lit(None, pl.Float64), text=pl.lit("same"))
    assert shown(Shuffle(), table(frame, ["a", "b", "c"])).equals(shown(Shuffle(), table(normal(50))))
