"""Reductions over the classes of a partition."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def extremes(codes, order, starts):  # type: ignore[no-untyped-def]
    """Least and greatest code of each class."""
    classes = starts.size - 1
    low = np.empty(classes, np.int32)
    high = np.empty(classes, np.int32)
    for c in range(classes):
        least = codes[order[starts[c]]]
        greatest = least
        for i in range(starts[c] + 1, starts[c + 1]):
            x = codes[order[i]]
            least = x if x < least else least
            greatest = x if x > greatest else greatest
        low[c] = least
        high[c] = greatest
    return low, high


@kernel
def distinct(codes, order, starts):  # type: ignore[no-untyped-def]
    """The distinct codes of each class, ascending: those of class c are values[offsets[c]:offsets[c + 1]]."""
    classes = starts.size - 1
    offsets = np.zeros(classes + 1, np.int64)
    values = np.empty(order.size, np.int32)
    place = 0
    for c in range(classes):
        members = np.sort(codes[order[starts[c] : starts[c + 1]]])
        for i in range(members.size):
            if i == 0 or members[i] != members[i - 1]:
                values[place] = members[i]
                place += 1
        offsets[c + 1] = place
    return offsets, values[:place]


@kernel
def by_code(codes, weights, members):  # type: ignore[no-untyped-def]
    """The codes of one class ascending, and how many records each of them stands for; without weights, one each."""
    if weights.size == 0:
        return np.sort(codes[members]), np.ones(members.size, np.int64)
    keys = np.empty(members.size, np.int64)  # a code above, its place below
    for i in range(members.size):
        keys[i] = (np.int64(codes[members[i]]) << 32) + i
    keys = np.sort(keys)
    values = np.empty(members.size, np.int32)
    records = np.empty(members.size, np.int64)
    for i in range(members.size):
        values[i] = keys[i] >> 32
        records[i] = weights[members[keys[i] & 0xFFFFFFFF]]
    return values, records


@kernel
def add_squares(squares, codes, positions, index, low, high, scale, missing):  # type: ignore[no-untyped-def]
    """Adds each record's squared standardised distance to the farther end of its cell (Eq. 4).

    `missing` is the distance between a missing value and any other.
    """
    for i in range(codes.size):
        cell = index[i]
        if codes[i] < 0:
            d = 0.0 if np.isnan(low[cell]) else missing
        elif np.isnan(low[cell]):
            d = missing
        else:
            x = positions[codes[i]]
            below, above = x - low[cell], high[cell] - x
            d = (below if below > above else above) * scale
        squares[i] += d * d
