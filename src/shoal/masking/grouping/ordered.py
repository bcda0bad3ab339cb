"""Ordering x cutting: put the records on a line, cut the line into classes.

`zero-distance` + `runs` is paper 1's Algorithm S2. `hilbert` + `optimal` is our default: records ordered along a
Hilbert curve over the standardised attributes, cut by dynamic programming into classes of k to 2k - 1 with the least
information loss, and neighbouring classes divided anew where that loses less.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.masking.partition import Partition

_BLOCK = 1024  # records cut and divided anew together; classes never cross a block
_SMALL = 16  # larger classes are cut by bounds of their loss and left as they are: exactness costs k^2 a record
_PASSES = 1  # of dividing neighbours anew; a second gains 2 to 3 % for a tenth more time


def hilbert_order(rows: npt.NDArray[np.float32], low: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.int64]:
    """Records along a Hilbert curve through the standardised attributes; ties by position."""
    from shoal.kernels.sorting import argsort_keys

    order: npt.NDArray[np.int64] | None = None
    for word in hilbert_words(rows, low)[::-1]:
        order = argsort_keys(word, order)
    assert order is not None
    return order


def hilbert_words(rows: npt.NDArray[np.float32], low: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.uint64]:
    """Each record's place on the curve, in 64-bit words, the most significant first; the grid begins at `low`."""
    from shoal.kernels.hilbert import hilbert_keys, least
    from shoal.kernels.threads import in_blocks

    n, m = rows.shape
    bits = min(16, max(4, 64 // m))
    # Eight sigma keep full resolution (sixteen where bits are plenty), long tails share the last cell: they must not
    # blur the bulk.
    steps = np.full(m, 2.0 ** max(bits - 4, min(bits - 3, 4)), np.float32)
    low = least(rows) if low is None else low
    keys = np.empty((-(-m * bits // 64), n), np.uint64)
    in_blocks(n, 1 << 17, lambda a, b: hilbert_keys(rows[a:b], low, steps, bits, keys[:, a:b]))
    return keys


def zero_distance_order(microdata: Microdata) -> npt.NDArray[np.int64]:
    """Records by their distance (Eq. 2) to the record of zeros, ties by position (Algorithm S2, line 1)."""
    from shoal.kernels.sorting import argsort_keys

    return argsort_keys(zero_distance_keys(microdata))


def zero_distance_keys(microdata: Microdata) -> npt.NDArray[np.uint64]:
    """The distances as numbers that sort alike."""
    from shoal.kernels.sorting import float_keys

    squares = np.zeros(len(microdata))
    for coded in microdata.quasi:
        squares += (coded.places() ** 2)[coded.codes]
    return float_keys(np.sqrt(squares))


def runs(order: npt.NDArray[np.int64], k: int) -> Partition:
    """Classes of k along the line, the last one of k to 2k - 1 (Algorithm S2, lines 3 to 7)."""
    starts = np.append(np.arange(max(1, order.size // k)) * k, order.size)
    return Partition(order, starts)


def runs_of_people(order: npt.NDArray[np.int64], people: npt.NDArray[np.int64], k: int) -> Partition:
    """Classes along the line that end where k people are reached, the last one with what is left."""
    from shoal.kernels.people_cuts import people_runs

    return Partition(order, people_runs(people[order], k))


def optimal(
    rows: npt.NDArray[np.float32],
    order: npt.NDArray[np.int64],
    k: int,
    people: npt.NDArray[np.int64] | None = None,
) -> Partition:
    """Classes of k to 2k - 1 with the least information loss along the line, then divided anew in pairs.

    Records, or people where it is known whose each record is.
    """
    if people is not None:
        return _optimal_of_people(rows, order, k, people)
    from shoal.kernels.resplit import cut_and_divide
    from shoal.kernels.threads import in_blocks

    grouped = np.empty_like(order)
    starts: dict[int, npt.NDArray[np.int64]] = {}
    block, small = max(_BLOCK, 8 * k), k <= _SMALL

    def cut(a: int, b: int) -> None:
        grouped[a:b], begins = cut_and_divide(rows, order[a:b], k, block, small, _PASSES if small else 0)
        starts[a] = begins[:-1] + a

    in_blocks(order.size, 64 * block, cut)
    return Partition(grouped, np.concatenate([*(starts[a] for a in sorted(starts)), [order.size]]))


def _optimal_of_people(
    rows: npt.NDArray[np.float32], order: npt.NDArray[np.int64], k: int, people: npt.NDArray[np.int64]
) -> Partition:
    from shoal.kernels.people_cuts import cut_and_divide_people, people_blocks
    from shoal.kernels.threads import in_blocks

    parts = people_blocks(people[order], k, 64 * max(_BLOCK, 8 * k))
    cut: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def cut_part(first: int, last: int) -> None:
        for p in range(first, last):
            along = order[parts[p] : parts[p + 1]]
            cut[p] = cut_and_divide_people(rows, along, people, k, max(_BLOCK, 8 * k), _PASSES if k <= _SMALL else 0)

    in_blocks(len(parts) - 1, 1, cut_part)
    starts = [cut[p][1][:-1] + parts[p] for p in sorted(cut)]
    return Partition(np.concatenate([cut[p][0] for p in sorted(cut)]), np.append(np.concatenate(starts), order.size))


def hilbert(microdata: Microdata, k: int) -> Partition:
    """Our default grouping."""
    rows, people = microdata.rows(), reachable(microdata, k)
    return optimal(rows, hilbert_order(rows, microdata.least()), k, people)


def zero_distance(microdata: Microdata, k: int) -> Partition:
    """Algorithm S2's grouping; of people, runs that end where k of them are reached."""
    order, people = zero_distance_order(microdata), reachable(microdata, k)
    return runs(order, k) if people is None else runs_of_people(order, people, k)


def reachable(microdata: Microdata, k: int) -> npt.NDArray[np.int64] | None:
    """Whose each record is, where people are counted and there are k of them."""
    people = microdata.people
    return None if people is None or int(people.max(initial=-1)) + 1 < k else people
