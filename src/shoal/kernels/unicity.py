"""Whom a few known points single out: posting lists intersected one after the other."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def _among(posting, person):  # type: ignore[no-untyped-def]
    at = np.searchsorted(posting, person)
    return at < posting.size and posting[at] == person


@kernel
def _in_both(a, b, both):  # type: ignore[no-untyped-def]
    """Writes who is in both of two ascending lists: each of the shorter is looked for in the longer."""
    short, long = (a, b) if a.size <= b.size else (b, a)
    kept = 0
    for person in short:
        if _among(long, person):
            both[kept] = person
            kept += 1
    return both[:kept]


@kernel
def others_who_match(points, postings, start, stop, others):  # type: ignore[no-untyped-def]
    """Writes how many other people share the first 1, 2, ... points of persons start to stop; all where there are less.

    `points` (Lists) has each person's points in the order in which they are learnt, `postings` each point's people.
    """
    left = np.empty((2, points.starts.size - 1), np.int32)
    for person in range(start, stop):
        matching = left[0, :0]
        for m in range(others.shape[1]):
            at = points.starts[person] + m
            if at < points.starts[person + 1]:
                point = points.members[at]
                posting = postings.members[postings.starts[point] : postings.starts[point + 1]]
                matching = posting if m == 0 else _in_both(matching, posting, left[m % 2])
            others[person, m] = matching.size - 1  # but for the person
