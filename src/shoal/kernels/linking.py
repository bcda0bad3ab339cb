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

from typing import Any, NamedTuple

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


class Sets(NamedTuple):
    """Attributes in which a record may show several values, and how far each value is from what it shows.

    The cells of all attributes are numbered through.
    """

    values: Codes  # person and attribute -> her value
    cells: Codes  # record and attribute -> the cell that it shows
    rows: npt.NDArray[np.int64]  # attribute -> where its part of `admits` begins
    first: npt.NDArray[np.int64]  # attribute -> its first cell, one more entry at the end
    admits: npt.NDArray[np.bool_]  # value by value of an attribute: which of its cells hold it
    inside: Floats  # cell -> its distance from a value that it holds
    outside: Floats  # and from one that it does not


class Space(NamedTuple):
    """People and records, a row each; records that are the same are one row."""

    people: Floats  # coordinates
    records: Floats
    values: Codes  # people's codes of attributes without an order
    shown: Codes
    weights: Floats  # person and attribute -> what differing adds to the distance
    sets: Sets
    often: npt.NDArray[np.int64]  # how many records each row stands for

    def distances(self, records: npt.NDArray[np.int64]) -> Floats:
        """Of each person to the record of that row."""
        apart: Floats = ((self.people - self.records[records]) ** 2).sum(axis=1)
        apart += np.where(self.values != self.shown[records], self.weights, 0.0).sum(axis=1)
        sets, cells = self.sets, self.sets.cells[records]
        within = cells - sets.first[:-1]
        admitted = sets.admits[sets.rows + sets.values * np.diff(sets.first) + within]
        apart += np.where(admitted, sets.inside[cells], sets.outside[cells]).sum(axis=1)
        return apart

    def same(self, space: Space) -> bool:
        """Whether both hold the same people and records."""
        return all(np.array_equal(here, there) for here, there in zip(self._parts(), space._parts(), strict=True))

    def _parts(self) -> list[npt.NDArray[Any]]:
        return [self.people, self.records, self.values, self.shown, self.weights, *self.sets]

    def among(self, records: npt.NDArray[np.int64]) -> Space:
        """The space of the same people and these records, each by itself."""
        sets = self.sets._replace(cells=self.sets.cells[records])
        once = np.ones(len(records), np.int64)
        return self._replace(records=self.records[records], shown=self.shown[records], sets=sets, often=once)


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
    cells: Codes  # (s, n)
    apart: Floats  # (blocks, values of all attributes with sets): the least distance of a value to what a block shows
    often: npt.NDArray[np.int64]  # (n): how many records stand at that place


def blocks_of(space: Space) -> Blocks:
    """The records of a space in blocks of neighbours."""
    leaf = max(64, int(np.sqrt(len(space.records)) / 2))  # as much work on boxes as inside them
    coded = [codes / (1.0 + np.abs(codes).max(axis=0, initial=0)) for codes in (space.shown, space.sets.cells)]
    order, starts = kd_classes(np.column_stack([space.records, *coded]), leaf, True)
    tables = (space.records, space.shown, space.sets.cells)
    points, codes, cells = (np.ascontiguousarray(table[order].T) for table in tables)
    low, high, first, last = (
        bound.reduceat(table, starts[:-1], axis=1) for table in (points, codes) for bound in (np.minimum, np.maximum)
    )
    apart = _apart(space.sets, cells, starts)
    return Blocks(order, points, codes, starts, low, high, first, last, cells, apart, space.often[order])


def own_shares(space: Space, own: npt.NDArray[np.int64]) -> Floats:
    """Of each person: 1 / the number of records as near as the own one, 0 where some record is nearer."""
    blocks, distance = blocks_of(space), space.distances(own)
    shares = np.empty(len(own))

    def some(a: int, b: int) -> None:
        _own_shares(space, blocks, distance, shares, a, b)

    in_blocks(len(own), _PEOPLE, some)
    return shares


def assigned(space: Space, step: float, most: int) -> npt.NDArray[np.int64]:
    """The record that each person gets, no record twice; -1 of who has none after `most` bids in all.

    `step` is what every bid adds: the less, the nearer to the least sum of distances and the more bids.
    """
    blocks = blocks_of(space)
    place = _auction(space, blocks, step, most)
    return np.where(place < 0, -1, blocks.order[place])


