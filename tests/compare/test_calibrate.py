"""Calibration against functions whose inverse is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.compare.calibrate import MOST, Calibrated, calibrate, grid
from shoal.masking.method import Strength

GAMMA = Strength("gamma", 1e-3, 1e3)
SHARE = Strength("p", 0.0, 1.0)
K = Strength("k", 2, 1080, whole=True)


def asked_of(level: Callable[[float], float], parameter: Strength, target: float) -> tuple[Calibrated, list[float]]:
    """The result, and every value that was asked."""
    asked: list[float] = []

    def levels(values: Sequence[float]) -> list[float]:
        asked.extend(values)
        return [level(value) for value in values]

    return calibrate(levels, parameter, target), asked


@settings(deadline=None)
@given(st.floats(1e-3, 1e3))
def test_a_level_that_rises_over_decades_is_inverted(value: float) -> None:
    found, asked = asked_of(lambda a: log(a), GAMMA, log(value))
    assert found.value == pytest.approx(value, rel=0.02)
    assert found.attained
    assert found.attainable
    assert len(asked) == len(set(asked)) < 25


@settings(deadline=None)
@given(st.floats(0.0, 1.0))
def test_a_level_that_falls_is_inverted(value: float) -> None:
    found, _ = asked_of(lambda p: exp(-p), SHARE, exp(-value))
    assert found.value == pytest.approx(value, abs=2e-3)
    assert found.attained


@settings(deadline=None)
@given(st.integers(2, 1080))
def test_whole_parameters_are_met_exactly(value: int) -> None:
    found, asked = asked_of(lambda k: k / (k + 40), K, value / (value + 40))
    assert found.value == pytest.approx(value, rel=0.02)
    assert all(isinstance(k, int) and 2 <= k <= 1080 for k in asked)


def test_between_two_whole_values_the_nearest_is_taken_and_said_to_be_off() -> None:
    found, _ = asked_of(lambda k: float(k), Strength("k", 2, 6, whole=True), 4.4)
    assert (found.value, found.level) == (4, 4.0)
    assert found.attainable
    assert not found.attained


@pytest.mark.parametrize("target", [-0.2, 1.4])
def test_out_of_reach_is_said_with_the_reach_and_costs_little(target: float) -> None:
    found, asked = asked_of(lambda p: p, SHARE, target)
    assert not found.attainable
    assert not found.attained
    assert found.reach == (0.0, 1.0)
    assert found.value == (0.0 if target < 0 else 1.0)
    assert len(asked) == 5


@pytest.mark.parametrize("level", [lambda a: a, lambda a: 1 / a])
@pytest.mark.parametrize("value", [3e-4, 0.7, 5e4])
def test_a_range_without_end_is_widened_until_it_holds_the_target(
    level: Callable[[float], float], value: float
) -> None:
    found, asked = asked_of(level, Strength("parameter", 0, inf), level(value))
    assert found.value == pytest.approx(value, rel=0.02)
    assert min(asked) > 0


def test_a_whole_range_without_end_never_goes_below_its_least() -> None:
    found, asked = asked_of(lambda k: float(k), Strength("k", 2, inf, whole=True), 57)
    assert found.value == 57
    assert min(asked) == 2


def test_chance_does_not_mislead() -> None:
    """A level that saturates, with noise of half its last steps: the isotonic fit still finds the place."""
    shake = np.random.default_rng(5).normal(0, 0.004, 10_000)

    def noisy(gamma: float) -> float:
        return gamma / (1 + gamma) + float(shake[int(1e6 * gamma) % 10_000])

    found, asked = asked_of(noisy, GAMMA, 0.5)
    assert found.value == pytest.approx(1.0, rel=0.1)
    assert len(asked) <= MOST


def test_a_level_that_never_changes_ends_at_once() -> None:
    found, asked = asked_of(lambda p: 0.25, SHARE, 0.5)
    assert not found.attainable
    assert found.reach == (0.25, 0.25)
    assert len(asked) == 5
    assert asked_of(lambda p: 0.25, SHARE, 0.25)[0].attained


def test_the_grid_steps_by_factors_over_decades_and_evenly_otherwise() -> None:
    assert grid(Strength("gamma", 0.01, 100.0), 5) == pytest.approx([0.01, 0.1, 1, 10, 100])
    assert grid(SHARE, 3) == [0, 0.5, 1]
    assert grid(Strength("k", 2, 4, whole=True), 9) == [2, 3, 4]
