"""Generalization hierarchies: for each value its ancestors, level by level, up to one top (paper 3).

File format: one line a value, `value;level 1;level 2;...`, no header. Leaves are kept in the order of the tree, so that
the leaves below any node stand together: a common ancestor of a set is that of its first and last leaf, and codes
sorted at one level are sorted at every level above it.

What is not a tree is refused by name: a value or node with two parents, a level that merges nothing, a line of another
length. A line that stands in the source twice, word for word, is one leaf that counts twice in every share, because
the share of a node is that of the source's lines (`counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import InputError, did_you_mean
from shoal.show import Result, Sheet

if TYPE_CHECKING:
    import pyarrow as pa


TOP = "*"
MISSING = -1  # the code of no value at all
NEAR = 100  # listed values that a message may take for what was meant
_BAND = r"^[\[(]?(-?\d+) ?[-–;,] ?(-?\d+)[\])\[]?$"


@dataclass(frozen=True, eq=False)
class Hierarchy(Result):
    """A tree all of whose leaves lie equally deep; level 0 are the leaves, the last level is the top."""

    attribute: str
    nodes_at: tuple[pl.Series, ...]  # level -> label of each node, in tree order
    ancestors: npt.NDArray[np.int32]  # [level, leaf] -> the ancestor's number, never falling along the leaves
    lines: npt.NDArray[np.int64]  # leaf -> how many lines of the source list it
    names: tuple[str, ...] = ()  # level -> what it is in words, where its builder knows
    open: bool = False  # the last leaf stands for values that are not listed
    learnt: bool = False  # where groups begin or end was found in a column's own values

    @property
    def levels(self) -> int:
        """How many levels there are, the values themselves and the top included."""
        return len(self.nodes_at)

    @property
    def top(self) -> str:
        """The label of the root."""
        return str(self.nodes_at[-1][0])

    @property
    def leaf_values(self) -> pl.Series:
        """All values, in the order of the tree."""
        return self.nodes_at[0]

    def labels(self, level: int) -> pl.Series:
        """The label of each node of a level, by the node's number."""
        return self.nodes_at[level]

    def shown(self, level: int) -> pl.Series:
        """The label that each leaf is shown as at a level."""
        return self.nodes_at[level].gather(self.ancestors[level])

    @cached_property
    def nodes(self) -> tuple[tuple[str, ...], ...]:
        """`nodes[level][leaf]` is the label of the leaf's ancestor at that level."""
        return tuple(tuple(self.shown(level)) for level in range(self.levels))

    def starts(self, level: int) -> npt.NDArray[np.int64]:
        """The first leaf below each node of a level; one more entry, the number of leaves, at the end."""
        return self._starts[level]

    @cached_property
    def _starts(self) -> list[npt.NDArray[np.int64]]:
        numbers = (np.arange(len(labels) + 1) for labels in self.nodes_at)
        return [np.searchsorted(along, number) for along, number in zip(self.ancestors, numbers, strict=True)]

    def counts(self, level: int) -> npt.NDArray[np.int64]:
        """How many lines of the source lie below each node; not listed is shown as the top, so it counts as much."""
        below = np.add.reduceat(self.lines, self.starts(level)[:-1])
        if self.open:
            below[-1] = self.lines.sum()
        return below

    def leaves(self, label: str) -> npt.NDArray[np.int32] | None:
        """All leaves that a released label admits, None where no node has it.

        A label of several levels admits the leaves of each: what is shown may be any of them.
        """
        below = [
            np.arange(*self.starts(level)[number : number + 2], dtype=np.int32)
            for level, numbers in enumerate(self._numbers)
            if (number := numbers.get(label)) is not None
        ]
        return np.unique(np.concatenate(below)) if below else None

    @cached_property
    def _numbers(self) -> list[dict[str, int]]:
        """Level -> label -> the node's number."""
        return [dict(zip(labels.to_list(), range(len(labels)), strict=True)) for labels in self.nodes_at]

    # ---- for people

    def to_dict(self) -> dict[str, Any]:
        """How many values each level has, how many leaves stand below them, and values listed more than once."""
        repeated = (self.lines > 1).nonzero()[0]
        return {
            "attribute": self.attribute,
            "values": len(self.leaf_values),
            "levels": [self._level(level) for level in range(self.levels)],
            "repeated": {self.leaf_values[int(leaf)]: int(self.lines[leaf]) for leaf in repeated},
        }

    def _level(self, level: int) -> dict[str, Any]:
        below = self.counts(level)
        sizes = {"values": len(below), "smallest": int(below.min()), "largest": int(below.max())}
        return {"level": level, "name": self.level_name(level), **sizes}

    def sheets(self) -> list[Sheet]:
        """The levels, from fine to coarse, as a table."""
        rows = []
        for facts in map(self._level, range(self.levels)):
            least, most = facts["smallest"], facts["largest"]
            below = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            rows.append((str(facts["level"]), f"{facts['values']:,}", below, facts["name"]))
        return [Sheet(f"Hierarchy of {self.attribute}", ("level", "values", "listed below each", ""), rows, numbers=2)]

    # ---- records

    def encode(self, column: pl.Series, *, missing_to_top: bool = False) -> npt.NDArray[np.int32]:
        """The leaf of each record of a column, MISSING where it has no value.

        A value that is not listed is an error or, if asked, the code of the leaf that `with_unlisted` adds.
        """
        codes, unlisted = self._lookup(column)
        if unlisted.any():
            if not missing_to_top:
                raise self._not_listed(column, unlisted)
            codes[unlisted] = len(self.lines) - self.open
        return codes

    def unlisted(self, column: pl.Series) -> pl.Series:
        """The distinct values of a column that the hierarchy does not list, as text."""
        _, unlisted = self._lookup(column)
        return column.filter(pl.Series(unlisted)).cast(pl.String).unique(maintain_order=True)

    def with_unlisted(self) -> Hierarchy:
        """The same tree with one more leaf, for values that it does not list: shown as the top at every level."""
        if self.open:
            return self
        added = np.array([len(labels) for labels in self.nodes_at], np.int32)
        added[-1] = 0
        below_top = tuple(labels.clone().extend_constant(self.top, 1) for labels in self.nodes_at[:-1])
        return replace(
            self,
            nodes_at=(*below_top, self.nodes_at[-1]),
            ancestors=np.column_stack([self.ancestors, added]),
            lines=np.append(self.lines, 0),
            open=True,
        )

    def _lookup(self, column: pl.Series) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Each record's leaf, and whether it has a value that is no leaf."""
        if column.dtype.is_float():
            column = column.fill_nan(None)
        codes = self._index(column.cast(pl.String))
        unlisted = (codes == MISSING) & column.is_not_null().to_numpy()
        if column.dtype.is_float() and unlisted.any():  # whole numbers that stood beside missing ones: 26.0 is 26
            whole = column.cast(pl.Int64, strict=False)
            whole = whole.set(whole.cast(column.dtype) != column, None)
            for alike in (whole, column.set(column == 0, 0.0)):  # -0.0 is 0.0
                codes = np.where(unlisted, self._index(alike.cast(pl.String)), codes)
                unlisted &= codes == MISSING
        return codes, unlisted

    def _index(self, text: pl.Series) -> npt.NDArray[np.int32]:
        import pyarrow.compute as pc

        listed = self.leaf_values.head(len(self.lines) - self.open)
        place = pc.index_in(text.rechunk().to_arrow(), value_set=listed.rechunk().to_arrow(), skip_nulls=True)
        return _series(place).fill_null(MISSING).to_numpy(writable=True)

    def _not_listed(self, column: pl.Series, unlisted: npt.NDArray[np.bool_]) -> InputError:
        first = str(column.cast(pl.String).filter(pl.Series(unlisted))[0])
        others = len(self.unlisted(column)) - 1
        more = f" (nor {others:,} other value{'s' * (others > 1)})" if others else ""
        hint = did_you_mean(first, self.leaf_values.head(NEAR)) or " Add it there, or correct the value."
        return InputError(
            f"Column {column.name!r} holds {first!r} in record {int(unlisted.argmax()) + 1}, which the hierarchy of "
            f"{self.attribute!r} does not list{more}.{hint} Or ask for such values to be shown as the top."
        )

    # ---- words

    def level_name(self, level: int) -> str:
        """A level in words: `as it is`, `bands of 10`, `months`, `level 2 of 3`, `not shown`."""
        if level == 0:
            return "as it is"
        if level == self.levels - 1:
            return "not shown" if self.top == TOP else f"all shown as {self.top}"
        named = self.names[level] if self.names else ""
        return named or _bands_in_words(self.labels(level)) or f"level {level} of {self.levels - 1}"

    def describe(self, level: int) -> str:
        """A level in words, with the number of values that it tells apart."""
        values = len(self.labels(level))
        return f"{self.level_name(level)}, {values:,} value{'s' * (values > 1)}"


