"""Customers of similar tastes, by k-means with the cosine of TF-IDF weights: Method 1 (paper 4, section 3.3).

Rows of length 1 make Euclidean k-means rank by cosine. The sizes of the clusters come as they come: one customer may
stand alone, which Method 2 (`balancing`) mends. The centres are dense: clusters x goods bounds what can be done.

Defined in docs/spec.md#cosine-k-means.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.transactions.weights import tf_idf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = npt.NDArray[np.int32]  # customer -> cluster

MOST_CELLS = 100_000_000  # of the clusters' centres: 800 MB


def cosine_k_means(sets: csr_array, clusters: int, *, seed: int | None = None, starts: int = 1) -> Labels:
    """Algorithm 2, step 3: k-means++ and Lloyd, the best of `starts`; no cluster is left empty."""
    from scipy.sparse import csr_array
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.preprocessing import normalize

    if clusters * sets.shape[1] > MOST_CELLS:
        raise InputError(
            f"k-means with {clusters:,} clusters of {sets.shape[1]:,} goods needs more memory than is sensible: "
            "ask for fewer clusters, or for the method 'balanced'."
        )
    unit = normalize(_with_short_indices(tf_idf(sets)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different customers than clusters: filled below
        fitted = KMeans(clusters, n_init=starts, random_state=seed).fit(csr_array(unit))
    cosine = np.asarray(unit.multiply(fitted.cluster_centers_[fitted.labels_]).sum(axis=1)).ravel()
    return _filled(fitted.labels_.astype(np.int32), clusters, cosine)


def _with_short_indices(rows: csr_array) -> csr_array:
    """As scikit-learn takes them."""
    from scipy.sparse import csr_array

    return csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)


def _filled(label: Labels, clusters: int, fit: npt.NDArray[np.float64]) -> Labels:
    """Every empty cluster gets the customer who fits worst where he is not alone."""
    size = np.bincount(label, minlength=clusters)
    worst_first = iter(np.argsort(fit, kind="stable"))
    for empty in np.flatnonzero(size == 0):
        customer = next(u for u in worst_first if size[label[u]] > 1)
        size[label[customer]] -= 1
        size[empty] = 1
        label[customer] = empty
    return label
