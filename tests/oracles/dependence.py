"""Association and its test as their definitions read, record by record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log2, sqrt
from random import Random
from statistics import fmean


def cramers_v(one: Sequence[object], other: Sequence[object]) -> float:
    """Bergsma's correction of Cramer's V."""
    n = len(one)
    rows, columns, cells = Counter(one), Counter(other), Counter(zip(one, other, strict=True))
    chi = sum((cells[a, b] - rows[a] * columns[b] / n) ** 2 / (rows[a] * columns[b] / n) for a in rows for b in columns)
    r, c = len(rows), len(columns)
    squared = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    left = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return min(1.0, sqrt(squared / left))


def correlation_ratio(category: Sequence[object], number: Sequence[float]) -> float:
    """Kelley's correction of eta: variances within and in all, each by its degrees of freedom."""
    groups: dict[object, list[float]] = {}
    for name, value in zip(category, number, strict=True):
        groups.setdefault(name, []).append(value)
    mean = fmean(number)
    within = sum((x - fmean(values)) ** 2 for values in groups.values() for x in values) / (len(number) - len(groups))
    total = sum((x - mean) ** 2 for x in number) / (len(number) - 1)
    return sqrt(max(0.0, 1 - within / total))


def mutual_information(one: Sequence[object], other: Sequence[object]) -> float:
    n = len(one)
    rows, columns, cells = Counter(one), Counter(other), Counter(zip(one, other, strict=True))
    return sum(m / n * log2(m * n / (rows[a] * columns[b])) for (a, b), m in cells.items())


def permutation_test(one: Sequence[object], other: Sequence[object], draws: int, seed: int) -> float:
    """The share of shufflings with as much information."""
    found, shuffled, random = mutual_information(one, other), list(other), Random(seed)
    as_large = 0
    for _ in range(draws):
        random.shuffle(shuffled)
        as_large += mutual_information(one, shuffled) >= found - 1e-12
    return (1 + as_large) / (1 + draws)
