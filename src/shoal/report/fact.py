"""A row of the report's tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """A row of a table: what it is called, its values, and what that means.

    `term` is what the field calls it, for whoever looks it up; `over` says that the last value passes what is usual.
    """

    name: str
    values: tuple[str, ...]
    why: str = ""
    term: str = ""
    over: bool = False
