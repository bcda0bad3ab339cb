"""The best recoding by cut points straight from its definition: every set of cuts, one after the other.

Defined in docs/spec.md#discernibility.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, product

Column = Sequence[int | None]
Recoded = tuple[int, ...]  # record -> interval


def discernibility(columns: Sequence[Recoded], k: int) -> tuple[int, int]:
    """Cost and suppressed records of recoded columns."""
    rows = list(zip(*columns, strict=True))
    sizes = Counter(rows).values()
    suppressed = sum(f for f in sizes if f < k)
    return sum(f * f for f in sizes if f >= k) + len(rows) * suppressed, suppressed


def recodings(column: Column) -> Iterator[Recoded]:
    """The column cut in every possible way; missing comes after all values."""
    values = sorted({v for v in column if v is not None})
    places = [len(values) if v is None else values.index(v) for v in column]
    cuts = sorted(set(places))[1:]
    for chosen in (c for r in range(len(cuts) + 1) for c in combinations(cuts, r)):
        yield tuple(sum(cut <= place for cut in chosen) for place in places)


def optimum(columns: Sequence[Column], k: int, limit: int) -> int:
    """The least cost of all sets of cuts that suppress no more records than the limit."""
    found = (discernibility(recoded, k) for recoded in product(*map(list, map(recodings, columns))))
    return min(cost for cost, suppressed in found if suppressed <= limit)
