"""Risk and utility measures straight from their definitions, record by record; paper 1's Tables S2, S6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import sqrt

import polars as pl

Row = tuple[Hashable, ...]

# Table S2 (docs/spec.md#information-loss): sex M 1, F 2; ethnicity H 1, non-H 2; race W 1, B 2; county 10, 15, 19.
TABLE_S2 = pl.DataFrame(
    {
        "age": [42, 35, 52, 70, 57, 61],
        "sex": [1, 1, 1, 2, 1, 1],
        "ethnicity": [2, 2, 2, 1, 2, 2],
        "race": [1, 1, 2, 1, 1, 1],
        "zip": [93722, 93611, 93561, 93560, 93555, 93551],
        "county": [10, 10, 15, 15, 15, 19],
        "quarter": [1, 2, 2, 2, 4, 2],
        "los": [33, 47, 13, 1, 2, 2],
        "charge": [505785, 1083683, 252303, 107179, 34392, 24846],
        "diagnosis": [
            "Pneumonia",
            "Meningitis",
            "Necrosis",
            "Breast Cancer",
            "Kidney Cancer",
            "Stomach Cancer",
        ],
    }
)

# Table S6, with the first age interval as it must be: [35;52], because record 2 is 35 years old.
TABLE_S6 = TABLE_S2.with_columns(
    age=pl.Series(["[35;52]"] * 3 + ["[57;70]"] * 3),
    sex=pl.Series(["1"] * 3 + ["[1;2]"] * 3),
    ethnicity=pl.Series(["2"] * 3 + ["[1;2]"] * 3),
    race=pl.Series(["[1;2]"] * 3 + ["1"] * 3),
    zip=pl.Series(["[93561;93722]"] * 3 + ["[93551;93560]"] * 3),
    county=pl.Series(["[10;15]"] * 3 + ["[15;19]"] * 3),
    quarter=pl.Series(["[1;2]"] * 3 + ["[2;4]"] * 3),
    los=pl.Series(["[13;47]"] * 3 + ["[1;2]"] * 3),
)


def class_sizes(rows: Sequence[Row]) -> list[int]:
    return sorted(Counter(rows).values())


def average_risk(rows: Sequence[Row]) -> float:
    """The expected rate of correct random guesses, each record guessed inside its own class."""
    return sum(1 / rows.count(row) for row in rows) / len(rows)


def disclosure(rows: Sequence[Row], holds: Sequence[bool]) -> tuple[int, int]:
    """Eq. 5: how many records satisfy the condition, and how many of these are in a class where all do."""
    exposed = 0
    for row, satisfied in zip(rows, holds, strict=True):
        alike = [h for other, h in zip(rows, holds, strict=True) if other == row]
        exposed += satisfied and all(alike)
    return sum(holds), exposed


def discernibility(rows: Sequence[Row], suppressed: int = 0) -> int:
    """Every record is charged the size of its class, a suppressed one the whole table."""
    return sum(rows.count(row) for row in rows) + suppressed * (len(rows) + suppressed)


def deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def nominal_deviation(values: Sequence[Hashable]) -> float:
    """Half the expected squared 0/1 distance of two records is the variance (docs/spec.md#distance)."""
    shares = [count / len(values) for count in Counter(values).values()]
    return sqrt((1 - sum(share**2 for share in shares)) / 2)


def information_loss(distances: Sequence[Sequence[float]]) -> float:
    """Eq. 3: for each record the standardised distance of each attribute."""
    n, m = len(distances), len(distances[0])
    return sum(sqrt(sum(d**2 for d in record)) for record in distances) / (n * m)


def farther_end(value: float, low: float, high: float) -> float:
    """Eq. 4: the distance to the end of the interval that is farther away."""
    return max(abs(value - low), abs(high - value))


def pearson(xs: Sequence[float | None], ys: Sequence[float | None]) -> float | None:
    """Over the records where both are known; None where one of them does not vary there."""
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    if len({x for x, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
        return None
    mean_x, mean_y = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    product = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return product / sqrt(sum((x - mean_x) ** 2 for x, _ in pairs) * sum((y - mean_y) ** 2 for _, y in pairs))
