"""The slow, obvious twin of the judge of whole histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def least_alike(tables: Sequence[Iterable[tuple[object, object]]]) -> int:
    """How many owners have the history that fewest have; tables are of (owner, what a row shows)."""
    histories: dict[object, list[Counter[object]]] = {}
    for number, table in enumerate(tables):
        for owner, shown in table:
            histories.setdefault(owner, [Counter() for _ in tables])[number][shown] += 1
    signs = {owner: tuple(frozenset(counts.items()) for counts in history) for owner, history in histories.items()}
    counted = Counter(signs.values())
    return min((counted[sign] for sign in signs.values()), default=0)
