"""MDAV: maximum distance to average vector (Domingo-Ferrer and Torra, 2005), exactly as printed.

    while at least 3k are left:  r is the farthest from the mean of those left, s the farthest from r;
                                 r and its k - 1 nearest are a group, then s and its k - 1 nearest among the others
    if at least 2k are left:     one more group about the farthest from the mean
    what is left is the last group

Ties go to the record that comes first. Records lie column by column in blocks that are near in space; a block whose
bounding box cannot hold what is looked for is passed over. Rounding is monotone and bounds are summed in the same order
as distances, so that no bound passes over a record that the plain algorithm would take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.kd import kd_classes

_BLOCK = 128  # records of a block, to begin with
_WORK = 20_000_000  # cells looked at between two calls, at most but for a single turn


class Blocks(NamedTuple):
    """The records without a group; as they leave, the last one of a block takes the free place."""

    x: npt.NDArray[np.float64]  # attribute, place
    record: npt.NDArray[np.int64]  # place -> record
    place: npt.NDArray[np.int64]  # record -> place
    block: npt.NDArray[np.int64]  # record -> block
    starts: npt.NDArray[np.int64]  # block -> its first place
    sizes: npt.NDArray[np.int64]  # block -> how many records it still has
    low: npt.NDArray[np.float64]  # block, attribute
    high: npt.NDArray[np.float64]
    bound: npt.NDArray[np.float64]  # block -> scratch
    square: npt.NDArray[np.float64]  # place in a block -> scratch


def mdav_groups(
    rows: npt.NDArray[np.float64], k: int, between: Callable[[int], object] = lambda grouped: None
) -> npt.NDArray[np.int64]:
    """record -> group, numbered as they are made; there must be k records or more.

    `between` is called again and again, each time after a bounded amount of work, with how many records have a group.
    """
    n = rows.shape[0]
    group = np.full(n, -1, np.int64)
    at = np.array([0, n])  # groups made, records left
    turns = max(1, _WORK // (4 * rows.size + 1))
    while at[1] >= 2 * k:
        packed = at[1]
        blocks, total = pack(rows, np.flatnonzero(group < 0))
        while at[1] >= 2 * k and 2 * at[1] >= packed:  # once half are gone, the rest is packed anew
            grow(blocks, rows, k, group, total, packed, at, turns)
            between(n - int(at[1]))
    group[group < 0] = at[0]
    return group


@kernel
def grow(blocks, rows, k, group, total, packed, at, turns):  # type: ignore[no-untyped-def]
    """So many turns of one or two groups each, as long as half of what was packed is left."""
    groups, left = at[0], at[1]
    while turns > 0 and left >= 2 * k and 2 * left >= packed:
        turns -= 1
        pair = left >= 3 * k
        r = _farthest(blocks, total / left)
        s = _farthest(blocks, rows[r]) if pair else -1
        _group_about(blocks, rows, r, k, group, groups, total)
        if pair:
            if group[s] >= 0:  # it went with r
                s = _farthest(blocks, rows[r])
            _group_about(blocks, rows, s, k, group, groups + 1, total)
        groups += 1 + pair
        left -= k * (1 + pair)
    at[0], at[1] = groups, left


@kernel
def pack(rows, rest):  # type: ignore[no-untyped-def]
    """The records without a group in blocks, and their sum."""
    blocks = _pack(rows, rest)
    return blocks, blocks.x.sum(axis=1)


@kernel
def _pack(rows, rest):  # type: ignore[no-untyped-def]
    n, m = rest.size, rows.shape[1]
    order, starts = kd_classes(rows[rest], _BLOCK, True)
    record = rest[order]
    x = np.empty((m, n), np.float64)
    place = np.empty(rows.shape[0], np.int64)
    for i in range(n):
        place[record[i]] = i
        for a in range(m):
            x[a, i] = rows[record[i], a]
    sizes = np.diff(starts)
    block = np.empty(rows.shape[0], np.int64)
    low = np.full((sizes.size, m), np.inf)
    high = np.full((sizes.size, m), -np.inf)
    for b in range(sizes.size):
        for i in range(starts[b], starts[b + 1]):
            block[record[i]] = b
            for a in range(m):
                low[b, a] = min(low[b, a], x[a, i])
                high[b, a] = max(high[b, a], x[a, i])
    return Blocks(x, record, place, block, starts, sizes, low, high, np.empty(sizes.size), np.empty(sizes.max()))


@kernel
def _group_about(blocks, rows, centre, k, group, number, total):  # type: ignore[no-untyped-def]
    """The centre and its k - 1 nearest leave as one group."""
    _remove(blocks, centre)
    group[centre] = number
    total -= rows[centre]
    for neighbour in _nearest(blocks, rows[centre], k - 1, blocks.block[centre]):
        _remove(blocks, neighbour)
        group[neighbour] = number
        total -= rows[neighbour]


@kernel
def _remove(blocks, record):  # type: ignore[no-untyped-def]
    b = blocks.block[record]
    blocks.sizes[b] -= 1
    free, last = blocks.place[record], blocks.starts[b] + blocks.sizes[b]
    for a in range(blocks.x.shape[0]):
        blocks.x[a, free] = blocks.x[a, last]
    blocks.record[free] = blocks.record[last]
    blocks.place[blocks.record[free]] = free


@kernel
def _squares(blocks, b, point):  # type: ignore[no-untyped-def]
    """Squared distances of the block's records to the point."""
    start, size = blocks.starts[b], blocks.sizes[b]
    square = blocks.square[:size]
    square[:] = 0.0
    for a in range(point.size):
        column = blocks.x[a, start : start + size]
        for i in range(size):
            step = column[i] - point[a]
            square[i] += step * step
    return square


