"""Clusters of customers by sets and loops, as the paper's pseudo-code reads."""

from __future__ import annotations

from collections.abc import Sequence

Goods = Sequence[frozenset[str]]  # customer -> goods


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def dummies(goods: Goods, label: Sequence[int]) -> int:
    """Section 3.1: sum over customers of |I(x)| - |I(u)|."""
    total = 0
    for cluster in set(label):
        members = [goods[u] for u in range(len(goods)) if label[u] == cluster]
        union = frozenset().union(*members)
        total += sum(len(union - own) for own in members)
    return total


def balance(goods: Goods, label: Sequence[int], min_size: int) -> list[int]:
    """Algorithm 3, the largest cluster chosen at every move, nearest to a member of the small cluster."""
    label = list(label)
    clusters = range(max(label) + 1)
    for small in [x for x in clusters if label.count(x) < min_size]:
        while label.count(small) < min_size:
            largest = max(clusters, key=lambda x: (label.count(x), -x))
            own = [goods[v] for v in range(len(goods)) if label[v] == small]
            donors = [u for u in range(len(goods)) if label[u] == largest]
            moved = max(donors, key=lambda u: (max(jaccard(goods[u], other) for other in own), -u))
            label[moved] = small
    return label
