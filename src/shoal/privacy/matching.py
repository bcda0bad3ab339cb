"""How many people fit what a class shows: F_j, counted in an identification database (paper 3; docs/spec.md#scenarios).

A person fits a class if each of the person's values is admitted by the class's cell: intervals, sets, prefixes, nodes
of a hierarchy, wildcards (docs/spec.md#cells, #fitting). Missing is a value of its own, which only missing and `*`
admit.

Cells of one attribute that do not overlap, as after global recoding, give each person at most one cell: there a join
counts. Where cells overlap, as after local recoding, people are points and classes are boxes of codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import Runs
from shoal.data.kinds import kind_by_type
from shoal.data.microdata import MISSING, Coded, Microdata, declared_order, encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from shoal.kernels.counting import Cells, Points

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

ALL = 1 << 62  # more than there are people
_BLOCK = 4096  # classes counted by one thread at a time


class Population:
    """The identification database: one record a person whom an intruder could name."""

    def __init__(self, table: pl.DataFrame, name: str = "The population") -> None:
        if table.height == 0:
            raise InputError(f"{name} has no records: nobody could be matched.")
        self.table = table
        self.name = name
        self._beside: tuple[Microdata, Beside] | None = None

    def column(self, name: str) -> pl.Series:
        """A column of the population by its name; refused with a hint where it has none."""
        if name not in self.table.columns:
            hint = did_you_mean(name, self.table.columns)
            raise InputError(
                f"{self.name} has no column {name!r}, which is a quasi-identifier of the table: give it "
                f"that column, or match without it by not naming it.{hint}"
            )
        return self.table[name]

    def beside(self, microdata: Microdata) -> Beside:
        """The population in codes that it shares with the table; kept for the last table asked for."""
        if self._beside is None or self._beside[0] is not microdata:
            both = [_both(microdata.frame[c.name], self.column(c.name), c.attribute) for c in microdata.quasi]
            people = _grouped(_numbered([side.people for side in both])).with_columns(key=pl.lit(0))
            self._beside = microdata, Beside(both, _along_curve(people, [side.missing for side in both]))
        return self._beside[1]


def population_of(source: object) -> Population:
    """From a file's path, or a frame of any kind; a file is read once while it stays as it is."""
    if isinstance(source, Population):
        return source
    if isinstance(source, str | Path):
        path = Path(source)
        state = path.stat() if path.is_file() else None
        return _read(str(source)) if state is None else _kept(str(source), state.st_mtime_ns, state.st_size)
    from shoal.data.frames import to_polars

    return Population(to_polars(source)[0])


@lru_cache(maxsize=1)
def _kept(source: str, modified: int, size: int) -> Population:
    return _read(source)


def _read(source: str) -> Population:
    from shoal.data.files import read_table

    return Population(read_table(source), f"The population {source!r}")


@dataclass(frozen=True)
class Matched:
    """The classes of a release: how many records each has, and how many people fit it."""

    sizes: Ints  # f
    people: Ints  # F


def match(
    released: pl.DataFrame,
    attributes: Sequence[Attribute],
    population: Population,
    *,
    enough: int = ALL,
    least: bool = False,
) -> Matched:
    """Every class of equal released cells against the population, by nothing but what the release shows.

    Where cells overlap, counting a class may stop at `enough` people; with `least` only the least count is exact, which
    is far quicker for large overlapping classes.
    """
    read = [beside_people(released[a.name], a, population.column(a.name)) for a in attributes]
    if not read or not released.height:
        sizes = np.array([released.height] if released.height else [], np.int64)
        return Matched(sizes, np.full(len(sizes), population.table.height))
    index = pl.DataFrame([pl.Series(str(j), cells) for j, (_, cells) in enumerate(read)])
    classes = index.group_by(index.columns).agg(pl.len().alias("size"))
    cells = [classes[str(j)].to_numpy() for j in range(len(read))]
    people = count_people([side for side, _ in read], cells, enough=enough, least=least)
    return Matched(classes["size"].to_numpy().astype(np.int64), people)


def people_fitting(
    shown: pl.DataFrame, attributes: Sequence[Attribute], population: Population, *, enough: int = ALL
) -> Ints:
    """How many people fit what each row shows; of large overlapping classes no more than `enough` are counted."""
    read = [beside_people(shown[a.name], a, population.column(a.name)) for a in attributes]
    return count_people([side for side, _ in read], [cells for _, cells in read], enough=enough)


