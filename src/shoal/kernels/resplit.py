"""Betters a partition: pools two neighbouring classes and divides the pool anew where that loses less.

A curve cannot keep all neighbours together; classes that are near in space but far on the curve exchange records here.
Each class meets the nearest one (by centre) of its block, again as long as that helps; their pool is divided along the
attribute, or along the line between the two centres, that gives the least loss with k to 2k - 1 records on either side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.cuts import corner_distance, optimal_cuts, widen

Rows = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

_APART = 0.35  # centres farther apart than this share of both diagonals: a third of the pairs, hardly any of the gain


def cut_and_divide(rows: Rows, order: Places, k: int, block: int, exact: bool, passes: int) -> tuple[Places, Places]:
    """Classes of a line of records, block after block: optimal cuts, then pairs divided anew.

    Returns the records class after class, and where the classes start. The last block takes what remains. Two kernels,
    and not one around both, which would have all of their code compiled once more.
    """
    grouped = np.empty_like(order)
    starts = []
    a, n = 0, order.size
    while a < n:
        b = n if n - a < 2 * block else a + block
        line = rows[order[a:b]]
        inner, begins = resplit(line, optimal_cuts(line, k, exact), k, passes)
        grouped[a:b] = order[a:b][inner]
        starts.append(begins[:-1] + a)
        a = b
    return grouped, np.append(np.concatenate(starts), n)


@kernel(fastmath=True)
def resplit(line, starts, k, passes):  # type: ignore[no-untyped-def]
    """Returns the positions of the line, class after class, and where the classes start."""
    classes = starts.size - 1
    members = np.empty((classes, 2 * k - 1), np.int64)
    sizes = np.empty(classes, np.int64)
    for c in range(classes):
        sizes[c] = starts[c + 1] - starts[c]
        for t in range(sizes[c]):
            members[c, t] = starts[c] + t
    desk = _desk(4 * k - 2, line.shape[1])
    changed = np.empty(classes, np.int64)
    for c in range(classes):
        changed[c] = 0
    for turn in range(passes):
        nearest = _nearest(line, members, sizes, changed, turn)
        for c in range(classes):
            d = nearest[c]
            met = 0 <= d < c and nearest[d] == c
            if d >= 0 and not met and _divide_anew(line, members, sizes, c, d, k, desk):
                changed[c] = turn + 1
                changed[d] = turn + 1
    return _flatten(members, sizes)


@kernel(fastmath=True, inline="always")
def _nearest(line, members, sizes, changed, turn):  # type: ignore[no-untyped-def]
    """For every class changed by the last turn the nearest class by centre, -1 for others and where they lie apart."""
    classes, m = sizes.size, line.shape[1]
    centre = np.empty((m, classes), np.float32)
    wide = np.empty(classes, np.float32)
    for c in range(classes):
        wide[c] = 0.0
        for a in range(m):
            centre[a, c] = 0.0
            low = high = line[members[c, 0], a]
            for t in range(sizes[c]):
                x = line[members[c, t], a]
                centre[a, c] += x / sizes[c]
                low = x if x < low else low
                high = x if x > high else high
            wide[c] += (high - low) ** 2
        wide[c] = np.sqrt(wide[c])
    nearest = np.empty(classes, np.int64)
    distance = np.empty(classes, np.float32)
    for c in range(classes):
        nearest[c] = -1
        if changed[c] != turn or classes < 2:
            continue
        for d in range(classes):
            distance[d] = 0.0
        for a in range(m):
            here = centre[a, c]
            for d in range(classes):
                step = centre[a, d] - here
                distance[d] += step * step
        distance[c] = 3e38
        best = 0
        for d in range(1, classes):
            if distance[d] < distance[best]:
                best = d
        if distance[best] <= (_APART * (wide[c] + wide[best])) ** 2:
            nearest[c] = best
    return nearest


class _Desk(NamedTuple):
    """Room to work in for one pool after the other: making it anew for each would take longer than the work."""

    rows: npt.NDArray[np.float32]  # the pool's rows
    pool: npt.NDArray[np.int64]  # their places on the line
    order: npt.NDArray[np.int64]
    best_order: npt.NDArray[np.int64]
    along: npt.NDArray[np.float32]
    bound: npt.NDArray[np.float32]
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]


@kernel(fastmath=True, inline="always")
def _desk(most, m):  # type: ignore[no-untyped-def]
    return _Desk(
        np.empty((most, m + 1), np.float32),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.float32),
        np.empty(most + 1, np.float32),
        np.empty(m, np.float32),
        np.empty(m, np.float32),
    )


@kernel(fastmath=True)
def _divide_anew(line, members, sizes, c, d, k, desk):  # type: ignore[no-untyped-def]
    """Divides the records of classes c and d anew if that loses less; says whether it did."""
    first = sizes[c]
    n = first + sizes[d]
    pool, order, best_order, along = desk.pool[:n], desk.order[:n], desk.best_order[:n], desk.along[:n]
    low, high = desk.low, desk.high
    for t in range(n):
        pool[t] = members[c, t] if t < first else members[d, t - first]
        order[t] = t
    rows = _spread(line, pool, desk.rows)
    m = rows.shape[1]
    now = _loss(rows, order[:first], low, high) + _loss(rows, order[first:], low, high)
    best_cut = 0
    least = np.inf
    for axis in range(m + (m > 1)):
        if axis < m:
            for t in range(n):
                along[t] = rows[t, axis]
        else:
            _between_centres(rows, first, along)
        _sort(along, order)
        cut, total = _best_cut(rows, order, k, low, high, desk.bound)
        if total < least:
            least = total
            best_cut = cut
            for t in range(n):  # a slice would have numba compile its complaints about shapes, too: seconds
                best_order[t] = order[t]
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


@kernel(fastmath=True, inline="always")
def _spread(line, pool, rows):  # type: ignore[no-untyped-def]
    """The pool's rows in those attributes in which they differ at all."""
    m = 0
    for a in range(line.shape[1]):
        differ = False
        x = line[pool[0], a]
        for t in range(pool.size):
            rows[t, m] = line[pool[t], a]
            differ |= rows[t, m] != x
        m += differ
    return rows[: pool.size, :m]


