"""How many people fit what a class shows: F_j, counted in an identification database (paper 3; SPEC 4.1).

A person fits a class if each of the person's values is admitted by the class's cell: intervals, sets, prefixes, nodes
of a hierarchy, wildcards (SPEC 1.2 and 2.5). Missing is a value of its own, which only missing and `*` admit.

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

from shoal.data.inference import infer_kind
from shoal.data.masked import Runs, read_cells
from shoal.data.microdata import MISSING, Coded, Microdata, declared_order, encode
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

    def __init__(self, table: pl.DataFrame, name: str = "the population") -> None:
        self.table = table
        self.name = name
        self._beside: tuple[Microdata, list[Both]] | None = None

    def column(self, name: str) -> pl.Series:
        if name not in self.table.columns:
            hint = did_you_mean(name, self.table.columns)
            raise InputError(
                f"{self.name.capitalize()} has no column {name!r}, which is a quasi-identifier of the table: give it "
                f"that column, or match without it by not naming it.{hint}"
            )
        return self.table[name]

    def beside(self, microdata: Microdata) -> list[Both]:
        """The quasi-identifiers of a table and of the population in the same codes; kept for the last table."""
        if self._beside is None or self._beside[0] is not microdata:
            both = [_both(microdata.frame[c.name], self.column(c.name), c.attribute) for c in microdata.quasi]
            self._beside = microdata, both
        return self._beside[1]


def population_of(source: object) -> Population:
    """From a file's path, or a frame of any kind; a file is read once while it stays as it is."""
    if isinstance(source, Population):
        return source
    if isinstance(source, str | Path):
        try:
            state = Path(source).stat()
            return _read(str(source), state.st_mtime_ns, state.st_size)
        except OSError:  # not a file: a database, or a mistake for the reader to name
            return _read(str(source), 0, 0)
    from shoal.data.frames import to_polars

    return Population(to_polars(source)[0])


@lru_cache(maxsize=1)
def _read(source: str, modified: int, size: int) -> Population:
    from shoal.data.files import read_table

    return Population(read_table(source), f"the population {source!r}")


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
    read = [_released(released[a.name], a, population.column(a.name)) for a in attributes]
    if not read or not released.height:
        sizes = np.array([released.height] if released.height else [], np.int64)
        return Matched(sizes, np.full(len(sizes), population.table.height))
    index = pl.DataFrame([pl.Series(str(j), cells) for j, (_, cells) in enumerate(read)])
    classes = index.group_by(index.columns).agg(pl.len().alias("size"))
    cells = [classes[str(j)].to_numpy() for j in range(len(read))]
    people = count_people([side for side, _ in read], cells, enough=enough, least=least)
    return Matched(classes["size"].to_numpy().astype(np.int64), people)


def people_beside(microdata: Microdata, order: Ints, starts: Ints, population: Population, enough: int = ALL) -> Ints:
    """How many people fit each class of a partition, shown by what its records span and no more."""
    sides = [
        _spanned(coded, both, order, starts)
        for coded, both in zip(microdata.quasi, population.beside(microdata), strict=True)
    ]
    each = np.arange(len(starts) - 1, dtype=np.int32)
    return count_people(sides, [each] * len(sides), enough=enough)


# ---- cells as runs of the population's codes


@dataclass(frozen=True)
class Side:
    """One attribute: the code of each person, and the cells that a release shows as runs of codes.

    Codes follow the order of the values; the last one, `missing`, is that of people without a value.
    """

    codes: Codes
    missing: int
    starts: Ints  # cell -> its first run, one more entry at the end; a cell that fits nobody has none
    low: Codes
    high: Codes


def _released(column: pl.Series, attribute: Attribute, people: pl.Series) -> tuple[Side, Codes]:
    """The side of a released column, and record -> cell."""
    attribute = _as_of(attribute, people)
    coded = _encoded(people, attribute)
    read = read_cells(column, attribute, coded.values)
    assert read.runs is not None
    missing = len(coded.values)
    starts, low, high = _code_runs(read.runs, coded)
    nothing = np.diff(read.runs.starts) == 0
    starts, low, high = _with_ends(starts, low, high, read.runs.whole, nothing, missing)
    return Side(np.where(coded.codes == MISSING, missing, coded.codes), missing, starts, low, high), read.index


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
    return replace(attribute, kind=infer_kind(people)) if unclear else attribute


