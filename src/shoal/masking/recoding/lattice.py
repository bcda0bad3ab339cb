"""The lattice of a table's generalizations: one level for each attribute, the same for all records (paper 3).

It is searched to the node of least cost that suppresses at most the allowed records. Counting is done in
`kernels/lattice.py`; what it leaves out cannot win. Costs, with n records and classes below k suppressed:

- discernibility: sum of f^2 over kept classes + n for each suppressed record
- loss: each released value counts the share of the domain it admits, a suppressed record all of it
- average-class-size: n / classes, the suppressed records one of them
- precision: each value counts its level's share of the hierarchy's height
- entropy: each value counts log2 of how many records show it, from 0 (original values) to 1 (all alike)

The last three but one give each attribute a loss from 0 to 1, and their geometric or arithmetic mean is the cost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal import events
from shoal.data.microdata import MISSING, Coded, Microdata
from shoal.errors import InputError

Cost = Literal["discernibility", "loss", "average-class-size", "precision", "entropy"]
Mean = Literal["geometric", "arithmetic"]
Levels = tuple[int, ...]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]

_NONE: Ints = np.zeros(0, np.int64)

_PARTS = 8  # the lattice is searched in at least that many parts, side by side ...
_PART = 1 << 22  # ... of at most that many nodes


@dataclass(frozen=True)
class Nodes:
    """The nodes found within the suppression limit, cheapest first; and what is known of the others."""

    number: Ints
    cost: npt.NDArray[np.float64]
    suppressed: Ints
    checked: int
    bound: float  # no node that was not looked at costs less than this


@dataclass(frozen=True)
class Tree:
    """One attribute's hierarchy over the values that occur: level by level, dense codes in tree order."""

    codes: Ints  # [level, value that occurs] -> code of its node
    place: Ints  # the attribute's code -> value that occurs; missing is the last
    records: Ints  # value that occurs -> records of the whole table
    domain: npt.NDArray[np.float64]  # [level, value that occurs] -> the share of the domain that its node admits
    single: float  # the share of the domain that one value is
    weight: float

    @property
    def levels(self) -> int:
        """How many levels its hierarchy has, the values themselves and the top included."""
        return len(self.codes)

    @property
    def mask(self) -> int:
        """As many ones as a code needs bits."""
        return (1 << int(self.codes[0].max()).bit_length()) - 1

    def parents(self, level: int) -> Ints:
        """code at the level -> code one level up."""
        up = np.zeros(int(self.codes[level].max()) + 1, np.int64)
        up[self.codes[level]] = self.codes[level + 1]
        return up


@dataclass(frozen=True)
class Packing:
    """How a row is packed into one key; attributes with most values most significant.

    It follows from the values that the whole table holds, so that every part of a table packs alike.
    """

    trees: list[Tree]
    position: Ints  # place in the lattice -> quasi-identifier
    shift: Ints

    @property
    def levels(self) -> Ints:
        """How many levels each attribute has, in the lattice's order."""
        return np.array([tree.levels for tree in self.trees])

    @property
    def nodes(self) -> int:
        """How many choices of one level an attribute there are."""
        return prod(tree.levels for tree in self.trees)

    @property
    def records(self) -> int:
        """Of the whole table."""
        return int(self.trees[0].records.sum())

    def at(self, number: int) -> Levels:
        """A node's number as levels, in the lattice's own order of attributes."""
        return tuple(int(level) for level in np.unravel_index(number, tuple(self.levels)))

    def by_attribute(self, levels: Levels) -> Levels:
        """Levels in the lattice's order as levels in the order of the quasi-identifiers."""
        return tuple(int(levels[i]) for i in np.argsort(self.position))

    def in_order(self, levels: Levels) -> Levels:
        """Levels in the order of the quasi-identifiers as levels in the lattice's order."""
        return tuple(levels[i] for i in self.position)

    def pack(self, quasi: Sequence[Coded]) -> Keys:
        """record -> its key at level 0."""
        packed = np.zeros(len(quasi[0].codes), np.uint64)
        for tree, i, shift in zip(self.trees, self.position, self.shift, strict=True):
            packed |= tree.place[quasi[i].codes].astype(np.uint64) << np.uint64(shift)
        return packed

    def lift(self, packed: Keys, levels: Levels) -> Keys:
        """Keys at level 0 as keys at these levels; attributes not mentioned stay at level 0."""
        keys = packed.copy()
        for a, level in enumerate(levels):
            if level:
                shift, mask = np.uint64(self.shift[a]), np.uint64(self.trees[a].mask)
                up = self.trees[a].codes[level].astype(np.uint64)[self.codes(packed, a)]
                keys = (keys & ~(mask << shift)) | (up << shift)
        return keys

    def codes(self, keys: Keys, a: int) -> Ints:
        """What the keys hold of one attribute."""
        return ((keys >> np.uint64(self.shift[a])) & np.uint64(self.trees[a].mask)).astype(np.int64)

    def leaves(self, keys: Keys, levels: Levels = ()) -> list[npt.NDArray[np.int32]]:
        """Of each quasi-identifier, in their order, the code of a value that the keys at these levels hold."""
        codes: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)] * len(self.trees)
        for a, tree in enumerate(self.trees):
            first = np.unique(tree.codes[levels[a] if levels else 0], return_index=True)[1]
            code = np.searchsorted(tree.place, first[self.codes(keys, a)])
            codes[self.position[a]] = np.where(code == len(tree.place) - 1, MISSING, code).astype(np.int32)
        return codes

    def below(self, first: int) -> np.uint64:
        """How many bits the attributes after the first ones take."""
        return np.uint64(self.shift[first - 1] if first else 63)


