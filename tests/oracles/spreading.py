"""Records spread evenly over what their cells admit, one record and one value at a time."""

from __future__ import annotations

import re


def admitted(cell: str | None, domain: list[str]) -> list[str]:
    """The values of a domain that a released cell admits; nothing for a missing one."""
    if cell is None:
        return []
    if cell == "*":
        return domain
    if found := re.fullmatch(r"\{(.*)\}", cell):
        return found[1].split(";")
    if found := re.fullmatch(r"\[(.*);(.*)\]", cell):
        return domain[domain.index(found[1]) : domain.index(found[2]) + 1]
    return [cell]


def spread(cells: list[str | None], domain: list[str]) -> dict[str | None, float]:
    """Value -> share of the records; None -> share of the missing."""
    shares: dict[str | None, float] = dict.fromkeys([*domain, None], 0.0)
    for cell in cells:
        values: list[str | None] = [*admitted(cell, domain)] or [None]
        for value in values:
            shares[value] += 1 / len(values) / len(cells)
    return shares
