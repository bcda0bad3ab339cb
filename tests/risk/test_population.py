"""Population uniques estimated from samples: each model on populations drawn from its own law."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.risk.population import (
    _digamma,
    negative_binomial,
    pitman,
    population_uniques,
    zayatz,
)

Sizes = npt.NDArray[np.int64]


def sampled(people: Sizes, fraction: float, seed: int) -> Sizes:
    """The classes of a simple random sample of the people."""
    whose = np.repeat(np.arange(len(people)), people)
    drawn = np.random.default_rng(seed).choice(whose, round(fraction * len(whose)), replace=False)
    sizes = np.bincount(drawn)
    return sizes[sizes > 0]


def chinese_restaurant(people: int, theta: float, a: float, seed: int) -> Sizes:
    """Class sizes by Pitman's law: each person joins a class in proportion to its size - a, or opens a new one."""
    rng = np.random.default_rng(seed)
    uniform = rng.random((people, 2)).tolist()
    sizes: list[int] = []
    seat: list[int] = []
    for i, (opens, which) in enumerate(uniform):
        if opens * (theta + i) < theta + len(sizes) * a:
            seat.append(len(sizes))
            sizes.append(1)
            continue
        old = seat[int(which * i)]  # in proportion to its size; rejected once in size / a
        while rng.random() * sizes[old] < a:
            old = seat[int(rng.random() * i)]
        seat.append(old)
        sizes[old] += 1
    return np.array(sizes)


def slide_negative_binomial(people: int, mean: float, shape: float, seed: int) -> Sizes:
    drawn = np.random.default_rng(seed).negative_binomial(shape, shape / (shape + mean), int(people / (1 + mean)))
    return 1 + drawn


def uniques(people: Sizes) -> int:
    return int((people == 1).sum())


# ---- each model on its own ground


@pytest.mark.parametrize(("theta", "a"), [(100, 0.5), (10, 0.8)])
def test_pitman_finds_the_uniques_of_pitmans_law(theta: float, a: float) -> None:
    people = chinese_restaurant(40_000, theta, a, seed=1)
    for fraction in (0.05, 0.1, 0.3, 0.7):
        assert pitman(sampled(people, fraction, seed=2), fraction) == pytest.approx(uniques(people), rel=0.15)


@pytest.mark.parametrize(("mean", "shape"), [(4, 0.5), (4, 2.0), (1, 5.0), (10, 0.1)])
def test_the_negative_binomial_finds_the_uniques_of_its_law(mean: float, shape: float) -> None:
    people = slide_negative_binomial(200_000, mean, shape, seed=3)
    for fraction in (0.2, 0.3, 0.5, 0.8):
        found = negative_binomial(sampled(people, fraction, seed=4), fraction)
        assert found == pytest.approx(uniques(people), rel=0.15)


def test_zayatz_finds_the_uniques_where_the_sample_is_like_the_population() -> None:
    for people in (chinese_restaurant(40_000, 100, 0.5, seed=5), slide_negative_binomial(40_000, 4, 0.5, seed=5)):
        for fraction, within in ((0.5, 0.08), (0.8, 0.04), (0.95, 0.02)):
            found = zayatz(sampled(people, fraction, seed=6), fraction)
            assert found == pytest.approx(uniques(people), rel=within)


def test_the_chosen_estimate_is_good_where_a_single_model_is_not() -> None:
    """Every model is off by half or more on one of the laws; the rule stays within a quarter."""
    laws = (chinese_restaurant(40_000, 100, 0.5, seed=7), slide_negative_binomial(100_000, 4, 2.0, seed=7))
    worst: dict[str, float] = {}
    for people in laws:
        for fraction in (0.2, 0.3, 0.5):
            found = population_uniques(sampled(people, fraction, seed=8), fraction)
            for name in ("zayatz", "pitman", "negative_binomial", "uniques"):
                off = abs(getattr(found, name) / uniques(people) - 1)
                worst[name] = max(worst.get(name, 0.0), off)
    assert worst.pop("uniques") < 0.25
    assert min(worst.values()) > 0.5


