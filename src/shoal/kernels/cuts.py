"""Cuts of a line of records into classes of k to 2k - 1 with the least information loss, by dynamic programming.

best[j] = least loss of the first j records = min over s of best[j - s] + loss of the class of records j - s .. j - 1
(Ghinita et al., VLDB 2007, with paper 1's Eq. 3 as the loss).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def optimal_cuts(line, k, exact):  # type: ignore[no-untyped-def]
    """Where each class of the line starts, and at last its length; `line` holds standardised rows.

    Unless `exact`, a class's loss is taken as its size times its diagonal, which it cannot exceed: then the cost of
    this grows with k, not with its square.
    """
    n, m = line.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(n + 1, np.int64)
    low = np.empty(m, line.dtype)
    high = np.empty(m, line.dtype)
    for j in range(k, n + 1):
        low[:] = line[j - 1]
        high[:] = line[j - 1]
        for s in range(1, min(2 * k - 1, j) + 1):
            i = j - s
            square = widen(low, high, line[i])
            # No record is nearer to its box's farther corner than half the diagonal.
            if s < k or best[i] + 0.5 * s * np.sqrt(square) >= best[j]:
                continue
            loss = best[i]
            if exact:
                for r in range(i, j):
                    loss += corner_distance(line[r], low, high)
            else:
                loss += s * np.sqrt(square)
            if loss < best[j]:
                best[j] = loss
                size[j] = s
    return _starts(size)


@njit(cache=True, nogil=True)
def _starts(size):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def widen(low, high, row):  # type: ignore[no-untyped-def]
    """Widens the box to hold the row; returns its squared diagonal."""
    square = 0.0
    for a in range(row.size):
        low[a] = min(low[a], row[a])
        high[a] = max(high[a], row[a])
        square += (high[a] - low[a]) ** 2
    return square


@njit(cache=True, nogil=True)
def corner_distance(row, low, high):  # type: ignore[no-untyped-def]
    """Distance of the row to the farthest corner of the box (Eq. 4)."""
    square = 0.0
    for a in range(row.size):
        d = max(row[a] - low[a], high[a] - row[a])
        square += d * d
    return np.sqrt(square)
