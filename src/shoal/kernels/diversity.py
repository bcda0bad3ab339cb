"""l-diversity of each class from the codes of its confidential values (docs/spec.md#l-diversity)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.segments import by_code


@kernel
def diversity(codes, weights, order, starts, variant, c):  # type: ignore[no-untyped-def]
    """variant 0: distinct values; 1: exp of the entropy; 2: the largest l for which (c, l) holds."""
    level = np.empty(starts.size - 1, np.float64)
    for g in range(level.size):
        counts = _counts(*by_code(codes, weights, order[starts[g] : starts[g + 1]]))
        n = counts.sum()
        if variant == 0:
            level[g] = counts.size
        elif variant == 1:
            entropy = 0.0
            for count in counts:
                entropy -= count / n * np.log(count / n)
            level[g] = np.exp(entropy)
        else:
            level[g] = _recursive(np.sort(counts), c)
    return level


@kernel
def _counts(values, records):  # type: ignore[no-untyped-def]
    counts = np.zeros(values.size, np.int64)
    place = -1
    for i in range(values.size):
        if i == 0 or values[i] != values[i - 1]:
            place += 1
        counts[place] += records[i]
    return counts[: place + 1]


@kernel
def _recursive(ascending, c):  # type: ignore[no-untyped-def]
    """How many tails, from the longest on, outweigh the most frequent value: r1 < c (r_l + ... + r_v)."""
    largest = ascending[-1]
    tail = 0
    holds = 0
    for i in range(ascending.size):  # the tail from rank size - i on
        tail += ascending[i]
        if largest < c * tail:
            holds += 1
    return holds
