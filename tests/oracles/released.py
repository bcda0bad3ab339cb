"""A released CSV file judged by nothing but Python: rows as dictionaries, classes by counting, distances by summing."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

Row = dict[str, str]


def rows_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def key(row: Row, quasi: Sequence[str]) -> tuple[str, ...]:
    return tuple(row[name] for name in quasi)


def class_sizes(rows: Sequence[Row], quasi: Sequence[str]) -> list[int]:
    return sorted(Counter(key(row, quasi) for row in rows).values())


def ends(cell: str) -> tuple[float, float]:
    """`26` or `[24;28]`."""
    low, _, high = cell.strip("[]").partition(";")
    return float(low), float(high or low)


def admits(cell: str, value: str) -> bool:
    low, high = ends(cell)
    return low <= float(value) <= high


def farthest(rows: Sequence[Row], quasi: Sequence[str], confidential: str) -> float:
    """The largest earth mover's distance of a class to the whole table, over the ranks of the values."""
    values = sorted({float(row[confidential]) for row in rows})
    classes: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        classes[key(row, quasi)].append(float(row[confidential]))
    everyone = _running([float(row[confidential]) for row in rows], values)
    return max(
        sum(abs(a - b) for a, b in zip(_running(members, values), everyone, strict=True)) / (len(values) - 1)
        for members in classes.values()
    )


def _running(members: Sequence[float], values: Sequence[float]) -> list[float]:
    """The share of the members up to each value."""
    counts, total, shares = Counter(members), 0, []
    for value in values:
        total += counts[value]
        shares.append(total / len(members))
    return shares


def information_loss(original: Sequence[Row], released: Sequence[Row], quasi: Sequence[str]) -> float:
    """Eq. 3 of numbers: the mean distance of a record to the farther ends of what stands for it, a part of each m."""
    sigma = {name: _deviation([float(row[name]) for row in original]) for name in quasi}
    total = 0.0
    for before, after in zip(original, released, strict=True):
        apart = [max(abs(float(before[q]) - end) for end in ends(after[q])) / sigma[q] for q in quasi]
        total += sqrt(sum(d * d for d in apart))
    return total / (len(original) * len(quasi))


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
