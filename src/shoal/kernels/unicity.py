"""Whom a few known points single out: posting lists intersected one after the other."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _among(posting, person):  # type: ignore[no-untyped-def]
    at = np.searchsorted(posting, person)
    return at < posting.size and posting[at] == person


@njit(cache=True, nogil=True)
def others_who_match(points, postings, start, stop, others):  # type: ignore[no-untyped-def]
    """Writes how many other people share the first 1, 2, ... points of persons start to stop; all where there are less.

    `points` (Lists) has each person's points in the order in which they are learnt, `postings` each point's people.
    """
    left = np.empty(points.starts.size - 1, np.int32)
    for person in range(start, stop):
        count = 0
        for m in range(others.shape[1]):
            at = points.starts[person] + m
            if at < points.starts[person + 1]:
                point = points.members[at]
                posting = postings.members[postings.starts[point] : postings.starts[point + 1]]
                kept = 0
                for other in posting if m == 0 else left[:count]:
                    if other != person and (m == 0 or _among(posting, other)):
                        left[kept] = other
                        kept += 1
                count = kept
            others[person, m] = count
