"""Record linkage, intervals and transport from their definitions: every record with every other, every way to pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from math import isnan, sqrt

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Attribute, Kind, Role
from shoal.measure import Pair

Matrix = npt.NDArray[np.float64]
Rows = Sequence[Sequence[float]]
Distance = Callable[[Sequence[float], Sequence[float]], float]

# Example E3 of docs/spec.md#linkage.
E3_X = np.array([(1, 10), (2, 40), (3, 20), (4, 30), (5, 50)], float)
E3_Y = np.array([(3, 30), (1.2, 45), (2.2, 12), (5.1, 22), (4.2, 37)])


def pair_of(
    original: npt.ArrayLike,
    masked: npt.ArrayLike,
    kinds: Sequence[Kind] | None = None,
    kept: Sequence[int] | None = None,
) -> Pair:
    """The two tables as a pair, all attributes numbers unless told otherwise."""
    before, after = np.array(original, float), np.array(masked, float)
    attributes = (
        Attribute(f"a{j}", frozenset({Role.QUASI_IDENTIFIER}), kind)
        for j, kind in enumerate(kinds or [Kind.NUMERIC] * before.shape[1])
    )
    return Pair(tuple(attributes), before, after, None if kept is None else np.array(kept))


def ranks(column: Sequence[float], n: int) -> list[float]:
    """1 to n over what is known, ties at the mean of their ranks, what is missing or alone in the middle."""
    known = [v for v in column if not isnan(v)]

    def rank(value: float) -> float:
        if isnan(value) or len(known) == 1:
            return (n + 1) / 2
        mean = sum(other < value for other in known) + (known.count(value) + 1) / 2
        return 1 + (mean - 1) * (n - 1) / (len(known) - 1)

    return [rank(value) for value in column]


def rank_rows(rows: Rows, n: int) -> list[tuple[float, ...]]:
    return list(zip(*(ranks(list(column), n) for column in zip(*rows, strict=True)), strict=True))


def euclidean(x: Sequence[float], y: Sequence[float]) -> float:
    return sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def largest(x: Sequence[float], y: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(x, y, strict=True))


def nearest(xs: Rows, ys: Rows, distance: Distance) -> list[float]:
    return [min(distance(x, y) for y in ys) for x in xs]


def correct_links(xs: Rows, ys: Rows, own: Sequence[int | None]) -> float:
    """The chance to hit one's own record among those equally near, averaged over the originals."""
    hits = 0.0
    for x, mine in zip(xs, own, strict=True):
        distances = [euclidean(x, y) for y in ys]
        near = [i for i, d in enumerate(distances) if d <= min(distances) * (1 + 1e-9)]
        hits += (mine in near) / len(near)
    return hits / len(xs)


def linked_to_own(n: int, distance: Callable[[int, int], float]) -> float:
    """The same of n people and their n records by any distance of one of these to one of those."""
    hits = 0.0
    for i in range(n):
        apart = [distance(i, j) for j in range(n)]
        near = [j for j in range(n) if apart[j] <= min(apart) * (1 + 1e-9) + 1e-12]
        hits += (i in near) / len(near)
    return hits / n


def interval_disclosure(xs: Sequence[float], ys: Sequence[float], percent: Sequence[float]) -> list[bool]:
    """One attribute: for every width and record, does x lie among masked values of ranks so near to that of y."""
    rank = ranks(ys, len(ys))
    found = []
    for p in percent:
        for x, mine in zip(xs, rank, strict=True):
            near = [y for y, r in zip(ys, rank, strict=True) if abs(r - mine) <= p / 100 * len(ys)]
            found.append(min(near) <= x <= max(near))
    return found


def transport(xs: Rows, ys: Rows) -> float:
    """The cheapest of all ways to pair the records of two tables of one size."""
    ways = permutations(ys)
    return min(sum(euclidean(x, y) for x, y in zip(xs, way, strict=True)) for way in ways) / len(xs)
