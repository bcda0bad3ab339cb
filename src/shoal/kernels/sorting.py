"""Stable argsort of unsigned 64-bit keys by least-significant-digit radix passes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

_BITS = 11
_BUCKETS = 1 << _BITS


@njit(cache=True, nogil=True)
def _radix_pass(keys, order, shift, out):  # type: ignore[no-untyped-def]
    """Reorders `order` by one digit of its keys; returns False where the digit is the same everywhere."""
    counts = np.zeros(_BUCKETS, np.int64)
    for i in range(order.size):
        counts[(keys[i] >> shift) & np.uint64(_BUCKETS - 1)] += 1
    for c in counts:
        if c == order.size:
            return False
    place = 0
    for b in range(_BUCKETS):
        count = counts[b]
        counts[b] = place
        place += count
    for i in order:
        b = (keys[i] >> shift) & np.uint64(_BUCKETS - 1)
        out[counts[b]] = i
        counts[b] += 1
    return True


def argsort_keys(keys: npt.NDArray[np.uint64], order: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Positions that sort `keys`, equal keys staying in the order given (by position when none is given)."""
    order = np.arange(keys.size, dtype=np.int64) if order is None else order
    spare = np.empty_like(order)
    for shift in range(0, 64, _BITS):
        if _radix_pass(keys, order, np.uint64(shift), spare):
            order, spare = spare, order
    return order


def float_keys(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Unsigned integers in the same order as the floats."""
    bits = (numbers + 0.0).view(np.int64)  # + 0.0 makes -0.0 and 0.0 equal
    flip = (bits >> 63) | np.int64(-(2**63))
    return (bits ^ flip).view(np.uint64)
