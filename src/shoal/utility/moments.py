"""What statistics of the table were kept: squared error, means, covariances, correlations, components, regressions.

Everything is counted in the original's standard deviations, so that attributes of any unit weigh alike, and over
attributes whose values stand in an order. Pairs of values where one is missing are left out of covariances and
correlations; an attribute that no longer varies has lost them: they count as 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.measure import Matrix, Pair, measure
from shoal.utility.correlations import Placed, correlation_table

_SINGULAR = 1e-6  # eigenvalue below which attributes follow from each other


@measure("utility", "worse", needs_pairs=True)
def sse(pair: Pair) -> float:
    """Information loss 100 SSE / SST: squared distance of records to their masked ones, in percent of the variance.

    A suppressed record, or a value no longer shown, is as good as replaced by the mean: all of it is lost.
    """
    original, masked = pair.standardised
    if pair.kept is not None:
        shown, masked = masked, np.zeros_like(original)
        masked[pair.kept] = shown
    known = ~np.isnan(pair.ordered.original)
    return float(100 * ((original - masked)[known] ** 2).sum() / (original[known] ** 2).sum())


@measure("utility", "worse")
def mean_difference(pair: Pair) -> float:
    """How far the means of attributes moved on average, in standard deviations; 0 where all were kept."""
    (mean, deviation), (masked_mean, _) = _moments(pair)
    shift = np.abs(masked_mean - mean) / deviation
    if np.isnan(shift).all():
        raise InputError("No value is shown after masking: there are no means to compare.")
    return float(np.nanmean(shift))


@measure("utility", "worse")
def covariance_difference(pair: Pair) -> float:
    """How far variances and covariances of standardised attributes moved on average; 0 where all were kept."""
    before, after = _correlations(pair)
    (_, deviation), (_, masked_deviation) = _moments(pair)
    ratio = np.nan_to_num(masked_deviation) / deviation
    upper = np.triu_indices(len(before))
    return float(np.abs(after * np.outer(ratio, ratio) - before)[upper].mean())


@measure("utility", "worse")
def correlation_difference(pair: Pair) -> float:
    """How far the correlations of attributes moved on average; 0 where all were kept, at most 2."""
    before, after = _several(pair)
    upper = np.triu_indices(len(before), 1)
    return float(np.abs(after - before)[upper].mean())


@measure("utility", "worse")
def principal_components(pair: Pair) -> float:
    """Share of the variance the original's first principal components explain that the masked table's first ones miss.

    The mean over the first 1, 2, ... components; both are asked how much of the original's variance they explain.
    """
    before, after = _several(pair)
    ours, theirs = (_components(table) for table in (before, after))
    explained, still = (np.cumsum(np.sum(c * (before @ c), axis=0))[:-1] for c in (ours, theirs))
    return float(np.maximum(0.0, 1.0 - still / explained).mean())


@measure("utility", "worse")
def regression_coefficients(pair: Pair) -> float:
    """How far standardised coefficients moved on average, each attribute regressed on all others; 0 if all kept."""
    before, after = _several(pair)
    return float(np.mean([np.abs(_regress(after, j) - _regress(before, j)).mean() for j in range(len(before))]))


# ---- moments of what is known


def _placed(pair: Pair, table: Matrix) -> list[Placed]:
    index = np.arange(len(table), dtype=np.int32)
    return [Placed(a.name, index, column) for a, column in zip(pair.attributes, table.T, strict=True)]


def _moments(pair: Pair) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(means, deviations) of the original and of the masked table."""
    pair = pair.ordered
    before, after = (
        np.array([column.moments() for column in _placed(pair, table)]).T for table in (pair.original, pair.masked)
    )
    return before, after


def _correlations(pair: Pair) -> tuple[Matrix, Matrix]:
    """Of both tables; 0 where an attribute does not vary, its diagonal too."""
    pair = pair.ordered
    before, after = (np.nan_to_num(correlation_table(_placed(pair, table))) for table in (pair.original, pair.masked))
    return before, after


def _several(pair: Pair) -> tuple[Matrix, Matrix]:
    if len(pair.ordered.attributes) < 2:
        raise InputError("Only one attribute is in an order and varies: there are no relations between attributes.")
    return _correlations(pair)


def _components(correlation: Matrix) -> Matrix:
    """Directions of largest variance as columns, the largest first."""
    return np.linalg.eigh(correlation)[1][:, ::-1]


def _regress(correlation: Matrix, j: int) -> npt.NDArray[np.float64]:
    """Standardised coefficients of attribute j on the others, the shortest where these follow from each other."""
    others = np.arange(len(correlation)) != j
    inverse = np.linalg.pinv(correlation[np.ix_(others, others)], rcond=_SINGULAR, hermitian=True)
    coefficients: npt.NDArray[np.float64] = inverse @ correlation[others, j]
    return coefficients
