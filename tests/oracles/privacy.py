"""Privacy models straight from their definitions, class by class and value by value.

A table is a list of released rows and, beside it, the confidential value of each record. Missing is None: a value
of its own, equal only to itself, beyond the last of ordered values.

Defined in docs/spec.md#t-closeness, #l-diversity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import exp, log

Row = tuple[Hashable, ...]
Value = Hashable


def classes(rows: Sequence[Row]) -> list[list[int]]:
    """The records that show the same."""
    found: dict[Row, list[int]] = {}
    for record, row in enumerate(rows):
        found.setdefault(row, []).append(record)
    return list(found.values())


def k_anonymity(rows: Sequence[Row]) -> int:
    """The size of the smallest class."""
    return min(len(members) for members in classes(rows))


# ---- l-diversity


def diversity(values: Sequence[Value], variant: str, c: float = 3.0) -> float:
    """Of one class."""
    counts = sorted(Counter(values).values(), reverse=True)
    if variant == "distinct":
        return len(counts)
    if variant == "entropy":
        return exp(-sum(r / len(values) * log(r / len(values)) for r in counts))
    # (c, l): r_1 < c (r_l + ... + r_v); the greatest l for which this holds, 0 where it holds for none.
    return max((rank + 1 for rank in range(len(counts)) if counts[0] < c * sum(counts[rank:])), default=0)


def l_diversity(rows: Sequence[Row], values: Sequence[Value], variant: str, c: float = 3.0) -> float:
    """Of the least diverse class."""
    return min(diversity([values[i] for i in members], variant, c) for members in classes(rows))


# ---- t-closeness


def shares(values: Sequence[Value], line: Sequence[Value]) -> list[float]:
    """How often each value of the line occurs."""
    counts = Counter(values)
    return [counts[value] / len(values) for value in line]


def line_of(values: Sequence[Value], order: Sequence[Value] | None = None) -> list[Value]:
    """The values that occur, in their own order or in the one given, missing last."""
    present = {value for value in values if value is not None}
    line = sorted(present) if order is None else [value for value in order if value in present]  # type: ignore[type-var]
    return [*line, None] if None in values else list(line)


def ordered_distance(members: Sequence[Value], everyone: Sequence[Value], line: Sequence[Value]) -> float:
    """Earth mover's distance where neighbours on the line lie 1 / (v - 1) apart."""
    p, q = shares(members, line), shares(everyone, line)
    moved = total = 0.0
    for here, there in zip(p, q, strict=True):
        moved += here - there  # what is still to be carried on to the next value
        total += abs(moved)
    return total / (len(line) - 1) if len(line) > 1 else 0.0


def equal_distance(members: Sequence[Value], everyone: Sequence[Value]) -> float:
    """Earth mover's distance where all values are equally far: total variation."""
    line = list(set(everyone))
    return sum(abs(p - q) for p, q in zip(shares(members, line), shares(everyone, line), strict=True)) / 2


def t_closeness(
    rows: Sequence[Row], values: Sequence[Value], *, ordered: bool, order: Sequence[Value] | None = None
) -> float:
    """Of the class that is farthest from the whole table."""
    line = line_of(values, order)
    found = []
    for members in classes(rows):
        inside = [values[i] for i in members]
        found.append(ordered_distance(inside, values, line) if ordered else equal_distance(inside, values))
    return max(found)


# ---- of people


def told_once(people: Sequence[Value], values: Sequence[Value], members: Sequence[int]) -> list[Value]:
    """The values of these records, each as often as there are people who have it."""
    return [value for _, value in dict.fromkeys((people[i], values[i]) for i in members)]
