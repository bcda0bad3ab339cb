"""Clusters of at least s_min customers: Method 2 (paper 4, Algorithm 3, read as docs/spec.md#balancing corrects it).

Printed, x_max is chosen once for each small cluster, which can leave a donor below s_min; it has to be the largest
cluster at every move. And u_i in the arg max must be a member of the small cluster, not any customer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.transactions.clustering import Labels
from shoal.transactions.numbering import columns_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def balance(sets: csr_array, label: Labels, min_size: int) -> Labels:
    """Fills each small cluster with those members of the largest who are nearest to one of its own.

    The clusters must have room for it: clusters x min_size <= customers.
    """
    label = label.copy()
    size = np.bincount(label)
    for small in np.flatnonzero(size < min_size):
        nearness = np.max([_jaccard(sets, int(u)) for u in np.flatnonzero(label == small)], axis=0)
        while size[small] < min_size:
            largest = int(np.argmax(size))
            candidates = np.flatnonzero(label == largest)
            moved = int(candidates[np.argmax(nearness[candidates])])
            label[moved] = small
            size[largest] -= 1
            size[small] += 1
            nearness = np.maximum(nearness, _jaccard(sets, moved))
    return label


def _jaccard(sets: csr_array, customer: int) -> npt.NDArray[np.float64]:
    """J(I(u), I(customer)) of every customer u."""
    own = np.zeros(sets.shape[1], np.int64)
    own[columns_of(sets, customer)] = 1
    common = sets @ own
    nearness: npt.NDArray[np.float64] = common / (np.diff(sets.indptr) + own.sum() - common)
    return nearness
