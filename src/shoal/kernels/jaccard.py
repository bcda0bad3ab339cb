"""Who is most alike: similarities of sets through an inverted index (paper 4, Algorithm 1).

`similarities` writes whole rows. `nearest` finds each query's most similar sets without looking at all of them, and
exactly: once one set is known at Jaccard coefficient r, another that is as near

- has a size between r|A| and |A|/r (size filter), so that of a posting list in the order of sizes one run is read;
- shares at least r|A| items with the query, so that it shows up among any |A| - r|A| + 1 of them (prefix filter);
  the rarest, whose posting lists are short, come first.

r is compared as a fraction of integers, and equal fractions make equal floats: ties are exact.

Defined in docs/spec.md#jaccard-attack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel


class Lists(NamedTuple):
    """Ascending numbers, row by row: the items of each set, or the sets of each item (posting lists)."""

    starts: npt.NDArray[np.int64]  # one more entry at the end
    members: npt.NDArray[np.int32]


@kernel
def similarities(queries, query_weights, query_totals, postings, weights, totals, by_product, start, stop, rows):  # type: ignore[no-untyped-def]
    """Writes the similarity of queries start to stop with every set: products summed, or weighted Jaccard.

    Weighted Jaccard is the sum of the lesser weights over that of the greater ones; 0 where all weights are 0.
    """
    for q in range(start, stop):
        row = rows[q - start]
        row[:] = 0.0
        for at in range(queries.starts[q], queries.starts[q + 1]):
            item, x = queries.members[at], query_weights[at]
            for p in range(postings.starts[item], postings.starts[item + 1]):
                row[postings.members[p]] += x * weights[p] if by_product else min(x, weights[p])
        if not by_product:
            for i in range(row.size):
                if row[i] > 0.0:
                    row[i] /= query_totals[q] + totals[i] - row[i]


@kernel
def _in_common(members, marked):  # type: ignore[no-untyped-def]
    shared = 0
    for item in members:
        if marked[item]:
            shared += 1
    return shared


@kernel
def nearest(queries, sets, postings, order, known, start, stop, guess, jaccard, ties):  # type: ignore[no-untyped-def]
    """Writes for queries start to stop the most similar set (the first of equals), its Jaccard coefficient and ties.

    Items are numbered from the rarest; sets stand in the order of their sizes, `order` has their own numbers;
    known[q] is any set, best a near one, or -1: only how long the search takes depends on it.
    """
    n = sets.starts.size - 1
    size = sets.starts[1:] - sets.starts[:-1]
    shared = np.zeros(n, np.int32)
    candidates = np.empty(n, np.int32)
    marked = np.zeros(postings.starts.size - 1, np.bool_)
    for q in range(start, stop):
        items = queries.members[queries.starts[q] : queries.starts[q + 1]]
        a = items.size
        marked[items] = True
        common, union = 0, 1  # the Jaccard coefficient reached so far
        if known[q] >= 0:
            row = known[q]
            common = _in_common(sets.members[sets.starts[row] : sets.starts[row + 1]], marked)
            union = max(a + size[row] - common, 1)
        least = -(-common * a // union)  # items shared by whoever is as near
        prefix = min(a - least + 1, a)
        low = np.searchsorted(size, least)
        high = np.searchsorted(size, a * union // common, side="right") if common else n
        count = 0
        for item in items[:prefix]:
            posting = postings.members[postings.starts[item] : postings.starts[item + 1]]
            first, last = np.searchsorted(posting, low), np.searchsorted(posting, high)
            for i in posting[first:last]:
                if shared[i] == 0:
                    candidates[count] = i
                    count += 1
                shared[i] += 1
        guess[q], jaccard[q], ties[q] = 0, 0.0, n  # without a common item all are alike
        for i in candidates[:count]:
            most = min(shared[i] + a - prefix, size[i])
            if most * union >= common * (a + size[i] - most):
                if prefix < a:
                    most = _in_common(sets.members[sets.starts[i] : sets.starts[i + 1]], marked)
                alike = most / (a + size[i] - most)
                if alike > jaccard[q]:
                    guess[q], jaccard[q], ties[q] = order[i], alike, 1
                    common, union = most, a + size[i] - most
                elif alike == jaccard[q]:
                    guess[q], ties[q] = min(guess[q], order[i]), ties[q] + 1
            shared[i] = 0
        marked[items] = False
