"""The cheapest way to move masses: the transportation problem, by the network simplex (Dantzig 1951; Cunningham 1976).

A spanning tree of sources, sinks and a root holds all that is moved; at first everything goes by way of the root, which
is dearer than any direct way. As long as some direct way is cheaper than the tree's, it enters: masses are pushed
around the cycle that it closes until a way of the tree is empty, and that way leaves. Of several that empty at once the
last one leaves, seen along the cycle from where its two sides meet (Cunningham's rule): the search ends whatever ties
there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.compiled import kernel

Floats = npt.NDArray[np.float64]
Nodes = npt.NDArray[np.int64]


@kernel
def least_cost(cost: Floats, supply: Floats, demand: Floats) -> Any:
    """What it costs to move the supplies (of the rows) to the demands (of the columns), positive and of one sum."""
    n, m = cost.shape
    root = n + m  # the sources come first, then the sinks
    dearest = cost.max()
    parent = np.full(root + 1, root)
    depth = np.ones(root + 1, np.int64)
    depth[root] = 0
    moved = np.concatenate((supply, demand, np.zeros(1)))  # between a node and its parent
    price = np.concatenate((np.full(n, -dearest), np.full(m, dearest), np.zeros(1)))  # cost of a way = price difference
    first_child = np.full(root + 1, -1)
    first_child[root] = 0
    next_child = np.concatenate((np.arange(1, root), np.full(2, -1)))
    last_child = np.concatenate((np.arange(-1, root - 1), np.full(1, -1)))
    stack = np.empty(root + 1, np.int64)
    row = 0
    while True:
        row, sink, gain = _cheaper(cost, price, row, 1e-12 * dearest)
        if sink < 0:
            break
        leaving, below_sink, mass = _leaving(row, n + sink, n, parent, depth, moved)
        _push(row, n + sink, n, parent, depth, moved, mass)
        node, above, shift = (n + sink, row, -gain) if below_sink else (row, n + sink, gain)
        _hang(node, above, leaving, mass, parent, moved, first_child, next_child, last_child)
        _renew(node, shift, parent, depth, price, first_child, next_child, stack)
        row = (row + 1) % n
    total = 0.0
    for node in range(root):
        above = parent[node]
        if above != root:
            total += moved[node] * (cost[node, above - n] if node < n else cost[above, node - n])
    return total


@kernel
def _cheaper(cost: Floats, price: Floats, row: int, least: float) -> Any:
    """From that row on, the first with a way cheaper than the tree's, the column where most is gained, and how much."""
    n, m = cost.shape
    for _ in range(n):
        sink, gain = -1, least
        for column in range(m):
            gained = price[n + column] - price[row] - cost[row, column]
            if gained > gain:
                sink, gain = column, gained
        if sink >= 0:
            return row, sink, gain
        row = (row + 1) % n
    return row, -1, 0.0


@kernel
def _leaving(source: int, sink: int, n: int, parent: Nodes, depth: Nodes, moved: Floats) -> Any:
    """The node whose way upwards empties first, whether it lies on the sink's side, and how much can be pushed."""
    by_source = by_sink = -1
    least_source = least_sink = np.inf
    while source != sink:
        if depth[source] >= depth[sink]:
            if source < n and moved[source] < least_source:
                by_source, least_source = source, moved[source]
            source = parent[source]
        else:
            if sink >= n and moved[sink] <= least_sink:
                by_sink, least_sink = sink, moved[sink]
            sink = parent[sink]
    if least_sink <= least_source:
        return by_sink, True, least_sink
    return by_source, False, least_source


@kernel
def _push(source: int, sink: int, n: int, parent: Nodes, depth: Nodes, moved: Floats, mass: float) -> None:
    """Around the cycle: what leads against it carries less, what leads along it carries more."""
    while source != sink:
        if depth[source] >= depth[sink]:
            moved[source] += -mass if source < n else mass
            source = parent[source]
        else:
            moved[sink] += mass if sink < n else -mass
            sink = parent[sink]


@kernel
def _hang(
    node: int,
    above: int,
    leaving: int,
    mass: float,
    parent: Nodes,
    moved: Floats,
    first_child: Nodes,
    next_child: Nodes,
    last_child: Nodes,
) -> None:
    """A node, with all that hung together up to the one that leaves, below another."""
    while True:
        former, carried = parent[node], moved[node]
        if last_child[node] < 0:
            first_child[former] = next_child[node]
        else:
            next_child[last_child[node]] = next_child[node]
        if next_child[node] >= 0:
            last_child[next_child[node]] = last_child[node]
        parent[node], moved[node] = above, mass
        last_child[node], next_child[node] = -1, first_child[above]
        if next_child[node] >= 0:
            last_child[next_child[node]] = node
        first_child[above] = node
        if node == leaving:
            return
        node, above, mass = former, node, carried


@kernel
def _renew(
    node: int,
    shift: float,
    parent: Nodes,
    depth: Nodes,
    price: Floats,
    first_child: Nodes,
    next_child: Nodes,
    stack: Nodes,
) -> None:
    """Price and depth of a node that was hung elsewhere and of all below it."""
    stack[0], waiting = node, 1
    while waiting:
        waiting -= 1
        node = stack[waiting]
        price[node] += shift
        depth[node] = depth[parent[node]] + 1
        node = first_child[node]
        while node >= 0:
            stack[waiting] = node
            waiting += 1
            node = next_child[node]
