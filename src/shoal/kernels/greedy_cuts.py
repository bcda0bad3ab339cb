"""A good recoding by cut points to start a search from: the best cut is added, again and again."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cut_rows import CODES, fill, first_equal, intervals


@kernel
def refine(problem, codes, counts, hashes, inside, barred, most):  # type: ignore[no-untyped-def]
    """Adds the cut that lowers the cost most, but not the barred one, until none does or so many were added.

    Returns the cost, the suppressed records, and whether no cut lowers the cost any more.
    """
    cost, suppressed = 0, 0
    for _ in range(most):
        by_class = _classes(problem, codes, counts, hashes, inside)
        cost, suppressed, change, harm = _changes(problem, by_class[0], by_class[1], by_class[2])
        best = -1
        for u in range(inside.size):
            allowed = u != barred and suppressed + harm[u] <= problem.limit
            if allowed and change[u] < (change[best] if best >= 0 else 0):
                best = u
        if best < 0:
            return cost, suppressed, True
        inside[best] = True
    return cost, suppressed, False


@kernel
def add_free(problem, codes, counts, hashes, inside):  # type: ignore[no-untyped-def]
    """Adds every cut that splits no class that is kept: it costs nothing and shows more."""
    by_class = _classes(problem, codes, counts, hashes, inside)
    _, _, change, harm = _changes(problem, by_class[0], by_class[1], by_class[2])
    for u in range(inside.size):
        inside[u] |= change[u] == 0 and harm[u] == 0


@kernel
def _classes(problem, codes, counts, hashes, inside):  # type: ignore[no-untyped-def]
    """The rows class after class under these cuts: their codes, their counts, and where each class begins."""
    interval = intervals(problem, inside)
    hashes.now[0] += 1
    rows = counts.size
    label = np.empty(rows, np.int64)
    sizes = np.zeros(rows, np.int64)
    classes = 0
    for r in range(rows):
        same = first_equal(codes, r, interval, hashes)
        label[r] = classes if same == r else label[same]
        classes += same == r
        sizes[label[r]] += 1
    begins = np.zeros(classes + 1, np.int64)
    for c in range(classes):
        begins[c + 1] = begins[c] + sizes[c]
    sorted_codes = np.empty(codes.shape, np.uint8)
    sorted_counts = np.empty(rows, np.int64)
    for r in range(rows):
        sizes[label[r]] -= 1
        place = begins[label[r]] + sizes[label[r]]
        for a in range(codes.shape[1]):
            sorted_codes[place, a] = codes[r, a]
        sorted_counts[place] = counts[r]
    return sorted_codes, sorted_counts, begins


@kernel
def _changes(problem, codes, counts, begins):  # type: ignore[no-untyped-def]
    """Cost and suppressed records of a recoding, and by how much each further cut would change them."""
    k, n = problem.k, problem.n
    cost, suppressed = 0, 0
    change = np.zeros(problem.attribute.size, np.int64)
    harm = np.zeros(problem.attribute.size, np.int64)
    line = np.zeros(CODES, np.int64)
    for c in range(begins.size - 1):
        size = 0
        for r in range(begins[c], begins[c + 1]):
            size += counts[r]
        if size < k:
            cost += n * size
            suppressed += size
            continue
        cost += size * size
        for a in range(codes.shape[1]):
            low, high = fill(codes, counts, begins[c], begins[c + 1], a, line)
            left = 0
            for x in range(low + 1, high + 1):
                left += line[x - 1]
                right = size - left
                cut = problem.first[a] + x - 1
                change[cut] += left * (left if left >= k else n) + right * (right if right >= k else n) - size * size
                harm[cut] += (left if left < k else 0) + (right if right < k else 0)
            for x in range(low, high + 1):
                line[x] = 0
    return cost, suppressed, change, harm