def people_beside(microdata: Microdata, order: Ints, starts: Ints, population: Population, enough: int = ALL) -> Ints:
    """How many people fit each class of a partition, shown by what its records span and no more."""
    coded = population.beside(microdata)
    shown = [_spanned(c, side, order, starts) for c, side in zip(microdata.quasi, coded.both, strict=True)]
    each = np.arange(len(starts) - 1, dtype=np.int32)
    return _count(coded.points, *_as_boxes(np.zeros_like(each), shown, [each] * len(shown)), enough)


# ---- cells as runs of the population's codes


@dataclass(frozen=True)
class Shown:
    """The cells of one attribute as runs of codes, ascending and apart; a cell that fits nobody has none."""

    starts: Ints  # cell -> its first run, one more entry at the end
    low: Codes
    high: Codes


@dataclass(frozen=True)
class Side:
    """One attribute: the code of each person, and what a release shows.

    Codes follow the order of the values; `missing`, one more than the last, is that of people without a value.
    """

    people: Codes
    missing: int
    shown: Shown


def beside_people(column: pl.Series, attribute: Attribute, people: pl.Series) -> tuple[Side, Codes]:
    """The side of a released column, and record -> cell."""
    attribute = _as_of(attribute, people)
    coded = _encoded(people, attribute)
    read = read_cells(column, attribute, coded.values)
    assert read.runs is not None
    missing = len(coded.values)
    nothing = np.diff(read.runs.starts) == 0
    shown = _with_ends(_code_runs(read.runs, coded), read.runs.whole, nothing, missing)
    return Side(np.where(coded.codes == MISSING, missing, coded.codes), missing, shown), read.index


def _encoded(people: pl.Series, attribute: Attribute) -> Coded:
    """Labels may be others than the table's: those need no place in its domain or hierarchy."""
    if attribute.kind is Kind.NOMINAL:
        attribute = replace(attribute, domain=None, hierarchy=None)
    try:
        return encode(people, attribute)
    except InputError as error:
        raise InputError(f"In the population: {error}") from None


def _as_of(attribute: Attribute, people: pl.Series) -> Attribute:
    """A release may show numbers and dates as text with masks: of what kind they are, the population knows."""
    unclear = attribute.kind is Kind.NOMINAL and attribute.domain is None and attribute.hierarchy is None
    return replace(attribute, kind=kind_by_type(people)) if unclear else attribute


def _code_runs(runs: Runs, coded: Coded) -> Shown:
    """Runs of positions as runs of codes; those between two values of the population hold nobody."""
    if coded.attribute.kind in (Kind.NUMERIC, Kind.DATE):
        values = coded.values.to_physical().to_numpy()
        low, high = np.searchsorted(values, runs.low), np.searchsorted(values, runs.high, "right") - 1
    else:  # positions are indices into the values, beyond them labels that the population does not have
        low, high = runs.low.astype(np.int64), np.minimum(runs.high.astype(np.int64), len(coded.values) - 1)
    some = low <= high
    starts = np.append(0, np.cumsum(some))[runs.starts]
    return Shown(starts, low[some].astype(np.int32), high[some].astype(np.int32))


def _with_ends(shown: Shown, whole: npt.NDArray[np.bool_], nothing: npt.NDArray[np.bool_], missing: int) -> Shown:
    """The wildcard admits all, missing only what is missing: one run each, in place of what was read."""
    special = whole | nothing
    cell = np.repeat(np.arange(len(special)), np.diff(shown.starts))
    kept = ~special[cell]
    cell = np.concatenate([cell[kept], np.flatnonzero(special)])
    low = np.concatenate([shown.low[kept], np.where(whole, 0, missing)[special].astype(np.int32)])
    high = np.concatenate([shown.high[kept], np.full(int(special.sum()), missing, np.int32)])
    order = np.argsort(cell, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(cell, minlength=len(special))))
    return Shown(starts, low[order], high[order])


# ---- classes of a partition, in codes that the table shares with the population


@dataclass(frozen=True)
class Both:
    """One attribute in common codes."""

    table: Codes  # -1 is missing
    people: Codes  # `missing` is
    missing: int