# ---- the choice


def test_small_samples_are_left_to_pitman_and_large_ones_to_the_lesser_of_the_others() -> None:
    sizes = np.array([1] * 60 + [2] * 25 + [3] * 10 + [9] * 5)
    assert population_uniques(sizes, 0.1).chosen == "pitman"
    for fraction in (0.11, 0.3, 0.6, 0.95):
        found = population_uniques(sizes, fraction)
        assert found.negative_binomial is not None
        assert found.uniques == min(found.zayatz, found.negative_binomial)
        assert found.share == found.uniques / (sizes.sum() / fraction)


def test_without_unique_records_there_is_nothing_to_estimate() -> None:
    found = population_uniques(np.array([2, 5, 9]), 0.05)
    assert (found.zayatz, found.pitman, found.negative_binomial, found.uniques) == (0.0, 0.0, 0.0, 0.0)


def test_where_all_are_unique_only_zayatz_has_an_estimate() -> None:
    for fraction in (0.05, 0.5):
        found = population_uniques(np.ones(50, np.int64), fraction)
        assert (found.pitman, found.negative_binomial, found.chosen) == (None, None, "zayatz")
        assert found.uniques == pytest.approx(50 / fraction)


def test_a_sample_that_is_the_population_is_counted() -> None:
    found = population_uniques(np.array([1, 1, 1, 2, 7]), 1.0)
    assert found.zayatz == pytest.approx(3)
    assert found.negative_binomial == 3.0


@given(st.lists(st.sampled_from([1, 1, 1, 2, 3, 8, 500]), min_size=1, max_size=60), st.floats(0.001, 1.0))
def test_estimates_are_numbers_of_people_or_none_at_all(sizes: list[int], fraction: float) -> None:
    found = population_uniques(np.array(sizes), fraction)
    for value in (found.zayatz, found.pitman, found.negative_binomial):
        assert value is None or 0 <= value <= found.people * (1 + 1e-6)


# ---- the likelihood


def log_likelihood(sizes: Sizes, theta: float, a: float) -> float:
    """Of Pitman's sampling formula, as it is written."""
    u, n = len(sizes), int(sizes.sum())
    new = sum(math.log(theta + i * a) for i in range(1, u)) - sum(math.log(theta + i) for i in range(1, n))
    return new + sum(math.log(i - a) for size in sizes for i in range(1, size))


def expected_uniques(N: int, theta: float, a: float) -> float:
    """N times the chance that the last of N people opens a class, as a product."""
    return N * math.prod((theta + a + i) / (theta + 1 + i) for i in range(N - 1))


@pytest.mark.parametrize("seed", range(3))
def test_pitmans_parameters_are_the_likeliest(seed: int) -> None:
    sizes = sampled(chinese_restaurant(2000, 20, 0.4, seed), 0.2, seed)
    found = pitman(sizes, 0.2)
    grid = [(theta, a) for theta in np.geomspace(1, 300, 60) for a in np.linspace(0.02, 0.98, 49)]
    best = max(grid, key=lambda parameters: log_likelihood(sizes, *parameters))
    assert found == pytest.approx(expected_uniques(int(sizes.sum()) * 5, *best), rel=0.05)


def test_digamma_is_the_slope_of_log_gamma() -> None:
    assert _digamma(1.0) == pytest.approx(-0.5772156649015329, rel=1e-14)
    assert _digamma(0.5) == pytest.approx(-0.5772156649015329 - 2 * math.log(2), rel=1e-14)
    for x in (1e-6, 0.3, 7.9, 8.1, 1e5):
        assert _digamma(x + 1) - _digamma(x) == pytest.approx(1 / x, rel=1e-9)


def test_a_fraction_beyond_one_is_refused() -> None:
    with pytest.raises(InputError, match="'fraction'"):
        population_uniques(np.array([1, 2]), 10)
