"""A better balanced clustering than Method 2: it minimises the dummies themselves.

With I(x) the union of the goods of cluster x, the dummies are the sum over clusters of |x| |I(x)|, less the pairs of
customer and good there are (paper 4, section 3.1). For clusters of one size that asks for the most goods shared with
the union so far, which is how clusters grow here, the largest histories first; exchanges and moves at a falling
temperature then lower the very sum. Many customers are worked on in blocks of like numbers of goods: few and many
goods in one cluster is what costs most, so that blocks cost 1-2 % more dummies only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal import events
from shoal.transactions.clustering import Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK = 4_500  # customers worked on together: growth is quadratic in them
PROPOSALS, MOST_PROPOSALS = 2_000, 2_000_000  # for a customer, and for a block
HOT, COLD = 2.0, 0.1  # goods more in one union that are often accepted at first, and hardly ever in the end


def balanced_clusters(sets: csr_array, clusters: int, min_size: int, *, seed: int | None = None) -> Labels:
    """Clusters of at least `min_size` customers; they must have room for it: clusters x min_size <= customers."""
    from shoal.kernels.threads import in_blocks

    n = sets.shape[0]
    order = np.argsort(-np.diff(sets.indptr), kind="stable")
    sizes = np.full(clusters, n // clusters)
    sizes[: n % clusters] += 1
    parts = np.array_split(np.arange(clusters), min(-(-n // BLOCK), clusters))
    ends = np.append(0, np.cumsum(sizes))
    seeds = np.random.default_rng(seed).integers(2**31, size=len(parts))
    label = np.empty(n, np.int32)

    def work(start: int, stop: int) -> None:
        for part, own_seed in zip(parts[start:stop], seeds[start:stop], strict=True):
            events.tick(start, len(parts))
            customers = np.sort(order[ends[part[0]] : ends[part[-1] + 1]])
            label[customers] = part[0] + _clusters(sets[customers], sizes[part], min_size, int(own_seed))

    in_blocks(len(parts), 1, events.carried(work))
    return label


def _clusters(sets: csr_array, sizes: npt.NDArray[np.int64], min_size: int, seed: int) -> Labels:
    """The clusters of one block, in which goods are numbered anew so that tables are small."""
    from scipy.sparse import csr_array

    from shoal.kernels.balancing import anneal, grow

    goods, items = np.unique(sets.indices, return_inverse=True)
    starts, items = sets.indptr.astype(np.int64), items.astype(np.int32)
    grown: Labels = grow(starts, items, len(goods), sizes)
    if len(sizes) == 1:
        return grown
    buyers = csr_array((sets.data, items, starts), shape=(sets.shape[0], len(goods))).tocsc()
    label = grown.copy()
    proposals = min(PROPOSALS * len(label), MOST_PROPOSALS)
    mean = len(label) / len(sizes)
    change = anneal(
        starts, items, buyers.indptr.astype(np.int64), buyers.indices.astype(np.int32), label, len(sizes), min_size,
        proposals, HOT * mean, COLD * mean, seed,
    )  # fmt: skip
    return label if change <= 0 else grown