def _code_runs(runs: Runs, coded: Coded) -> tuple[Ints, Codes, Codes]:
    """Runs of positions as runs of codes; those between two values of the population hold nobody."""
    if coded.attribute.kind in (Kind.NUMERIC, Kind.DATE):
        values = coded.values.to_physical().to_numpy()
        low, high = np.searchsorted(values, runs.low), np.searchsorted(values, runs.high, "right") - 1
    else:  # positions are indices into the values, beyond them labels that the population does not have
        low, high = runs.low.astype(np.int64), np.minimum(runs.high.astype(np.int64), len(coded.values) - 1)
    some = low <= high
    starts = np.append(0, np.cumsum(some))[runs.starts]
    return starts, low[some].astype(np.int32), high[some].astype(np.int32)


def _with_ends(
    starts: Ints,
    low: Codes,
    high: Codes,
    whole: npt.NDArray[np.bool_],
    nothing: npt.NDArray[np.bool_],
    missing: int,
) -> tuple[Ints, Codes, Codes]:
    """The wildcard admits all, missing only what is missing: one run each, in place of what was read."""
    special = whole | nothing
    cell = np.repeat(np.arange(len(special)), np.diff(starts))
    kept = ~special[cell]
    cell = np.concatenate([cell[kept], np.flatnonzero(special)])
    low = np.concatenate([low[kept], np.where(whole, 0, missing)[special].astype(np.int32)])
    high = np.concatenate([high[kept], np.full(int(special.sum()), missing, np.int32)])
    order = np.argsort(cell, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(cell, minlength=len(special))))
    return starts, low[order], high[order]


# ---- classes of a partition, in codes that the table shares with the population


@dataclass(frozen=True)
class Both:
    """One attribute in common codes: the table's records and the people; -1 is missing."""

    table: Codes
    people: Codes
    values: int


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
    return Both(coded.codes[: len(column)], coded.codes[len(column) :], len(coded.values))


def _spanned(coded: Coded, both: Both, order: Ints, starts: Ints) -> Side:
    """What each class spans: a range, a set of labels, or the leaves below their common ancestor."""
    from shoal.kernels.segments import distinct, extremes

    low, high = extremes(both.table, order, starts)
    whole, nothing = (low < 0) & (high >= 0), high < 0
    hierarchy = coded.attribute.hierarchy
    if coded.is_nominal and hierarchy is None:
        begins, labels = distinct(both.table, order, starts)
        runs = begins, labels, labels
    else:
        if hierarchy is not None:
            same = hierarchy.ancestors[:, np.maximum(low, 0)] == hierarchy.ancestors[:, np.maximum(high, 0)]
            level = same.argmax(axis=0)
            low, high = _leaves(hierarchy.ancestors, level, np.maximum(high, 0))
        runs = np.arange(len(low) + 1), low, high
    ends = _with_ends(*runs, whole, nothing, both.values)
    return Side(np.where(both.people == MISSING, both.values, both.people), both.values, *ends)


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
    places = [side.codes if cell is None else cell[side.codes] for side, cell in zip(sides, only, strict=True)]
    apart = ["all", *(str(j) for j, cell in enumerate(only) if cell is not None)]
    people, classes = _numbered(places), _numbered(cells)
    people = people.filter(pl.min_horizontal(apart) >= 0).group_by(people.columns).agg(pl.len().alias("people"))
    keys = classes.select(apart).unique(maintain_order=True).with_row_index("key")
    people = people.join(keys, on=apart)
    classes = classes.join(keys, on=apart, how="left", maintain_order="left")
    free = [j for j, cell in enumerate(only) if cell is None]
    if free and people.height:
        return _count(*_boxes(people, classes, [sides[j] for j in free], [str(j) for j in free]), enough, least)
    by_key = np.zeros(keys.height, np.int64)
    by_key[people["key"].to_numpy()] = people["people"].to_numpy()
    found: Ints = by_key[classes["key"].to_numpy()]
    return found


