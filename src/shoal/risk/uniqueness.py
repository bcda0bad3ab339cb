"""Unique records, the upper bound of re-identification (paper 1, Eq. 1; docs/spec.md#uniqueness, #fitting).

On plain values a record is unique when no other shows the same. On masked values the paper's worst case
counts: the box of a record is the set of all points that its cells admit, and the record is unique iff some
point of its box lies in no other record's box, because its true values may be just that point. Attributes are
judged jointly. Missing is a value of its own; where a column shows it, it belongs to the domain, and `*`
admits it too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.cells import MaskedColumn, Runs
from shoal.data.parse_cells import read_cells
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.kernels.boxes import Boxes, Keys, Tally, Tree

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
        """Whether nothing was left undecided."""
        return self.unproven == 0


def uniques_by_equality(frame: pl.DataFrame, attributes: list[str]) -> npt.NDArray[np.bool_]:
    """Records whose released values no other record shows; missing equals missing."""
    if not attributes:
        return np.full(frame.height, frame.height == 1)
    return frame.select((pl.len().over(attributes) == 1).alias("unique")).to_series().to_numpy()


def worst_case_uniques(columns: list[MaskedColumn], *, max_boxes: int = 10_000) -> Uniqueness:
    """Records with a point that fits no other record (docs/spec.md#fitting), exactly.

    `max_boxes` bounds the pieces examined for one record; one not settled by then counts as unique, unproven.
    """
    if not columns:
        raise InputError("Uniqueness needs at least one attribute that an intruder may know: name some.")
    columns = [_with_runs(column) for column in columns]
    unique = np.zeros(len(columns[0].index), np.bool_)
    first, count = _distinct([c.index for c in columns], np.ones(len(unique), np.int64))
    if (count > 1).all():  # k-anonymous: nothing to search for
        return Uniqueness(unique)
    sides = [_on_grid(column) for column in columns]
    cells = [side.number[c.index[first]] for side, c in zip(sides, columns, strict=True)]
    box, count = _distinct(cells, count)
    single = np.flatnonzero(count == 1)
    verdict = _judge(_as_boxes(sides, [c[box] for c in cells]), single, max_boxes)
    unique[first[box[single[verdict > 0]]]] = True
    return Uniqueness(unique, int((verdict > 1).sum()))


def _distinct(cells: list[npt.NDArray[np.int32]], count: Ints) -> tuple[Ints, Ints]:
    """One row for each distinct combination of cells, and the sum of its rows' counts."""
    words: list[npt.NDArray[np.uint64]] = []
    used = 64  # cells are packed into as few 64-bit keys as hold them
    for column in cells:
        bits = max(1, int(column.max(initial=0)).bit_length())
        if used + bits > 64:
            words.append(np.zeros(len(column), np.uint64))
            used = 0
        words[-1] |= column.astype(np.uint64) << np.uint64(used)
        used += bits
    keys = pl.DataFrame({str(i): word for i, word in enumerate(words)})
    grouped = (
        keys.with_columns(count=count)
        .with_row_index("row")
        .group_by(keys.columns)
        .agg(pl.first("row").cast(pl.Int64), pl.sum("count"))
    )
    return grouped["row"].to_numpy(), grouped["count"].to_numpy()


# ---- from cells to boxes on a grid


def _with_runs(column: MaskedColumn) -> MaskedColumn:
    """A column that was made without exact runs is read from its text."""
    if column.runs is not None:
        return column
    read = read_cells(column.text, column.attribute)
    return replace(read, index=read.index[column.index])


@dataclass(frozen=True)
class _Side:
    """One attribute on its grid: only cells that admit different positions are told apart."""

    number: npt.NDArray[np.int32]  # cell of the column -> cell of the grid
    starts: Ints  # cell -> its first run, one more entry at the end
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]


def _on_grid(column: MaskedColumn) -> _Side:
    """Exact positions -> grid positions 1, 2, ...: stretches that no cell tells apart; 0 is missing."""
    runs = column.runs
    assert runs is not None
    low, high, top = _stretches(runs)
    missing = np.diff(runs.starts) == 0
    shown = missing[column.index].any() if missing.any() else False
    at = runs.starts[:-1]
    low, high = np.insert(low, at[missing], 0), np.insert(high, at[missing], 0)
    starts = runs.starts + np.append(0, np.cumsum(missing))
    low[starts[:-1][runs.whole]] = 0 if shown else 1
    high[starts[1:][runs.whole] - 1] = top
    same, number = _same_cells(starts, low, high)
    length = np.diff(starts)[same]
    picked = np.repeat(starts[same] - np.append(0, np.cumsum(length)[:-1]), length) + np.arange(length.sum())
    kept = np.append(0, np.cumsum(length))
    return _Side(number, kept, low[picked], high[picked])


def _stretches(runs: Runs) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], int]:
    """Runs on the grid whose lines are just before each low end and just after each high end."""
    ends = np.sort(np.concatenate([runs.low, runs.high]))
    ends = ends[np.append(True, ends[1:] != ends[:-1])[: len(ends)]]
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


