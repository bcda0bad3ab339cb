"""Customers' sets of goods compared with one another: all similarities block by block, or the nearest only.

A set is a row of a sparse matrix, customers by items; its weights are 1, or amounts, or TF-IDF. No more than a block of
similarities is held at a time.

Defined in docs/spec.md#jaccard-attack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.transactions.numbering import columns_of, renumbered

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from shoal.kernels.jaccard import Lists

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCK = 64  # customers whose similarities with all others are held at a time


class Nearest(NamedTuple):
    """For each masked customer: the first of the nearest originals, how near it and the own one are, and ties."""

    guess: Ints
    similarity: Floats
    ties: Ints
    own: Floats


def each_block(queries: csr_array, sets: csr_array, by_product: bool, look: Callable[[int, Floats], None]) -> None:
    """look(first query, its and the next ones' similarities with all sets), block by block on all cores."""
    from shoal.kernels.jaccard import similarities
    from shoal.kernels.threads import in_blocks

    index = sets.T.tocsr()
    rows, postings = lists(queries), lists(index)
    query_totals, totals = queries.sum(axis=1), sets.sum(axis=1)

    def work(start: int, stop: int) -> None:
        block = np.empty((stop - start, sets.shape[0]))
        similarities(rows, queries.data, query_totals, postings, index.data, totals, by_product, start, stop, block)
        look(start, block)

    in_blocks(queries.shape[0], BLOCK, work)


def nearest_set(queries: csr_array, sets: csr_array, own: Ints) -> Nearest:
    """The nearest set of each query by Jaccard coefficient, exactly but not through all pairs."""
    from shoal.kernels.jaccard import nearest
    from shoal.kernels.threads import in_blocks

    shared = sets[own].multiply(queries).sum(axis=1)
    union = np.diff(queries.indptr) + np.diff(sets.indptr)[own] - shared
    own_jaccard = np.divide(shared, union, out=np.zeros(len(own)), where=union > 0)

    rarest_first = np.argsort(np.bincount(sets.indices, minlength=sets.shape[1]), kind="stable")
    by_size = np.argsort(np.diff(sets.indptr), kind="stable")
    number, width = np.argsort(rarest_first), sets.shape[1]
    sets, queries = renumbered(sets, number, width)[by_size], renumbered(queries, number, width)
    first, which = _distinct_rows(queries)
    order = np.argsort(own_jaccard, kind="stable")
    closest = np.empty(len(first), np.int64)
    closest[which[order]] = order  # of those with one set the one most like the own original: the search is shorter
    queries, guide = queries[first], np.argsort(by_size)[own[closest]]
    n = len(first)
    guess, jaccard, ties = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    rows, forward, postings = lists(queries), lists(sets), lists(sets.T.tocsr())
    in_blocks(
        n,
        BLOCK,
        lambda start, stop: nearest(rows, forward, postings, by_size, guide, start, stop, guess, jaccard, ties),
    )
    return Nearest(guess[which], jaccard[which], ties[which], own_jaccard)


def nearest_row(queries: csr_array, sets: csr_array, own: Ints, by_product: bool) -> Nearest:
    """The nearest row of each query by any similarity, through all pairs."""
    n = queries.shape[0]
    nearest = Nearest(np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n))

    def look(start: int, rows: Floats) -> None:
        here = slice(start, start + len(rows))
        best = rows.max(axis=1)
        nearest.guess[here] = rows.argmax(axis=1)
        nearest.similarity[here] = best
        nearest.ties[here] = (rows == best[:, None]).sum(axis=1)
        nearest.own[here] = rows[np.arange(len(rows)), own[here]]

    each_block(queries, sets, by_product, look)
    return nearest


def lists(matrix: csr_array) -> Lists:
    """Where the columns of each row begin, and the columns, as kernels take them."""
    from shoal.kernels.jaccard import Lists

    return Lists(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))


def _distinct_rows(sets: csr_array) -> tuple[Ints, Ints]:
    """The first row of each different set, and which of these each row equals."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    which = np.empty(sets.shape[0], np.int64)
    for row in range(sets.shape[0]):
        key = columns_of(sets, row).tobytes()
        which[row] = seen.setdefault(key, len(seen))
        if which[row] == len(first):
            first.append(row)
    return np.array(first, np.int64), which
