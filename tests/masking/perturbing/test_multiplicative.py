"""Multiplicative noise: Höhne's restoration, the factors' distributions, and the moments kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError
from shoal.masking.perturbing.moments import standardised
from shoal.masking.perturbing.multiplicative import MultiplicativeNoise, restored
from tests.masking.perturbing.tables import normal, shown, table
from tests.oracles import perturbing as oracle

N = 40_000


def factors(**choices: Any) -> np.ndarray:
    """A column of factors for each of two attributes: what is multiplied is 1, but for a record that it may vary."""
    frame = pl.DataFrame({"a": [1.0] * N + [2.0], "b": [1.0] * N + [2.0]})
    method = MultiplicativeNoise(**choices, restore="none", scale="none", within="anywhere")
    return shown(method, table(frame)).to_numpy()[:N]


def test_the_printed_example_is_restored_to_its_moments() -> None:
    x, by = [2.0, 4.0, 6.0, 8.0, 10.0], [1.1, 0.8, 1.05, 0.9, 1.2]
    y = restored("x", np.array(x) * by, standardised("x", np.array(x)))
    assert y.tolist() == pytest.approx([2.740769, 3.559671, 6.098268, 6.83528, 10.766011], abs=1e-6)
    assert y.tolist() == pytest.approx(oracle.hoehne(x, by))


def test_truncated_noise_is_normal_within_one_deviation() -> None:
    found = factors(s=0.5)[:, 0] - 1
    assert np.abs(found).max() <= 0.5
    # Of the normal's middle 68 %, 56 % lie within half a deviation; its variance is 0.2911.
    assert np.mean(np.abs(found) < 0.25) == pytest.approx(0.5610, abs=0.01)
    assert found.var() / 0.25 == pytest.approx(0.2911, abs=0.01)


def test_normal_and_uniform_noise() -> None:
    drawn = factors(s=0.5, noise="normal")[:, 0] - 1
    assert (drawn.mean(), drawn.std()) == (pytest.approx(0, abs=0.015), pytest.approx(0.5, abs=0.01))
    drawn = factors(s=0.5, noise="uniform")[:, 0] - 1
    assert (drawn.min(), drawn.max()) == (pytest.approx(-0.5, abs=0.001), pytest.approx(0.5, abs=0.001))
    assert drawn.var() == pytest.approx(0.25 / 3, abs=0.002)


@pytest.mark.parametrize(("sign", "together"), [("record", 1.0), ("cell", 0.5), ("none", 1.0)])
def test_factors_lie_about_1_plus_and_minus_f_together_where_the_record_has_one_sign(
    sign: Any, together: float
) -> None:
    found = factors(s=0.1, f=0.3, sign=sign) - 1
    assert (np.abs(np.abs(found) - 0.3) <= 0.1 + 1e-9).all()
    assert np.mean(np.sign(found[:, 0]) == np.sign(found[:, 1])) == pytest.approx(together, abs=0.015)
    assert np.mean(found > 0) == pytest.approx(1.0 if sign == "none" else 0.5, abs=0.015)


@pytest.mark.parametrize("scale", ["range", "none"])
@pytest.mark.parametrize("choices", [{}, {"f": 0.5, "sign": "record", "noise": "normal"}], ids=str)
def test_means_and_variances_are_restored_exactly(choices: dict[str, Any], scale: Any) -> None:
    frame = normal(300)
    after = shown(MultiplicativeNoise(0.4, scale=scale, within="anywhere", **choices), table(frame))
    for name in frame.columns:
        assert after[name].mean() == pytest.approx(frame[name].mean())
        assert after[name].std() == pytest.approx(frame[name].std())
        assert not np.isclose(after[name], frame[name]).any()


def test_covariances_are_restored_exactly() -> None:
    frame = normal(300).with_columns(total=pl.col("a") + pl.col("b"))  # singular, too
    after = shown(MultiplicativeNoise(0.4, restore="covariance", within="anywhere"), table(frame))
    scale = np.outer(frame.to_numpy().std(axis=0), frame.to_numpy().std(axis=0))
    assert np.cov(after.to_numpy().T) / scale == pytest.approx(np.cov(frame.to_numpy().T) / scale, abs=1e-8)
    assert after.mean().row(0) == pytest.approx(frame.mean().row(0))
    marginal = shown(MultiplicativeNoise(0.4), table(frame))
    assert abs(np.corrcoef(marginal["a"], marginal["b"])[0, 1]) < abs(np.corrcoef(frame["a"], frame["b"])[0, 1]) - 0.01


def test_too_few_records_for_a_covariance_are_refused() -> None:
    with pytest.raises(InputError, match="too few, or too alike, for the covariances of 3 attributes"):
        shown(MultiplicativeNoise(restore="covariance"), table(normal(3)))


def test_on_the_range_a_shift_shifts_and_the_least_stays_where_it_is() -> None:
    frame = normal(100)
    method = MultiplicativeNoise(0.4, restore="none")
    after, shifted = shown(method, table(frame)), shown(method, table(frame + 500))
    assert (after + 500).to_numpy() == pytest.approx(shifted.to_numpy())
    assert after["a"][frame["a"].arg_min()] == frame["a"].min()
    zero = pl.DataFrame({"x": [0.0, 1.0, 2.0]})
    assert shown(MultiplicativeNoise(restore="none", scale="none"), table(zero))["x"][0] == 0.0


def test_dates_have_no_zero() -> None:
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 3, 1), eager=True).alias("day")
    with pytest.raises(InputError, match="'day' holds dates, which have no zero"):
        shown(MultiplicativeNoise(scale="none"), table(days.to_frame()))
