"""Clusters of customers whose unions of goods are small: greedy growth, then exchanges at a falling temperature.

A customer's goods are items[starts[u] : starts[u + 1]], ascending. `held[x, g]` counts the members of cluster x who
hold good g, so that the change of a union by a move or an exchange costs the goods of those who move.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

END = np.int32(2**31 - 1)  # after all goods


@kernel
def grow(starts, items, goods, sizes):  # type: ignore[no-untyped-def]
    """Cluster after cluster: the customer with most goods of those left, then who shares most with the union so far."""
    n = starts.size - 1
    label = np.full(n, -1, np.int32)
    left = np.argsort(starts[:-1] - starts[1:], kind="mergesort")
    union = np.empty(goods, np.bool_)
    for x in range(sizes.size):
        union[:] = False
        best = 0
        for _ in range(sizes[x]):
            u = left[best]
            label[u] = x
            left = np.delete(left, best)
            for t in range(starts[u], starts[u + 1]):
                union[items[t]] = True
            most = -1
            for i in range(left.size):
                if starts[left[i] + 1] - starts[left[i]] <= most:
                    break  # nobody further on has more goods than are shared already
                shared = 0
                for t in range(starts[left[i]], starts[left[i] + 1]):
                    shared += union[items[t]]
                if shared > most:
                    most = shared
                    best = i
    return label


@kernel
def anneal(starts, items, buyer_starts, buyers, label, clusters, min_size, proposals, hot, cold, seed):  # type: ignore[no-untyped-def]
    """Lowers the sum of |x| |I(x)| by moves and exchanges; `label` is changed, the change of the sum returned.

    A customer is proposed to a cluster in which somebody shares a good with him: moved there if his own can spare him,
    or exchanged with one of its members. What costs d more is accepted with probability exp(-d / temperature).
    """
    np.random.seed(seed)
    n = label.size
    held, size, union = _tables(starts, items, label, clusters, buyer_starts.size - 1)
    mate = _rings(label, clusters)
    change = 0
    temperature = hot
    for step in range(proposals):
        if step % 1024 == 0:
            temperature = hot * (cold / hot) ** (step / proposals)
        u = np.random.randint(n)
        if starts[u] == starts[u + 1]:
            continue
        good = items[np.random.randint(starts[u], starts[u + 1])]
        v = buyers[np.random.randint(buyer_starts[good], buyer_starts[good + 1])]
        a, b = label[u], label[v]
        if a == b:
            continue
        if size[a] > min_size and np.random.random() < 0.5:
            lost, won = _if_moved(starts, items, held, u, a, b)
            d = (size[a] - 1) * (union[a] - lost) + (size[b] + 1) * (union[b] + won)
            d -= size[a] * union[a] + size[b] * union[b]
            if d <= 0 or np.random.random() < np.exp(-d / temperature):
                _shift(starts, items, held, u, a, b)
                mate[_before(mate, u)] = mate[u]
                mate[u] = mate[v]
                mate[v] = u
                label[u] = b
                size[a] -= 1
                size[b] += 1
                union[a] -= lost
                union[b] += won
                change += d
            continue
        for _ in range(np.random.randint(size[b])):
            v = mate[v]
        more_a, more_b = _if_exchanged(starts, items, held, u, v, a, b)
        d = size[a] * more_a + size[b] * more_b
        if d <= 0 or np.random.random() < np.exp(-d / temperature):
            _shift(starts, items, held, u, a, b)
            _shift(starts, items, held, v, b, a)
            _exchange(mate, u, v)
            label[u] = b
            label[v] = a
            union[a] += more_a
            union[b] += more_b
            change += d
    return change


@kernel
def _tables(starts, items, label, clusters, goods):  # type: ignore[no-untyped-def]
    held = np.zeros((clusters, goods), np.int32)
    size = np.zeros(clusters, np.int64)
    union = np.zeros(clusters, np.int64)
    for u in range(label.size):
        x = label[u]
        size[x] += 1
        for t in range(starts[u], starts[u + 1]):
            union[x] += held[x, items[t]] == 0
            held[x, items[t]] += 1
    return held, size, union


@kernel
def _rings(label, clusters):  # type: ignore[no-untyped-def]
    """customer -> the next one of the same cluster, the last one's next being the first."""
    mate = np.empty(label.size, np.int32)
    first = np.full(clusters, -1, np.int32)
    last = np.full(clusters, -1, np.int32)
    for u in range(label.size):
        x = label[u]
        if first[x] < 0:
            first[x] = u
        else:
            mate[last[x]] = u
        last[x] = u
    for x in range(clusters):
        if first[x] >= 0:
            mate[last[x]] = first[x]
    return mate


@kernel
def _before(mate, u):  # type: ignore[no-untyped-def]
    v = u
    while mate[v] != u:
        v = mate[v]
    return v


@kernel
def _exchange(mate, u, v):  # type: ignore[no-untyped-def]
    """Each takes the other's place in his ring; a ring of one stays a ring of one."""
    before_u, before_v = _before(mate, u), _before(mate, v)
    after_u, after_v = mate[u], mate[v]
    mate[v] = v if after_u == u else after_u
    mate[u] = u if after_v == v else after_v
    if before_u != u:
        mate[before_u] = v
    if before_v != v:
        mate[before_v] = u


@kernel
def _if_moved(starts, items, held, u, a, b):  # type: ignore[no-untyped-def]
    """Goods that leave the union of a, and that enter the union of b."""
    lost = 0
    won = 0
    for t in range(starts[u], starts[u + 1]):
        lost += held[a, items[t]] == 1
        won += held[b, items[t]] == 0
    return lost, won


@kernel
def _if_exchanged(starts, items, held, u, v, a, b):  # type: ignore[no-untyped-def]
    """By how many goods the unions of a and b grow; what both hold stays where it is."""
    more_a = 0
    more_b = 0
    p, q = starts[u], starts[v]
    while p < starts[u + 1] or q < starts[v + 1]:
        of_u = items[p] if p < starts[u + 1] else END
        of_v = items[q] if q < starts[v + 1] else END
        if of_u < of_v:
            more_a -= held[a, of_u] == 1
            more_b += held[b, of_u] == 0
        elif of_v < of_u:
            more_b -= held[b, of_v] == 1
            more_a += held[a, of_v] == 0
        p += of_u <= of_v
        q += of_v <= of_u
    return more_a, more_b


@kernel
def _shift(starts, items, held, u, a, b):  # type: ignore[no-untyped-def]
    for t in range(starts[u], starts[u + 1]):
        held[a, items[t]] -= 1
        held[b, items[t]] += 1
