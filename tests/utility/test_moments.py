"""Squared error, means, covariances, correlations, components and regressions against NumPy on the plain columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.measure import Pair
from shoal.utility.moments import (
    correlation_difference,
    covariance_difference,
    mean_difference,
    principal_components,
    regression_coefficients,
    sse,
)
from tests.oracles.linkage import pair_of
from tests.oracles.microaggregation import mdav
from tests.risk.test_linkage import figures

RNG = np.random.default_rng(2)
X = RNG.normal(size=(300, 4)) @ RNG.normal(size=(4, 4)) + [0, 10, -5, 1000]
Y = X + RNG.normal(size=X.shape) * X.std(axis=0) * 0.5
EVERY = [
    sse,
    mean_difference,
    covariance_difference,
    correlation_difference,
    principal_components,
    regression_coefficients,
]
RELATIONS = [correlation_difference, principal_components, regression_coefficients]


@pytest.mark.parametrize("measure", EVERY)
def test_nothing_masked_nothing_lost(measure: Callable[[Pair], float]) -> None:
    assert measure(pair_of(X, X)) == pytest.approx(0.0, abs=1e-12)
    assert measure(pair_of(X, Y)) > 0.0


@pytest.mark.parametrize("measure", EVERY)
def test_units_do_not_count(measure: Callable[[Pair], float]) -> None:
    unit, start = [1e3, 1e-6, 7, 1], [0, 1, -50, 1e4]
    assert measure(pair_of(X * unit + start, Y * unit + start)) == pytest.approx(measure(pair_of(X, Y)), rel=1e-6)


@pytest.mark.parametrize("measure", EVERY[1:])
def test_the_order_of_records_counts_only_for_the_squared_error(measure: Callable[[Pair], float]) -> None:
    assert measure(pair_of(X, Y[::-1])) == pytest.approx(measure(pair_of(X, Y)))
    assert sse(pair_of(X, Y[::-1])) > 2 * sse(pair_of(X, Y))


@pytest.mark.parametrize("measure", RELATIONS)
def test_one_attribute_has_no_relations(measure: Callable[[Pair], float]) -> None:
    with pytest.raises(InputError, match="no relations between attributes"):
        measure(pair_of(X[:, :1], Y[:, :1]))


# ---- squared error


@pytest.mark.parametrize(("k", "expected"), [(3, 5.6922), (5, 9.0884), (10, 14.1559)])
def test_information_loss_of_microaggregation(k: int, expected: float) -> None:
    x = figures("census")
    group = mdav((x - x.mean(axis=0)) / x.std(axis=0, ddof=1), k)
    y = np.array([x[group == g].mean(axis=0) for g in range(group.max() + 1)])[group]
    assert sse(pair_of(x, y)) == pytest.approx(expected, abs=1e-4)


def test_what_is_not_shown_is_lost_as_by_the_mean() -> None:
    mean = X.mean(axis=0)
    assert sse(pair_of(X, np.tile(mean, (300, 1)))) == pytest.approx(100.0)
    assert sse(pair_of(X, np.full_like(X, np.nan))) == pytest.approx(100.0)
    kept = list(range(0, 300, 3))
    shown = np.tile(mean, (300, 1))
    shown[kept] = Y[kept]
    assert sse(pair_of(X, Y[kept], kept=kept)) == pytest.approx(sse(pair_of(X, shown)))


def test_a_value_that_was_missing_cannot_be_lost() -> None:
    x = X.copy()
    x[::2, 1] = np.nan
    assert sse(pair_of(x, np.nan_to_num(x, nan=1e9))) == 0.0


# ---- means, covariances, correlations


def test_means_and_covariances_as_numpy_gives_them() -> None:
    deviation = X.std(axis=0)
    upper = np.triu_indices(4)
    covariances = [np.cov(t.T, ddof=0) / np.outer(deviation, deviation) for t in (X, Y)]
    shift = np.abs(Y.mean(axis=0) - X.mean(axis=0)) / deviation
    assert mean_difference(pair_of(X, Y)) == pytest.approx(shift.mean())
    assert covariance_difference(pair_of(X, Y)) == pytest.approx(np.abs(np.subtract(*covariances))[upper].mean())
    correlations = [np.corrcoef(t.T)[np.triu_indices(4, 1)] for t in (X, Y)]
    assert correlation_difference(pair_of(X, Y)) == pytest.approx(np.abs(np.subtract(*correlations)).mean())


def test_noise_of_the_same_correlations_changes_covariances_only() -> None:
    doubled = X.mean(axis=0) + 2**0.5 * (X - X.mean(axis=0))
    pair = pair_of(X, doubled)
    upper = np.abs(np.corrcoef(X.T))[np.triu_indices(4)]
    assert covariance_difference(pair) == pytest.approx(upper.mean())
    assert [measure(pair) for measure in RELATIONS] == pytest.approx([0, 0, 0], abs=1e-9)
    assert mean_difference(pair) == pytest.approx(0.0, abs=1e-9)


def test_an_attribute_that_no_longer_varies_has_lost_its_correlations() -> None:
    y = X.copy()
    y[:, 0] = 7.0
    correlation = np.abs(np.corrcoef(X.T))
    assert correlation_difference(pair_of(X, y)) == pytest.approx(correlation[0, 1:].sum() / 6)


def test_missing_values_are_left_out() -> None:
    y = X.copy()
    y[:100, 2] = np.nan
    expected = abs(X[100:, 2].mean() - X[:, 2].mean()) / X[:, 2].std() / 4
    assert mean_difference(pair_of(X, y)) == pytest.approx(expected)
    with pytest.raises(InputError, match="no means to compare"):
        mean_difference(pair_of(X, np.full_like(X, np.nan)))


# ---- components and regressions


def test_components_explain_what_projections_on_them_vary() -> None:
    z, w = ((t - t.mean(axis=0)) / t.std(axis=0) for t in (X, Y))
    missed = []
    for count in (1, 2, 3):
        variances = [(z @ np.linalg.svd(t)[2][:count].T).var(axis=0).sum() for t in (z, w)]
        missed.append(1 - variances[1] / variances[0])
    assert principal_components(pair_of(X, Y)) == pytest.approx(np.mean(missed))


def test_components_that_point_elsewhere_miss_variance() -> None:
    """All attributes but the last are as good as one; masked, the last has taken the place of the first."""
    one, other = RNG.normal(size=(2, 4_000))
    x = np.column_stack([one, one, one, other])
    assert principal_components(pair_of(x, x * [1, 2, 3, 5])) == pytest.approx(0.0, abs=1e-9)
    missed = principal_components(pair_of(x, x[:, [3, 0, 0, 0]]))
    assert (4 / 9 + 1 / 3) / 3 - 0.01 < missed < (4 / 9 + 1 / 3 + 1 / 3) / 3 + 0.01  # the third is any of a plane


def test_regressions_as_least_squares_gives_them() -> None:
    def coefficients(table: np.ndarray) -> list[np.ndarray]:
        z = (table - table.mean(axis=0)) / table.std(axis=0)
        return [np.linalg.lstsq(np.delete(z, j, axis=1), z[:, j], rcond=None)[0] for j in range(4)]

    moved = np.abs(np.array(coefficients(X)) - np.array(coefficients(Y))).mean()
    assert regression_coefficients(pair_of(X, Y)) == pytest.approx(moved)


def test_attributes_that_follow_from_each_other_have_finite_coefficients() -> None:
    tables = [np.column_stack([t, t[:, 0] + t[:, 1]]) for t in (X, Y)]
    assert 0 < regression_coefficients(pair_of(*tables)) < 5
