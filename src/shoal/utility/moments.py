"""What statistics of the table were kept: squared error, means, covariances, correlations, components, regressions.

Everything is counted in the original's standard deviations, so that attributes of any unit weigh alike, and over
attributes whose values stand in an order. Pairs of values where one is missing are left out of covariances and
correlations; an attribute that no longer varies has lost them: they count as 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.catalogue import Chunks
from shoal.errors import InputError
from shoal.measure import OF_VALUES, Matrix, Pair, measure
from shoal.utility.statistics import Moments, Statistics

_SINGULAR = 1e-6  # eigenvalue below which attributes follow from each other


@measure(
    "utility", "worse", needs_pairs=True, of_statistics=True,
    in_chunks=Chunks("on disk, beside an original in the same order"),
)  # fmt: skip
def sse(pair: Pair | Statistics) -> float:
    """Information loss 100 SSE / SST: squared distance of records to their masked ones, in percent of the variance.

    A suppressed record, or a value no longer shown, is as good as replaced by the mean: all of it is lost.
    """
    lost, total = Statistics.of(pair).squares
    return 100 * lost / total


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def mean_difference(pair: Pair | Statistics) -> float:
    """How far the means of attributes moved on average, in standard deviations; 0 where all were kept."""
    return means_moved(*Statistics.of(pair).moments)


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def covariance_difference(pair: Pair | Statistics) -> float:
    """How far variances and covariances of standardised attributes moved on average; 0 where all were kept."""
    return covariances_moved(*Statistics.of(pair).moments)


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def correlation_difference(pair: Pair | Statistics) -> float:
    """How far the correlations of attributes moved on average; 0 where all were kept, at most 2."""
    return correlations_moved(*Statistics.of(pair).moments)


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def principal_components(pair: Pair | Statistics) -> float:
    """Share of the variance the original's first principal components explain that the masked table's first ones miss.

    The mean over the first 1, 2, ... components; both are asked how much of the original's variance they explain.
    """
    return components_missed(*Statistics.of(pair).moments)


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def regression_coefficients(pair: Pair | Statistics) -> float:
    """How far standardised coefficients moved on average, each attribute regressed on all others; 0 if all kept."""
    return coefficients_moved(*Statistics.of(pair).moments)


# ---- of the moments of both tables


def means_moved(before: Moments, after: Moments) -> float:
    """The mean shift of the attributes' means, in standard deviations of the original."""
    shift = np.abs(after.mean - before.mean) / before.deviation
    if np.isnan(shift).all():
        raise InputError("No value is shown after masking: there are no means to compare.")
    return float(np.nanmean(shift))


def covariances_moved(before: Moments, after: Moments) -> float:
    """The mean change of variances and covariances, in the original's deviations."""
    ratio = np.nan_to_num(after.deviation) / before.deviation
    upper = np.triu_indices(len(before.mean))
    return float(np.abs(after.correlation * np.outer(ratio, ratio) - before.correlation)[upper].mean())


def correlations_moved(before: Moments, after: Moments) -> float:
    """The mean change of the correlations."""
    _need_several(before)
    upper = np.triu_indices(len(before.mean), 1)
    return float(np.abs(after.correlation - before.correlation)[upper].mean())


def components_missed(before: Moments, after: Moments) -> float:
    """The share of variance that the released principal components no longer explain, on the average."""
    _need_several(before)
    ours, theirs = (_components(table.correlation) for table in (before, after))
    explained, still = (np.cumsum(np.sum(c * (before.correlation @ c), axis=0))[:-1] for c in (ours, theirs))
    return float(np.maximum(0.0, 1.0 - still / explained).mean())


def coefficients_moved(before: Moments, after: Moments) -> float:
    """The mean change of the coefficients when each attribute is regressed on all others."""
    _need_several(before)
    moved = (_regress(after.correlation, j) - _regress(before.correlation, j) for j in range(len(before.mean)))
    return float(np.mean([np.abs(each).mean() for each in moved]))


def _need_several(table: Moments) -> None:
    if len(table.mean) < 2:
        raise InputError("Only one attribute is in an order and varies: there are no relations between attributes.")


def _components(correlation: Matrix) -> Matrix:
    """Directions of largest variance as columns, the largest first."""
    return np.linalg.eigh(correlation)[1][:, ::-1]


def _regress(correlation: Matrix, j: int) -> npt.NDArray[np.float64]:
    """Standardised coefficients of attribute j on the others, the shortest where these follow from each other."""
    others = np.arange(len(correlation)) != j
    inverse = np.linalg.pinv(correlation[np.ix_(others, others)], rcond=_SINGULAR, hermitian=True)
    coefficients: npt.NDArray[np.float64] = inverse @ correlation[others, j]
    return coefficients
