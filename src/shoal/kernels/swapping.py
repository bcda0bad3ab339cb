"""Rank swapping: each rank finds a partner among the ranks near it that have none yet (paper 5, Section 5).

A partner is drawn from a list of the free ranks; one that was taken since the list was made is drawn again, and when
half of them are taken the list is made anew. So a draw takes two tries or so, all together grow with n alone, and
every free rank of the window is equally likely.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_BLOCK = 16
_TRIES = 16


@kernel
def swap_partners(visits, down, up, rng):  # type: ignore[no-untyped-def]
    """rank -> the rank that it changes places with; itself where none in its window was left.

    The ranks are visited in the order given; `down` and `up` say how far the window reaches.
    """
    n = visits.size
    partner = np.arange(n).astype(np.int32)
    free = np.ones(n, np.bool_)
    listed = np.arange(n).astype(np.int32)  # the ranks that were free when last listed, ascending
    first_at = np.empty(n // _BLOCK + 2, np.int32)  # block of ranks -> where in the list it begins
    size = _list_anew(free, listed, n, first_at)
    taken = 0
    for rank in visits:
        if not free[rank]:
            continue
        free[rank] = False
        first = _place(listed, size, first_at, max(rank - down, 0))
        last = _place(listed, size, first_at, min(rank + up + 1, n))
        drawn = _draw(free, listed[first:last], rng)
        taken += 1
        if drawn >= 0:
            free[drawn] = False
            partner[rank] = drawn
            partner[drawn] = rank
            taken += 1
        if 2 * taken > size:
            size = _list_anew(free, listed, size, first_at)
            taken = 0
    return partner


@kernel
def _draw(free, window, rng):  # type: ignore[no-untyped-def]
    """One of the ranks listed that are free, all equally likely; -1 if there is none."""
    if window.size == 0:
        return np.int32(-1)
    for _ in range(_TRIES):
        rank = window[int(rng.random() * window.size)]
        if free[rank]:
            return rank
    left = window[free[window]]  # few, or none
    return left[int(rng.random() * left.size)] if left.size > 0 else np.int32(-1)


@kernel
def _list_anew(free, listed, size, first_at):  # type: ignore[no-untyped-def]
    """Keeps of the list what is free, in place; returns its new size."""
    kept = 0
    block = 0
    for i in range(size):
        rank = listed[i]
        if free[rank]:
            while block * _BLOCK <= rank:
                first_at[block] = kept
                block += 1
            listed[kept] = rank
            kept += 1
    first_at[block:] = kept
    return kept


@kernel
def _place(listed, size, first_at, rank):  # type: ignore[no-untyped-def]
    """Where in the list the ranks from this one on begin."""
    place = first_at[rank // _BLOCK]
    while place < size and listed[place] < rank:
        place += 1
    return place


@kernel
def shuffle_ties(keys, records, rng):  # type: ignore[no-untyped-def]
    """Puts records of equal keys, which stand together, in random order (Fisher and Yates)."""
    start = 0
    for stop in range(1, keys.size + 1):
        if stop < keys.size and keys[stop] == keys[start]:
            continue
        for i in range(stop - 1, start, -1):
            j = start + int(rng.random() * (i - start + 1))
            records[i], records[j] = records[j], records[i]
        start = stop
