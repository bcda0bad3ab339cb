"""Labels that name some of what they hold and count the others: `MX, CU and 40 more`, `12 rare values`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import plain_text
from shoal.data.hierarchy import Hierarchy

Ints = npt.NDArray[np.int64]

NAMED = 2  # values that a label names where it holds many
_WIDE = 60  # characters of these names together; the first is always there
_ABRIDGED = r" and [\d,]+ more$|^[\d,]+ rare values?$"


def abridged(common: Sequence[str], number: int) -> str:
    """The label of so many values, of which those that are common, most frequent first, may be named."""
    if not common:
        return f"{number:,} rare value{'s' * (number > 1)}"
    names = [common[0], *(name for name in common[1:NAMED] if len(common[0]) + len(name) <= _WIDE)]
    more = number - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


def abridged_labels(hierarchy: Hierarchy) -> dict[str, Ints]:
    """The labels of a hierarchy that name only some of what they hold, as cells show them, and the leaves they admit.

    What a label says is held against its node, so that a hierarchy that was written and read again has the same.
    """
    labels: dict[str, Ints] = {}
    for level in range(1, hierarchy.levels - 1):
        of_level, starts = hierarchy.labels(level), hierarchy.starts(level)
        for node in of_level.str.contains(_ABRIDGED).arg_true().to_list():
            label, leaves = of_level[node], hierarchy.leaf_values[int(starts[node]) : int(starts[node + 1])]
            if label in (abridged(leaves.head(named).to_list(), len(leaves)) for named in range(NAMED + 1)):
                admitted = hierarchy.leaves(label)
                assert admitted is not None
                labels[str(plain_text(pl.Series([label]))[0])] = admitted.astype(np.int64)
    return labels
