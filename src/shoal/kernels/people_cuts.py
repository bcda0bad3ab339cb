"""Cuts of a line of records into classes of k to 2k - 1 people with the least information loss; pairs divided anew.

As `cuts` and `resplit` do for records. Somebody's records that follow each other on the line are a unit that no cut
divides. For each end the feasible beginnings are those with k to 2k - 1 people in between; a cut wherever k people are
reached, the rest with the last, is always one of the solutions. Kernels of their own: who counts records does not wait
for them to compile.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel
from shoal.kernels.cuts import corner_distance, walked_back, widen
from shoal.kernels.resplit import (
    Places,
    Rows,
    _begin,
    _between_centres,
    _desk,
    _flatten,
    _loss,
    _nearest,
    _sort,
    _spread,
)

_LONG = 64  # times k: a class of more units than this is looked for no further than its first feasible beginning


def cut_and_divide_people(
    rows: Rows, order: Places, people: Places, k: int, block: int, passes: int
) -> tuple[Places, Places]:
    """Classes of a line of records, block after block: optimal cuts, then pairs divided anew.

    Returns the records class after class, and where the classes start. A block has 2k people at least.
    """
    grouped = np.empty_like(order)
    starts = []
    blocks = people_blocks(people[order], k, block)
    for a, b in pairwise(blocks):
        line, whose = rows[order[a:b]], renumbered(people[order[a:b]])
        inner, begins = divide_people(line, whose, people_cuts(line, whose, k), k, passes)
        grouped[a:b] = order[a:b][inner]
        starts.append(begins[:-1] + a)
    return grouped, np.append(np.concatenate(starts), order.size)


def renumbered(people: Places) -> npt.NDArray[np.int64]:
    """The people of a part of the line, as numbers from 0 on."""
    return np.unique(people, return_inverse=True)[1].astype(np.int64)


@kernel
def people_runs(people, k):  # type: ignore[no-untyped-def]
    """Where runs begin in which k people are reached, what remains with the last; `people` are numbers from 0 on."""
    n = people.size
    seen = np.full(people.max() + 1, -1, np.int64)
    starts = np.empty(n + 2, np.int64)
    starts[0] = 0
    runs, first, held = 0, 0, 0
    for i in range(n):
        if seen[people[i]] < first:
            held += 1
        seen[people[i]] = i
        if held == k:
            runs += 1
            first, held = i + 1, 0
            starts[runs] = first
    runs = max(1, runs)
    starts[runs] = n
    return starts[: runs + 1]


@kernel
def people_blocks(people, k, block):  # type: ignore[no-untyped-def]
    """Where blocks of the line begin, of `block` records and 2k people at least; what remains is with the last."""
    n = people.size
    seen = np.full(people.max() + 1, -1, np.int64)
    starts = np.empty(n // block + 2, np.int64)
    starts[0] = 0
    blocks, first, held = 0, 0, 0
    for i in range(n):
        if seen[people[i]] < first:
            held += 1
        seen[people[i]] = i
        if held >= 2 * k and i + 1 - first >= block:
            blocks += 1
            first, held = i + 1, 0
            starts[blocks] = first
    blocks = max(1, blocks)
    starts[blocks] = n
    return starts[: blocks + 1]


@kernel
def people_cuts(line, people, k):  # type: ignore[no-untyped-def]
    """Where each class of the line begins, and at last its length; the line holds k people at least."""
    m = line.shape[1]
    units = _units(people)
    count = units.size - 1
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    size = np.zeros(count + 1, np.int64)
    seen = np.full(people.max() + 1, -1, np.int64)
    low, high = np.empty(m, np.float32), np.empty(m, np.float32)
    for j in range(1, count + 1):
        held = 0
        _begin(low, high, line[units[j] - 1])
        for i in range(j - 1, -1, -1):
            square = np.float32(0.0)
            for r in range(units[i], units[i + 1]):
                square = widen(low, high, line[r])
            if seen[people[units[i]]] != j:
                seen[people[units[i]]] = j
                held += 1
            if held >= 2 * k:
                break
            if held < k:
                if j - i > _LONG * k:
                    break
                continue
            if best[i] < np.inf:
                records = units[j] - units[i]
                if records <= 4 * k and records <= 64:
                    loss = 0.0
                    for r in range(units[i], units[j]):
                        loss += corner_distance(line[r], low, high)
                else:  # which no class's loss exceeds
                    loss = records * np.sqrt(square)
                if best[i] + loss < best[j]:
                    best[j] = best[i] + loss
                    size[j] = j - i
            if j - i > _LONG * k:
                break
    if best[count] == np.inf:
        return people_runs(people, k)
    return units[walked_back(size)]


@kernel(inline="always")
def _units(people):  # type: ignore[no-untyped-def]
    """Where somebody's records begin on the line, and at last its length."""
    n = people.size
    starts = np.empty(n + 1, np.int64)
    count = 0
    for i in range(n):
        if i == 0 or people[i] != people[i - 1]:
            starts[count] = i
            count += 1
    starts[count] = n
    return starts[: count + 1]


