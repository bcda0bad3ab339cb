"""Generalization hierarchies: for each value its ancestors, level by level, up to one root.

File format: one line a value, `value;level 1;level 2;...`, no header. Leaves are kept in the order of the tree, so that
the leaves below any node stand together, and a common ancestor of a set is that of its first and last leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import InputError


@dataclass(frozen=True)
class Hierarchy:
    """`nodes[level][leaf]` is the label of the leaf's ancestor at that level; level 0 are the leaves themselves."""

    nodes: tuple[tuple[str, ...], ...]

    @property
    def leaf_values(self) -> pl.Series:
        return pl.Series(self.nodes[0], dtype=pl.String)

    @property
    def levels(self) -> int:
        return len(self.nodes)

    @cached_property
    def ancestors(self) -> npt.NDArray[np.int32]:
        """[level, leaf] -> a number for the ancestor, equal where the ancestor is the same."""
        return np.array([_numbered(level) for level in self.nodes], np.int32).reshape(self.levels, -1)

    @cached_property
    def _leaves(self) -> dict[str, npt.NDArray[np.int32]]:
        found: dict[str, npt.NDArray[np.int32]] = {}
        for (
            labels
        ) in self.nodes:  # a label that recurs higher up, alone below itself, keeps its widest meaning
            for label in dict.fromkeys(labels):
                found[label] = np.flatnonzero([other == label for other in labels]).astype(np.int32)
        return found

    def leaves(self, label: str) -> npt.NDArray[np.int32] | None:
        """The leaves below the node of that label, None where there is no such node."""
        return self._leaves.get(label)


def _numbered(labels: Sequence[str]) -> list[int]:
    number: dict[str, int] = {}
    return [number.setdefault(label, len(number)) for label in labels]


def hierarchy_of(rows: Sequence[Sequence[str]], attribute: str) -> Hierarchy:
    """From one row a value (value, level 1, ..., root); refuses what is not a tree, naming the value."""
    if not rows:
        raise InputError(f"The hierarchy of {attribute!r} is empty: give one line a value.")
    depth = len(rows[0])
    parent: dict[tuple[int, str], str] = {}
    seen: set[str] = set()
    for row in rows:
        if len(row) != depth:
            raise InputError(
                f"The hierarchy of {attribute!r} has {len(row)} levels for {row[0]!r} and {depth} for {rows[0][0]!r}: "
                "give every value the same number of levels."
            )
        if row[0] in seen:
            raise InputError(f"The hierarchy of {attribute!r} lists {row[0]!r} twice: remove one line.")
        seen.add(row[0])
        for level in range(depth - 1):
            if parent.setdefault((level, row[level]), row[level + 1]) != row[level + 1]:
                raise InputError(
                    f"The hierarchy of {attribute!r} gives {row[level]!r} two parents at level {level + 1}, "
                    f"{parent[level, row[level]]!r} and {row[level + 1]!r}: keep one."
                )
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, "*"] for row in rows]
    first = [
        {label: i for i, label in reversed(list(enumerate(r[level] for r in rows)))}
        for level in range(len(rows[0]))
    ]
    in_tree_order = sorted(
        rows, key=lambda row: tuple(first[level][row[level]] for level in range(len(row) - 1, -1, -1))
    )
    return Hierarchy(tuple(zip(*in_tree_order, strict=True)))


def read_hierarchy(path: str | Path, attribute: str) -> Hierarchy:
    """From a file of lines `value;level 1;...`."""
    import csv

    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file, delimiter=";") if row]
    except OSError as error:
        raise InputError(
            f"The hierarchy of {attribute!r} cannot be read from {str(path)!r}: {error.strerror}."
        ) from None
    return hierarchy_of(rows, attribute)