def _as_boxes(sides: list[_Side], cells: list[npt.NDArray[np.int32]]) -> Boxes:
    """The attributes' cells side by side, numbered through all attributes."""
    from shoal.kernels.boxes import Boxes

    numbers = np.cumsum([0, *(len(side.starts) - 1 for side in sides)])
    runs = np.cumsum([0, *(len(side.low) for side in sides)])
    starts = [side.starts[:-1] + run for side, run in zip(sides, runs, strict=False)]
    ends = np.append(np.concatenate(starts), runs[-1])
    low, high = np.concatenate([s.low for s in sides]), np.concatenate([s.high for s in sides])
    size = np.add.reduceat(high - low + 1.0, ends[:-1])
    rows = np.empty((len(cells[0]), len(sides)), np.int32)
    for j, column in enumerate(cells):
        rows[:, j] = column + numbers[j]
    return Boxes(rows, ends, low, high, size)


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
            events.check()
            _compare(boxes, join, open_, tally)
            open_ &= ~tally.covered
    verdict = np.where(tally.covered, COVERED, UNIQUE).astype(np.int8)
    contested = np.flatnonzero(open_ & (tally.share >= 1.0 - 1e-9))
    for batch in _batches(contested, tally.hits):
        events.check()
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
        for asker in patterns:
            askers[pattern.points & asker.points].append(asker.rows)
        for shared, rows in askers.items():
            if containing is None or containing == (shared == pattern.points):
                yield pattern, shared, np.concatenate(rows)


_NOTHING = np.empty(0, np.int64)


def _compare(
    boxes: Boxes,
    join: Join,
    open_: npt.NDArray[np.bool_],
    tally: Tally,
    witnesses: Ints = _NOTHING,
    into: Ints = _NOTHING,
) -> None:
    """Each open asker with the boxes of the pattern that agree with it on the shared attributes."""
    from shoal.kernels.boxes import SCAN, visit

    pattern, shared, asked = join
    asked = asked[open_[asked]]
    together = [bool(shared >> j & 1) for j in range(boxes.cells.shape[1])]
    if not len(asked) or all(together):  # points everywhere and yet distinct: they do not meet
        return
    wanted, keys = (_point_keys(boxes, rows, np.flatnonzero(together)) for rows in (asked, pattern.rows))
    keep = _may_match(keys, wanted)
    rows, keys = pattern.rows[keep], keys[keep]
    order = np.argsort(keys)
    begin, end = (np.searchsorted(keys, wanted, side, sorter=order) for side in ("left", "right"))
    large = (end - begin).max() > SCAN
    if large:
        order = np.lexsort([_z_order(boxes, rows, np.flatnonzero(~np.array(together))), keys])
    tree = _tree(boxes, rows[order] if large else _NOTHING)
    visit(boxes, asked, rows[order], begin, end, tree, tally, witnesses, into)


def _point_keys(boxes: Boxes, rows: Ints, shared: Ints) -> Keys:
    """A hash of each row's positions on the shared attributes."""
    position = boxes.low[boxes.starts[:-1]].astype(np.uint64)
    keys = np.full(len(rows), 0x9E3779B97F4A7C15, np.uint64)
    for j in shared:
        keys ^= position[boxes.cells[rows, j]]
        keys *= np.uint64(0xBF58476D1CE4E5B9)  # the upper bits depend on all that went in
        keys ^= keys >> np.uint64(29)
    return keys


def _may_match(keys: Keys, wanted: Keys) -> npt.NDArray[np.bool_]:
    """False only for keys that are surely not among the wanted (a Bloom filter of one hash)."""
    bits = max(10, (16 * len(wanted)).bit_length())
    shift = np.uint64(64 - bits)
    seen = np.zeros(1 << bits, np.bool_)
    seen[wanted >> shift] = True
    return np.asarray(seen[keys >> shift])


def _z_order(boxes: Boxes, rows: Ints, free: Ints) -> Keys:
    """The middles of the boxes on the free attributes, their bits interleaved: near boxes get near keys."""
    middle = boxes.low[boxes.starts[:-1]].astype(np.int64) + boxes.high[boxes.starts[1:] - 1]
    bits = max(1, min(20, 63 // len(free)))
    keys = np.zeros(len(rows), np.uint64)
    places = [middle[boxes.cells[rows, j]] for j in free[:63]]
    places = [(place << bits) // (place.max() + 1) for place in places]
    for bit in reversed(range(bits)):
        for place in places:
            keys = keys << np.uint64(1) | (place >> bit & 1).astype(np.uint64)
    return keys


def _tree(boxes: Boxes, rows: Ints) -> Tree:
    """Hulls over the rows in their order."""
    from shoal.kernels.boxes import FAN, Tree

    low = [boxes.low[boxes.starts[:-1]][boxes.cells[rows]]]
    high = [boxes.high[boxes.starts[1:] - 1][boxes.cells[rows]]]
    while len(low) == 1 or len(low[-1]) > 1:
        blocks = np.arange(0, len(low[-1]), FAN)
        low.append(np.minimum.reduceat(low[-1], blocks))
        high.append(np.maximum.reduceat(high[-1], blocks))
    level = np.cumsum([0, *(len(hulls) for hulls in low[1:])])
    return Tree(np.concatenate(low[1:]), np.concatenate(high[1:]), level)


def _batches(contested: Ints, hits: Ints) -> list[Ints]:
    """The contested boxes in batches whose lists of meeting boxes fit into memory together."""
    if not len(contested):
        return []
    batch = np.cumsum(hits[contested]) // _BATCH
    return np.split(contested, np.flatnonzero(np.diff(batch)) + 1)


def _subtract(
    boxes: Boxes, batch: Ints, patterns: list[_Pattern], tally: Tally, max_boxes: int
) -> npt.NDArray[np.int8]:
    """Lists the boxes that meet each of the batch, itself last, and cuts them away from it."""
    from shoal.kernels.boxes import subtract_each

    ends = np.cumsum(tally.hits[batch] + 1)
    groups = np.empty(ends[-1], np.int64)
    groups[ends - 1] = batch
    into = np.zeros(len(boxes.cells), np.int64)
    into[batch] = ends - tally.hits[batch] - 1
    asked = np.zeros(len(boxes.cells), np.bool_)
    asked[batch] = True
    for join in _joins(patterns):
        _compare(boxes, join, asked, tally, groups, into)
    return np.asarray(subtract_each(boxes, groups, ends, max_boxes))
