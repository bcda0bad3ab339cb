"""Worst-case uniqueness by enumeration (docs/spec.md#fitting): every point of every box against every other box."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product

Box = Sequence[frozenset[Hashable]]  # for each attribute, the values that the record's cell admits


def is_unique(record: Box, others: Sequence[Box]) -> bool:
    """Does some point of the record's box lie in none of the other boxes?"""
    meeting = [s for s in others if all(a & b for a, b in zip(record, s, strict=True))]
    return any(
        not any(all(v in cell for v, cell in zip(point, s, strict=True)) for s in meeting) for point in product(*record)
    )


def uniques(boxes: Sequence[Box]) -> list[bool]:
    return [is_unique(box, [*boxes[:i], *boxes[i + 1 :]]) for i, box in enumerate(boxes)]
