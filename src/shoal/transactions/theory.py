"""How many dummies are to be expected, and the best number of clusters (paper 4, sections 4.2 and 4.4).

A customer has b goods, two share h of them, clusters have s = n/c members. If no good has three buyers in a cluster,

    E(dm) = -h n^3 / (2 c^2) + (b + h/2) n^2 / c - b n                                                          (Eq. 3)

Goods that three buy need fewer dummies more than Eq. 3 takes off: it is a lower bound for clusters of customers who are
no more alike than any (Bonferroni), and makes sense only while each has a good of his own: s <= 1 + b/h. Eq. 4 must
read E(dm) <= (b + h/2) n^2 / c.

Defined in docs/spec.md#expected-dummies.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


def expected_dummies(customers: int, b: float, h: float, clusters: int) -> float:
    """The dummies to be expected by Eq. 3; b goods a customer, of which two share h."""
    return float(_eq_3(customers, b, h, np.array([clusters]))[0])


def largest_valid_size(b: float, h: float) -> float:
    """The largest clusters of which Eq. 3 may be asked."""
    return 1 + b / h if h > 0 else float("inf")


def best_clusters(customers: int, b: float, h: float) -> int:
    """c*: the least mean of dummies, as a share of the most that Eq. 3 gives, and of E(Reid) = c/n (Eq. 5).

    Searched from where Eq. 3 is largest: with fewer clusters it falls, outside of what it is valid for.
    """
    clusters = np.arange(1, customers + 1)
    dummies = _eq_3(customers, b, h, clusters)
    first = int(np.argmax(dummies))
    dummies, clusters = dummies[first:], clusters[first:]
    return int(clusters[np.argmin(_mean_loss(dummies, clusters, customers))])


def best_clusters_measured(dummies: Mapping[int, int], customers: int) -> int:
    """c* by the same criterion, of dummies counted on the data: number of clusters -> dummies."""
    clusters = np.array(sorted(dummies))
    counted = np.array([dummies[int(c)] for c in clusters], np.float64)
    return int(clusters[np.argmin(_mean_loss(counted, clusters, customers))])


def _eq_3(n: int, b: float, h: float, c: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    size = n / c
    return -h * n * size**2 / 2 + (b + h / 2) * n * size - b * n


def _mean_loss(
    dummies: npt.NDArray[np.float64], clusters: npt.NDArray[np.int64], customers: int
) -> npt.NDArray[np.float64]:
    """Eq. 5, with alpha = 1 / the most dummies; both terms lie between 0 and 1."""
    loss: npt.NDArray[np.float64] = (dummies / max(float(dummies.max()), 1.0) + clusters / customers) / 2
    return loss
