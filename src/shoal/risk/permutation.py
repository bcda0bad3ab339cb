"""The permutation paradigm: a masking is a permutation of ranks plus a little noise (paper 5, section 2.1).

Reverse mapping gives each masked value the original value of its rank: Z is X permuted, and Y = Z + noise that changes
no rank. The permutation distance of two records is their largest difference of ranks; records at the least are linked.

Defined in docs/spec.md#permutation.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import require
from shoal.measure import Matrix, Pair, measure
from shoal.risk.linkage import by_order, nearest_in_ranks


@measure("risk", "safer", how=by_order, promised=False)
def permutation_distance(pair: Pair) -> float:
    """Ranks by which the nearest masked record differs in the attribute that differs most, on average; 0 if in none."""
    return float(nearest_in_ranks(pair, largest=True).mean())


def reverse_map(original: Matrix, masked: Matrix) -> Matrix:
    """Z: in each column the original values in the order of the masked ones; ties by position, missing values last."""
    same = original.shape == masked.shape
    require("reverse_map", "masked", masked.shape, f"of the original's shape {original.shape}", holds=same)
    mapped = np.empty_like(original)
    np.put_along_axis(mapped, np.argsort(masked, axis=0, kind="stable"), np.sort(original, axis=0), axis=0)
    return mapped
