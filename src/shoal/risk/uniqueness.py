"""Unique records, the upper bound of re-identification (paper 1, Eq. 1; SPEC 2.3 and 2.5).

On plain values a record is unique when no other shows the same. On masked values the paper's worst case
counts: the box of a record is the set of all points that its cells admit, and the record is unique iff some
point of its box lies in no other record's box, because its true values may be just that point. Attributes are
judged jointly. Missing is a value of its own; where a column shows it, it belongs to the domain, and `*`
admits it too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.masked import MaskedColumn, Runs
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.kernels.boxes import Boxes, Tally

Ints = npt.NDArray[np.int64]

_PATTERNS = 64  # more ways of masking than this are searched together
_BATCH = 1 << 24  # boxes listed at a time for subtraction


@dataclass(frozen=True)
class Uniqueness:
    """Which records are unique; where the search was cut short a record counts as unique without proof."""

    unique: npt.NDArray[np.bool_]
    unproven: int = 0

    @property
    def proven(self) -> bool:
        return self.unproven == 0


def uniques_by_equality(frame: pl.DataFrame, attributes: list[str]) -> npt.NDArray[np.bool_]:
    """Records whose released values no other record shows; missing equals missing."""
    if not attributes:
        return np.full(frame.height, frame.height == 1)
    return frame.select((pl.len().over(attributes) == 1).alias("unique")).to_series().to_numpy()


def worst_case_uniques(columns: list[MaskedColumn], *, max_boxes: int = 10_000) -> Uniqueness:
    """Records with a point that fits no other record (SPEC 2.5), exactly.

    `max_boxes` bounds the pieces examined for one record; one not settled by then counts as unique, unproven.
    """
    if not columns:
        raise InputError("Uniqueness needs at least one attribute that an intruder may know: name some.")
    sides = [_on_grid(column) for column in columns]
    first, count = _distinct(sides)
    single = np.flatnonzero(count == 1)
    verdict = _judge(_as_boxes(sides, first), single, max_boxes) if len(single) else np.empty(0, np.int8)
    unique = np.zeros(len(columns[0].index), np.bool_)
    unique[first[single[verdict > 0]]] = True
    return Uniqueness(unique, int((verdict > 1).sum()))


# ---- from cells to boxes on a grid


@dataclass(frozen=True)
class _Side:
    """One attribute on its grid: only cells that admit different positions are told apart."""

    index: npt.NDArray[np.int32]  # record -> cell
    starts: Ints  # cell -> its first run, one more entry at the end
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]


def _on_grid(column: MaskedColumn) -> _Side:
    """Exact positions -> grid positions 1, 2, ...: stretches that no cell tells apart; 0 is missing."""
    runs = column.runs or _hull_runs(column)
    low, high, top = _stretches(runs)
    missing = np.diff(runs.starts) == 0
    shown = missing[column.index].any() if missing.any() else False
    at = runs.starts[:-1]
    low, high = np.insert(low, at[missing], 0), np.insert(high, at[missing], 0)
    starts = runs.starts + np.append(0, np.cumsum(missing))
    low[starts[:-1][runs.whole]] = 0 if shown else 1
    high[starts[1:][runs.whole] - 1] = top
    same, inverse = _same_cells(starts, low, high)
    length = np.diff(starts)[same]
    picked = np.repeat(starts[same] - np.append(0, np.cumsum(length)[:-1]), length) + np.arange(length.sum())
    kept = np.append(0, np.cumsum(length))
    return _Side(inverse[column.index], kept, low[picked], high[picked])


def _hull_runs(column: MaskedColumn) -> Runs:
    """One run a cell, for a column that was made without exact runs."""
    present = ~np.isnan(column.low)
    if np.nansum(column.size - (column.high - column.low + 1)) != 0:
        raise ValueError(f"column {column.attribute.name!r} has sets of categories but no runs")
    low, high = column.low[present], column.high[present]
    whole = np.zeros(len(present), np.bool_)
    steps = bool((low == np.round(low)).all() and (high == np.round(high)).all())
    return Runs(np.append(0, np.cumsum(present)), low, high, whole, discrete=steps)


def _stretches(runs: Runs) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], int]:
    """Runs on the grid whose lines are just before each low end and just after each high end."""
    ends = np.unique(np.concatenate([runs.low, runs.high]))
    left, right = np.searchsorted(ends, runs.low), np.searchsorted(ends, runs.high)
    before, after = 2 * left, 2 * right + 1
    if runs.discrete and len(ends):  # just after 2 is just before 3
        touches = np.append(ends[1:] - 1 == ends[:-1], False)
        after += touches[right]
    line = np.zeros(2 * len(ends) + 1, np.bool_)
    line[before] = line[after] = True
    number = np.cumsum(line, dtype=np.int32)
    return number[before], number[after] - np.int32(1), int(number[-1]) - 1


def _same_cells(
    starts: Ints, low: npt.NDArray[np.int32], high: npt.NDArray[np.int32]
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """One cell for each distinct set of positions, and cell -> which of these it equals."""
    sign = (low[starts[:-1]].astype(np.int64) << 32) | high[starts[1:] - 1]
    several: dict[bytes, int] = {}
    for cell in np.flatnonzero(np.diff(starts) > 1):
        run = slice(starts[cell], starts[cell + 1])
        sign[cell] = -1 - several.setdefault(low[run].tobytes() + high[run].tobytes(), len(several))
    _, same, inverse = np.unique(sign, return_index=True, return_inverse=True)
    return same, inverse.astype(np.int32)


def _distinct(sides: list[_Side]) -> tuple[Ints, Ints]:
    """For each distinct box: the first record that has it, and how many have it."""
    words: list[npt.NDArray[np.uint64]] = []
    used = 64  # cells are packed into as few 64-bit keys as hold them
    for side in sides:
        bits = max(1, (len(side.starts) - 2).bit_length())
        if used + bits > 64:
            words.append(np.zeros(len(side.index), np.uint64))
            used = 0
        words[-1] |= side.index.astype(np.uint64) << np.uint64(used)
        used += bits
    keys = pl.DataFrame({str(i): word for i, word in enumerate(words)})
    grouped = keys.with_row_index("row").group_by(keys.columns).agg(pl.first("row"), pl.len())
    return grouped["row"].cast(pl.Int64).to_numpy(), grouped["len"].cast(pl.Int64).to_numpy()


def _as_boxes(sides: list[_Side], first: Ints) -> Boxes:
    from shoal.kernels.boxes import Boxes

    cells = np.empty((len(first), len(sides)), np.int32)
    starts = [np.zeros(1, np.int64)]
    for j, side in enumerate(sides):
        cells[:, j] = side.index[first] + sum(len(s) for s in starts) - 1
        starts.append(side.starts[1:] + starts[-1][-1])
    ends = np.concatenate(starts)
    low, high = np.concatenate([s.low for s in sides]), np.concatenate([s.high for s in sides])
    size = np.add.reduceat(high - low + 1.0, ends[:-1])
    return Boxes(cells, ends, low, high, size)


# ---- the search


@dataclass(frozen=True)
class _Pattern:
    """Boxes that are points on the same attributes."""

    points: int  # bit j: a point on attribute j
    rows: Ints


def _judge(boxes: Boxes, single: Ints, max_boxes: int) -> npt.NDArray[np.int8]:
    """COVERED, UNIQUE or UNPROVEN for each box that only one record has."""
    from shoal.kernels.boxes import COVERED, UNIQUE, Tally

    n = len(boxes.cells)
    tally = Tally(np.zeros(n, np.bool_), np.zeros(n), np.zeros(n, np.int64))
    patterns = _patterns(boxes)
    open_ = np.zeros(n, np.bool_)
    open_[single] = True
    for containing in (True, False):
        for join in _joins(patterns, containing):
            _compare(boxes, join, open_, tally)
            open_ &= ~tally.covered
    verdict = np.where(tally.covered, COVERED, UNIQUE).astype(np.int8)
    contested = np.flatnonzero(open_ & (tally.share >= 1.0 - 1e-9))
    for batch in _batches(contested, tally.hits):
        verdict[batch] = _subtract(boxes, batch, patterns, tally, max_boxes)
    return verdict[single]


def _patterns(boxes: Boxes) -> list[_Pattern]:
    """The boxes by the attributes on which they are points, the least masked last; rare patterns together."""
    point = boxes.size == 1.0
    kind = np.zeros(len(boxes.cells), np.int64)
    for j in range(min(boxes.cells.shape[1], 62)):
        kind |= point[boxes.cells[:, j]].astype(np.int64) << j
    kinds, inverse, counts = np.unique(kind, return_inverse=True, return_counts=True)
    common = np.zeros(len(kinds), np.bool_)
    common[np.argsort(-counts, kind="stable")[:_PATTERNS]] = True
    patterns = [_Pattern(int(kinds[k]), np.flatnonzero(inverse == k)) for k in np.flatnonzero(common)]
    if not common.all():
        rest = np.bitwise_and.reduce(kinds[~common])
        patterns.append(_Pattern(int(rest), np.flatnonzero(~common[inverse])))
    return sorted(patterns, key=lambda p: p.points.bit_count())


Join = tuple[_Pattern, int, Ints]


def _joins(patterns: list[_Pattern], containing: bool | None = None) -> Iterator[Join]:
    """(pattern, attributes on which it and the askers are points, askers).

    `containing` picks the joins that can find a box around an asker, which is then a point wherever that box
    is, or else the others.
    """
    for pattern in patterns:
        askers: dict[int, list[Ints]] = defaultdict(list)
        for other in patterns:
            askers[pattern.points & other.points].append(other.rows)
        for shared, rows in askers.items():
            if containing is None or containing == (shared == pattern.points):
                yield pattern, shared, np.concatenate(rows)


_NOTHING = np.empty(0, np.int64)


def _compare(
    boxes: Boxes,
    join: Join,
    open_: npt.NDArray[np.bool_],
    tally: Tally,
    found: Ints = _NOTHING,
    into: Ints = _NOTHING,
) -> None:
    """Each open asker with the boxes of the pattern that agree with it on the shared attributes."""
    from shoal.kernels import boxes as kernels

    pattern, shared, asked = join
    asked = asked[open_[asked]]
    attributes = np.arange(boxes.cells.shape[1])
    together = np.array([bool(shared >> j & 1) for j in attributes])
    if not len(asked) or together.all():  # points everywhere and yet distinct: they do not meet
        return
    wanted = kernels.point_keys(boxes, asked, attributes[together])
    keys = kernels.point_keys(boxes, pattern.rows, attributes[together])
    keep = kernels.may_match(keys, wanted)
    rows, keys = pattern.rows[keep], keys[keep]
    order = np.argsort(keys)
    begin, end = (np.searchsorted(keys, wanted, side, sorter=order) for side in ("left", "right"))
    large = (end - begin).max() > kernels.SCAN
    if large:
        top = np.array([boxes.high[boxes.starts[c.max() + 1] - 1] for c in boxes.cells.T], np.int64)
        order = np.lexsort([kernels.z_order(boxes, rows, attributes[~together], top), keys])
    rows = rows[order]
    tree = kernels.grow_tree(boxes, rows if large else _NOTHING)
    kernels.visit(boxes, asked, rows, begin, end, tree, tally, found, into)


def _batches(contested: Ints, hits: Ints) -> list[Ints]:
    """The contested boxes in batches whose lists of meeting boxes fit into memory together."""
    if not len(contested):
        return []
    batch = np.cumsum(hits[contested]) // _BATCH
    return np.split(contested, np.flatnonzero(np.diff(batch)) + 1)


def _subtract(
    boxes: Boxes, batch: Ints, patterns: list[_Pattern], tally: Tally, max_boxes: int
) -> npt.NDArray[np.int8]:
    """Lists the boxes that meet each of the batch and cuts them away."""
    from shoal.kernels.boxes import subtract_each

    ends = np.cumsum(tally.hits[batch])
    found = np.empty(ends[-1], np.int64)
    into = np.zeros(len(boxes.cells), np.int64)
    into[batch] = ends - tally.hits[batch]
    asked = np.zeros(len(boxes.cells), np.bool_)
    asked[batch] = True
    for join in _joins(patterns):
        _compare(boxes, join, asked, tally, found, into)
    return subtract_each(boxes, batch, ends, found, max_boxes)