@kernel
def _farthest(blocks, point):  # type: ignore[no-untyped-def]
    """The record farthest from the point; the block that may hold the farthest goes first."""
    bound = blocks.bound
    for b in range(bound.size):
        bound[b] = 0.0
        for a in range(point.size):
            step = max(blocks.high[b, a] - point[a], point[a] - blocks.low[b, a])
            bound[b] += step * step
        if blocks.sizes[b] == 0:
            bound[b] = -1.0
    farthest, most = -1, 0.0
    first = bound.argmax()
    for turn in range(bound.size + 1):
        b = first if turn == 0 else turn - 1
        if bound[b] < most or (turn > 0 and b == first):
            continue
        square = _squares(blocks, b, point)
        for i in range(square.size):
            if square[i] >= most:
                record = blocks.record[blocks.starts[b] + i]
                if square[i] > most or farthest < 0 or record < farthest:
                    farthest, most = record, square[i]
    return farthest


@kernel
def _nearest(blocks, point, wanted, home):  # type: ignore[no-untyped-def]
    """The records nearest to the point, nearest first; the block it comes from goes first."""
    bound = blocks.bound
    for b in range(bound.size):
        bound[b] = 0.0
        for a in range(point.size):
            step = max(blocks.low[b, a] - point[a], point[a] - blocks.high[b, a], 0.0)
            bound[b] += step * step
        if blocks.sizes[b] == 0:
            bound[b] = np.inf
    nearest = np.full(wanted, blocks.place.size)
    least = np.full(wanted, np.inf)
    for turn in range(bound.size + 1):
        b = home if turn == 0 else turn - 1
        if bound[b] > least[-1] or blocks.sizes[b] == 0 or (turn > 0 and b == home):
            continue
        square = _squares(blocks, b, point)
        for i in range(square.size):
            if square[i] <= least[-1]:
                record = blocks.record[blocks.starts[b] + i]
                j = wanted
                while j > 0 and (square[i] < least[j - 1] or (square[i] == least[j - 1] and record < nearest[j - 1])):
                    j -= 1
                if j < wanted:
                    for t in range(wanted - 1, j, -1):
                        nearest[t], least[t] = nearest[t - 1], least[t - 1]
                    nearest[j], least[j] = record, square[i]
    return nearest
