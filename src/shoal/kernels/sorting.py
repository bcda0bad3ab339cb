"""Stable sorting of unsigned 64-bit keys by least-significant-digit radix passes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.threads import in_blocks

_BITS = 11
_BUCKETS = 1 << _BITS
_SMALL = 1 << 16  # keys that one core sorts as soon as two


def argsort_keys(keys: npt.NDArray[np.uint64], order: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Positions that sort `keys`, equal keys staying in the order given (by position when none is given)."""
    if order is None:
        order, carried = np.arange(keys.size, dtype=np.int64), keys.copy()
    else:
        order, carried = order.copy(), keys[order]
    spare, spare_order = np.empty_like(carried), np.empty_like(order)

    def sort(a: int, b: int) -> None:
        sort_with(carried[a:b], order[a:b], b - a, spare[a:b], spare_order[a:b])

    half = keys.size // 2
    if half < _SMALL:
        sort(0, keys.size)
        return order
    in_blocks(keys.size, half, sort)
    merge(carried, order, half, spare_order)
    return spare_order


def float_keys(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Unsigned integers in the same order as the floats."""
    bits = (numbers + 0.0).view(np.int64)  # + 0.0 makes -0.0 and 0.0 equal
    flip = (bits >> 63) | np.int64(-(2**63))
    return (bits ^ flip).view(np.uint64)


@kernel
def merge(keys, load, half, out):  # type: ignore[no-untyped-def]
    """What two sorted halves carry, in the order of all keys; where keys are equal, the first half's comes first."""
    i = 0
    j = half
    for place in range(keys.size):
        if j == keys.size or (i < half and keys[i] <= keys[j]):
            out[place] = load[i]
            i += 1
        else:
            out[place] = load[j]
            j += 1


@kernel
def sort_with(keys, load, n, spare, spare_load):  # type: ignore[no-untyped-def]
    """Stable radix sort of n keys with what each carries, in place; digits equal everywhere are passed over."""
    varies = np.uint64(0)
    for i in range(1, n):
        varies |= keys[i] ^ keys[0]
    bucket = np.empty(_BUCKETS, np.int64)
    swapped = False
    shift = 0
    while shift < 64:
        if (varies >> np.uint64(shift)) & np.uint64(_BUCKETS - 1):
            if swapped:
                _radix_pass(spare, spare_load, n, np.uint64(shift), bucket, keys, load)
            else:
                _radix_pass(keys, load, n, np.uint64(shift), bucket, spare, spare_load)
            swapped = not swapped
        shift += _BITS
    if swapped:
        for i in range(n):
            keys[i] = spare[i]
            load[i] = spare_load[i]


@kernel
def _radix_pass(keys, load, n, shift, bucket, out, out_load):  # type: ignore[no-untyped-def]
    bucket[:] = 0
    digit = np.uint64(_BUCKETS - 1)
    for i in range(n):
        bucket[(keys[i] >> shift) & digit] += 1
    place = 0
    for b in range(_BUCKETS):
        size = bucket[b]
        bucket[b] = place
        place += size
    for i in range(n):
        b = (keys[i] >> shift) & digit
        out[bucket[b]] = keys[i]
        out_load[bucket[b]] = load[i]
        bucket[b] += 1
