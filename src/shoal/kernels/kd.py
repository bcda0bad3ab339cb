"""Mondrian: space divided by axis-parallel cuts while both sides keep k records (LeFevre et al., ICDE 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel


@kernel
def kd_classes(rows, k, by_median):  # type: ignore[no-untyped-def]
    """Records class after class, left to right, and where the classes start."""
    tree = kd_begun(rows.shape[0], k)
    kd_divide(rows, k, by_median, tree, rows.size * 1_000_000)
    return tree.order, tree.starts[: tree.at[0] + 1]


class Tree(NamedTuple):
    """What is divided so far."""

    order: npt.NDArray[np.int64]  # place -> record
    starts: npt.NDArray[np.int64]  # class -> its first place
    stack: npt.NDArray[np.int64]  # parts still to be divided: first place, and the one after the last
    at: npt.NDArray[np.int64]  # how many classes there are, and how many parts


@kernel
def kd_begun(n, k):  # type: ignore[no-untyped-def]
    """All records in one part, which nobody has divided yet."""
    stack = np.empty((2 * 64 + n // k + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    return Tree(np.arange(n), np.empty(n // k + 2, np.int64), stack, np.array([0, 1]))


@kernel
def kd_divide(rows, k, by_median, tree, work):  # type: ignore[no-untyped-def]
    """Divides on until all is done, or about `work` cells were looked at."""
    n, m = rows.shape
    order, starts, stack = tree.order, tree.starts, tree.stack
    classes, depth = tree.at[0], tree.at[1]
    width = np.empty(m, np.float64)
    middle = np.empty(m, np.float64)
    while depth > 0 and work > 0:
        depth -= 1
        start, stop = stack[depth, 0], stack[depth, 1]
        work -= (stop - start) * m
        cut = -1
        if stop - start >= 2 * k:
            _extent(rows, order, start, stop, width, middle)
            cut = _divide(rows, order, start, stop, k, width, middle, by_median)
        if cut < 0:
            starts[classes] = start
            classes += 1
        else:  # the left part on top, so that classes come out in order
            stack[depth, 0], stack[depth, 1] = cut, stop
            stack[depth + 1, 0], stack[depth + 1, 1] = start, cut
            depth += 2
    starts[classes] = n
    tree.at[0], tree.at[1] = classes, depth


@kernel
def _extent(rows, order, start, stop, width, middle):  # type: ignore[no-untyped-def]
    for a in range(rows.shape[1]):
        low = rows[order[start], a]
        high = low
        for i in range(start + 1, stop):
            x = rows[order[i], a]
            low = min(low, x)
            high = max(high, x)
        width[a] = high - low
        middle[a] = low + 0.5 * (high - low)


@kernel
def _divide(rows, order, start, stop, k, width, middle, by_median):  # type: ignore[no-untyped-def]
    """Cuts at the middle (or the median) of the widest attribute that leaves k on either side; -1 if none does.

    Where no middle does, medians are tried: they serve every attribute that can be cut at all.
    """
    widest = np.argsort(-width, kind="mergesort")
    for attempt in range(1 if by_median else 0, 2):
        for a in widest:
            if width[a] == 0.0:
                break
            at = _median_cut(rows, order, start, stop, a) if attempt else middle[a]
            left = 0
            for i in range(start, stop):
                left += rows[order[i], a] <= at
            if left >= k and stop - start - left >= k:
                return _separate(rows, order, start, stop, a, at, left)
    return -1


@kernel
def _median_cut(rows, order, start, stop, a):  # type: ignore[no-untyped-def]
    """The value whose cut leaves the two sides most nearly equal, ties kept together."""
    values = np.empty(stop - start, rows.dtype)
    for i in range(start, stop):
        values[i - start] = rows[order[i], a]
    values.sort()
    half = values.size // 2
    up = half
    while up < values.size and values[up] == values[half - 1]:
        up += 1
    down = half
    while down > 0 and values[down - 1] == values[min(half, values.size - 1)]:
        down -= 1
    if down > 0 and (up == values.size or values.size - 2 * down <= 2 * up - values.size):
        return values[down - 1]
    return values[up - 1]


@kernel
def _separate(rows, order, start, stop, a, at, left):  # type: ignore[no-untyped-def]
    """Records up to the cut before the others, either side in its old order."""
    spare = order[start:stop].copy()
    i, j = start, start + left
    for record in spare:
        if rows[record, a] <= at:
            order[i] = record
            i += 1
        else:
            order[j] = record
            j += 1
    return start + left
