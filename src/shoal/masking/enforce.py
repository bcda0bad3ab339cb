"""Makes any partition keep the models it cannot promise by itself, so that where a class ends tells nothing.

Whoever knows everybody's quasi-identifiers can group them again and see which classes were merged (the minimality
attack of Wong et al., 2007). Were a class that fails a model simply joined by its neighbour, she would know which of
the two failed, and so what it held. Here the merges are laid down beforehand, by a tree over the classes along the
grouping's line: neighbouring classes are halves of a node, neighbouring nodes halves of the next, up to the whole
table. A node is one class of the release where any of its parts fails, however many do. So a class tells that one of
its halves failed and never which: exchanging the halves changes nothing that is released. Halves of the same size are
therefore equally likely to hold any of the class's values, and each of its records has them with the frequencies that
the release shows. Where a half is larger than the other, it is nearly so (`shoal.risk.minimality` measures it).

For the same reason no class is suppressed for what it holds. Those that fail a model about the quasi-identifiers alone
(k-map), which tells nothing new, may be left out up to a stated share of the records, the smallest first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking.partition import Partition
from shoal.privacy.model import PrivacyModel

Bounds = npt.NDArray[np.int64]  # of nodes side by side: node i is what lies from bounds[i] up to bounds[i + 1]


def failing(microdata: Microdata, partition: Partition, models: Sequence[PrivacyModel]) -> npt.NDArray[np.bool_]:
    """Which classes miss a model."""
    bad = np.zeros(partition.classes, np.bool_)
    for model in models:
        about = microdata[model.attribute] if model.attribute else microdata
        bad |= ~model.meets(model.levels(about, partition.order, partition.starts))
    return bad


def enforce(
    microdata: Microdata,
    partition: Partition,
    models: Sequence[PrivacyModel],
    suppression: float = 0.0,
    *,
    divisible: bool = True,
) -> Partition:
    """The partition, suppressed within the limit and merged until every class keeps every model.

    Classes that must not be divided (`divisible=False`) are merged whole. Others are, where they are large, cut into
    parts about as small as the smallest, so that halves of the same size can be found.
    """
    if not models:
        return partition
    _reachable(microdata, models)
    limit = int(suppression * len(microdata) + 1e-9)
    bad = failing(microdata, partition, [model for model in models if model.attribute is None])
    if not bad.any() or limit == 0:
        return _merged(microdata, partition, models, divisible)
    remaining = _suppress(partition, bad, limit)
    # What is promised is promised of the records that remain: judge them against their own distribution.
    kept = np.sort(remaining.order)
    rest = microdata.take(kept)
    if failing(rest, _everyone(rest), models).any():  # they would need the suppressed ones: keep all
        return _merged(microdata, partition, models, divisible)
    local = _merged(rest, Partition(np.searchsorted(kept, remaining.order), remaining.starts), models, divisible)
    return Partition(kept[local.order], local.starts)


def _reachable(microdata: Microdata, models: Sequence[PrivacyModel]) -> None:
    """One class of all records is the most any grouping can do."""
    everyone = _everyone(microdata)
    for model in models:
        about = microdata[model.attribute] if model.attribute else microdata
        level = model.levels(about, everyone.order, everyone.starts)
        if not model.meets(level)[0]:
            of = f" of {model.attribute!r}" if model.attribute else ""
            raise InputError(
                f"{model.name}{of} at {model.asked:g} cannot be reached: the whole table in one class reaches only "
                f"{level[0]:.4g}. Ask for less."
            )


def _everyone(microdata: Microdata) -> Partition:
    return Partition(np.arange(len(microdata)), np.array([0, len(microdata)]))


def _suppress(partition: Partition, bad: npt.NDArray[np.bool_], limit: int) -> Partition:
    """Leaves out failing classes, the smallest first, while the limit lasts."""
    sizes = partition.sizes
    candidates = np.flatnonzero(bad)
    candidates = candidates[np.argsort(sizes[candidates], kind="stable")]
    out = candidates[np.cumsum(sizes[candidates]) <= limit]
    keep = np.ones(partition.classes, np.bool_)
    keep[out] = False
    if not keep.any():
        keep[candidates[-1]] = True
    return _only(partition, np.flatnonzero(keep))


def _only(partition: Partition, classes: npt.NDArray[np.int64]) -> Partition:
    sizes = partition.sizes[classes]
    starts = np.append(0, np.cumsum(sizes))
    places = np.repeat(partition.starts[classes] - starts[:-1], sizes) + np.arange(starts[-1])
    return Partition(partition.order[places], starts)


# ---- merging


def _merged(microdata: Microdata, partition: Partition, models: Sequence[PrivacyModel], divisible: bool) -> Partition:
    """The smallest nodes of the tree over the classes of which no part fails; where none fails, the classes."""
    bad = failing(microdata, partition, models)
    if not bad.any():
        return partition
    # Where people are counted, parts of a class that are as many records may be hardly any people.
    leaves = even_leaves(partition) if divisible and microdata.people is None else partition
    bounds = np.arange(leaves.classes + 1)  # of the nodes that are classes so far, in leaves
    bad = failing(microdata, leaves, models)
    for level in tree(leaves.classes)[1:]:
        if not bad.any():
            break
        node = np.searchsorted(level, bounds[:-1], side="right") - 1
        joins = np.zeros(len(level) - 1, np.bool_)
        joins[node[bad]] = True
        begins = ~joins[node] | np.append(True, node[1:] != node[:-1])
        bounds, grown = np.append(bounds[:-1][begins], leaves.classes), joins[node[begins]]
        bad = np.zeros(len(grown), np.bool_)
        at = Partition(leaves.order, leaves.starts[bounds])
        bad[grown] = failing(microdata, _only(at, np.flatnonzero(grown)), models)
    return Partition(leaves.order, leaves.starts[bounds])


def even_leaves(partition: Partition) -> Partition:
    """Every class cut into as many even parts as are no smaller than the smallest class."""
    sizes = partition.sizes
    parts = sizes // sizes.min()
    first = np.repeat(np.cumsum(parts) - parts, parts)
    within = (np.arange(parts.sum()) - first) * np.repeat(sizes, parts) // np.repeat(parts, parts)
    return Partition(partition.order, np.append(np.repeat(partition.starts[:-1], parts) + within, partition.starts[-1]))


def tree(leaves: int) -> list[Bounds]:
    """The nodes of each level, from the single leaves up to the whole; every level's nodes are whole in the next."""
    levels = [np.array([0, leaves])]
    while len(levels[-1]) <= leaves:
        levels.append(_halved(levels[-1]))
    return levels[::-1]


def _halved(bounds: Bounds) -> Bounds:
    """Each node in two halves, or in three where it is of three leaves.

    Of numbers that cannot be halved evenly down to the leaves, the first half is the nearest that can, but for three:
    2^a or 3 x 2^a. So all but a few nodes, those at the end, have halves of as many leaves.
    """
    low, size = bounds[:-1], np.diff(bounds)
    even = np.unique(np.outer([1, 3], 1 << np.arange(62 - 2)))
    place = np.searchsorted(even, size / 2)
    after, before = even[place], even[np.maximum(place - 1, 0)]
    first = np.where(2 * after - size <= size - 2 * before, after, before)
    some = size > 1
    three = size == 3
    cuts = np.where(three, low + 1, low + first)
    return np.unique(np.concatenate([bounds, cuts[some], low[three] + 2]))