@dataclass(frozen=True)
class Lattice(Packing):
    """A table collapsed to distinct rows, each packed into one key."""

    keys: Keys
    counts: Ints
    row: Ints  # record -> distinct row; none where the records are not at hand

    @property
    def records(self) -> int:
        """Of the rows that were counted."""
        return int(self.counts.sum())

    def lifted(self, levels: Levels, rows: Ints | slice = slice(None)) -> Keys:
        """Each distinct row's key at these levels."""
        return self.lift(self.keys[rows], levels)

    def classes(self, levels: Levels) -> tuple[Keys, Ints, Ints]:
        """The classes' keys at these levels; distinct row -> class; and the classes' sizes."""
        keys, label = np.unique(self.lifted(levels), return_inverse=True)
        return keys, label.astype(np.int64), np.bincount(label, self.counts).astype(np.int64)


def lattice_of(microdata: Microdata) -> Lattice:
    """Every quasi-identifier needs a hierarchy."""
    packing = packing_of(microdata.quasi)
    keys, row, counts = np.unique(packing.pack(microdata.quasi), return_inverse=True, return_counts=True)
    return lattice_from(packing, keys, counts.astype(np.int64), row.astype(np.int64))


def lattice_from(packing: Packing, keys: Keys, counts: Ints, row: Ints = _NONE) -> Lattice:
    """Of distinct rows that were counted elsewhere, or here."""
    return Lattice(packing.trees, packing.position, packing.shift, keys, counts, row)


def packing_of(quasi: Sequence[Coded]) -> Packing:
    """How rows of these attributes fit into 64 bits; refused where they do not, or where a hierarchy lacks."""
    trees = [_tree(coded) for coded in quasi]
    # Attributes with most values first: they show soonest that a choice of levels suppresses too much.
    position = np.argsort([-tree.codes.shape[1] for tree in trees], kind="stable")
    trees = [trees[i] for i in position]
    bits = [tree.mask.bit_length() for tree in trees]
    if sum(bits) > 64:
        raise InputError(
            f"The quasi-identifiers have too many values together for an exact search ({sum(bits)} bits, 64 at most): "
            "name fewer, or coarsen those with most values first."
        )
    return Packing(trees, position, np.array([sum(bits[a + 1 :]) for a in range(len(bits))]))


def _tree(coded: Coded) -> Tree:
    hierarchy = coded.attribute.hierarchy
    if hierarchy is None:
        raise InputError(
            f"Column {coded.name!r} has no hierarchy: give one (--hierarchies DIR), or use method 'cut-points'."
        )
    ancestors = hierarchy.ancestors.astype(np.int64)
    below = np.array([hierarchy.counts(level)[of] for level, of in enumerate(ancestors)], np.float64)
    # Missing: a leaf of its own, below nothing but the top.
    own = ancestors.max(axis=1, keepdims=True) + 1
    own[-1] = ancestors[-1, 0]
    ancestors = np.hstack([ancestors, own])
    below = np.hstack([below, np.where(np.arange(len(below)) < len(below) - 1, 1.0, below[-1, 0])[:, None]])
    counts = np.append(coded.counts, coded.missing)
    occurs = np.flatnonzero(counts)
    dense = np.array([np.unique(level[occurs], return_inverse=True)[1] for level in ancestors])
    values = float(hierarchy.counts(hierarchy.levels - 1)[0])
    place = np.cumsum(counts > 0) - 1
    return Tree(dense, place, counts[occurs], below[:, occurs] / values, 1.0 / values, coded.attribute.weight)


