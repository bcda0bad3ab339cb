"""Who is nearest to whom where some attributes stand on a line and others only agree or differ.

The distance of a person to a record is the squared Euclidean one of their coordinates plus, for every attribute without
an order in which they differ, what differing there weighs for that person. Records lie in blocks under bounding boxes,
as in `shoal.kernels.neighbours`; a code outside a block's codes differs from all of them.

Links are made in two ways: everybody to the nearest record, or everybody to a record of their own so that the distances
add up to the least. The second is an auction (Bertsekas 1988): who has no record bids for the one that is nearest after
its price is added, and pays so much that the next best would be as good, and a little more. The sum is off the least by
at most that little a person.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.kd import kd_classes
from shoal.kernels.threads import in_blocks

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

_PEOPLE = 256  # looked up together by one thread
_PROMISING = 4  # blocks looked at in the order of their distance, before all others in theirs
TIE = 1e-9  # relative difference of distances that counts as none


class Space(NamedTuple):
    """People and records, a row each."""

    people: Floats  # coordinates
    records: Floats
    values: Codes  # people's codes of attributes without an order
    shown: Codes
    weights: Floats  # person and attribute -> what differing adds to the distance

    def distances(self, records: npt.NDArray[np.int64]) -> Floats:
        """Of each person to the record of that index."""
        apart: Floats = ((self.people - self.records[records]) ** 2).sum(axis=1)
        apart += np.where(self.values != self.shown[records], self.weights, 0.0).sum(axis=1)
        return apart

    def same(self, space: Space) -> bool:
        """Whether both hold the same people and records."""
        return all(np.array_equal(getattr(self, part), getattr(space, part)) for part in self._fields)

    def of(self, people: npt.NDArray[np.int64]) -> Space:
        """The space of some of the people."""
        return self._replace(people=self.people[people], values=self.values[people], weights=self.weights[people])


class Blocks(NamedTuple):
    """Records in their blocks, an attribute a row."""

    order: npt.NDArray[np.int64]  # place -> record
    points: Floats  # (m, n)
    codes: Codes  # (c, n)
    starts: npt.NDArray[np.int64]  # block -> its first place, one more entry at the end
    low: Floats  # (m, blocks): each block's bounding box
    high: Floats
    first: Codes  # (c, blocks): its least and its greatest code
    last: Codes


def blocks_of(space: Space) -> Blocks:
    """The records of a space in blocks of neighbours."""
    leaf = max(64, int(np.sqrt(len(space.records)) / 2))  # as much work on boxes as inside them
    both = np.column_stack([space.records, space.shown / (1.0 + np.abs(space.shown).max(axis=0, initial=0))])
    order, starts = kd_classes(both, leaf, True)
    points, codes = (np.ascontiguousarray(table[order].T) for table in (space.records, space.shown))
    ends = [
        bound.reduceat(table, starts[:-1], axis=1) for table in (points, codes) for bound in (np.minimum, np.maximum)
    ]
    return Blocks(order, points, codes, starts, *ends)


def own_shares(space: Space, own: npt.NDArray[np.int64]) -> Floats:
    """Of each person: 1 / the number of records as near as the own one, 0 where some record is nearer."""
    blocks, distance = blocks_of(space), space.distances(own)
    shares = np.empty(len(own))

    def some(a: int, b: int) -> None:
        _own_shares(space.people[a:b], space.values[a:b], space.weights[a:b], blocks, distance[a:b], shares[a:b])

    in_blocks(len(own), _PEOPLE, some)
    return shares


def assigned(space: Space, step: float, most: int) -> npt.NDArray[np.int64]:
    """The record that each person gets, no record twice; -1 of who has none after `most` bids in all.

    `step` is what every bid adds: the less, the nearer to the least sum of distances and the more bids.
    """
    blocks = blocks_of(space)
    place = _auction(space.people, space.values, space.weights, blocks, step, most)
    return np.where(place < 0, -1, blocks.order[place])


@kernel
def _bounds(x, value, weight, blocks, bound):  # type: ignore[no-untyped-def]
    """At least the distance of a person to each block."""
    bound[:] = 0.0
    for j in range(x.size):
        for b in range(bound.size):
            gap = max(blocks.low[j, b] - x[j], x[j] - blocks.high[j, b], 0.0)
            bound[b] += gap * gap
    for j in range(value.size):
        for b in range(bound.size):
            if value[j] < blocks.first[j, b] or value[j] > blocks.last[j, b]:
                bound[b] += weight[j]


@kernel
def _add_distances(x, value, weight, blocks, b, sums):  # type: ignore[no-untyped-def]
    """Adds the distances of a person to the records of one block."""
    start, stop = blocks.starts[b], blocks.starts[b + 1]
    for j in range(x.size):
        own, column = x[j], blocks.points[j, start:stop]
        for i in range(stop - start):
            gap = own - column[i]
            sums[i] += gap * gap
    for j in range(value.size):
        code, more, codes = value[j], weight[j], blocks.codes[j, start:stop]
        for i in range(stop - start):
            sums[i] += more if codes[i] != code else 0.0


@kernel
def _own_shares(people, values, weights, blocks, own, shares):  # type: ignore[no-untyped-def]
    starts = blocks.starts
    bound = np.empty(starts.size - 1)
    sums = np.empty(np.diff(starts).max())
    for q in range(own.size):
        _bounds(people[q], values[q], weights[q], blocks, bound)
        nearer, as_near = own[q] * (1.0 - TIE), own[q] * (1.0 + TIE)
        alike, beaten = 0, False
        for turn in range(-_PROMISING, bound.size):
            b = np.argmin(bound) if turn < 0 else turn
            if bound[b] <= as_near:
                sums[:] = 0.0
                _add_distances(people[q], values[q], weights[q], blocks, b, sums)
                for i in range(starts[b + 1] - starts[b]):
                    beaten |= sums[i] < nearer
                    alike += sums[i] <= as_near
                if beaten:
                    break
                bound[b] = np.inf
        shares[q] = 0.0 if beaten else 1.0 / alike


@kernel
def _auction(people, values, weights, blocks, step, most):  # type: ignore[no-untyped-def]
    n, starts = people.shape[0], blocks.starts
    price = np.zeros(blocks.order.size)
    cheapest = np.zeros(starts.size - 1)  # of each block
    owner, got = np.full(price.size, -1), np.full(n, -1)
    waiting, left = np.arange(n), n
    bound = np.empty(starts.size - 1)
    sums = np.empty(np.diff(starts).max())
    for _ in range(most):
        if left == 0:
            break
        left -= 1
        q = waiting[left]
        _bounds(people[q], values[q], weights[q], blocks, bound)
        bound += cheapest
        best = second = np.inf
        at, in_block = 0, 0
        for turn in range(-_PROMISING, bound.size):
            b = int(np.argmin(bound)) if turn < 0 else turn
            if bound[b] < second:
                start, stop = starts[b], starts[b + 1]
                for i in range(start, stop):
                    sums[i - start] = price[i]
                _add_distances(people[q], values[q], weights[q], blocks, b, sums)
                for i in range(stop - start):
                    if sums[i] < best:
                        best, second = sums[i], best
                        at, in_block = start + i, b
                    elif sums[i] < second:
                        second = sums[i]
                bound[b] = np.inf
        price[at] += step + (second - best if second < np.inf else 0.0)
        cheapest[in_block] = price[starts[in_block] : starts[in_block + 1]].min()
        if owner[at] >= 0:
            got[owner[at]] = -1
            waiting[left] = owner[at]
            left += 1
        owner[at], got[q] = q, at
    return got