def _bands_in_words(labels: pl.Series) -> str:
    """`bands of 10` where the labels are intervals of one width; the first and the last may be cut short."""
    ends = pl.DataFrame({"label": labels}).select(
        low=pl.col("label").str.extract(_BAND, 1).cast(pl.Int64, strict=False),
        high=pl.col("label").str.extract(_BAND, 2).cast(pl.Int64, strict=False),
    )
    width = (ends["high"] - ends["low"] + 1).to_list()
    inner = width[1:-1] or width[:1]
    alike = inner[0] is not None and set(inner) == {inner[0]} and inner[0] > 1
    cut_short = all(end is None or end <= inner[0] for end in width) if alike else False
    return f"bands of {inner[0]}" if cut_short and width.count(inner[0]) > 1 else ""


def hierarchy_of(rows: Sequence[Sequence[str]], attribute: str) -> Hierarchy:
    """The hierarchy of one row a value (value, level 1, ..., top); refuses what is not a tree, naming the value."""
    if not rows or not rows[0]:
        raise InputError(f"The hierarchy of {attribute!r} is empty: give one line a value.")
    depth = len(rows[0])
    for row in rows:
        if len(row) != depth:
            value = repr(row[0]) if row else "an empty line"
            raise InputError(
                f"The hierarchy of {attribute!r} has {len(row)} entries for {value} and {depth} for {rows[0][0]!r}: "
                "give every value the same number of levels."
            )
    return from_levels([pl.Series(level, dtype=pl.String) for level in zip(*rows, strict=True)], attribute)


