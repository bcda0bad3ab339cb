"""Position along a Hilbert curve through a grid (Skilling's transpose form, AIP Conf. Proc. 707, 2004).

Records that are near on the curve are near in space, so a line along the curve is a good line to cut into classes.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def hilbert_keys(rows, low, steps, bits, keys):  # type: ignore[no-untyped-def]
    """Writes each row's place on the curve into keys[:, i], unsigned 64-bit words, most significant first.

    The grid has 2**bits cells an attribute; cell = (value - low) * steps, clipped to the grid.
    """
    n, m = rows.shape
    top = np.int64(1) << (bits - 1)
    last = (np.int64(1) << bits) - 1
    cell = np.empty(m, np.int64)
    for i in range(n):
        for j in range(m):
            place = np.int64((rows[i, j] - low[j]) * steps[j])
            cell[j] = 0 if place < 0 else last if place > last else place
        _axes_to_transpose(cell, top)
        _interleave(cell, bits, keys, i)


@kernel
def least(rows):  # type: ignore[no-untyped-def]
    """The least value of each attribute."""
    low = rows[0].copy()
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            low[j] = min(low[j], rows[i, j])
    return low


@kernel(inline="always")
def _axes_to_transpose(cell, top):  # type: ignore[no-untyped-def]
    m = cell.size
    first = cell[0]
    q = top
    while q > 1:
        p = q - 1
        first ^= p & -np.int64((first & q) != 0)
        for j in range(1, m):
            # Invert where the bit is set, exchange where not: by masks, as no processor foresees such a branch.
            is_set = -np.int64((cell[j] & q) != 0)
            t = (first ^ cell[j]) & p & ~is_set
            first ^= t | (p & is_set)
            cell[j] ^= t
        q >>= 1
    cell[0] = first
    for j in range(1, m):
        cell[j] ^= cell[j - 1]
    t = 0
    q = top
    while q > 1:
        if cell[m - 1] & q:
            t ^= q - 1
        q >>= 1
    for j in range(m):
        cell[j] ^= t


@kernel(inline="always")
def _interleave(cell, bits, keys, i):  # type: ignore[no-untyped-def]
    """The transposed bits, most significant first, across the words."""
    word = np.uint64(0)
    left = 64
    w = 0
    for b in range(bits - 1, -1, -1):
        for j in range(cell.size):
            word = (word << np.uint64(1)) | np.uint64((cell[j] >> b) & 1)
            left -= 1
            if left == 0:
                keys[w, i] = word
                word = np.uint64(0)
                left = 64
                w += 1
    if left < 64:
        keys[w, i] = word << np.uint64(left)
