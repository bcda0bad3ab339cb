"""Counts the nodes of a generalization lattice by rolling up from finer ones, over sorted bit-packed keys.

A distinct row is one 64-bit key, a field an attribute, codes in hierarchy order. One level up in the last (least
significant) attribute keeps the keys sorted, so equal neighbours merge in one sweep; one level up in another attribute
needs a sort. The walk goes through the levels depth-first, the last attribute innermost, so most nodes are a sweep.

Two bounds leave out what cannot win. Suppression only shrinks as levels rise, so where the first attributes alone, all
others at the top, suppress too much, nothing below them is allowed. And a cost that counts no suppression only grows as
levels rise, so where it exceeds the best cost known, neither this level nor a higher one can win. Where it only equals
it, a node may tie: all that tie are looked at, so that which of them is taken does not depend on which came first.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.sorting import sort_with

DISCERNIBILITY, GEOMETRIC, ARITHMETIC, CLASS_SIZE = 0, 1, 2, 3


@kernel
def walk(keys, counts, fields, tree, price, levels, fixed, k, limit, best, prune, costs, suppressed):  # type: ignore[no-untyped-def]
    """Evaluates the nodes whose first attributes stand at the levels `fixed`; `keys` are the rows at those levels.

    fields = (shift, mask) of each attribute; tree = (parent codes, where they begin); price = (kind of cost, records,
    what showing a node costs one record, where those begin, the sum of it over all records, its least and greatest
    mean, weight of each attribute). Writes cost and suppressed records of each node, numbered by the levels of the
    attributes that are not fixed, and lowers best[0]; returns how many nodes were looked at. Without `prune` all are.
    """
    d, first = levels.size, fixed.size
    rows = np.empty((d + 1 - first, keys.size), np.uint64)
    sizes = np.empty((d + 1 - first, keys.size), np.int64)
    length = np.zeros(d + 1 - first, np.int64)
    spare = np.empty(keys.size, np.uint64)
    spare_sizes = np.empty(keys.size, np.int64)
    rows[0] = keys
    sizes[0] = counts
    length[0] = keys.size
    level = np.zeros(d, np.int64)
    level[:first] = fixed
    a = first  # rows[a - first] hold the attributes before a at their levels, the others at level 0
    down = True
    looked = 0
    while best[0] > -np.inf:  # which says that nobody waits for the result any more
        here = a - first
        if down and a == d:
            node = 0
            for b in range(first, d):
                node = node * levels[b] + level[b]
            n = length[here]
            costs[node], suppressed[node] = _evaluate(rows[here, :n], sizes[here, :n], fields, price, level, k, limit)
            best[0] = min(best[0], costs[node])
            looked += 1
            down = False
        elif down:
            shift = fields[0][a - 1] if a else 64
            if prune and _at_least_suppressed(rows[here], sizes[here], length[here], shift, k) > limit:
                down = False
            else:
                rows[here + 1, : length[here]] = rows[here, : length[here]]
                sizes[here + 1, : length[here]] = sizes[here, : length[here]]
                length[here + 1] = length[here]
                a += 1
        else:
            if a == first:
                return looked
            b = a - 1
            if level[b] + 1 < levels[b]:
                length[here] = _raise(
                    rows[here], sizes[here], length[here], b, level[b], fields, tree, spare, spare_sizes
                )
                level[b] += 1
                if not prune or _bound(sizes[here], length[here], price, level, k) <= best[0]:
                    down = True
                    continue
            level[b] = 0
            a -= 1
    return looked


@kernel
def _at_least_suppressed(keys, counts, n, shift, k):  # type: ignore[no-untyped-def]
    """Records in classes below k when only the fields above `shift` are shown."""
    total = 0
    size = counts[0]
    for i in range(1, n + 1):
        if i < n and (shift == 64 or keys[i] >> np.uint64(shift) == keys[i - 1] >> np.uint64(shift)):
            size += counts[i]
        else:
            if size < k:
                total += size
            if i < n:
                size = counts[i]
    return total


@kernel
def _bound(counts, n, price, level, k):  # type: ignore[no-untyped-def]
    """No node at these levels or above costs less."""
    kind, records, _, _, totals, least, greatest, weight = price
    if kind == DISCERNIBILITY:
        bound = 0.0
        for i in range(n):
            bound += float(counts[i]) * max(counts[i], k)
        return bound
    if kind == CLASS_SIZE:
        return records / (n + 1.0)
    sums = np.empty(level.size, np.float64)
    for a in range(level.size):
        sums[a] = totals[a, level[a]]
    return mean_loss(kind, records, sums, least, greatest, weight)


@kernel
def _evaluate(keys, counts, fields, price, level, k, limit):  # type: ignore[no-untyped-def]
    """A node's cost, infinite if it suppresses more than the limit, and the records it suppresses."""
    kind, records, prices, price_at, totals, least, greatest, weight = price
    out, classes = 0, 0
    squares = 0.0
    for count in counts:
        if count < k:
            out += count
        else:
            classes += 1
            squares += float(count) * count
    if out > limit:
        return np.inf, out
    if kind == DISCERNIBILITY:
        return squares + float(records) * out, out
    if kind == CLASS_SIZE:
        return records / (classes + (1.0 if out else 0.0)), out
    sums = np.empty(level.size, np.float64)
    for a in range(level.size):
        sums[a] = totals[a, level[a]] + out * greatest[a]
    if out:
        shift, mask = fields
        for i in range(counts.size):
            if counts[i] < k:
                for a in range(level.size):
                    code = np.int64((keys[i] >> np.uint64(shift[a])) & np.uint64(mask[a]))
                    sums[a] -= counts[i] * prices[price_at[a, level[a]] + code]
    return mean_loss(kind, records, sums, least, greatest, weight), out


@kernel
def mean_loss(kind, records, sums, least, greatest, weight):  # type: ignore[no-untyped-def]
    """The attributes' losses, each from 0 (as it was) to 1 (all at the top), as one geometric or arithmetic mean."""
    total = 0.0
    for a in range(sums.size):
        span = greatest[a] - least[a]
        loss = max(0.0, (sums[a] / records - least[a]) / span) if span > 0 else 0.0
        total += weight[a] * (np.log1p(loss) if kind == GEOMETRIC else loss)
    total /= weight.sum()
    return np.expm1(total) if kind == GEOMETRIC else total


@kernel
def _raise(keys, counts, n, b, level, fields, tree, spare, spare_counts):  # type: ignore[no-untyped-def]
    """One level up in attribute b; returns how many rows are left."""
    shift, mask = np.uint64(fields[0][b]), np.uint64(fields[1][b])
    parents, at = tree[0], tree[1][b, level]
    clear = ~(mask << shift)
    for i in range(n):
        code = np.int64((keys[i] >> shift) & mask)
        keys[i] = (keys[i] & clear) | (np.uint64(parents[at + code]) << shift)
    if shift > 0:
        sort_with(keys, counts, n, spare, spare_counts)
    return merge_rows(keys, counts, n)


@kernel
def merge_rows(keys, counts, n):  # type: ignore[no-untyped-def]
    """Adds up equal neighbours in place; returns how many rows are left."""
    j = 0
    for i in range(1, n):
        if keys[i] == keys[j]:
            counts[j] += counts[i]
        else:
            j += 1
            keys[j] = keys[i]
            counts[j] = counts[i]
    return j + 1