# ---- pairs divided anew


@kernel(fastmath=True)
def divide_people(line, people, starts, k, passes):  # type: ignore[no-untyped-def]
    """Returns the positions of the line, class after class, and where the classes start.

    Pairs of which one has more than 4k records stay as they are.
    """
    classes = starts.size - 1
    most = 4 * k
    widest = most
    for c in range(classes):
        widest = max(widest, starts[c + 1] - starts[c])
    members = np.empty((classes, widest), np.int64)
    sizes = np.empty(classes, np.int64)
    for c in range(classes):
        sizes[c] = starts[c + 1] - starts[c]
        for t in range(sizes[c]):
            members[c, t] = starts[c] + t
    desk = _desk(2 * most, line.shape[1])
    seen = np.full(people.max() + 1, -1, np.int64)
    stamp = np.zeros(1, np.int64)
    changed = np.zeros(classes, np.int64)
    for turn in range(passes):
        nearest = _nearest(line, members, sizes, changed, turn)
        for c in range(classes):
            d = nearest[c]
            met = 0 <= d < c and nearest[d] == c
            if d < 0 or met or max(sizes[c], sizes[d]) > most:
                continue
            if _divide_anew(line, people, members, sizes, c, d, k, most, desk, seen, stamp):
                changed[c] = turn + 1
                changed[d] = turn + 1
    return _flatten(members, sizes)


@kernel(fastmath=True)
def _divide_anew(line, people, members, sizes, c, d, k, most, desk, seen, stamp):  # type: ignore[no-untyped-def]
    """Divides the records of classes c and d anew if that loses less; says whether it did."""
    first = sizes[c]
    n = first + sizes[d]
    pool, order, best_order, along = desk.pool[:n], desk.order[:n], desk.best_order[:n], desk.along[:n]
    low, high = desk.low, desk.high
    for t in range(n):
        pool[t] = members[c, t] if t < first else members[d, t - first]
        order[t] = t
    rows = _spread(line, pool, desk.rows)
    m = rows.shape[1]
    now = _loss(rows, order[:first], low, high) + _loss(rows, order[first:], low, high)
    best_cut = 0
    least = 3e38
    for axis in range(m + (m > 1)):
        if axis < m:
            for t in range(n):
                along[t] = rows[t, axis]
        else:
            _between_centres(rows, first, along)
        _sort(along, order)
        lowest = _reached(people, pool, order, k, seen, stamp, False)
        highest = n - _reached(people, pool, order, k, seen, stamp, True)
        lowest, highest = max(lowest, n - most), min(highest, most)
        if lowest > highest:
            continue
        cut, total = _best_cut(rows, order, lowest, highest, low, high, desk.bound)
        if total < least:
            least = total
            best_cut = cut
            for t in range(n):
                best_order[t] = order[t]
    if best_cut == 0:
        return False
    new = _loss(rows, best_order[:best_cut], low, high) + _loss(rows, best_order[best_cut:], low, high)
    if new >= now * (1.0 - 1e-6):  # a rounding error is no gain
        return False
    sizes[c] = best_cut
    sizes[d] = n - best_cut
    for t in range(n):
        if t < best_cut:
            members[c, t] = pool[best_order[t]]
        else:
            members[d, t - best_cut] = pool[best_order[t]]
    return True


@kernel
def _reached(people, pool, order, k, seen, stamp, backwards):  # type: ignore[no-untyped-def]
    """After how many records of the pool, from its beginning or its end, k people are reached; more than all: never."""
    stamp[0] += 1
    n = order.size
    held = 0
    for t in range(n):
        who = people[pool[order[n - 1 - t if backwards else t]]]
        if seen[who] != stamp[0]:
            seen[who] = stamp[0]
            held += 1
            if held == k:
                return t + 1
    return n + 1


@kernel(fastmath=True, inline="always")
def _best_cut(rows, order, lowest, highest, low, high, bound):  # type: ignore[no-untyped-def]
    """The cut with the least sum of size times diagonal, an upper bound of the loss that needs one sweep each way."""
    n = order.size
    _begin(low, high, rows[order[0]])
    for t in range(highest):
        bound[t + 1] = (t + 1) * np.sqrt(widen(low, high, rows[order[t]]))
    _begin(low, high, rows[order[n - 1]])
    cut = lowest
    least = 3e38
    for t in range(n - 1, lowest - 1, -1):
        square = widen(low, high, rows[order[t]])
        if t <= highest:
            total = bound[t] + (n - t) * np.sqrt(square)
            if total < least:
                least = total
                cut = t
    return cut, least
