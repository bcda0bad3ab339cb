"""How many people fit a class, by looking at each of them (docs/spec.md#scenarios)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

Cell = tuple[str | None, Callable[[object], bool]]  # as released, and whether it admits a value


def fitting(classes: Sequence[Sequence[Cell]], people: Sequence[Sequence[object]]) -> Counter[tuple[int, int]]:
    """(records, people who fit) of each class of equal texts, and how many classes have both."""
    found: dict[Hashable, list[int]] = {}
    for record in classes:
        text = tuple(shown for shown, _ in record)
        if text not in found:
            found[text] = [0, sum(all(admits(v) for (_, admits), v in zip(record, p, strict=True)) for p in people)]
        found[text][0] += 1
    return Counter((records, fit) for records, fit in found.values())