def _prices(lattice: Packing, cost: Cost, mean: Mean) -> tuple[object, ...]:
    """What showing each node costs one record, in the form the kernel takes."""
    from shoal.kernels.lattice import ARITHMETIC, CLASS_SIZE, DISCERNIBILITY, GEOMETRIC

    n = float(lattice.records)
    kind = {"discernibility": DISCERNIBILITY, "average-class-size": CLASS_SIZE}.get(
        cost, GEOMETRIC if mean == "geometric" else ARITHMETIC
    )
    height, d = int(lattice.levels.max()), len(lattice.trees)
    at, totals = np.zeros((d, height), np.int64), np.zeros((d, height))
    least, greatest = np.zeros(d), np.ones(d)
    flat: list[npt.NDArray[np.float64]] = []
    place = 0
    for a, tree in enumerate(lattice.trees):
        records = tree.records.astype(np.float64)
        for level in range(tree.levels):
            prices = _node_prices(tree, level, records, cost)
            flat.append(prices)
            at[a, level], place = place, place + len(prices)
            totals[a, level] = records @ prices[tree.codes[level]]
        if cost == "entropy":
            least[a], greatest[a] = totals[a, 0] / n, np.log2(n)
        elif cost == "loss":
            least[a] = tree.single
    weight = np.array([tree.weight for tree in lattice.trees])
    return kind, n, np.concatenate(flat), at, totals, least, greatest, weight


def _node_prices(tree: Tree, level: int, records: npt.NDArray[np.float64], cost: Cost) -> npt.NDArray[np.float64]:
    code = tree.codes[level]
    prices = np.zeros(int(code.max()) + 1)
    if cost == "loss":
        prices[code] = tree.domain[level]
    elif cost == "precision":
        prices[:] = level / max(1, tree.levels - 1)
    elif cost == "entropy":
        prices = np.log2(np.bincount(code, records))
    return prices


def search(
    lattice: Lattice, k: int, limit: int, cost: Cost, mean: Mean, *, seconds: float | None = None, whole: bool = False
) -> Nodes:
    """The nodes that may win, or all of them with `whole`; stops after so many seconds with what it has."""
    from shoal.kernels.lattice import mean_loss, merge_rows, walk
    from shoal.kernels.sorting import sort_with

    deadline = time.monotonic() + seconds if seconds is not None else float("inf")
    price = _prices(lattice, cost, mean)
    kind, n, _, _, totals, least, greatest, weight = price
    fields = lattice.shift, np.array([tree.mask for tree in lattice.trees])
    parents = _parents(lattice)
    best = np.array([np.inf])
    nodes: list[tuple[Ints, npt.NDArray[np.float64], Ints]] = []

    def bound_of(fixed: Levels) -> float:
        if cost in ("discernibility", "average-class-size"):
            return 0.0
        levels = [*fixed, *([0] * (len(lattice.trees) - len(fixed)))]
        sums = np.array([totals[a, level] for a, level in enumerate(levels)])  # type: ignore[index]
        return float(mean_loss(kind, n, sums, least, greatest, weight))

    first = len(next(iter(_parts(lattice))))
    alone, inverse = np.unique(lattice.keys >> lattice.below(first), return_inverse=True)
    alone_counts = np.bincount(inverse, lattice.counts)

    def hopeless(fixed: Levels) -> bool:
        """Whether the first attributes suppress too much even with all others at the top."""
        _, group = np.unique(lattice.lift(alone << lattice.below(first), fixed), return_inverse=True)
        sizes = np.bincount(group, alone_counts)
        return bool(sizes[sizes < k].sum() > limit)

    def look(fixed: Levels) -> tuple[int, float] | None:
        below = bound_of(fixed)
        if time.monotonic() > deadline:
            return 0, below
        if not whole and (below > best[0] or hopeless(fixed)):
            return None
        keys, counts = lattice.lifted(fixed), lattice.counts.copy()
        sort_with(keys, counts, len(keys), np.empty_like(keys), np.empty_like(counts))
        rows = merge_rows(keys, counts, len(keys))
        size = lattice.nodes // prod(int(level) for level in lattice.levels[: len(fixed)])
        costs, out = np.full(size, np.inf), np.full(size, -1)
        looked = walk(
            keys[:rows], counts[:rows], fields, parents, price, lattice.levels, np.array(fixed, np.int64), k, limit,
            best, not whole, costs, out,
        )  # fmt: skip
        good = np.flatnonzero(np.isfinite(costs))
        start = int(np.ravel_multi_index([*fixed, *([0] * (len(lattice.trees) - len(fixed)))], tuple(lattice.levels)))
        nodes.append((good + start, costs[good], out[good]))
        return looked, float("inf")

    checked, bound = _look_at_all(look, _parts(lattice), best)
    return _sorted_nodes(nodes, checked, bound)


