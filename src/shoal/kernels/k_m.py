"""A set of at most m goods that some baskets hold, but fewer than k: searched depth first, without listing the sets.

Below a set of goods stand the baskets that hold it, each with the place after its last good. One sweep over them counts
all sets with one more good; those with enough baskets are gone down into. Every set that occurs is counted once.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def rare_set(starts, items, goods, k, m, first):  # type: ignore[no-untyped-def]
    """The number of baskets that hold a rare set, and its goods; 0 if there is none.

    Sets whose smallest good is below `first` are not looked at.
    """
    baskets = starts.size - 1
    path = np.full(m, -1, np.int64)
    held = np.zeros(m, np.int64)  # baskets that hold the first goods of the path, by their number
    rows = np.empty((m, baskets), np.int64)
    after = np.empty((m, baskets), np.int64)
    counts = np.zeros(goods, np.int64)
    seen = np.empty((m, goods), np.int64)
    kinds = np.zeros(m, np.int64)
    done = np.zeros(m, np.int64)
    held[0] = baskets
    for b in range(baskets):
        rows[0, b] = b
        after[0, b] = starts[b] + np.searchsorted(items[starts[b] : starts[b + 1]], first)
    depth = 0
    entered = True
    while depth >= 0:
        if entered:
            kinds[depth], rare, good = _sweep(
                starts, items, k, held[depth], rows[depth], after[depth], counts, seen[depth]
            )
            if rare > 0:
                path[depth] = good
                path[depth + 1 :] = -1
                return rare, path
            done[depth] = 0
            entered = False
        if depth + 1 == m or done[depth] == kinds[depth]:
            depth -= 1
            continue
        path[depth] = seen[depth, done[depth]]
        done[depth] += 1
        held[depth + 1] = _holding(
            starts, items, path[depth], held[depth], rows[depth], after[depth], rows[depth + 1], after[depth + 1]
        )
        depth += 1
        entered = True
    return 0, path


@kernel
def _sweep(starts, items, k, held, rows, after, counts, seen):  # type: ignore[no-untyped-def]
    """Counts each good further on in the baskets: how many kinds, which are listed in order, and one that is rare."""
    kinds = 0
    for r in range(held):
        for p in range(after[r], starts[rows[r] + 1]):
            if counts[items[p]] == 0:
                seen[kinds] = items[p]
                kinds += 1
            counts[items[p]] += 1
    rare = 0
    good = -1
    for i in range(kinds):
        if rare == 0 and counts[seen[i]] < k:
            rare = counts[seen[i]]
            good = seen[i]
        counts[seen[i]] = 0
    seen[:kinds].sort()
    return kinds, rare, good


@kernel
def _holding(starts, items, good, held, rows, after, deeper_rows, deeper_after):  # type: ignore[no-untyped-def]
    """How many of the baskets hold the good further on; these, and the places after it, are listed."""
    deeper = 0
    for r in range(held):
        end = starts[rows[r] + 1]
        p = after[r] + np.searchsorted(items[after[r] : end], good)
        if p < end and items[p] == good:
            deeper_rows[deeper] = rows[r]
            deeper_after[deeper] = p + 1
            deeper += 1
    return deeper
