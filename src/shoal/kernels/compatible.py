"""Which boxes of one release are compatible with a box of another: a tree of boxes along a curve.

A box has one cell an attribute, a cell is a few runs of codes (`shoal.kernels.counting.Cells`); two boxes are
compatible if their cells meet in every attribute. Of eight boxes the tree knows the least and greatest of their lower
and of their upper ends: enough to see that none of them is compatible, or, where cells are single runs, that all are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

FAN = 8  # boxes under a leaf, and children of a node


class Tree(NamedTuple):
    """Boxes in the order of the curve; the ends of nodes level after level, the boxes' own first."""

    before: npt.NDArray[np.int64]  # records in all boxes before this one; one more entry at the end
    boxes: npt.NDArray[np.int32]  # (boxes, attributes): cells
    least_low: npt.NDArray[np.int32]  # (nodes, attributes)
    greatest_low: npt.NDArray[np.int32]
    least_high: npt.NDArray[np.int32]
    greatest_high: npt.NDArray[np.int32]
    level: npt.NDArray[np.int64]  # where each level of nodes begins, and where the last ends


@kernel
def _meet(starts, low, high, a, b):  # type: ignore[no-untyped-def]
    """Do two cells share a code? Their runs ascend."""
    i, j = starts[a], starts[b]
    while i < starts[a + 1] and j < starts[b + 1]:
        if high[i] < low[j]:
            i += 1
        elif high[j] < low[i]:
            j += 1
        else:
            return True
    return False


@kernel
def _may_meet(tree, node, least, greatest):  # type: ignore[no-untyped-def]
    for j in range(least.size):
        if tree.least_low[node, j] > greatest[j] or tree.greatest_high[node, j] < least[j]:
            return False
    return True


@kernel
def _all_meet(tree, node, least, greatest, solid):  # type: ignore[no-untyped-def]
    for j in range(least.size):
        if not solid[j] or tree.greatest_low[node, j] > greatest[j] or tree.least_high[node, j] < least[j]:
            return False
    return True


@kernel
def _take(tree, node, low, high):  # type: ignore[no-untyped-def]
    """Widens low..high, which span the candidates so far, by those of a node."""
    for j in range(low.size):
        low[j] = min(low[j], tree.least_low[node, j])
        high[j] = max(high[j], tree.greatest_high[node, j])


@kernel
def find_compatible(tree, starts, low, high, boxes, solid, counts, span_low, span_high):  # type: ignore[no-untyped-def]
    """Writes for each box how many records of the tree are compatible with it, and what they span together.

    `solid` says of which attributes all cells are single runs.
    """
    m = boxes.shape[1]
    depths = tree.level.size - 1
    stack = np.empty((FAN * depths + 1, 2), np.int64)
    least, greatest = np.empty(m, np.int32), np.empty(m, np.int32)
    for b in range(boxes.shape[0]):
        for j in range(m):
            least[j], greatest[j] = low[starts[boxes[b, j]]], high[starts[boxes[b, j] + 1] - 1]
        total, top = 0, 1
        stack[0, 0], stack[0, 1] = depths - 1, 0
        while top > 0:
            top -= 1
            depth, place = stack[top, 0], stack[top, 1]
            node = tree.level[depth] + place
            if not _may_meet(tree, node, least, greatest):
                continue
            if _all_meet(tree, node, least, greatest, solid):
                span = FAN**depth
                last = min((place + 1) * span, tree.boxes.shape[0])
                total += tree.before[last] - tree.before[place * span]
                _take(tree, node, span_low[b], span_high[b])
            elif depth == 0:
                meets = True
                for j in range(m):
                    meets = meets and _meet(starts, low, high, boxes[b, j], tree.boxes[place, j])
                if meets:
                    total += tree.before[place + 1] - tree.before[place]
                    _take(tree, node, span_low[b], span_high[b])
            else:
                width = tree.level[depth] - tree.level[depth - 1]
                for child in range(place * FAN, min((place + 1) * FAN, width)):
                    stack[top, 0], stack[top, 1] = depth - 1, child
                    top += 1
        counts[b] = total
