"""TF-IDF weights of goods: what few customers buy tells them apart better than what all buy (paper 4, Algorithm 2).

w_ij = (1[g_j in I(u_i)] / |I(u_i)|) (ln(n / |D_j|) + 1), where D_j are the customers who bought good j
(docs/spec.md#tf-idf).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def inverse_frequency(sets: csr_array) -> npt.NDArray[np.float64]:
    """ln(n / |D_j|) + 1 of each good; one that nobody bought counts as bought once."""
    buyers = np.bincount(sets.indices, minlength=sets.shape[1])
    weights: npt.NDArray[np.float64] = np.log(sets.shape[0] / np.maximum(buyers, 1)) + 1
    return weights


def tf_idf(sets: csr_array) -> csr_array:
    """The weights, customers by items, of 0/1 sets."""
    from scipy.sparse import csr_array

    size = np.diff(sets.indptr)
    weight = inverse_frequency(sets)[sets.indices] / np.repeat(size, size)
    return csr_array((weight, sets.indices, sets.indptr), shape=sets.shape)
