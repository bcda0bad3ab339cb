"""Distinct rows with counts under cuts: which code begins whose interval, and which rows are equal then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

CODES = 256  # a code is one byte
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


class Problem(NamedTuple):
    """The cuts, attribute after attribute: the one at code c of attribute a has the number first[a] + c - 1."""

    first: Ints  # attribute -> its first cut, one more entry at the end
    attribute: Ints  # cut -> attribute
    code: Ints  # cut -> code
    k: int
    n: int  # records
    limit: int  # how many of them may be suppressed


class Hashes(NamedTuple):
    """Finds equal rows; a slot is empty unless its stamp is the present one."""

    row: Ints
    stamp: Ints
    now: Ints


def problem_of(codes: Sequence[int], k: int, n: int, limit: int) -> Problem:
    """`codes`: how many there are of each attribute."""
    cuts = np.array(codes, np.int64) - 1
    first = np.append(0, np.cumsum(cuts)).astype(np.int64)
    attribute = np.repeat(np.arange(len(cuts)), cuts)
    return Problem(first, attribute, np.arange(first[-1]) - first[attribute] + 1, k, n, limit)


def hashes(rows: int) -> Hashes:
    """Room for that many rows, all slots empty."""
    room = 1 << (2 * rows).bit_length()
    return Hashes(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(1, np.int64))


@kernel
def fill(codes, counts, begin, end, a, line):  # type: ignore[no-untyped-def]
    """How many records of a class have each code of an attribute; returns the least and the greatest code."""
    low, high = np.int64(CODES), np.int64(-1)
    for r in range(begin, end):
        x = np.int64(codes[r, a])
        line[x] += counts[r]
        low = min(low, x)
        high = max(high, x)
    return low, high


@kernel
def intervals(problem, inside):  # type: ignore[no-untyped-def]
    """(attribute, code) -> the first code of its interval under these cuts."""
    interval = np.zeros((problem.first.size - 1, CODES), np.uint8)
    for u in range(inside.size):
        a, x = problem.attribute[u], problem.code[u]
        interval[a, x] = x if inside[u] else interval[a, x - 1]
    return interval


@kernel
def first_equal(codes, row, interval, hashes):  # type: ignore[no-untyped-def]
    """The first row since the stamp changed that is in the same intervals; the row itself if there is none."""
    key = np.uint64(0)
    for a in range(codes.shape[1]):
        key = (key ^ np.uint64(interval[a, codes[row, a]])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    slot = np.int64(key & np.uint64(hashes.row.size - 1))
    while hashes.stamp[slot] == hashes.now[0]:
        earlier = hashes.row[slot]
        equal = True
        for a in range(codes.shape[1]):
            equal &= interval[a, codes[row, a]] == interval[a, codes[earlier, a]]
        if equal:
            return earlier
        slot = (slot + 1) & (hashes.row.size - 1)
    hashes.stamp[slot] = hashes.now[0]
    hashes.row[slot] = row
    return row
