"""A table of a few rows of text, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sheet:
    """A titled table of text; the `numbers` columns after the first stand to the right.

    `legend` are sentences that the table cannot be read without. A sheet without rows is not shown.
    """

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int = 1
    legend: tuple[str, ...] = ()

    def is_number(self, column: int) -> bool:
        """Whether the column holds numbers."""
        return 1 <= column <= self.numbers