def _numbered(columns: Sequence[Codes]) -> pl.DataFrame:
    """Columns 0, 1, ..., and one in which all are alike."""
    frame = pl.DataFrame([pl.Series(str(j), column) for j, column in enumerate(columns)])
    return frame.with_columns(all=pl.lit(0, pl.Int32))


def _cell_of_code(side: Side) -> Codes | None:
    """code -> the one cell that admits it, -1 where none does; None where cells overlap."""
    by_low = np.argsort(side.low, kind="stable")
    low, high = side.low[by_low], side.high[by_low]
    if (low[1:] <= high[:-1]).any():
        return None
    cell = np.repeat(np.arange(len(side.starts) - 1, dtype=np.int32), np.diff(side.starts))[by_low]
    length = (high - low + 1).astype(np.int64)
    admitted = np.repeat(low - np.cumsum(length) + length, length) + np.arange(length.sum())
    of_code = np.full(side.missing + 1, -1, np.int32)
    of_code[admitted] = np.repeat(cell, length)
    return of_code


def _boxes(
    people: pl.DataFrame, classes: pl.DataFrame, sides: list[Side], names: list[str]
) -> tuple[Points, Cells, Codes]:
    """Classes as boxes: their key, which stands for all attributes without overlaps, and the others' cells."""
    keys = np.arange(int(classes["key"].max()) + 1, dtype=np.int32)  # type: ignore[arg-type]
    key = Side(keys, len(keys), np.arange(len(keys) + 1), keys, keys)
    cells, first = _as_cells([key, *sides])
    boxes = classes.select("key", *names).to_numpy().astype(np.int32) + first
    return _along_curve(people, sides, names), cells, boxes


def _count(points: Points, cells: Cells, boxes: Codes, enough: int, least: bool) -> Ints:
    from shoal.kernels.counting import count_inside
    from shoal.kernels.threads import in_blocks

    counts, stop = np.zeros(len(boxes), np.int64), np.array([enough])
    in_blocks(len(boxes), _BLOCK, lambda a, b: count_inside(points, cells, boxes[a:b], stop, least, counts[a:b]))
    return counts


def _as_cells(sides: list[Side]) -> tuple[Cells, Codes]:
    """The attributes' cells one after the other, and the number of each attribute's first."""
    from shoal.kernels.counting import Cells

    first = np.cumsum([0, *(len(side.starts) - 1 for side in sides)])
    runs = np.cumsum([0, *(len(side.low) for side in sides)])
    starts = [side.starts[:-1] + run for side, run in zip(sides, runs, strict=False)]
    low, high = np.concatenate([side.low for side in sides]), np.concatenate([side.high for side in sides])
    return Cells(np.append(np.concatenate(starts), runs[-1]), low, high), first[:-1].astype(np.int32)


def _along_curve(people: pl.DataFrame, sides: list[Side], names: list[str]) -> Points:
    """People by key, and within a key along a Hilbert curve through the other codes, with hulls over them."""
    from shoal.kernels.counting import FAN, Points
    from shoal.kernels.hilbert import hilbert_keys
    from shoal.kernels.sorting import argsort_keys

    m = len(names)
    bits = max(1, min(16, 64 // m))
    steps = np.array([2**bits / (side.missing + 1) for side in sides], np.float32)
    words = np.empty((-(-m * bits // 64), people.height), np.uint64)
    rows = people.select(names).to_numpy().astype(np.float32, order="C")
    hilbert_keys(rows, np.zeros(m, np.float32), steps, bits, words)
    order = None
    for word in [*words[::-1], people["key"].to_numpy().astype(np.uint64)]:
        order = argsort_keys(word, order)
    codes = people.select("key", *names).to_numpy().astype(np.int32, order="C")[order]
    low, high = [codes], [codes]
    while len(low) == 1 or len(low[-1]) > 1:
        blocks = np.arange(0, len(low[-1]), FAN)
        low.append(np.minimum.reduceat(low[-1], blocks))
        high.append(np.maximum.reduceat(high[-1], blocks))
    level = np.cumsum([0, *(len(hulls) for hulls in low[1:])])
    before = np.append(0, np.cumsum(people["people"].to_numpy().astype(np.int64)[order]))
    return Points(codes, before, np.concatenate(low[1:]), np.concatenate(high[1:]), level)
