"""Betters a partition: pools two neighbouring classes and divides the pool anew where that loses less.

A curve cannot keep all neighbours together; classes that are near in space but far on the curve exchange records
here. Each class meets its nearest classes (by centre) in the same block; a pool is divided along the attribute, or
along the line between the two centres, that gives the least loss with k to 2k - 1 records on either side.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.cuts import box_loss, widen

_PARTNERS = 2


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
    changed = np.ones(classes, np.bool_)
    for _ in range(passes):
        partners = _nearest(line, members, sizes, changed)
        now = np.zeros(classes, np.bool_)
        for c in range(classes):
            for t in range(_PARTNERS):
                d = partners[c, t]
                if d >= 0 and _divide_anew(line, members, sizes, c, d, k):
                    now[c] = True
                    now[d] = True
        changed = now
    return _flatten(members, sizes)


@njit(cache=True, nogil=True, fastmath=True)
def _nearest(line, members, sizes, changed):  # type: ignore[no-untyped-def]
    """For every changed class its nearest classes by centre, -1 where there is none."""
    classes, m = sizes.size, line.shape[1]
    centre = np.zeros((m, classes), np.float32)
    for c in range(classes):
        for t in range(sizes[c]):
            for a in range(m):
                centre[a, c] += line[members[c, t], a] / sizes[c]
    partners = np.full((classes, _PARTNERS), -1, np.int64)
    distance = np.empty(classes, np.float32)
    for c in range(classes):
        if not changed[c]:
            continue
        distance[:] = 0.0
        for a in range(m):
            here = centre[a, c]
            for d in range(classes):
                step = centre[a, d] - here
                distance[d] += step * step
        distance[c] = 3e38
        for t in range(min(_PARTNERS, classes - 1)):
            nearest = 0
            for d in range(classes):
                if distance[d] < distance[nearest]:
                    nearest = d
            partners[c, t] = nearest
            distance[nearest] = 3e38
    return partners


@njit(cache=True, nogil=True)
def _divide_anew(line, members, sizes, c, d, k):  # type: ignore[no-untyped-def]
    """Divides the records of classes c and d anew if that loses less; says whether it did."""
    m = line.shape[1]
    first = sizes[c]
    n = first + sizes[d]
    pool = np.empty(n, np.int64)
    rows = np.empty((n, m), line.dtype)
    for t in range(n):
        pool[t] = members[c, t] if t < first else members[d, t - first]
        for a in range(m):
            rows[t, a] = line[pool[t], a]
    low = np.empty(m, line.dtype)
    high = np.empty(m, line.dtype)
    best = _loss(rows[:first], low, high) + _loss(rows[first:], low, high)
    if best == 0.0:
        return False
    best *= 1.0 - 1e-6  # a rounding error is no gain
    found = False
    along = np.empty(n, np.float64)
    order = np.empty(n, np.int64)
    ordered = np.empty_like(rows)
    bound = np.empty(n + 1, np.float64)
    for axis in range(m + 1):
        if axis < m:
            for t in range(n):
                along[t] = rows[t, axis]
        else:
            _between_centres(rows, first, along)
        if not _sort(along, order):
            continue
        for t in range(n):
            for a in range(m):
                ordered[t, a] = rows[order[t], a]
        cut = _best_cut(ordered, k, low, high, bound)
        loss = _loss(ordered[:cut], low, high) + _loss(ordered[cut:], low, high)
        if loss < best:
            best = loss
            found = True
            sizes[c] = cut
            sizes[d] = n - cut
            for t in range(n):
                if t < cut:
                    members[c, t] = pool[order[t]]
                else:
                    members[d, t - cut] = pool[order[t]]
    return found


@njit(cache=True, nogil=True)
def _sort(along, order):  # type: ignore[no-untyped-def]
    """Insertion sort of a small pool, in place; False where all values are equal."""
    for t in range(along.size):
        value = along[t]
        u = t
        while u > 0 and along[u - 1] > value:
            along[u] = along[u - 1]
            order[u] = order[u - 1]
            u -= 1
        along[u] = value
        order[u] = t
    return along[0] < along[along.size - 1]


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
def _best_cut(ordered, k, low, high, bound):  # type: ignore[no-untyped-def]
    """The cut with the least sum of size times diagonal, an upper bound of the loss that needs one sweep each way."""
    n = ordered.shape[0]
    low[:] = ordered[0]
    high[:] = ordered[0]
    for t in range(n):
        bound[t + 1] = (t + 1) * np.sqrt(widen(low, high, ordered[t]))
    low[:] = ordered[n - 1]
    high[:] = ordered[n - 1]
    lowest, highest = max(k, n - 2 * k + 1), min(n - k, 2 * k - 1)
    cut = lowest
    least = np.inf
    for t in range(n - 1, lowest - 1, -1):
        total = bound[t] + (n - t) * np.sqrt(widen(low, high, ordered[t]))
        if t <= highest and total < least:
            least = total
            cut = t
    return cut


@njit(cache=True, nogil=True)
def _loss(rows, low, high):  # type: ignore[no-untyped-def]
    low[:] = rows[0]
    high[:] = rows[0]
    for i in range(1, rows.shape[0]):
        widen(low, high, rows[i])
    return box_loss(rows, low, high)


@njit(cache=True, nogil=True)
def _flatten(members, sizes):  # type: ignore[no-untyped-def]
    starts = np.zeros(sizes.size + 1, np.int64)
    starts[1:] = np.cumsum(sizes)
    order = np.empty(starts[-1], np.int64)
    for c in range(sizes.size):
        for t in range(sizes[c]):
            order[starts[c] + t] = members[c, t]
    return order, starts