@dataclass(frozen=True)
class Beside:
    """A table's attributes and the population's in common codes, and the people as points."""

    both: list[Both]
    points: Points


def _both(column: pl.Series, people: pl.Series, attribute: Attribute) -> Both:
    if attribute.kind in (Kind.ORDINAL, Kind.NOMINAL):
        order = declared_order(column, attribute)
        column, people = column.cast(pl.String), people.cast(pl.String)
        if order is not None:
            known = order.cast(pl.String)
            others = people.filter(~people.is_in(known.implode())).drop_nulls().unique().sort()
            attribute = replace(attribute, domain=(*known, *others), hierarchy=None)
    try:
        together = pl.concat([column.to_frame(), people.to_frame()], how="vertical_relaxed").to_series()
    except pl.exceptions.PolarsError:
        raise InputError(
            f"Column {column.name!r} holds {column.dtype} in the table and {people.dtype} in the population: "
            "give both the same type."
        ) from None
    coded = encode(together, attribute)
    table, people_codes = coded.codes[: len(column)], coded.codes[len(column) :]
    missing = len(coded.values)
    return Both(table, np.where(people_codes == MISSING, missing, people_codes), missing)


def _spanned(coded: Coded, both: Both, order: Ints, starts: Ints) -> Shown:
    """What each class spans: a range, a set of labels, or the leaves below their common ancestor."""
    from shoal.kernels.segments import distinct, extremes

    low, high = extremes(both.table, order, starts)
    whole, nothing = (low < 0) & (high >= 0), high < 0
    hierarchy = coded.attribute.hierarchy
    if coded.is_nominal and hierarchy is None:
        begins, labels = distinct(both.table, order, starts)
        shown = Shown(begins, labels, labels)
    else:
        if hierarchy is not None:
            same = hierarchy.ancestors[:, np.maximum(low, 0)] == hierarchy.ancestors[:, np.maximum(high, 0)]
            level = same.argmax(axis=0)
            low, high = _leaves(hierarchy.ancestors, level, np.maximum(high, 0))
        shown = Shown(np.arange(len(low) + 1), low, high)
    return _with_ends(shown, whole, nothing, both.missing)


def _leaves(ancestors: Codes, level: Ints, leaf: Codes) -> tuple[Codes, Codes]:
    """First and last leaf below the ancestor, at that level, of each leaf; leaves stand in the order of the tree."""
    changes = ancestors[:, 1:] != ancestors[:, :-1]
    edge = np.ones((len(ancestors), 1), np.bool_)
    place = np.arange(ancestors.shape[1])
    first = np.maximum.accumulate(np.where(np.hstack([edge, changes]), place, 0), axis=1)
    ends = np.where(np.hstack([changes, edge]), place, len(place))
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return first[level, leaf].astype(np.int32), last[level, leaf].astype(np.int32)


# ---- counting


def count_people(sides: Sequence[Side], cells: Sequence[Codes], *, enough: int = ALL, least: bool = False) -> Ints:
    """How many people fit each class; cells[j][c] is the cell that class c shows in attribute j."""
    only = [_cell_of_code(side) for side in sides]
    places = [side.people if cell is None else cell[side.people] for side, cell in zip(sides, only, strict=True)]
    apart = ["all", *(str(j) for j, cell in enumerate(only) if cell is not None)]
    people, classes = _numbered(places), _numbered(cells)
    people = _grouped(people.filter(pl.min_horizontal(apart) >= 0))
    keys = classes.select(apart).unique(maintain_order=True).with_row_index("key")
    people = people.join(keys, on=apart)
    key: Codes = classes.join(keys, on=apart, how="left", maintain_order="left")["key"].to_numpy().astype(np.int32)
    free = [j for j, cell in enumerate(only) if cell is None]
    if free and people.height:
        points = _along_curve(people.select("key", *map(str, free), "people"), [sides[j].missing for j in free])
        boxes = _as_boxes(key, [sides[j].shown for j in free], [cells[j] for j in free])
        return _count(points, *boxes, enough, least)
    by_key = np.zeros(keys.height, np.int64)
    by_key[people["key"].to_numpy()] = people["people"].to_numpy()
    return by_key[key]


