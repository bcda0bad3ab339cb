"""Makes any partition keep the models it cannot promise by itself: neighbours merge, or classes are suppressed.

A class that fails a model joins its neighbour on the grouping's line, until all hold, at the latest as one class of all
records. Up to a stated share of the records may be suppressed instead, the smallest failing classes first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking.partition import Partition
from shoal.privacy.model import PrivacyModel

_PATIENCE = 6  # rounds of merging with one neighbour; then stuck classes reach twice as far, and again


def failing(microdata: Microdata, partition: Partition, models: Sequence[PrivacyModel]) -> npt.NDArray[np.bool_]:
    """Which classes miss a model."""
    bad = np.zeros(partition.classes, np.bool_)
    for model in models:
        about = microdata[model.attribute] if model.attribute else microdata
        bad |= ~model.meets(model.levels(about, partition.order, partition.starts))
    return bad


def enforce(
    microdata: Microdata, partition: Partition, models: Sequence[PrivacyModel], suppression: float = 0.0
) -> Partition:
    """The partition, suppressed within the limit and merged until every class keeps every model."""
    if not models:
        return partition
    _reachable(microdata, models)
    bad = failing(microdata, partition, models)
    limit = int(suppression * len(microdata) + 1e-9)
    if not bad.any() or limit == 0:
        return _merge_failing(microdata, partition, models, bad)
    remaining = _suppress(partition, bad, limit)
    # What is promised is promised of the records that remain: judge them against their own distribution.
    kept = np.sort(remaining.order)
    rest = microdata.take(kept)
    if failing(rest, _everyone(rest), models).any():  # they would need the suppressed ones: keep all
        return _merge_failing(microdata, partition, models, bad)
    local = Partition(np.searchsorted(kept, remaining.order), remaining.starts)
    local = _merge_failing(rest, local, models, failing(rest, local, models))
    return Partition(kept[local.order], local.starts)


def _merge_failing(
    microdata: Microdata, partition: Partition, models: Sequence[PrivacyModel], bad: npt.NDArray[np.bool_]
) -> Partition:
    rounds = 0
    while bad.any() and partition.classes > 1:
        partition, grown = _merge(partition, bad, 2 ** (rounds // _PATIENCE))
        rounds += 1
        bad = np.zeros(partition.classes, np.bool_)
        bad[grown] = failing(microdata, _only(partition, grown), models)
    return partition


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


def _merge(partition: Partition, bad: npt.NDArray[np.bool_], reach: int) -> tuple[Partition, npt.NDArray[np.int64]]:
    """Each failing class is joined by so many classes after it, the last one joins the class before it.

    Returns the coarser partition and those of its classes that have grown.
    """
    from shoal.kernels.segments import join_failing

    joined = join_failing(bad, reach)  # whether class c now belongs to the class before it
    begins = np.flatnonzero(~joined)
    starts = np.append(partition.starts[begins], partition.starts[-1])
    grown = np.diff(np.append(begins, partition.classes)) > 1
    return Partition(partition.order, starts), np.flatnonzero(grown)
