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
    """A number, a range of numbers, `{a;b}`, `all but {a;b}`, `921**` or `*`."""
    listed = cell.partition("{")[2].rstrip("}").split(";")
    if cell.endswith("*"):
        return cell == "*" or (len(cell) == len(value) and value.startswith(cell.rstrip("*")))
    if cell.endswith("}"):
        return (value in listed) != cell.startswith("all but")
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


def information_loss(
    original: Sequence[Row], released: Sequence[Row], quasi: Sequence[str], codes: Sequence[str]
) -> float:
    """Eq. 3: the mean distance of a record to the farther ends of what stands for it, a part of each m.

    Of codes: how many others their cell admits, a part of all others.
    """
    apart = [
        _of_codes(original, released, name) if name in codes else _of_numbers(original, released, name)
        for name in quasi
    ]
    return sum(sqrt(sum(d * d for d in record)) for record in zip(*apart, strict=True)) / (len(original) * len(quasi))


def _of_numbers(original: Sequence[Row], released: Sequence[Row], name: str) -> list[float]:
    sigma = _deviation([float(row[name]) for row in original])
    pairs = zip(original, released, strict=True)
    return [max(abs(float(before[name]) - end) for end in ends(after[name])) / sigma for before, after in pairs]


def _of_codes(original: Sequence[Row], released: Sequence[Row], name: str) -> list[float]:
    counts = Counter(row[name] for row in original)
    sigma = sqrt((1 - sum((count / len(original)) ** 2 for count in counts.values())) / 2)
    shown = {row[name] for row in released}
    size = {cell: sum(admits(cell, value) for value in counts) for cell in shown}
    return [(size[row[name]] - 1) / (len(counts) - 1) / sigma for row in released]


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
