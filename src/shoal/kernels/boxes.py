"""Boxes on a grid: which of them meet, and is one covered by others (SPEC 2.5).

A box has one cell an attribute, a cell is a few runs of grid positions. Boxes that meet a given one are
found among those that agree on the attributes where both are points (by a sorted hash), and within a large
group of such by a tree of hulls. Coverage is decided by subtraction, depth first, on bit sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

COVERED, UNIQUE, UNPROVEN = 0, 1, 2
SCAN = 64  # a group up to this size is scanned, a larger one searched by its tree
_FAN = 8
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


@njit(cache=True, nogil=True)
def point_keys(boxes: Boxes, rows: Ints, shared: Ints) -> Keys:
    """A hash of each row's positions on the shared attributes."""
    keys = np.empty(rows.size, np.uint64)
    for i in range(rows.size):
        key = np.uint64(0x9E3779B97F4A7C15)
        for j in shared:
            position = boxes.low[boxes.starts[boxes.cells[rows[i], j]]]
            key = (key ^ np.uint64(position)) * np.uint64(0xBF58476D1CE4E5B9)
            key ^= key >> np.uint64(29)
        keys[i] = key
    return keys


@njit(cache=True, nogil=True)
def may_match(keys: Keys, wanted: Keys) -> npt.NDArray[np.bool_]:
    """False only for keys that are surely not among the wanted (a one-hash Bloom filter)."""
    bits = 10
    while (1 << bits) < 16 * wanted.size:
        bits += 1
    shift = np.uint64(64 - bits)
    seen = np.zeros(1 << bits, np.bool_)
    for key in wanted:
        seen[(key * np.uint64(0x94D049BB133111EB)) >> shift] = True
    found = np.empty(keys.size, np.bool_)
    for i in range(keys.size):
        found[i] = seen[(keys[i] * np.uint64(0x94D049BB133111EB)) >> shift]
    return found


