"""Labels that name some of what they hold and count the others: `MX, CU and 40 more`, `12 rare values`."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 2  # values that a label names where it holds many
_WIDE = 60  # characters of these names together; the first is always there


def abridged(common: Sequence[str], number: int) -> str:
    """The label of so many values, of which those that are common, most frequent first, may be named."""
    if not common:
        return f"{number:,} rare value{'s' * (number > 1)}"
    names = [common[0], *(name for name in common[1:NAMED] if len(common[0]) + len(name) <= _WIDE)]
    more = number - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")
