"""Earth mover's distance between an original and a masked table (paper 5, section 2.2, Eq. 1).

The least mean distance by which the records of one table must be moved to become those of the other: Euclidean, each
attribute scaled by the original's range, missing values at the original's mean. Up to 5,000 records each record is its
own cluster, as in the paper, and the transport is exact. Larger tables are summarised by 1,000 k-means clusters each
(Rubner's signatures): values then differ from the exact ones, and compare only with others found so.

Defined in docs/spec.md#earth-movers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.measure import Matrix, Pair, measure

_EXACT = 5_000  # records
_CLUSTERS = 1_000  # of a larger table

Masses = npt.NDArray[np.float64]


def clustered(pair: Pair) -> str:
    """How larger tables were summarised."""
    return f"{_CLUSTERS:,} clusters a table" if _is_large(pair.original, pair.masked) else ""


@measure("utility", "worse", how=clustered)
def earth_movers_distance(pair: Pair) -> float:
    """How far records must be moved for the masked table to become the original, in ranges of the attributes."""
    pair = pair.ordered
    low, high = pair.ends
    mean = np.nanmean(pair.original, axis=0)
    before, after = (
        (np.where(np.isnan(table), mean, table) - low) / (high - low) for table in (pair.original, pair.masked)
    )
    return transport(before, after)


def transport(x: Matrix, y: Matrix) -> float:
    """The least mean Euclidean distance that takes the rows of x to those of y, all rows of a table weighing alike."""
    if _is_large(x, y):
        return transport_signatures(*_signature(x), *_signature(y))
    points, place = np.unique(np.concatenate([x, y]) + 0.0, axis=0, return_inverse=True)
    place = place.ravel()
    count_x, count_y = (np.bincount(part, minlength=len(points)) for part in (place[: len(x)], place[len(x) :]))
    surplus = (count_x * len(y) - count_y * len(x)).astype(
        np.float64
    )  # in whole n n'-ths; what both tables hold need not be moved
    more, less = surplus > 0, surplus < 0
    if not more.any():
        return 0.0
    return _move(points[more], surplus[more], points[less], -surplus[less]) / (len(x) * len(y))


def transport_signatures(t: Matrix, weight_t: Masses, q: Matrix, weight_q: Masses) -> float:
    """Eq. 1 for clusters at t and q with these weights, whatever each set sums to."""
    total_t, total_q = float(weight_t.sum()), float(weight_q.sum())
    return _move(
        t[weight_t > 0], weight_t[weight_t > 0] * total_q, q[weight_q > 0], weight_q[weight_q > 0] * total_t
    ) / (total_t * total_q)


def _is_large(x: Matrix, y: Matrix) -> bool:
    return max(len(x), len(y)) > _EXACT


def _move(t: Matrix, mass_t: Masses, q: Matrix, mass_q: Masses) -> float:
    """The least cost of moving the masses, which sum alike; whole numbers are moved without rounding."""
    from scipy.spatial.distance import cdist

    from shoal.kernels.transport import least_cost

    return float(least_cost(cdist(t, q), mass_t, mass_q))


def _signature(table: Matrix) -> tuple[Matrix, Masses]:
    """Cluster means and how many records each holds; the same for any order of the rows."""
    from sklearn.cluster import MiniBatchKMeans

    points, counts = np.unique(table + 0.0, axis=0, return_counts=True)
    count: Masses = counts.astype(np.float64)
    if len(points) <= _CLUSTERS:
        return points, count
    k_means = MiniBatchKMeans(
        _CLUSTERS, n_init=1, init_size=5 * _CLUSTERS, batch_size=8 * _CLUSTERS, max_iter=3, random_state=0
    )
    label = k_means.fit_predict(points, sample_weight=count)
    weight, *sums = (np.bincount(label, count * column, minlength=_CLUSTERS) for column in [np.ones(1), *points.T])
    held = weight > 0
    return np.column_stack(sums)[held] / weight[held, None], weight[held].astype(np.float64)
