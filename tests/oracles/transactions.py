"""Purchase histories the slow way: sets of Python compared one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl

from shoal.transactions.histories import Histories, Roles, histories_of


def histories(baskets: Sequence[Sequence[object]]) -> Histories:
    """Customer 1 with the first basket, customer 2 with the second, and so on."""
    records = [(number, str(item)) for number, basket in enumerate(baskets, 1) for item in basket]
    return histories_of(pl.DataFrame(records, schema=["customer", "item"], orient="row"), Roles("customer", "item"))


def jaccard(a: set[object], b: set[object]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def algorithm_1(originals: Sequence[set[object]], masked: Sequence[set[object]]) -> list[tuple[int, float, int]]:
    """For each masked set the first of the most similar originals, its Jaccard coefficient, and how many are equal."""
    found = []
    for theirs in masked:
        row = [jaccard(theirs, own) for own in originals]
        found.append((row.index(max(row)), max(row), row.count(max(row))))
    return found


def pair_statistics(sets: Sequence[set[object]]) -> tuple[float, float, float]:
    """Mean and largest Jaccard coefficient, and mean size of the intersection, over all pairs."""
    pairs = list(combinations(sets, 2))
    similar = [jaccard(a, b) for a, b in pairs]
    return sum(similar) / len(pairs), max(similar), sum(len(a & b) for a, b in pairs) / len(pairs)


def others_who_match(sets: Sequence[set[int]], learnt: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """How many others have the first 1, 2, ... points learnt of each person."""
    return [
        [sum(set(points[:m]) <= other for v, other in enumerate(sets) if v != u) for m in range(1, most + 1)]
        for u, points in enumerate(learnt)
    ]
