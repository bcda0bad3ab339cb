"""The perturbing methods at paper 5's settings on the Census file: risk and loss as the paper and its variants have."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.masking.method import Method
from shoal.masking.perturbing.multiplicative import MultiplicativeNoise
from shoal.masking.perturbing.noise import Noise
from shoal.masking.perturbing.swapping import Swap
from shoal.measure import Pair, find_measure
from tests.masking.perturbing.tables import table

CENSUS = Path(os.environ.get("SHOAL_DATA", ""), "casc", "census.csv")


@pytest.mark.skipif(not CENSUS.exists(), reason="needs the Census file in the folder that SHOAL_DATA names")
@pytest.mark.parametrize(
    ("method", "risk", "loss"),
    [
        (Noise(1.0, within="anywhere"), 0.4505, 0.3801),
        (Swap(0.2, rounds=1), 0.4572, 0.2833),
        (Swap(0.2, "ascending", rounds=1), 0.4613, 0.2966),
        (MultiplicativeNoise(0.5, within="anywhere"), 0.4566, 0.2982),
        (MultiplicativeNoise(0.5, noise="uniform", within="anywhere"), 0.4600, 0.3128),
        (MultiplicativeNoise(0.5, noise="normal", within="anywhere"), 0.4721, 0.4259),
        (MultiplicativeNoise(0.5, noise="normal", restore="covariance", within="anywhere"), 0.4484, 0.2192),
    ],
    ids=str,
)
def test_risk_and_loss_are_those_of_the_papers_settings(method: Method, risk: float, loss: float) -> None:
    microdata = table(pl.read_csv(CENSUS))
    pairs = [Pair.of(microdata, method.mask(microdata, (), seed=seed).columns) for seed in range(2)]
    found = [[find_measure(name)(pair) for name in ("rank_linkage", "earth_movers_distance")] for pair in pairs]
    assert np.mean(found, axis=0).tolist() == [pytest.approx(risk, abs=0.003), pytest.approx(loss, rel=0.04)]
