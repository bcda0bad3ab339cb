"""How many points lie in each box: points sorted along a curve, under a tree of hulls (F by fitting).

A box has one cell an attribute, a cell is a few runs of codes. A hull inside the box counts as a whole, one outside not
at all; only the points of hulls that the box cuts through are looked at one by one.

Defined in docs/spec.md#scenarios.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

FAN = 8  # points under a leaf, and children of a node
OUTSIDE, INSIDE, CUT = 0, 1, 2


class Points(NamedTuple):
    """Distinct points in the order of the curve."""

    codes: npt.NDArray[np.int32]  # (points, attributes)
    before: npt.NDArray[np.int64]  # records at all points before this one; one more entry at the end
    low: npt.NDArray[np.int32]  # (hulls, attributes): of eight neighbouring points, of eight such hulls, and so on
    high: npt.NDArray[np.int32]
    level: npt.NDArray[np.int64]  # where each level of hulls begins


class Cells(NamedTuple):
    """What boxes are made of; cells are numbered through all attributes."""

    starts: npt.NDArray[np.int64]  # cell -> its first run, one more entry at the end
    low: npt.NDArray[np.int32]  # run -> least code; a cell's runs ascend and are apart
    high: npt.NDArray[np.int32]  # run -> greatest code


@kernel
def _hull(cells, boxes, b, hull):  # type: ignore[no-untyped-def]
    """The box's least and greatest codes; False where some cell admits nothing."""
    for j in range(boxes.shape[1]):
        first, last = cells.starts[boxes[b, j]], cells.starts[boxes[b, j] + 1]
        if first == last:
            return False
        hull[j, 0], hull[j, 1] = cells.low[first], cells.high[last - 1]
    return True


@kernel
def _within_runs(cells, cell, low, high):  # type: ignore[no-untyped-def]
    """Where low..high, which lies within the cell's hull, lies with respect to its runs."""
    first, last = cells.starts[cell], cells.starts[cell + 1]
    while last - first > 1:  # the last run that begins at low or before
        middle = (first + last) // 2
        if cells.low[middle] <= low:
            first = middle
        else:
            last = middle
    if high <= cells.high[first]:
        return INSIDE
    return OUTSIDE if cells.high[first] < low and high < cells.low[first + 1] else CUT


@kernel
def _relation(cells, boxes, b, hull, low, high, node):  # type: ignore[no-untyped-def]
    """Where a node (or a point, whose low is its high) lies with respect to the box; its hull is looked at first."""
    result = INSIDE
    for j in range(boxes.shape[1]):
        if low[node, j] > hull[j, 1] or high[node, j] < hull[j, 0]:
            return OUTSIDE
        if low[node, j] < hull[j, 0] or high[node, j] > hull[j, 1]:
            result = CUT
    for j in range(boxes.shape[1]):
        if result == INSIDE and cells.starts[boxes[b, j] + 1] - cells.starts[boxes[b, j]] > 1:
            relation = _within_runs(cells, boxes[b, j], low[node, j], high[node, j])
            if relation != INSIDE:
                result = relation
    return result


@kernel
def _count_leaf(points, cells, boxes, b, hull, first, last):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(first, last):
        if _relation(cells, boxes, b, hull, points.codes, points.codes, i) == INSIDE:
            total += points.before[i + 1] - points.before[i]
    return total


@kernel
def _count_box(points, cells, boxes, b, hull, enough, stack):  # type: ignore[no-untyped-def]
    total, top = 0, 1
    stack[0, 0], stack[0, 1] = points.level.size - 2, 0
    while top > 0 and total < enough:
        top -= 1
        depth, node = stack[top, 0], stack[top, 1]
        relation = _relation(cells, boxes, b, hull, points.low, points.high, points.level[depth] + node)
        if relation == OUTSIDE:
            continue
        span = FAN ** (depth + 1)
        first, last = node * span, min((node + 1) * span, points.codes.shape[0])
        if relation == INSIDE:
            total += points.before[last] - points.before[first]
        elif depth == 0:
            total += _count_leaf(points, cells, boxes, b, hull, first, last)
        else:
            width = points.level[depth] - points.level[depth - 1]
            for child in range(node * FAN, min((node + 1) * FAN, width)):
                stack[top, 0], stack[top, 1] = depth - 1, child
                top += 1
    return total


@kernel
def count_inside(points, cells, boxes, enough, least, counts):  # type: ignore[no-untyped-def]
    """Writes for each box (a row of cells) how many records lie in it.

    Counting a box stops at enough[0]; where only the `least` count is wanted, that falls to the least one found.
    """
    stack = np.empty((FAN * points.level.size, 2), np.int64)
    hull = np.empty((boxes.shape[1], 2), np.int32)
    for b in range(boxes.shape[0]):
        some = _hull(cells, boxes, b, hull)
        counts[b] = _count_box(points, cells, boxes, b, hull, enough[0], stack) if some else 0
        if least:
            enough[0] = min(enough[0], counts[b])
