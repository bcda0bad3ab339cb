"""Set-enumeration search over cut points (Bayardo and Agrawal, 2005), over distinct rows with counts.

A cut says "a new interval begins at this code". A node is a head H of cuts that are made and a tail T of cuts that may
still be; A = H and T together. A node's rows stand class by class under H, equal under A merged into one with their
count, classes below k left out. A child splits its parent's classes at one more cut and keeps its rows after its
parent's, so that to undo the cut is to forget them.

    LB(H, A) = n x suppressed under H + sum over the rows of count x max(count, k)

No recoding between H and A costs less: what is suppressed under H stays so, and every other record either is
suppressed, or shown in a class that holds its row and at least k records. One more cut u in the head adds (n - k) for
every record that it newly suppresses, whatever the tail is.

Defined in docs/spec.md#best-recoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

DONE, PAUSED, FULL = 0, 1, 2  # how a stretch of the search ends
ENTER, PRUNE, BRANCH = 0, 1, 2  # what comes next at the node at work
CODES = 256  # a code is one byte

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


class Problem(NamedTuple):
    """The cuts, attribute after attribute: the one at code c of attribute a has the number first[a] + c - 1."""

    first: Ints  # attribute -> its first cut, one more entry at the end
    attribute: Ints  # cut -> attribute
    code: Ints  # cut -> code
    k: int
    n: int  # records
    limit: int  # how many of them may be suppressed


class Stack(NamedTuple):
    """The rows and classes of all nodes from the root to the one at work, one node after the other."""

    codes: Codes  # (row, attribute) -> code, the first of its interval under A
    counts: Ints  # row -> records
    begins: Ints  # class -> its first row
    sizes: Ints  # class -> records


class Levels(NamedTuple):
    """What is known of each of these nodes, by depth."""

    rows: Ints  # (depth, 2): its first row, and the one after its last
    classes: Ints  # (depth, 2): its first class, and the one after its last
    head: Ints  # the cut that was made last
    suppressed: Ints
    tail: Ints  # (depth, place) -> cut
    length: Ints  # of the tail
    harm: Ints  # (depth, cut) -> records that the cut would newly suppress


class Progress(NamedTuple):
    """Where the search stands."""

    at: Ints  # depth (-1 when all is searched), what comes next at the node there, nodes visited
    best: Ints  # the least cost known
    chosen: Flags  # cut -> whether it belongs to the recoding of that cost


class Hashes(NamedTuple):
    """Finds equal rows; a slot is empty unless its stamp is the present one."""

    row: Ints
    stamp: Ints
    now: Ints


def problem_of(codes: Sequence[int], k: int, n: int, limit: int) -> Problem:
    """`codes`: how many there are of each attribute."""
    cuts = np.array(codes, np.int64) - 1
    first = np.append(0, np.cumsum(cuts)).astype(np.int64)
    attribute = np.repeat(np.arange(len(cuts)), cuts)
    return Problem(first, attribute, np.arange(first[-1]) - first[attribute] + 1, k, n, limit)


def root(problem: Problem, codes: Codes, counts: Ints) -> tuple[Stack, Levels, Hashes]:
    """All rows in one class, no cut made, every cut in the tail."""
    cuts, rows = problem.attribute.size, counts.size
    stack = grown(Stack(codes, counts, np.zeros(1, np.int64), np.array([problem.n])), rows)
    span = np.zeros((cuts + 1, 2), np.int64)
    levels = Levels(
        rows=span,
        classes=span.copy(),
        head=np.full(cuts + 1, -1, np.int64),
        suppressed=np.zeros(cuts + 1, np.int64),
        tail=np.empty((cuts + 1, cuts), np.int64),
        length=np.zeros(cuts + 1, np.int64),
        harm=np.empty((cuts + 1, cuts), np.int64),
    )
    levels.rows[0, 1], levels.classes[0, 1], levels.length[0] = rows, 1, cuts
    levels.tail[0], levels.harm[0] = np.arange(cuts), 0
    return stack, levels, hashes(rows)


def hashes(rows: int) -> Hashes:
    room = 1 << (2 * rows).bit_length()
    return Hashes(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(1, np.int64))


def grown(stack: Stack, rows: int) -> Stack:
    """The same with room for that many rows more, and as many classes."""
    room = len(stack.counts) + rows
    codes = np.empty((room, stack.codes.shape[1]), np.uint8)
    counts, begins, sizes = (np.empty(room, np.int64) for _ in range(3))
    codes[: len(stack.codes)] = stack.codes
    counts[: len(stack.counts)] = stack.counts
    begins[: len(stack.begins)] = stack.begins
    sizes[: len(stack.sizes)] = stack.sizes
    return Stack(codes, counts, begins, sizes)


# ---- the search


@kernel
def advance(problem, stack, levels, hashes, progress, work):  # type: ignore[no-untyped-def]
    """Searches on until all is done, or about `work` rows were looked at, or the stack has no room for a child."""
    at = progress.at
    while at[0] >= 0:
        depth = at[0]
        if at[1] == ENTER:
            work -= _enter(problem, stack, levels, progress, depth)
        if at[1] != BRANCH:
            work -= _prune(problem, stack, levels, hashes, progress.best[0], depth)
            at[1] = BRANCH
            if work < 0:
                return PAUSED
        if levels.length[depth] == 0:
            at[0] -= 1
            at[1] = PRUNE
            continue
        rows = levels.rows[depth, 1] - levels.rows[depth, 0]
        if levels.rows[depth, 1] + rows > stack.counts.size:
            return FULL
        _descend(problem, stack, levels, depth)
        at[0] += 1
        at[1] = ENTER
    return DONE


@kernel
def open_bound(problem, stack, levels, hashes, progress):  # type: ignore[no-untyped-def]
    """No recoding costs less: the least of the best known and of what each open tail could still give."""
    bound = progress.best[0]
    for depth in range(progress.at[0] + 1):
        if levels.length[depth]:
            least = problem.n
            for i in range(levels.length[depth]):
                least = min(least, levels.harm[depth, levels.tail[depth, i]])
            _merge(problem, stack, levels, hashes, depth)
            bound = min(bound, _bound(problem, stack, levels, depth) + (problem.n - problem.k) * least)
    return bound


@kernel
def _enter(problem, stack, levels, progress, depth):  # type: ignore[no-untyped-def]
    """Weighs the head by itself, and puts the tail in order without the cuts that are useless now."""
    progress.at[2] += 1
    cost = problem.n * levels.suppressed[depth]
    for c in range(levels.classes[depth, 0], levels.classes[depth, 1]):
        cost += stack.sizes[c] ** 2
    if cost < progress.best[0]:
        progress.best[0] = cost
        for u in range(problem.attribute.size):
            progress.chosen[u] = False
        for d in range(1, depth + 1):
            progress.chosen[levels.head[d]] = True
    cuts = problem.attribute.size
    splits = np.zeros(cuts + 1, np.int64)
    keeps = np.zeros(cuts + 1, np.int64)
    _survey(problem, stack, levels, depth, splits, keeps)
    # The cuts that split most classes come first: visited with all the others in the tail, few of them are worth a
    # look, and without them the bound of what remains is high (measured: 3 to 17 times fewer nodes than the reverse).
    parent = max(depth - 1, 0)
    count = 0
    for i in range(levels.length[parent]):
        u = levels.tail[parent, i]
        if keeps[u]:
            at = count
            while at > 0 and splits[levels.tail[depth, at - 1]] < splits[u]:
                levels.tail[depth, at] = levels.tail[depth, at - 1]
                at -= 1
            levels.tail[depth, at] = u
            count += 1
    levels.length[depth] = count
    return levels.rows[depth, 1] - levels.rows[depth, 0]


@kernel
def _survey(problem, stack, levels, depth, splits, keeps):  # type: ignore[no-untyped-def]
    """For every cut: the classes it splits, how many of them leave a part of k or more, the records it suppresses.

    Stretches of cuts are counted by their ends and summed up at last.
    """
    k = problem.k
    harm = levels.harm[depth]
    for u in range(harm.size):
        harm[u] = 0
    line = np.zeros(CODES, np.int64)
    last = levels.classes[depth, 1] - 1
    for c in range(levels.classes[depth, 0], last + 1):
        begin = stack.begins[c]
        end = levels.rows[depth, 1] if c == last else stack.begins[c + 1]
        if end - begin == 1:
            continue
        size = stack.sizes[c]
        for a in range(stack.codes.shape[1]):
            low, high = _fill(stack.codes, stack.counts, begin, end, a, line)
            if low < high:
                cut = problem.first[a] - 1  # + code
                splits[cut + low + 1] += 1
                splits[cut + high + 1] -= 1
                left = 0
                for x in range(low + 1, high + 1):
                    left += line[x - 1]
                    if left >= k:
                        break
                    harm[cut + x] += left
                right = 0
                for x in range(high, low, -1):
                    right += line[x]
                    if right >= k:
                        break
                    harm[cut + x] += right
                if size >= 2 * k:
                    keeps[cut + low + 1] += 1
                    keeps[cut + high + 1] -= 1
                else:
                    left = 0
                    for x in range(low + 1, high + 1):
                        left += line[x - 1]
                        if left >= k or size - left >= k:
                            keeps[cut + x] += 1
                            keeps[cut + x + 1] -= 1
            for x in range(low, high + 1):
                line[x] = 0
    for u in range(1, splits.size):
        splits[u] += splits[u - 1]
        keeps[u] += keeps[u - 1]


@kernel
def _fill(codes, counts, begin, end, a, line):  # type: ignore[no-untyped-def]
    """How many records of a class have each code of an attribute; returns the least and the greatest code."""
    low, high = np.int64(CODES), np.int64(-1)
    for r in range(begin, end):
        x = np.int64(codes[r, a])
        line[x] += counts[r]
        low = min(low, x)
        high = max(high, x)
    return low, high


@kernel
def _prune(problem, stack, levels, hashes, best, depth):  # type: ignore[no-untyped-def]
    """Drops from the tail what cannot win or suppresses too much; a shorter tail raises the bound, so again."""
    tail, harm, suppressed = levels.tail[depth], levels.harm[depth], levels.suppressed[depth]
    work = 0
    while True:
        work += levels.rows[depth, 1] - levels.rows[depth, 0]
        _merge(problem, stack, levels, hashes, depth)
        bound = _bound(problem, stack, levels, depth)
        count = 0
        for i in range(levels.length[depth]):
            u = tail[i]
            if bound + (problem.n - problem.k) * harm[u] < best and suppressed + harm[u] <= problem.limit:
                tail[count] = u
                count += 1
        if count == levels.length[depth]:
            return work
        levels.length[depth] = count


@kernel
def _bound(problem, stack, levels, depth):  # type: ignore[no-untyped-def]
    """LB(H, A)."""
    bound = problem.n * levels.suppressed[depth]
    for r in range(levels.rows[depth, 0], levels.rows[depth, 1]):
        bound += stack.counts[r] * max(stack.counts[r], problem.k)
    return bound


@kernel
def _descend(problem, stack, levels, depth):  # type: ignore[no-untyped-def]
    """Takes the first cut of the tail into the head of a child."""
    tail = levels.tail[depth]
    v = tail[0]
    levels.length[depth] -= 1
    for i in range(levels.length[depth]):
        tail[i] = tail[i + 1]
    a, at = problem.attribute[v], problem.code[v]
    row, cls = levels.rows[depth, 1], levels.classes[depth, 1]
    levels.rows[depth + 1, 0], levels.classes[depth + 1, 0] = row, cls
    suppressed = levels.suppressed[depth]
    last = levels.classes[depth, 1] - 1
    for c in range(levels.classes[depth, 0], last + 1):
        begin = stack.begins[c]
        end = levels.rows[depth, 1] if c == last else stack.begins[c + 1]
        left = 0
        for r in range(begin, end):
            if stack.codes[r, a] < at:
                left += stack.counts[r]
        for right in range(2):
            size = stack.sizes[c] - left if right else left
            if size < problem.k:
                suppressed += size
                continue
            stack.begins[cls], stack.sizes[cls] = row, size
            cls += 1
            for r in range(begin, end):
                if (stack.codes[r, a] >= at) == right:
                    for b in range(stack.codes.shape[1]):
                        stack.codes[row, b] = stack.codes[r, b]
                    stack.counts[row] = stack.counts[r]
                    row += 1
    levels.rows[depth + 1, 1], levels.classes[depth + 1, 1] = row, cls
    levels.suppressed[depth + 1] = suppressed
    levels.head[depth + 1] = v


# ---- rows that are equal under some cuts


@kernel
def _merge(problem, stack, levels, hashes, depth):  # type: ignore[no-untyped-def]
    """Merges the rows of each class that no cut of A tells apart."""
    inside = np.zeros(problem.attribute.size, np.bool_)
    for d in range(1, depth + 1):
        inside[levels.head[d]] = True
    for i in range(levels.length[depth]):
        inside[levels.tail[depth, i]] = True
    interval = _intervals(problem, inside)
    codes, counts = stack.codes, stack.counts
    last = levels.classes[depth, 1] - 1
    row = levels.rows[depth, 0]
    for c in range(levels.classes[depth, 0], last + 1):
        begin = stack.begins[c]
        end = levels.rows[depth, 1] if c == last else stack.begins[c + 1]
        stack.begins[c] = row
        hashes.now[0] += 1
        for r in range(begin, end):
            for a in range(codes.shape[1]):
                codes[row, a] = interval[a, codes[r, a]]
            counts[row] = counts[r]
            same = row if end - begin == 1 else _first_equal(codes, row, interval, hashes)
            if same == row:
                row += 1
            else:
                counts[same] += counts[r]
    levels.rows[depth, 1] = row


@kernel
def _intervals(problem, inside):  # type: ignore[no-untyped-def]
    """(attribute, code) -> the first code of its interval under these cuts."""
    interval = np.zeros((problem.first.size - 1, CODES), np.uint8)
    for u in range(inside.size):
        a, x = problem.attribute[u], problem.code[u]
        interval[a, x] = x if inside[u] else interval[a, x - 1]
    return interval


@kernel
def _first_equal(codes, row, interval, hashes):  # type: ignore[no-untyped-def]
    """The first row since the stamp changed that is in the same intervals; the row itself if there is none."""
    key = np.uint64(0)
    for a in range(codes.shape[1]):
        key = (key ^ np.uint64(interval[a, codes[row, a]])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    slot = np.int64(key & np.uint64(hashes.row.size - 1))
    while hashes.stamp[slot] == hashes.now[0]:
        other = hashes.row[slot]
        equal = True
        for a in range(codes.shape[1]):
            equal &= interval[a, codes[row, a]] == interval[a, codes[other, a]]
        if equal:
            return other
        slot = (slot + 1) & (hashes.row.size - 1)
    hashes.stamp[slot] = hashes.now[0]
    hashes.row[slot] = row
    return row


# ---- a good recoding to start from


@kernel
def refine(problem, codes, counts, hashes, inside, barred):  # type: ignore[no-untyped-def]
    """Adds the cut that lowers the cost most, but not the barred one, until none does.

    Returns the cost and the suppressed records.
    """
    while True:
        by_class = _classes(problem, codes, counts, hashes, inside)
        cost, suppressed, change, harm = _changes(problem, by_class[0], by_class[1], by_class[2])
        best = -1
        for u in range(inside.size):
            allowed = u != barred and suppressed + harm[u] <= problem.limit
            if allowed and change[u] < (change[best] if best >= 0 else 0):
                best = u
        if best < 0:
            return cost, suppressed
        inside[best] = True


@kernel
def add_free(problem, codes, counts, hashes, inside):  # type: ignore[no-untyped-def]
    """Adds every cut that splits no class that is kept: it costs nothing and shows more."""
    by_class = _classes(problem, codes, counts, hashes, inside)
    _, _, change, harm = _changes(problem, by_class[0], by_class[1], by_class[2])
    for u in range(inside.size):
        inside[u] |= change[u] == 0 and harm[u] == 0


@kernel
def _classes(problem, codes, counts, hashes, inside):  # type: ignore[no-untyped-def]
    """The rows class after class under these cuts: their codes, their counts, and where each class begins."""
    interval = _intervals(problem, inside)
    hashes.now[0] += 1
    rows = counts.size
    label = np.empty(rows, np.int64)
    sizes = np.zeros(rows, np.int64)
    classes = 0
    for r in range(rows):
        same = _first_equal(codes, r, interval, hashes)
        label[r] = classes if same == r else label[same]
        classes += same == r
        sizes[label[r]] += 1
    begins = np.zeros(classes + 1, np.int64)
    for c in range(classes):
        begins[c + 1] = begins[c] + sizes[c]
    sorted_codes = np.empty(codes.shape, np.uint8)
    sorted_counts = np.empty(rows, np.int64)
    for r in range(rows):
        sizes[label[r]] -= 1
        place = begins[label[r]] + sizes[label[r]]
        for a in range(codes.shape[1]):
            sorted_codes[place, a] = codes[r, a]
        sorted_counts[place] = counts[r]
    return sorted_codes, sorted_counts, begins


@kernel
def _changes(problem, codes, counts, begins):  # type: ignore[no-untyped-def]
    """Cost and suppressed records of a recoding, and by how much each further cut would change them."""
    k, n = problem.k, problem.n
    cost, suppressed = 0, 0
    change = np.zeros(problem.attribute.size, np.int64)
    harm = np.zeros(problem.attribute.size, np.int64)
    line = np.zeros(CODES, np.int64)
    for c in range(begins.size - 1):
        size = 0
        for r in range(begins[c], begins[c + 1]):
            size += counts[r]
        if size < k:
            cost += n * size
            suppressed += size
            continue
        cost += size * size
        for a in range(codes.shape[1]):
            low, high = _fill(codes, counts, begins[c], begins[c + 1], a, line)
            left = 0
            for x in range(low + 1, high + 1):
                left += line[x - 1]
                right = size - left
                cut = problem.first[a] + x - 1
                change[cut] += left * (left if left >= k else n) + right * (right if right >= k else n) - size * size
                harm[cut] += (left if left < k else 0) + (right if right < k else 0)
            for x in range(low, high + 1):
                line[x] = 0
    return cost, suppressed, change, harm