@kernel
def _apart(sets, cells, starts):  # type: ignore[no-untyped-def]
    """Block and value -> the least distance of the value to a cell of the block, the values of all attributes in a row.

    `rows` counts in cells of `admits`: here a value is one place, so attributes begin where their values begin.
    """
    values = 0
    for j in range(cells.shape[0]):
        values += _values(sets, j)
    apart = np.full((starts.size - 1, values), np.inf)
    for b in range(starts.size - 1):
        at = 0
        for j in range(cells.shape[0]):
            number, wide = _values(sets, j), sets.first[j + 1] - sets.first[j]
            for i in range(starts[b], starts[b + 1]):
                cell = cells[j, i]
                if i > starts[b] and cells[j, i - 1] == cell:
                    continue
                for value in range(number):
                    admits = sets.admits[sets.rows[j] + value * wide + cell - sets.first[j]]
                    far = sets.inside[cell] if admits else sets.outside[cell]
                    apart[b, at + value] = min(apart[b, at + value], far)
            at += number
    return apart


@kernel
def _values(sets, j):  # type: ignore[no-untyped-def]
    """How many values an attribute with sets has."""
    stop = sets.rows[j + 1] if j + 1 < sets.rows.size else sets.admits.size
    return (stop - sets.rows[j]) // (sets.first[j + 1] - sets.first[j])


@kernel
def _bounds(space, q, blocks, bound):  # type: ignore[no-untyped-def]
    """At least the distance of a person to each block."""
    x, value, weight = space.people[q], space.values[q], space.weights[q]
    bound[:] = 0.0
    for j in range(x.size):
        for b in range(bound.size):
            gap = max(blocks.low[j, b] - x[j], x[j] - blocks.high[j, b], 0.0)
            bound[b] += gap * gap
    for j in range(value.size):
        for b in range(bound.size):
            if value[j] < blocks.first[j, b] or value[j] > blocks.last[j, b]:
                bound[b] += weight[j]
    at = 0
    for j in range(blocks.cells.shape[0]):
        for b in range(bound.size):
            bound[b] += blocks.apart[b, at + space.sets.values[q, j]]
        at += _values(space.sets, j)


@kernel
def _add_distances(space, q, blocks, b, sums):  # type: ignore[no-untyped-def]
    """Adds the distances of a person to the records of one block."""
    x, value, weight = space.people[q], space.values[q], space.weights[q]
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
    sets = space.sets
    for j in range(blocks.cells.shape[0]):
        row = sets.rows[j] + sets.values[q, j] * (sets.first[j + 1] - sets.first[j]) - sets.first[j]
        for i in range(stop - start):
            cell = blocks.cells[j, start + i]
            sums[i] += sets.inside[cell] if sets.admits[row + cell] else sets.outside[cell]


@kernel
def _own_shares(space, blocks, own, shares, a, z):  # type: ignore[no-untyped-def]
    starts = blocks.starts
    bound = np.empty(starts.size - 1)
    sums = np.empty(np.diff(starts).max())
    for q in range(a, z):
        _bounds(space, q, blocks, bound)
        nearer, as_near = own[q] * (1.0 - TIE), own[q] * (1.0 + TIE)
        alike, beaten = 0, False
        for turn in range(-_PROMISING, bound.size):
            b = np.argmin(bound) if turn < 0 else turn
            if bound[b] <= as_near:
                sums[:] = 0.0
                _add_distances(space, q, blocks, b, sums)
                for i in range(starts[b + 1] - starts[b]):
                    beaten |= sums[i] < nearer
                    alike += blocks.often[starts[b] + i] if sums[i] <= as_near else 0
                if beaten:
                    break
                bound[b] = np.inf
        shares[q] = 0.0 if beaten else 1.0 / alike


@kernel
def _auction(space, blocks, step, most):  # type: ignore[no-untyped-def]
    n, starts = space.people.shape[0], blocks.starts
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
        _bounds(space, q, blocks, bound)
        bound += cheapest
        best = second = np.inf
        at, in_block = 0, 0
        for turn in range(-_PROMISING, bound.size):
            b = int(np.argmin(bound)) if turn < 0 else turn
            if bound[b] < second:
                start, stop = starts[b], starts[b + 1]
                for i in range(start, stop):
                    sums[i - start] = price[i]
                _add_distances(space, q, blocks, b, sums)
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