@kernel(fastmath=True, inline="always")
def _sort(along, order):  # type: ignore[no-untyped-def]
    """Where each value of a small pool stood: its rank is how many are less, counted without a branch."""
    for t in range(along.size):
        value = along[t]
        rank = np.int32(0)
        for u in range(t):
            rank += np.int32(along[u] <= value)
        for u in range(t + 1, along.size):
            rank += np.int32(along[u] < value)
        order[rank] = t


@kernel(fastmath=True, inline="always")
def _between_centres(rows, first, along):  # type: ignore[no-untyped-def]
    """Each row's place along the line from one class's centre to the other's."""
    n = rows.shape[0]
    for t in range(n):
        along[t] = 0.0
    for a in range(rows.shape[1]):
        step = 0.0
        for t in range(n):
            step += rows[t, a] / (n - first) if t >= first else -rows[t, a] / first
        for t in range(n):
            along[t] += step * rows[t, a]


@kernel(fastmath=True, inline="always")
def _best_cut(rows, order, k, low, high, bound):  # type: ignore[no-untyped-def]
    """The cut with the least sum of size times diagonal, an upper bound of the loss that needs one sweep each way."""
    n = order.size
    _begin(low, high, rows[order[0]])
    for t in range(n - k):
        bound[t + 1] = (t + 1) * np.sqrt(widen(low, high, rows[order[t]]))
    _begin(low, high, rows[order[n - 1]])
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


@kernel(fastmath=True)
def _loss(rows, members, low, high):  # type: ignore[no-untyped-def]
    _begin(low, high, rows[members[0]])
    for i in members:
        widen(low, high, rows[i])
    total = 0.0
    for i in members:
        total += corner_distance(rows[i], low, high)
    return total


@kernel(fastmath=True, inline="always")
def _begin(low, high, row):  # type: ignore[no-untyped-def]
    """A box that holds the one row."""
    for a in range(row.size):
        low[a] = row[a]
        high[a] = row[a]


@kernel(fastmath=True, inline="always")
def _flatten(members, sizes):  # type: ignore[no-untyped-def]
    starts = np.empty(sizes.size + 1, np.int64)
    starts[0] = 0
    for c in range(sizes.size):
        starts[c + 1] = starts[c] + sizes[c]
    order = np.empty(starts[-1], np.int64)
    for c in range(sizes.size):
        for t in range(sizes[c]):
            order[starts[c] + t] = members[c, t]
    return order, starts
