"""Betters a partition: pools two neighbouring classes and divides the pool anew where that loses less.

A curve cannot keep all neighbours together; classes that are near in space but far on the curve exchange records here.
Each class meets the nearest one (by centre) of its block, again as long as that helps; their pool is divided along the
attribute, or along the line between the two centres, that gives the least loss with k to 2k - 1 records on either side.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.cuts import corner_distance, widen


@njit(cache=True, nogil=True)
def resplit(line, starts, k, passes):  # type: ignore[no-untyped-def]
    """Returns the positions of the line, class after class, and where the classes start."""
    classes = starts.size - 1
    members = np.empty((classes, 2 * k - 1), np.int64)
    sizes = np.empty(classes, np.int64)
    for c in range(classes):
        sizes[c] = starts[c + 1] - starts[c]
        for t in range(sizes[c]):
            members[c, t] = starts[c] + t
    scratch = np.empty((4 * k - 2, line.shape[1] + 1), line.dtype)
    changed = np.ones(classes, np.bool_)
    for _ in range(passes):
        nearest = _nearest(line, members, sizes, changed)
        now = np.zeros(classes, np.bool_)
        for c in range(classes):
            d = nearest[c]
            met = 0 <= d < c and nearest[d] == c
            if d >= 0 and not met and _divide_anew(line, members, sizes, c, d, k, scratch):
                now[c] = True
                now[d] = True
        changed = now
    return _flatten(members, sizes)


@njit(cache=True, nogil=True, fastmath=True)
def _nearest(line, members, sizes, changed):  # type: ignore[no-untyped-def]
    """For every changed class the nearest class by centre, -1 for the others."""
    classes, m = sizes.size, line.shape[1]
    centre = np.zeros((m, classes), np.float32)
    for c in range(classes):
        for t in range(sizes[c]):
            for a in range(m):
                centre[a, c] += line[members[c, t], a] / sizes[c]
    nearest = np.full(classes, -1, np.int64)
    distance = np.empty(classes, np.float32)
    for c in range(classes):
        if not changed[c] or classes < 2:
            continue
        distance[:] = 0.0
        for a in range(m):
            here = centre[a, c]
            for d in range(classes):
                step = centre[a, d] - here
                distance[d] += step * step
        distance[c] = 3e38
        nearest[c] = np.argmin(distance)
    return nearest


@njit(cache=True, nogil=True)
def _divide_anew(line, members, sizes, c, d, k, scratch):  # type: ignore[no-untyped-def]
    """Divides the records of classes c and d anew if that loses less; says whether it did."""
    first = sizes[c]
    n = first + sizes[d]
    pool = np.empty(n, np.int64)
    for t in range(n):
        pool[t] = members[c, t] if t < first else members[d, t - first]
    rows = _spread(line, pool, scratch)
    m = rows.shape[1]
    low = np.empty(m, line.dtype)
    high = np.empty(m, line.dtype)
    along = np.empty(n, np.float64)
    order = np.empty(n, np.int64)
    bound = np.empty(n + 1, np.float64)
    best_order = np.empty(n, np.int64)
    best_cut = 0
    least = np.inf
    for axis in range(m + (m > 1)):
        if axis < m:
            for t in range(n):
                along[t] = rows[t, axis]
        else:
            _between_centres(rows, first, along)
        _sort(along, order)
        cut, total = _best_cut(rows, order, k, low, high, bound)
        if total < least:
            least = total
            best_cut = cut
            best_order[:] = order
    now = _loss(rows, np.arange(first), low, high) + _loss(rows, np.arange(first, n), low, high)
    new = _loss(rows, best_order[:best_cut], low, high) + _loss(rows, best_order[best_cut:], low, high)
    if new >= now * (1.0 - 1e-6):  # a rounding error is no gain
        return False
    sizes[c] = best_cut
    sizes[d] = n - best_cut
    for t in range(n):
        if t < best_cut:
            members[c, t] = pool[best_order[t]]
        else:
            members[d, t - best_cut] = pool[best_order[t]]
    return True


@njit(cache=True, nogil=True)
def _spread(line, pool, scratch):  # type: ignore[no-untyped-def]
    """The pool's rows in those attributes in which they differ at all."""
    m = 0
    for a in range(line.shape[1]):
        differ = False
        x = line[pool[0], a]
        for t in range(pool.size):
            scratch[t, m] = line[pool[t], a]
            differ |= scratch[t, m] != x
        m += differ
    return scratch[: pool.size, :m]


@njit(cache=True, nogil=True)
def _sort(along, order):  # type: ignore[no-untyped-def]
    """Insertion sort of a small pool, in place; `order` says where each value stood."""
    for t in range(along.size):
        value = along[t]
        u = t
        while u > 0 and along[u - 1] > value:
            along[u] = along[u - 1]
            order[u] = order[u - 1]
            u -= 1
        along[u] = value
        order[u] = t


@njit(cache=True, nogil=True)
def _between_centres(rows, first, along):  # type: ignore[no-untyped-def]
    """Each row's place along the line from one class's centre to the other's."""
    n = rows.shape[0]
    along[:] = 0.0
    for a in range(rows.shape[1]):
        step = 0.0
        for t in range(n):
            step += rows[t, a] / (n - first) if t >= first else -rows[t, a] / first
        for t in range(n):
            along[t] += step * rows[t, a]


@njit(cache=True, nogil=True)
def _best_cut(rows, order, k, low, high, bound):  # type: ignore[no-untyped-def]
    """The cut with the least sum of size times diagonal, an upper bound of the loss that needs one sweep each way."""
    n = order.size
    low[:] = rows[order[0]]
    high[:] = rows[order[0]]
    for t in range(n - k):
        bound[t + 1] = (t + 1) * np.sqrt(widen(low, high, rows[order[t]]))
    low[:] = rows[order[n - 1]]
    high[:] = rows[order[n - 1]]
    lowest, highest = max(k, n - 2 * k + 1), min(n - k, 2 * k - 1)
    cut = lowest
    least = np.inf
    for t in range(n - 1, lowest - 1, -1):
        square = widen(low, high, rows[order[t]])
        if t <= highest:
            total = bound[t] + (n - t) * np.sqrt(square)
            if total < least:
                least = total
                cut = t
    return cut, least


@njit(cache=True, nogil=True)
def _loss(rows, members, low, high):  # type: ignore[no-untyped-def]
    low[:] = rows[members[0]]
    high[:] = rows[members[0]]
    for i in members:
        widen(low, high, rows[i])
    total = 0.0
    for i in members:
        total += corner_distance(rows[i], low, high)
    return total


@njit(cache=True, nogil=True)
def _flatten(members, sizes):  # type: ignore[no-untyped-def]
    starts = np.zeros(sizes.size + 1, np.int64)
    starts[1:] = np.cumsum(sizes)
    order = np.empty(starts[-1], np.int64)
    for c in range(sizes.size):
        for t in range(sizes[c]):
            order[starts[c] + t] = members[c, t]
    return order, starts