def _numbered(columns: Sequence[Codes]) -> pl.DataFrame:
    """Columns 0, 1, ..., and one in which all are alike."""
    frame = pl.DataFrame([pl.Series(str(j), column) for j, column in enumerate(columns)])
    return frame.with_columns(all=pl.lit(0, pl.Int32))


def _grouped(people: pl.DataFrame) -> pl.DataFrame:
    return people.group_by(people.columns).agg(pl.len().alias("people"))


def _cell_of_code(side: Side) -> Codes | None:
    """code -> the one cell that admits it, -1 where none does; None where cells overlap."""
    by_low = np.argsort(side.shown.low, kind="stable")
    low, high = side.shown.low[by_low], side.shown.high[by_low]
    if (low[1:] <= high[:-1]).any():
        return None
    lengths = np.diff(side.shown.starts)
    cell = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)[by_low]
    length = (high - low + 1).astype(np.int64)
    admitted = np.repeat(low - np.cumsum(length) + length, length) + np.arange(length.sum())
    of_code = np.full(side.missing + 1, -1, np.int32)
    of_code[admitted] = np.repeat(cell, length)
    return of_code


def _as_boxes(key: Codes, shown: list[Shown], cells: list[Codes]) -> tuple[Cells, Codes]:
    """Classes as boxes: a key, which stands for all attributes without overlaps, and the others' cells.

    Cells are numbered through all attributes.
    """
    from shoal.kernels.counting import Cells

    keys = np.arange(key.max(initial=0) + 1, dtype=np.int32)
    all_shown = [Shown(np.arange(len(keys) + 1), keys, keys), *shown]
    first = np.cumsum([0, *(len(cells.starts) - 1 for cells in all_shown)])[:-1]
    runs = np.cumsum([0, *(len(cells.low) for cells in all_shown)])
    starts = np.concatenate([cells.starts[:-1] + run for cells, run in zip(all_shown, runs, strict=False)])
    low, high = (np.concatenate([getattr(cells, end) for cells in all_shown]) for end in ("low", "high"))
    boxes = np.column_stack([key, *cells]).astype(np.int32) + first.astype(np.int32)
    return Cells(np.append(starts, runs[-1]), low, high), boxes


def _along_curve(people: pl.DataFrame, missing: list[int]) -> Points:
    """People by key, and within a key along a Hilbert curve through their codes 0..missing, with hulls over them."""
    from shoal.kernels.counting import FAN, Points
    from shoal.kernels.hilbert import hilbert_keys
    from shoal.kernels.sorting import argsort_keys

    key, counts = people["key"].to_numpy(), people["people"].to_numpy().astype(np.int64)
    rows = people.drop("key", "people", "all", strict=False).to_numpy()
    bits = max(1, min(16, 64 // len(missing)))
    steps = np.array([2**bits / (last + 1) for last in missing], np.float32)
    words = np.empty((-(-len(missing) * bits // 64), len(rows)), np.uint64)
    hilbert_keys(rows.astype(np.float32, order="C"), np.zeros(len(missing), np.float32), steps, bits, words)
    order = None
    for word in [*words[::-1], key.astype(np.uint64)]:
        order = argsort_keys(word, order)
    codes = np.column_stack([key, rows]).astype(np.int32, order="C")[order]
    low, high = [codes], [codes]
    while len(low) == 1 or len(low[-1]) > 1:
        blocks = np.arange(0, len(low[-1]), FAN)
        low.append(np.minimum.reduceat(low[-1], blocks))
        high.append(np.maximum.reduceat(high[-1], blocks))
    level = np.cumsum([0, *(len(hulls) for hulls in low[1:])])
    before = np.append(0, np.cumsum(counts[order]))
    return Points(codes, before, np.concatenate(low[1:]), np.concatenate(high[1:]), level)


def _count(points: Points, cells: Cells, boxes: Codes, enough: int, least: bool = False) -> Ints:
    from shoal.kernels.counting import count_inside
    from shoal.kernels.threads import in_blocks

    counts, stop = np.zeros(len(boxes), np.int64), np.array([enough])
    in_blocks(len(boxes), _BLOCK, lambda a, b: count_inside(points, cells, boxes[a:b], stop, least, counts[a:b]))
    return counts