@dataclass(frozen=True)
class _Level:
    """One level of the source: each line's label as a number, in the order in which labels appear."""

    codes: npt.NDArray[np.int32]
    labels: pl.Series

    @cached_property
    def first_line(self) -> npt.NDArray[np.int64]:
        """The line on which each label appears first."""
        first = np.empty(len(self.labels), np.int64)
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return first


def from_levels(columns: Sequence[pl.Series], attribute: str, names: Sequence[str] = ()) -> Hierarchy:
    """The hierarchy of one text column a level (values, level 1, ...); a top of several labels gets `*` above it."""
    _check_filled(columns, attribute)
    levels = [_numbered(column) for column in _with_top(columns, attribute)]
    for level, (below, above) in enumerate(pairwise(levels), start=1):
        _check_one_parent(below, above, level, attribute)
        if len(levels[0].labels) > 1:  # nothing is coarser than one value
            _check_coarser(below, above, level, attribute)
    order = np.lexsort([level.codes for level in levels])  # by the top first, by the value last
    leaf = levels[0].codes[order]
    first = np.flatnonzero(np.diff(leaf, prepend=-1))
    ancestors = np.empty((len(levels), len(first)), np.int32)
    nodes_at = []
    for numbers, source in zip(ancestors, levels, strict=True):
        along = source.codes[order[first]]
        begins = np.diff(along, prepend=-1) != 0
        numbers[:] = np.cumsum(begins) - 1
        nodes_at.append(source.labels.gather(along[begins]))
    lines = np.diff(first, append=len(leaf))
    return Hierarchy(attribute, tuple(nodes_at), ancestors, lines, tuple(names))


def _check_filled(columns: Sequence[pl.Series], attribute: str) -> None:
    for level, column in enumerate(columns):
        empty = column.is_null() | ((column == "") & (columns[0] != ""))  # the empty text may show as itself
        if empty.any():
            line = int(empty.arg_max() or 0)
            value = f" for {columns[0][line]!r}" if level else ""
            raise InputError(
                f"The hierarchy of {attribute!r} leaves level {level} empty{value} (entry {line + 1}): fill it."
            )


def _with_top(columns: Sequence[pl.Series], attribute: str) -> Sequence[pl.Series]:
    last = columns[-1]
    tops = last.unique(maintain_order=True)
    if len(columns) > 1 and len(tops) == 1:
        return columns
    if len(columns) > 1 and TOP in tops:
        second = next(top for top in tops if top != TOP)
        raise InputError(
            f"The hierarchy of {attribute!r} ends in {TOP!r} but for {columns[0].filter(last == second)[0]!r} in "
            f"{second!r}: give all values one top, and the file no header."
        )
    return [*columns, pl.Series(last.name, [TOP]).new_from_index(0, len(last))]


def _numbered(column: pl.Series) -> _Level:
    encoded = column.rechunk().to_arrow().dictionary_encode()
    return _Level(_series(encoded.indices).to_numpy(), _series(encoded.dictionary))


def _series(array: pa.Array) -> pl.Series:
    """By way of Polars, because Arrow's own way to NumPy loads pandas."""
    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series


def _check_one_parent(below: _Level, above: _Level, level: int, attribute: str) -> None:
    parent = above.codes[below.first_line]
    astray = np.flatnonzero(above.codes != parent[below.codes])
    if len(astray):
        child = below.codes[astray[0]]
        first, second = above.labels[int(parent[child])], above.labels[int(above.codes[astray[0]])]
        raise InputError(
            f"The hierarchy of {attribute!r} gives {below.labels[int(child)]!r} two parents at level {level}, "
            f"{first!r} and {second!r}: keep one."
        )


def _check_coarser(below: _Level, above: _Level, level: int, attribute: str) -> None:
    if len(above.labels) == len(below.labels):
        raise InputError(
            f"Level {level} of the hierarchy of {attribute!r} is not coarser than level {level - 1}: it only shows "
            f"{below.labels[0]!r} as {above.labels[0]!r}, and merges no values. Remove the level."
        )
