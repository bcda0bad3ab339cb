"""How many clusters, of how many customers, and who stands in which (paper 4, sections 3.3 and 4.4).

Defined in docs/spec.md#cluster-size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from shoal.errors import InputError, did_you_mean, require
from shoal.transactions.balanced import balanced_clusters
from shoal.transactions.balancing import balance
from shoal.transactions.characteristics import characteristics
from shoal.transactions.clustering import Labels, cosine_k_means
from shoal.transactions.histories import Histories
from shoal.transactions.theory import best_clusters

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Clustering = Literal["balanced", "method-2", "method-1"]
CLUSTERINGS: tuple[Clustering, ...] = ("balanced", "method-2", "method-1")
STARTS = 10  # of k-means


def chosen_sizes(
    histories: Histories, clusters: int | None, min_size: int | None, method: Clustering
) -> tuple[int, int]:
    """The number of clusters, and how many customers each must hold; refused where that cannot be.

    Defined in docs/spec.md#cluster-size.
    """
    n = len(histories.customers)
    if method not in CLUSTERINGS:
        hint = did_you_mean(method, CLUSTERINGS)
        raise InputError(f"There is no method {method!r}: known are {', '.join(CLUSTERINGS)}.{hint}")
    if method == "method-1" and min_size is not None:
        raise InputError("Method 1 cannot promise a least size of clusters: leave it out, or take 'balanced'.")
    require("the release", "clusters", clusters, "1 or more", holds=clusters is None or clusters >= 1)
    require("the release", "min_size", min_size, "2 or more", holds=min_size is None or min_size >= 2)
    if clusters is not None and clusters > n:
        raise InputError(f"{clusters:,} clusters are more than the {n:,} customers: ask for fewer.")
    if min_size is not None and min_size > n:
        raise InputError(f"Clusters of {min_size:,} are larger than the {n:,} customers there are: ask for less.")
    if clusters is None and min_size is None:
        about = characteristics(histories)
        clusters = min(best_clusters(n, about.goods_a_customer, about.h), n // 2)
    clusters = clusters or n // (min_size or 1)
    min_size = min_size or n // clusters
    if clusters * min_size > n:
        raise InputError(
            f"{clusters:,} clusters of at least {min_size:,} need {clusters * min_size:,} customers, there are {n:,}: "
            f"ask for at most {n // min_size:,} clusters, or for a size of at most {n // clusters:,}."
        )
    if method == "method-1":
        return clusters, 1
    if min_size < 2:
        raise InputError(f"{clusters:,} clusters of {n:,} customers leave some alone: ask for at most {n // 2:,}.")
    return clusters, min_size


def cluster_customers(
    sets: csr_array, clusters: int, min_size: int, *, method: Clustering = "balanced", seed: int | None = None
) -> Labels:
    """customer -> cluster, by Method 1, by Method 2 or by the one that needs the fewest dummies."""
    if method == "balanced":
        return balanced_clusters(sets, clusters, min_size, seed=seed)
    label = cosine_k_means(sets, clusters, seed=seed, starts=STARTS)
    return label if method == "method-1" else balance(sets, label, min_size)
