"""Boxes on a grid: which of them meet, and is one covered by others (docs/spec.md#fitting).

A box has one cell an attribute, a cell is a few runs of grid positions. The boxes that meet a given one are
looked for in a group of candidates, a large one by its tree of hulls. Whether they cover it is decided by
subtraction, depth first, on bit sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

COVERED, UNIQUE, UNPROVEN = 0, 1, 2
SCAN = 64  # a group up to this size is scanned, a larger one searched by its tree
FAN = 8  # children of a node of the tree
_SHORT = 1.0 - 1e-9  # volumes that sum to less than this share cannot cover, whatever the rounding

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


class Boxes(NamedTuple):
    """Distinct boxes; cells are numbered through all attributes."""

    cells: npt.NDArray[np.int32]  # (boxes, attributes) -> cell
    starts: Ints  # cell -> its first run, one more entry at the end
    low: npt.NDArray[np.int32]  # run -> first grid position
    high: npt.NDArray[np.int32]  # run -> last grid position
    size: npt.NDArray[np.float64]  # cell -> how many grid positions


class Tree(NamedTuple):
    """Hulls of eight neighbouring boxes, of eight such hulls, and so on, level after level."""

    low: npt.NDArray[np.int32]  # (nodes, attributes)
    high: npt.NDArray[np.int32]
    level: Ints  # where each level begins


class Tally(NamedTuple):
    """What is known of each box so far."""

    covered: npt.NDArray[np.bool_]  # one other box contains it
    share: npt.NDArray[np.float64]  # sum over the boxes that meet it of the part of it they share
    hits: Ints  # how many boxes meet it


@kernel
def _common(boxes: Boxes, a: int, b: int) -> float:
    """How many grid positions two cells share."""
    i, j, shared = boxes.starts[a], boxes.starts[b], 0
    while i < boxes.starts[a + 1] and j < boxes.starts[b + 1]:
        first, last = max(boxes.low[i], boxes.low[j]), min(boxes.high[i], boxes.high[j])
        if first <= last:
            shared += last - first + 1
        if boxes.high[i] < boxes.high[j]:
            i += 1
        else:
            j += 1
    return float(shared)


@kernel
def _share(boxes: Boxes, r: int, s: int) -> float:
    """The part of box r that box s shares: 0 where they do not meet, exactly 1 where s contains r."""
    share = 1.0
    for j in range(boxes.cells.shape[1]):
        a, b = boxes.cells[r, j], boxes.cells[s, j]
        if a != b:
            common = _common(boxes, a, b)
            if common == 0.0:
                return 0.0
            share *= common / boxes.size[a]
    return share


@kernel
def _hull_meets(boxes: Boxes, r: int, tree: Tree, node: int) -> bool:
    for j in range(boxes.cells.shape[1]):
        cell = boxes.cells[r, j]
        if tree.low[node, j] > boxes.high[boxes.starts[cell + 1] - 1]:
            return False
        if tree.high[node, j] < boxes.low[boxes.starts[cell]]:
            return False
    return True


@kernel
def _look(boxes: Boxes, r: int, rows: Ints, begin: int, end: int, tally: Tally, meeting: Ints, into: Ints) -> None:
    """Compares box r with rows[begin:end]: counts those it meets, or lists them if `meeting` has room."""
    for i in range(begin, end):
        share = _share(boxes, r, rows[i]) if rows[i] != r else 0.0
        if share == 0.0:
            continue
        if meeting.size:
            meeting[into[r]] = rows[i]
            into[r] += 1
            continue
        tally.hits[r] += 1
        tally.share[r] += share
        if share == 1.0:
            tally.covered[r] = True
            return


@kernel
def visit(
    boxes: Boxes,
    rows_asked: Ints,
    rows: Ints,
    begin: Ints,
    end: Ints,
    tree: Tree,
    tally: Tally,
    meeting: Ints,
    into: Ints,
) -> None:
    """Compares each box asked[q] with its group rows[begin[q]:end[q]], stopping at one that contains it."""
    stack = np.empty((FAN * tree.level.size, 2), np.int64)
    for q in range(rows_asked.size):
        r = rows_asked[q]
        if end[q] - begin[q] <= SCAN:
            _look(boxes, r, rows, begin[q], end[q], tally, meeting, into)
            continue
        top = 1
        stack[0, 0], stack[0, 1] = tree.level.size - 2, 0
        while top > 0 and not tally.covered[r]:
            top -= 1
            depth, node = stack[top, 0], stack[top, 1]
            span = FAN ** (depth + 1)
            first, last = max(node * span, begin[q]), min((node + 1) * span, end[q])
            if first >= last or not _hull_meets(boxes, r, tree, tree.level[depth] + node):
                continue
            if depth == 0:
                _look(boxes, r, rows, first, last, tally, meeting, into)
                continue
            width = tree.level[depth] - tree.level[depth - 1]
            for child in range(node * FAN, min((node + 1) * FAN, width)):
                stack[top, 0], stack[top, 1] = depth - 1, child
                top += 1


# ---- subtraction


@kernel
def _ones(word: np.uint64) -> int:
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _clamp(place: int, size: int) -> int:
    if place < 0:
        return 0
    return place if place < size else size - 1


@kernel
def _ranks(boxes: Boxes, group: Ints, j: int) -> Ints:
    """For each position within the last box, the number of its stretch, of those the group tells apart."""
    own = boxes.cells[group[-1], j]
    base = boxes.low[boxes.starts[own]]
    rank = np.zeros(boxes.high[boxes.starts[own + 1] - 1] + 2 - base, np.int64)
    for s in group:
        for run in range(boxes.starts[boxes.cells[s, j]], boxes.starts[boxes.cells[s, j] + 1]):
            rank[_clamp(boxes.low[run] - base, rank.size)] = 1
            rank[_clamp(boxes.high[run] + 1 - base, rank.size)] = 1
    rank[0] = 0
    for place in range(1, rank.size):
        rank[place] += rank[place - 1]
    return rank


@kernel
def _localise(boxes: Boxes, group: Ints) -> tuple[Keys, Ints]:
    """The last box of a group, and the others' parts of it, as bit sets over stretches of positions.

    Only attributes on which that box is no point matter. Returns a row of words for each box of the group,
    and where each attribute's words begin.
    """
    first = np.zeros(boxes.cells.shape[1] + 1, np.int64)
    for j in range(boxes.cells.shape[1]):
        first[j + 1] = first[j]
        if boxes.size[boxes.cells[group[-1], j]] > 1.0:
            first[j + 1] += (_ranks(boxes, group, j)[-1] + 63) // 64
    words = np.zeros((group.size, first[-1]), np.uint64)
    for j in range(boxes.cells.shape[1]):
        if first[j] == first[j + 1]:
            continue
        rank, base = _ranks(boxes, group, j), boxes.low[boxes.starts[boxes.cells[group[-1], j]]]
        for i in range(group.size):
            cell = boxes.cells[group[i], j]
            for run in range(boxes.starts[cell], boxes.starts[cell + 1]):
                begin = rank[_clamp(boxes.low[run] - base, rank.size)]
                for bit in range(begin, rank[_clamp(boxes.high[run] + 1 - base, rank.size)]):
                    words[i, first[j] + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
    return words, first


@kernel
def _overlap(box: Keys, against: Keys, first: Ints) -> float:
    """The volume that the box shares with another, negative where it is contained in that."""
    volume, inside = 1.0, True
    for f in range(first.size - 1):
        own, common = 0, 0
        for i in range(first[f], first[f + 1]):
            own += _ones(box[i])
            common += _ones(box[i] & against[i])
        if first[f] < first[f + 1]:
            if common == 0:
                return 0.0
            inside &= common == own
            volume *= common
    return -volume if inside else volume


@kernel
def _with_room(rows, wanted):  # type: ignore[no-untyped-def]
    """The rows, in a larger array where there are fewer than wanted."""
    if wanted <= rows.shape[0]:
        return rows
    grown = np.empty((2 * wanted, rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            grown[i, j] = rows[i, j]
    return grown


@kernel
def _cut(pieces: Keys, at: int, against: Keys, first: Ints) -> int:
    """Replaces a piece by what another box leaves of it, in places from there on; returns the next."""
    top, left = at, at + first.size - 1  # `left`: what still stands to be cut, beyond all the new pieces
    for i in range(first[-1]):
        pieces[left, i] = pieces[at, i]
    for f in range(first.size - 1):
        some = np.uint64(0)
        for i in range(first[-1]):
            pieces[top, i] = pieces[left, i]
        for i in range(first[f], first[f + 1]):
            pieces[top, i] &= ~against[i]
            pieces[left, i] &= against[i]
            some |= pieces[top, i]
        if some:
            top += 1
    return top


@kernel
def _subtract(boxes: Boxes, group: Ints, max_boxes: int) -> int:
    """Is the last box of the group within the union of the others?

    Depth first: take a piece; it is done if one box contains it; if the volumes of those that meet it sum to
    less than its own, some point is in none and the box is unique; otherwise cut away the largest overlap,
    which leaves at most one piece an attribute. Pieces look only at the boxes that meet what they were cut
    from.
    """
    words, first = _localise(boxes, group)
    others = group.size - 1
    pieces = np.empty((1, first[-1]), np.uint64)
    lists = np.empty((1, 2), np.int64)  # where the boxes that a piece looks at begin and end in the pool
    pool = np.empty((others, 1), np.int64)
    for i in range(first[-1]):
        pieces[0, i] = words[others, i]
    for i in range(others):
        pool[i, 0] = i
    lists[0, 0], lists[0, 1] = 0, others
    top = 1
    for _ in range(max_boxes):
        top -= 1
        begin, end = lists[top, 0], lists[top, 1]
        used, total, largest, best = end, 0.0, 0.0, -1
        for i in range(begin, end):
            overlap = _overlap(pieces[top], words[pool[i, 0]], first)
            if overlap < 0.0:
                total = -1.0
                break
            if overlap > 0.0:
                pool = _with_room(pool, used + 1)
                pool[used, 0] = pool[i, 0]
                used += 1
                total += overlap
                if overlap > largest:
                    largest, best = overlap, pool[i, 0]
        if total >= 0.0:
            if total < -_SHORT * _overlap(pieces[top], pieces[top], first):
                return UNIQUE
            pieces, lists = _with_room(pieces, top + first.size), _with_room(lists, top + first.size)
            place, top = top, _cut(pieces, top, words[best], first)
            for i in range(place, top):
                lists[i, 0], lists[i, 1] = end, used
        if top == 0:
            return COVERED
    return UNPROVEN


@kernel
def subtract_each(boxes: Boxes, groups: Ints, ends: Ints, max_boxes: int) -> npt.NDArray[np.int8]:
    """COVERED, UNIQUE or UNPROVEN for the last box of each group, which ends before groups[ends[g]]."""
    verdict = np.empty(ends.size, np.int8)
    begin = 0
    for g in range(ends.size):
        verdict[g] = _subtract(boxes, groups[begin : ends[g]], max_boxes)
        begin = ends[g]
    return verdict
