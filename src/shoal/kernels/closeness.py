"""Earth mover's distance between each class's confidential values and the whole table's (docs/spec.md#t-closeness)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.segments import by_code


@kernel
def ordered_distances(codes, weights, order, starts, share):  # type: ignore[no-untyped-def]
    """(1 / (v - 1)) sum_i |F_class(i) - F(i)|, each class in time proportional to its size times log v.

    Where F_class is constant between two neighbouring members, the sum is split at the place where F crosses it.
    """
    v = share.size
    F = np.cumsum(share)
    running = np.zeros(v + 1, np.float64)  # running[i] = F(0) + ... + F(i - 1)
    for i in range(v):
        running[i + 1] = running[i] + F[i]
    distance = np.zeros(starts.size - 1, np.float64)
    if v < 2:
        return distance
    for g in range(distance.size):
        members, records = by_code(codes, weights, order[starts[g] : starts[g + 1]])
        n, seen = records.sum(), 0
        total = running[members[0]]
        for j in range(members.size):
            seen += records[j]
            stop = members[j + 1] if j + 1 < members.size else v - 1
            total += _stretch(F, running, members[j], stop, seen / n)
        distance[g] = total / (v - 1)
    return distance


@kernel
def _stretch(F, running, start, stop, level):  # type: ignore[no-untyped-def]
    """sum of |level - F(i)| for start <= i < stop."""
    low, high = start, stop
    while low < high:  # first place where F reaches the level
        middle = (low + high) // 2
        if F[middle] < level:
            low = middle + 1
        else:
            high = middle
    below = level * (low - start) - (running[low] - running[start])
    above = (running[stop] - running[low]) - level * (stop - low)
    return below + above


@kernel
def equal_distances(codes, weights, order, starts, share):  # type: ignore[no-untyped-def]
    """Total variation: the sum over a class's values of what they exceed their share in the table by."""
    distance = np.zeros(starts.size - 1, np.float64)
    for g in range(distance.size):
        members, records = by_code(codes, weights, order[starts[g] : starts[g + 1]])
        n = records.sum()
        i = 0
        while i < members.size:
            value, count = members[i], 0
            while i < members.size and members[i] == value:
                count += records[i]
                i += 1
            distance[g] += max(0.0, count / n - share[value])
    return distance
