"""Cuts of a line of records into classes of k to 2k - 1 with the least information loss, by dynamic programming.

best[j] = least loss of the first j records = min over s of best[j - s] + loss of the class of records j - s .. j - 1
(Ghinita et al., VLDB 2007, with paper 1's Eq. 3 as the loss).
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def optimal_cuts(line, k, exact):  # type: ignore[no-untyped-def]
    """Where each class of the line starts, and at last its length; `line` holds standardised rows.

    Unless `exact`, a class's loss is taken as its size times its diagonal, which it cannot exceed: then the cost of
    this grows with k, not with its square.
    """
    n = line.shape[0]
    columns = np.empty((line.shape[1], n), np.float32)
    for i in range(n):
        for a in range(line.shape[1]):
            columns[a, i] = line[i, a]
    losses = _class_losses(columns, k, exact)
    best = np.empty(n + 1, np.float64)
    size = np.empty(n + 1, np.int64)
    for j in range(n + 1):
        best[j] = np.inf if j else 0.0
        size[j] = 0
    for j in range(k, n + 1):
        for s in range(k, min(2 * k - 1, j) + 1):
            loss = best[j - s] + losses[s - k, j - s]
            if loss < best[j]:
                best[j] = loss
                size[j] = s
    return walked_back(size)


@kernel(fastmath=True)
def _class_losses(columns, k, exact):  # type: ignore[no-untyped-def]
    """losses[s - k, i]: the loss of the class of s records that begins with record i.

    One step for all records of the line at a time, an attribute after the other: so the processor takes eight at once.
    """
    m, n = columns.shape
    losses = np.empty((k, n), np.float32)
    low = columns.copy()
    high = columns.copy()
    for s in range(1, min(2 * k - 1, n) + 1):
        classes = n - s + 1
        for a in range(m):
            for i in range(classes):
                x = columns[a, i + s - 1]
                low[a, i] = x if x < low[a, i] else low[a, i]
                high[a, i] = x if x > high[a, i] else high[a, i]
        if s >= k and exact:
            _corner_distances(columns, low, high, s, losses[s - k, :classes])
        elif s >= k:
            _diagonals(low, high, s, losses[s - k, :classes])
    return losses


@kernel(fastmath=True, inline="always")
def _corner_distances(columns, low, high, s, losses):  # type: ignore[no-untyped-def]
    """The summed distances of each class's records to the farthest corner of its box (Eq. 4)."""
    square = np.empty(losses.size, np.float32)
    for i in range(losses.size):
        losses[i] = 0.0
    for r in range(s):
        for i in range(losses.size):
            square[i] = 0.0
        for a in range(columns.shape[0]):
            for i in range(losses.size):
                x = columns[a, i + r]
                below, above = x - low[a, i], high[a, i] - x
                d = below if below > above else above
                square[i] += d * d
        for i in range(losses.size):
            losses[i] += np.sqrt(square[i])


@kernel(fastmath=True, inline="always")
def _diagonals(low, high, s, losses):  # type: ignore[no-untyped-def]
    """Size times diagonal of each class's box."""
    square = np.empty(losses.size, np.float32)
    for i in range(losses.size):
        square[i] = 0.0
    for a in range(low.shape[0]):
        for i in range(losses.size):
            square[i] += (high[a, i] - low[a, i]) ** 2
    for i in range(losses.size):
        losses[i] = s * np.sqrt(square[i])


@kernel(inline="always")
def walked_back(size):  # type: ignore[no-untyped-def]
    """Walks back from the end of the line over the sizes chosen."""
    n = size.size - 1
    starts = np.empty(n + 1, np.int64)
    place = n
    j = n
    while j > 0:
        starts[place] = j
        place -= 1
        j -= size[j]
    starts[place] = 0
    return starts[place:]


@kernel(fastmath=True, inline="always")
def widen(low, high, row):  # type: ignore[no-untyped-def]
    """Widens the box to hold the row; returns its squared diagonal."""
    square = np.float32(0.0)
    for a in range(row.size):
        least = row[a] if row[a] < low[a] else low[a]
        most = row[a] if row[a] > high[a] else high[a]
        low[a] = least
        high[a] = most
        square += (most - least) * (most - least)
    return square


@kernel(fastmath=True, inline="always")
def corner_distance(row, low, high):  # type: ignore[no-untyped-def]
    """Distance of the row to the farthest corner of the box (Eq. 4)."""
    square = np.float32(0.0)
    for a in range(row.size):
        below, above = row[a] - low[a], high[a] - row[a]
        d = below if below > above else above
        square += d * d
    return np.sqrt(square)
