"""Groups strata side by side: every class takes one record from each stratum, and records that lie alike in theirs.

All strata are divided together, as Mondrian divides one table: at the middle of the attribute in which they are widest,
the same number of records to the left in each, each stratum's least. So what shifts from stratum to stratum (a longer
stay costs more) does not keep records apart that stand alike otherwise. Neighbouring classes then exchange records of
the same stratum where that loses less.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cuts import corner_distance, widen


@kernel
def divide_strata(rows, records, offsets, node, least, slot):  # type: ignore[no-untyped-def]
    """Divides the strata of a node and returns the nodes of at most `least` classes; those of one class are done.

    Stratum i is records[offsets[i]:offsets[i + 1]], reordered in place so that the c-th of all strata make class c. All
    have q records but the last, which may have fewer: its r-th record falls to class slot[r]. A node (low, high, first,
    last) is the classes low .. high - 1 and the records first .. last - 1 of such a short last stratum.
    """
    strata = offsets.size - 1
    short = offsets[strata] - offsets[strata - 1] < offsets[1] - offsets[0]
    done = np.empty((node[1] - node[0], 4), np.int64)
    classes = 0
    stack = np.empty((node[1] - node[0] + 1, 4), np.int64)
    stack[0] = node
    depth = 1
    spans = np.empty((strata, 2), np.int64)
    while depth > 0:
        depth -= 1
        low, high, first, last = stack[depth]
        if high - low <= least:
            slot[first:last] = low
            done[classes] = stack[depth]
            classes += 1
            continue
        for i in range(strata):
            spans[i, 0], spans[i, 1] = offsets[i] + low, offsets[i] + high
        if short:
            spans[strata - 1, 0], spans[strata - 1, 1] = offsets[-2] + first, offsets[-2] + last
        attribute, left = _where(rows, records, spans, high - low)
        # The short stratum is shared out in proportion, at most one record a class.
        share = (last - first) * left // (high - low)
        some = min(left, max(share, last - first - (high - low - left)))
        for i in range(strata):
            count = some if short and i == strata - 1 else left
            _least_first(rows, records, spans[i, 0], spans[i, 1], attribute, count)
        stack[depth, 0], stack[depth, 1] = low + left, high
        stack[depth, 2], stack[depth, 3] = first + some, last
        stack[depth + 1, 0], stack[depth + 1, 1] = low, low + left
        stack[depth + 1, 2], stack[depth + 1, 3] = first, first + some
        depth += 2
    return done[:classes]


@kernel
def _where(rows, records, spans, size):  # type: ignore[no-untyped-def]
    """The attribute in which the strata are widest on average, and how many records lie left of their middles."""
    strata, m = spans.shape[0], rows.shape[1]
    width = np.zeros(m, np.float64)
    middle = np.zeros((m, strata), np.float64)
    for i in range(strata):
        for a in range(m):
            if spans[i, 0] == spans[i, 1]:
                continue
            low = rows[records[spans[i, 0]], a]
            high = low
            for r in range(spans[i, 0] + 1, spans[i, 1]):
                x = rows[records[r], a]
                low = min(low, x)
                high = max(high, x)
            width[a] += high - low
            middle[a, i] = low + 0.5 * (high - low)
    left = np.zeros(strata, np.int64)
    widest = np.argsort(-width)
    for a in widest:
        if width[a] == 0.0:
            break
        full = 0
        for i in range(strata):
            if spans[i, 1] - spans[i, 0] != size:
                continue
            count = 0
            for r in range(spans[i, 0], spans[i, 1]):
                count += rows[records[r], a] <= middle[a, i]
            left[full] = count
            full += 1
        here = np.sort(left[:full])[full // 2]
        if 0 < here < size:
            return a, here
    return widest[0], size // 2


@kernel
def _least_first(rows, records, start, stop, attribute, count):  # type: ignore[no-untyped-def]
    """Brings the `count` least of a span to its front, ties by position."""
    if count == 0 or count == stop - start:
        return
    span = records[start:stop].copy()
    values = np.empty(span.size, rows.dtype)
    for r in range(span.size):
        values[r] = rows[span[r], attribute]
    at = np.partition(values, count - 1)[count - 1]
    ties = count
    for value in values:
        ties -= value < at
    i, j = start, start + count
    for r in range(span.size):
        value = values[r]
        first = value < at
        if value == at and ties > 0:
            ties -= 1
            first = True
        if first:
            records[i] = span[r]
            i += 1
        else:
            records[j] = span[r]
            j += 1


@kernel
def exchange(rows, table, first, stop, reach):  # type: ignore[no-untyped-def]
    """Classes table[first:stop] swap records of the same stratum with those up to `reach` places on."""
    m = rows.shape[1]
    low = np.empty((2, m), rows.dtype)
    high = np.empty((2, m), rows.dtype)
    gains = np.empty(table.shape[1], np.float64)
    for step in range(1, reach + 1):
        for c in range(first, stop - step):
            d = c + step
            loss = _pair_loss(rows, table, c, d, low, high)
            if loss == 0.0:
                continue
            for i in range(gains.size):
                gains[i] = 0.0
                if table[c, i] >= 0 and table[d, i] >= 0:
                    _swap(table, c, d, i)
                    gains[i] = loss - _pair_loss(rows, table, c, d, low, high)
                    _swap(table, c, d, i)
            # The best first, ties by record: strata tried in their own order could be told from one another.
            order = np.argsort(table[c])
            for i in order[np.argsort(-gains[order], kind="mergesort")]:
                if gains[i] <= 0.0:
                    break
                _swap(table, c, d, i)
                swapped = _pair_loss(rows, table, c, d, low, high)
                if swapped < loss * (1.0 - 1e-6):
                    loss = swapped
                else:
                    _swap(table, c, d, i)


@kernel
def _swap(table, c, d, i):  # type: ignore[no-untyped-def]
    table[c, i], table[d, i] = table[d, i], table[c, i]


@kernel
def _pair_loss(rows, table, c, d, low, high):  # type: ignore[no-untyped-def]
    total = 0.0
    for side in range(2):
        g = d if side else c
        low[side] = rows[table[g, 0]]
        high[side] = rows[table[g, 0]]
        for record in table[g]:
            if record >= 0:
                widen(low[side], high[side], rows[record])
        for record in table[g]:
            if record >= 0:
                total += corner_distance(rows[record], low[side], high[side])
    return total