def _look_at_all(
    look: Callable[[Levels], tuple[int, float] | None], parts: Iterable[Levels], best: npt.NDArray[np.float64]
) -> tuple[int, float]:
    """Each part of the lattice in a thread; how many nodes were looked at, and what bounds those that were not."""
    checked, bound = 0, float("inf")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        under_way = [pool.submit(look, fixed) for fixed in parts]
        try:
            for part in events.ticking(under_way):
                if (result := events.waited(part)) is not None:
                    checked, bound = checked + result[0], min(bound, result[1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            while any(part.running() for part in under_way):
                best[0] = -np.inf  # ends the walks; one that was just improving it may overwrite this
                wait(under_way, timeout=0.05)
            raise
    return checked, bound


def _parts(lattice: Lattice) -> Iterator[Levels]:
    """Levels of the first attributes, coarse ones first: they are cheap and give a cost to beat."""
    levels = [int(level) for level in lattice.levels]
    fixed = 0
    while fixed < len(levels) and (prod(levels[:fixed]) < _PARTS or prod(levels[fixed:]) > _PART):
        fixed += 1
    yield from sorted(product(*(range(level) for level in levels[:fixed])), key=sum, reverse=True)


def _parents(lattice: Lattice) -> tuple[Ints, Ints]:
    at = np.zeros((len(lattice.trees), int(lattice.levels.max())), np.int64)
    flat: list[Ints] = []
    place = 0
    for a, tree in enumerate(lattice.trees):
        for level in range(tree.levels - 1):
            flat.append(tree.parents(level))
            at[a, level], place = place, place + len(flat[-1])
    return np.concatenate([*flat, np.zeros(1, np.int64)]), at


def _sorted_nodes(chunks: list[tuple[Ints, npt.NDArray[np.float64], Ints]], checked: int, bound: float) -> Nodes:
    number, cost, out = (np.concatenate([_NONE, *(part[i] for part in chunks)]) for i in range(3))
    order = np.lexsort((number, cost))
    return Nodes(number[order], cost[order].astype(np.float64), out[order], checked, bound)


def losses(lattice: Lattice) -> npt.NDArray[np.float64]:
    """Every node's loss when nothing is suppressed (geometric mean), in the order of the nodes' numbers."""
    *_, totals, least, greatest, weight = _prices(lattice, "loss", "geometric")
    total = np.zeros(1)
    for a, tree in enumerate(lattice.trees):
        mean = totals[a, : tree.levels] / tree.records.sum()  # type: ignore[index]
        span = greatest[a] - least[a]  # type: ignore[index]
        loss = np.maximum(0.0, mean - least[a]) / span if span > 0 else np.zeros(tree.levels)  # type: ignore[index]
        total = (total[:, None] + weight[a] * np.log1p(loss)[None, :]).ravel()  # type: ignore[index]
    return np.asarray(total)


def cost_at(
    packing: Packing, levels: Levels, classes: tuple[Keys, Ints], bad: npt.NDArray[np.bool_], cost: Cost, mean: Mean
) -> float:
    """A node's cost when just these of its classes, known by their keys and sizes, are suppressed."""
    from shoal.kernels.lattice import mean_loss

    kind, n, prices, at, totals, least, greatest, weight = _prices(packing, cost, mean)
    keys, sizes = classes[0], classes[1].astype(np.float64)
    out = float(sizes[bad].sum())
    if cost == "discernibility":
        return float((sizes[~bad] ** 2).sum() + n * out)  # type: ignore[operator]
    if cost == "average-class-size":
        return float(n / (int((~bad).sum()) + bool(out)))  # type: ignore[operator]
    sums = np.empty(len(levels))
    for a, level in enumerate(levels):
        paid = prices[at[a, level] + packing.codes(keys[bad], a)] @ sizes[bad]  # type: ignore[index]
        sums[a] = totals[a, level] - paid + out * greatest[a]  # type: ignore[index]
    return float(mean_loss(kind, n, sums, least, greatest, weight))
