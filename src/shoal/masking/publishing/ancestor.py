"""A class shown by the lowest common ancestor of its values in a hierarchy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import WILDCARD, MaskedColumn
from shoal.data.microdata import Coded
from shoal.data.node_labels import node_text
from shoal.masking.partition import Partition


def publish_ancestor(coded: Coded, partition: Partition, index: npt.NDArray[np.int32]) -> MaskedColumn:
    """`index` is the partition's class of each kept record. Leaves stand in tree order: two of them decide for all."""
    from shoal.kernels.segments import extremes

    hierarchy = coded.attribute.hierarchy
    assert hierarchy is not None
    low, high = extremes(coded.codes, partition.order, partition.starts)
    mixed, missing = (low < 0) & (high >= 0), high < 0
    same = hierarchy.ancestors[:, np.maximum(low, 0)] == hierarchy.ancestors[:, high]
    level = np.where(mixed, hierarchy.levels - 1, same.argmax(axis=0))
    texts = (node_text(coded.attribute, each).gather(hierarchy.ancestors[each]) for each in range(hierarchy.levels))
    nodes = np.array([text.to_list() for text in texts], dtype=object)
    labels = pl.Series(nodes[level, np.maximum(high, 0)].tolist(), dtype=pl.String)
    labels = labels.set(pl.Series(mixed), WILDCARD).set(pl.Series(missing), None)
    below = np.array([np.bincount(level_of)[level_of] for level_of in hierarchy.ancestors])
    first = np.array([_first_leaf(level_of) for level_of in hierarchy.ancestors])
    size = np.where(missing, np.nan, below[level, np.maximum(high, 0)])
    least = np.where(missing, np.nan, first[level, np.maximum(high, 0)])
    return MaskedColumn(coded.attribute, index, labels, least, least + size - 1, size)


def _first_leaf(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return first[inverse]
