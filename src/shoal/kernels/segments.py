"""Reductions over the classes of a partition, by NumPy where it is about as fast: that is nothing to be compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


def extremes(codes: Codes, order: Places, starts: Places) -> tuple[Codes, Codes]:
    """Least and greatest code of each class."""
    line = codes[order]
    return np.minimum.reduceat(line, starts[:-1]), np.maximum.reduceat(line, starts[:-1])


def distinct(codes: Codes, order: Places, starts: Places) -> tuple[Places, Codes]:
    """The distinct codes of each class, ascending: those of class c are values[offsets[c]:offsets[c + 1]]."""
    keys = np.repeat(np.arange(starts.size - 1) << 32, np.diff(starts))  # the class above, the code below, from -1 on
    keys += codes[order] + np.int64(1)
    keys.sort()
    is_new = np.append(True, keys[1:] != keys[:-1])[: keys.size]
    offsets = np.append(0, np.cumsum(is_new)[starts[1:] - 1])
    return offsets, ((keys[is_new] & 0xFFFFFFFF) - 1).astype(np.int32)


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
