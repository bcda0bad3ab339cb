"""Exact nearest neighbours of many points in many dimensions: blocks of points under boxes, scanned column by column.

Trees down to a few points grow slow in many dimensions. Here the points lie in blocks of a hundred or more (the leaves
of a k-d tree), each with its bounding box: blocks whose box is too far are passed over, the others are scanned by loops
that the processor runs several points at a time. So even where no block can be passed over it is no slower than
comparing all with all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.kd import kd_classes
from shoal.kernels.threads import in_blocks

Floats = npt.NDArray[np.float64]

_QUERIES = 256  # points looked up together by one thread
_PROMISING = 4  # blocks looked at in the order of their distance, before all others in theirs


class Blocks(NamedTuple):
    """Points in their blocks, an attribute a row."""

    points: Floats  # (m, n)
    starts: npt.NDArray[np.int64]  # block -> its first point, one more entry at the end
    low: Floats  # (m, blocks): each block's bounding box
    high: Floats


def blocks_of(points: Floats) -> Blocks:
    """The points in blocks of neighbours, with the bounding box of each."""
    leaf = max(64, int(np.sqrt(len(points)) / 2))  # as much work on boxes as inside them
    order, starts = kd_classes(points, leaf, True)
    columns = np.ascontiguousarray(points[order].T)
    low, high = (bound.reduceat(columns, starts[:-1], axis=1) for bound in (np.minimum, np.maximum))
    return Blocks(columns, starts, low, high)


def nearest(queries: Floats, points: Floats, *, largest: bool = False) -> Floats:
    """Squared Euclidean distance of each query to its nearest point; `largest`: the largest difference, squared."""
    blocks = blocks_of(points)
    distances = np.empty(len(queries))
    in_blocks(len(queries), _QUERIES, lambda a, b: _nearest(queries[a:b], blocks, largest, distances[a:b]))
    return distances


@kernel
def _bounds(query, blocks, largest, bound):  # type: ignore[no-untyped-def]
    """Squared distance of the query to each box."""
    bound[:] = 0.0
    for j in range(query.size):
        x = query[j]
        for b in range(bound.size):
            gap = max(blocks.low[j, b] - x, x - blocks.high[j, b], 0.0)
            bound[b] = max(bound[b], gap * gap) if largest else bound[b] + gap * gap


@kernel
def _distances(query, points, first, last, largest, squares):  # type: ignore[no-untyped-def]
    """Squared distances of the query to the points of one block."""
    size = last - first
    squares[:size] = 0.0
    for j in range(query.size):
        x, column = query[j], points[j, first:last]
        if largest:
            for i in range(size):
                gap = x - column[i]
                squares[i] = max(squares[i], gap * gap)
        else:
            for i in range(size):
                gap = x - column[i]
                squares[i] += gap * gap


@kernel(fastmath={"nnan", "nsz"})
def _least(squares, size):  # type: ignore[no-untyped-def]
    """Numbers are never NaN here: told so, the compiler looks at several at a time."""
    least = np.inf
    for i in range(size):
        least = min(least, squares[i])
    return least


@kernel
def _nearest(queries, blocks, largest, distances):  # type: ignore[no-untyped-def]
    starts = blocks.starts
    bound = np.empty(starts.size - 1)
    squares = np.empty(np.diff(starts).max())
    for q in range(queries.shape[0]):
        _bounds(queries[q], blocks, largest, bound)
        best = np.inf
        for turn in range(-_PROMISING, bound.size):
            b = np.argmin(bound) if turn < 0 else turn
            if bound[b] < best:
                _distances(queries[q], blocks.points, starts[b], starts[b + 1], largest, squares)
                best = min(best, _least(squares, starts[b + 1] - starts[b]))
                bound[b] = np.inf
        distances[q] = best
