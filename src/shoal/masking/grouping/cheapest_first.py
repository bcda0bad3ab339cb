"""Local recoding along hierarchies: every record at the cheapest levels at which it has company.

The nodes of the generalization lattice are visited by what they lose, cheapest first. Records that stand in a class of
k at a node, among those not yet grouped, form that class; the others go on. At the last node, where all look alike, at
most k - 1 are left: they join the class that lost most. Published by common ancestors, no record is suppressed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.masking.partition import Partition
from shoal.masking.recoding.lattice import Lattice, lattice_of, losses

_WORK = 2_000_000_000  # rows x nodes; of a larger lattice only some nodes are visited, evenly along their losses


def cheapest_first(microdata: Microdata, k: int) -> Partition:
    """The classes of a table in memory."""
    lattice = lattice_of(microdata)
    return Partition.of_labels(cheapest_rows(lattice, k)[lattice.row])


def cheapest_rows(lattice: Lattice, k: int) -> npt.NDArray[np.int64]:
    """distinct row -> its class, 0, 1, ...: records that are alike from the start stay so."""
    loss = losses(lattice)
    visited = np.argsort(loss, kind="stable")
    if len(visited) * len(lattice.keys) > _WORK:
        some = max(500, _WORK // len(lattice.keys))
        visited = visited[np.unique(np.linspace(0, len(visited) - 1, some).astype(np.int64))]
    label = np.full(len(lattice.keys), -1, np.int64)  # distinct row -> class
    rest = np.arange(len(lattice.keys))
    classes = 0
    for number in visited:
        group, size = _group(lattice, rest, lattice.at(int(number)))
        kept = size[group] >= k
        if kept.any():
            _, dense = np.unique(group[kept], return_inverse=True)
            label[rest[kept]] = classes + dense
            classes += int(dense.max()) + 1
            rest = rest[~kept]
            if len(rest) == 0:
                break
    label[rest] = max(0, classes - 1)
    return label


def _group(
    lattice: Lattice, rows: npt.NDArray[np.int64], levels: tuple[int, ...]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which of these distinct rows look alike at the levels, and how many records each such group has."""
    _, group = np.unique(lattice.lifted(levels, rows), return_inverse=True)
    return group, np.bincount(group, lattice.counts[rows]).astype(np.int64)