@njit(cache=True, nogil=True)
def z_order(boxes: Boxes, rows: Ints, free: Ints, top: Ints) -> Keys:
    """The middles of the boxes on the free attributes, bits interleaved: near boxes get near keys."""
    count = min(free.size, 63)
    bits = min(63 // max(count, 1), 20)
    keys = np.zeros(rows.size, np.uint64)
    place = np.empty(count, np.int64)
    for i in range(rows.size):
        for f in range(count):
            cell = boxes.cells[rows[i], free[f]]
            middle = np.int64(boxes.low[boxes.starts[cell]]) + boxes.high[boxes.starts[cell + 1] - 1]
            place[f] = (middle << bits) // (2 * top[free[f]] + 1)
        for bit in range(bits - 1, -1, -1):
            for f in range(count):
                keys[i] = (keys[i] << np.uint64(1)) | np.uint64((place[f] >> bit) & 1)
    return keys


@njit(cache=True, nogil=True)
def grow_tree(boxes: Boxes, rows: Ints) -> Tree:
    """The tree over the rows in their order."""
    level = [0]
    width = rows.size
    while width > 1 or len(level) == 1:
        width = (width + _FAN - 1) // _FAN
        level.append(level[-1] + width)
    m = boxes.cells.shape[1]
    low = np.full((level[-1], m), np.iinfo(np.int32).max, np.int32)
    high = np.full((level[-1], m), -1, np.int32)
    for i in range(rows.size):
        for j in range(m):
            cell = boxes.cells[rows[i], j]
            low[i // _FAN, j] = min(low[i // _FAN, j], boxes.low[boxes.starts[cell]])
            high[i // _FAN, j] = max(high[i // _FAN, j], boxes.high[boxes.starts[cell + 1] - 1])
    for depth in range(1, len(level) - 1):
        for child in range(level[depth - 1], level[depth]):
            node = level[depth] + (child - level[depth - 1]) // _FAN
            for j in range(m):
                low[node, j] = min(low[node, j], low[child, j])
                high[node, j] = max(high[node, j], high[child, j])
    return Tree(low, high, np.array(level))


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _hull_meets(boxes: Boxes, r: int, tree: Tree, node: int) -> bool:
    for j in range(boxes.cells.shape[1]):
        cell = boxes.cells[r, j]
        if tree.low[node, j] > boxes.high[boxes.starts[cell + 1] - 1]:
            return False
        if tree.high[node, j] < boxes.low[boxes.starts[cell]]:
            return False
    return True


@njit(cache=True, nogil=True)
def _look(
    boxes: Boxes, r: int, rows: Ints, begin: int, end: int, tally: Tally, found: Ints, into: Ints
) -> None:
    """Compares box r with rows[begin:end]: counts those it meets, or lists them if `found` has room."""
    for i in range(begin, end):
        share = _share(boxes, r, rows[i]) if rows[i] != r else 0.0
        if share == 0.0:
            continue
        if found.size:
            found[into[r]] = rows[i]
            into[r] += 1
            continue
        tally.hits[r] += 1
        tally.share[r] += share
        if share == 1.0:
            tally.covered[r] = True
            return


@njit(cache=True, nogil=True)
def visit(
    boxes: Boxes,
    asked: Ints,
    rows: Ints,
    begin: Ints,
    end: Ints,
    tree: Tree,
    tally: Tally,
    found: Ints,
    into: Ints,
) -> None:
    """Compares each box asked[q] with its group rows[begin[q]:end[q]], stopping at one that contains it."""
    stack = np.empty((_FAN * tree.level.size, 2), np.int64)
    for q in range(asked.size):
        r = asked[q]
        if end[q] - begin[q] <= SCAN:
            _look(boxes, r, rows, begin[q], end[q], tally, found, into)
            continue
        top = 1
        stack[0, 0], stack[0, 1] = tree.level.size - 2, 0
        while top > 0 and not tally.covered[r]:
            top -= 1
            depth, node = stack[top, 0], stack[top, 1]
            span = _FAN ** (depth + 1)
            first, last = max(node * span, begin[q]), min((node + 1) * span, end[q])
            if first >= last or not _hull_meets(boxes, r, tree, tree.level[depth] + node):
                continue
            if depth == 0:
                _look(boxes, r, rows, first, last, tally, found, into)
                continue
            width = tree.level[depth] - tree.level[depth - 1]
            for child in range(node * _FAN, min((node + 1) * _FAN, width)):
                stack[top, 0], stack[top, 1] = depth - 1, child
                top += 1


# ---- subtraction


@njit(cache=True, nogil=True)
def _ones(word: np.uint64) -> int:
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _clamp(place: int, first: int, last: int) -> int:
    if place < first:
        return first
    return place if place < last else last


@njit(cache=True, nogil=True)
def _localise(boxes: Boxes, r: int, others: Ints) -> tuple[Keys, Ints]:
    """Box r and the others' parts of it as bit sets over the stretches of r that they tell apart.

    Only attributes on which r is no point matter. Returns a row of words for each other box and last for r,
    and where each attribute's words begin.
    """
    free, span = np.empty(boxes.cells.shape[1], np.int64), np.zeros(boxes.cells.shape[1] + 1, np.int64)
    count = 0
    for j in range(boxes.cells.shape[1]):
        own = boxes.cells[r, j]
        if boxes.size[own] > 1.0:
            free[count] = j
            count += 1
            span[count] = (
                span[count - 1] + boxes.high[boxes.starts[own + 1] - 1] - boxes.low[boxes.starts[own]] + 2
            )
    rank = np.zeros(span[count], np.int64)  # grid position -> stretch, attribute after attribute
    first = np.zeros(count + 1, np.int64)
    for f in range(count):
        base = span[f] - boxes.low[boxes.starts[boxes.cells[r, free[f]]]]
        for i in range(others.size + 1):
            cell = boxes.cells[others[i] if i < others.size else r, free[f]]
            for run in range(boxes.starts[cell], boxes.starts[cell + 1]):
                rank[_clamp(base + boxes.low[run], span[f], span[f + 1] - 1)] = 1
                rank[_clamp(base + boxes.high[run] + 1, span[f], span[f + 1] - 1)] = 1
        rank[span[f]] = 0
        for i in range(span[f] + 1, span[f + 1]):
            rank[i] += rank[i - 1]
        first[f + 1] = first[f] + (rank[span[f + 1] - 1] + 63) // 64
    words = np.zeros((others.size + 1, first[count]), np.uint64)
    for i in range(others.size + 1):
        for f in range(count):
            base = span[f] - boxes.low[boxes.starts[boxes.cells[r, free[f]]]]
            cell = boxes.cells[others[i] if i < others.size else r, free[f]]
            for run in range(boxes.starts[cell], boxes.starts[cell + 1]):
                begin = rank[_clamp(base + boxes.low[run], span[f], span[f + 1] - 1)]
                end = rank[_clamp(base + boxes.high[run] + 1, span[f], span[f + 1] - 1)]
                for bit in range(begin, end):
                    words[i, first[f] + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
    return words, first


@njit(cache=True, nogil=True)
def _overlap(box: Keys, other: Keys, first: Ints) -> float:
    """The volume that the box shares with another, negative where it is contained in that."""
    volume, inside = 1.0, True
    for f in range(first.size - 1):
        own, common = 0, 0
        for i in range(first[f], first[f + 1]):
            own += _ones(box[i])
            common += _ones(box[i] & other[i])
        if common == 0:
            return 0.0
        inside &= common == own
        volume *= common
    return -volume if inside else volume


@njit(cache=True, nogil=True)
def _with_room(rows, wanted):  # type: ignore[no-untyped-def]
    """The rows, in a larger array where there are fewer than wanted."""
    if wanted <= rows.shape[0]:
        return rows
    grown = np.empty((2 * wanted, rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            grown[i, j] = rows[i, j]
    return grown


@njit(cache=True, nogil=True)
def _cut(pieces: Keys, at: int, other: Keys, first: Ints) -> int:
    """Replaces a piece by what another box leaves of it, in places from there on; returns the next."""
    top, left = at, at + first.size - 1  # `left`: what still stands to be cut, beyond all the new pieces
    for i in range(first[-1]):
        pieces[left, i] = pieces[at, i]
    for f in range(first.size - 1):
        some = np.uint64(0)
        for i in range(first[-1]):
            pieces[top, i] = pieces[left, i]
        for i in range(first[f], first[f + 1]):
            pieces[top, i] &= ~other[i]
            pieces[left, i] &= other[i]
            some |= pieces[top, i]
        if some:
            top += 1
    return top


@njit(cache=True, nogil=True)
def _subtract(boxes: Boxes, r: int, others: Ints, max_boxes: int) -> int:
    """Is box r within the union of the others?

    Depth first: take a piece; it is done if one box contains it; if the volumes of those that meet it sum to
    less than its own, some point is in none and r is unique; otherwise cut away the largest overlap, which
    leaves at most one piece an attribute. Pieces look only at the boxes that meet what they were cut from.
    """
    words, first = _localise(boxes, r, others)
    pieces = np.empty((1, first[-1]), np.uint64)
    lists = np.empty((1, 2), np.int64)  # where the boxes that a piece looks at begin and end in the pool
    pool = np.empty((others.size, 1), np.int64)
    for i in range(first[-1]):
        pieces[0, i] = words[others.size, i]
    for i in range(others.size):
        pool[i, 0] = i
    lists[0, 0], lists[0, 1] = 0, others.size
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


@njit(cache=True, nogil=True)
def subtract_each(boxes: Boxes, asked: Ints, ends: Ints, found: Ints, max_boxes: int) -> npt.NDArray[np.int8]:
    """COVERED, UNIQUE or UNPROVEN for each box asked[q], against its list that ends before found[ends[q]]."""
    verdict = np.empty(asked.size, np.int8)
    begin = 0
    for q in range(asked.size):
        verdict[q] = _subtract(boxes, asked[q], found[begin : ends[q]], max_boxes)
        begin = ends[q]
    return verdict
