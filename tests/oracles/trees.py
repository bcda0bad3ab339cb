"""A hierarchy as plain lines, asked one value at a time."""

from __future__ import annotations

Line = tuple[str, ...]  # value, level 1, ..., top


def below(lines: list[Line], level: int, label: str) -> list[str]:
    """The values below a node, once for each line that lists them."""
    return [line[0] for line in lines if line[level] == label]


def admitted(lines: list[Line], label: str) -> set[str]:
    """The values that a label may stand for, whatever its level."""
    return {line[0] for line in lines if label in line}


def is_tree(lines: list[Line]) -> bool:
    """Values that are together on one level are together on all above, and each level but the first merges some."""
    for level in range(len(lines[0]) - 1):
        for one in lines:
            for other in lines:
                if one[level] == other[level] and one[level + 1] != other[level + 1]:
                    return False
        here, above = ({line[i] for line in lines} for i in (level, level + 1))
        if len(above) >= len(here) and len({line[0] for line in lines}) > 1:
            return False
    return len({line[-1] for line in lines}) == 1
