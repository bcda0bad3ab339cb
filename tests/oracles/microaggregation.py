"""Microaggregation as printed, in plain NumPy: MDAV by whole-table scans; the best of all ways to group a line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tests.oracles.grouping import sizes_of_classes

Matrix = npt.NDArray[np.float64]


def mdav(rows: Matrix, k: int) -> npt.NDArray[np.int64]:
    """record -> group, numbered as they are made; ties go to the record that comes first."""
    group = np.full(len(rows), -1)
    rest, columns = np.arange(len(rows)), np.ascontiguousarray(rows.T)  # those left

    def squares(point: Matrix) -> Matrix:
        square: Matrix = ((columns - point[:, None]) ** 2).sum(axis=0)
        return square

    def leave(centre: int) -> None:
        nonlocal rest, columns
        square = squares(rows[centre])
        square[rest == centre] = -1.0
        near = np.flatnonzero(square <= np.partition(square, k - 1)[k - 1])
        members = near[np.argsort(square[near], kind="stable")[:k]]
        group[rest[members]] = group.max() + 1
        rest, columns = np.delete(rest, members), np.delete(columns, members, axis=1)

    while len(rest) >= 2 * k:
        r = rest[squares(columns.mean(axis=1)).argmax()]
        s = rest[squares(rows[r]).argmax()]
        in_pairs = len(rest) >= 3 * k
        leave(r)
        if in_pairs:
            leave(s if group[s] < 0 else rest[squares(rows[r]).argmax()])
    group[rest] = group.max() + 1
    return group


def sse(rows: Matrix, group: npt.NDArray[np.int64]) -> float:
    """Squared distances of all records to the means of their groups."""
    members = np.split(rows[np.argsort(group, kind="stable")], np.cumsum(np.bincount(group))[:-1])
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in members)


def least_sse(numbers: Sequence[float], k: int) -> float:
    """Of all ways to cut the sorted numbers into groups of k to 2k - 1."""
    line = np.sort(np.asarray(numbers, np.float64))[:, None]
    return min(sse(line, np.repeat(np.arange(len(sizes)), sizes)) for sizes in sizes_of_classes(len(line), k))
