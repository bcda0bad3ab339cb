"""The spaces in which an intruder looks for people among masked records: what counts as near.

Every quasi-identifier counts in each of them. Values that stand in an order are coordinates: in standard deviations,
decorrelated (Mahalanobis), in ranks, or in units of what masking changed, which whoever knows the method knows. Others
agree or differ; where a cell shows several values, each of them is likelier than the rest. A missing value is a value:
missing and present differ.

What agreeing is worth depends on chance: a rare value that survived tells more than a common one. The informed spaces
weigh it by the likelihood of agreeing of a person's own record against that of anybody's (Fellegi & Sunter 1969).

A space is made of those people alone who are looked for, and of records that differ: what shows the same is as near.
What is learnt of how masking changes values is learnt from all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.errors import InputError
from shoal.measure import Matrix, Pair, once

if TYPE_CHECKING:
    from shoal.kernels.linking import Sets, Space

Codes = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]

_DIFFERS = 1.0  # adds as much to a squared distance as one standard deviation
_GAP = 4.0  # missing and present differ by two standard deviations
_SURE = 1e-6  # least variance of a change, in that of the values: what was not masked weighs 1,000 deviations
_LISTED = 512  # values of a column in which cells show several of them
_RECORDS_EACH = 20  # records for every coefficient of a regression


class Different(NamedTuple):
    """The masked records that differ from each other."""

    first: Rows  # row -> a record that shows it
    often: Rows  # row -> how many records do
    cells: pl.DataFrame  # record by record, what is shown

    def rows_of(self, records: Rows) -> Rows:
        """The rows that show what these records do."""
        cells = self.cells.columns
        rows = self.cells[self.first].with_row_index("row")
        return (
            self.cells[records].join(rows, on=cells, how="left", maintain_order="left")["row"].cast(pl.Int64).to_numpy()
        )


@once
def different(pair: Pair) -> Different:
    """What is shown, each time once."""
    shown = [*pair.masked.T, *(column.index for column in pair.several.values())]
    cells = pl.DataFrame([pl.Series(str(j), column) for j, column in enumerate(shown)])
    numbered = cells.lazy().with_row_index("record").group_by(cells.columns)
    rows = numbered.agg(pl.len(), pl.col("record").min()).select("record", "len").collect(engine="streaming")
    first, often = rows.sort("record").cast(pl.Int64)
    return Different(first.to_numpy(), often.to_numpy(), cells)


def by_deviations(pair: Pair, people: Rows) -> Space:
    """Attributes in standard deviations of the original."""
    before, after = _looked_at(pair, people, _standardised(pair))
    return _plain(pair, people, before, after)


def by_mahalanobis(pair: Pair, people: Rows) -> Space:
    """Attributes by Mahalanobis distance: correlated ones count once."""
    every = _standardised(pair)[0]
    before, after = _looked_at(pair, people, _standardised(pair))
    value, direction = np.linalg.eigh(every.T @ every / len(every))
    varies = value > 1e-10 * value.max(initial=0.0)  # what follows from the other attributes tells nothing more
    whiten = direction[:, varies] / np.sqrt(value[varies])
    return _plain(pair, people, before @ whiten, after @ whiten)


def by_ranks(pair: Pair, people: Rows) -> Space:
    """In units in which ranks have a standard deviation of about one."""
    before, after = _looked_at(pair, people, both_ranks(pair) if pair.in_order.any() else _nothing(pair))
    unit = sqrt(12) / len(pair.original)
    return _plain(pair, people, before * unit, after * unit)


def by_changes(pair: Pair, people: Rows) -> Space:
    """In units of what masking leaves uncertain of a value: of a person's own record the likeliest is the nearest."""
    return _informed(pair, people, *_standardised(pair))


def by_changed_ranks(pair: Pair, people: Rows) -> Space:
    """The same of ranks: of methods that move values by their ranks, this is what stays alike for all."""
    before, after = both_ranks(pair) if pair.in_order.any() else _nothing(pair)
    unit = sqrt(12) / len(pair.original)
    centre = (len(pair.original) + 1) / 2
    return _informed(pair, people, (before - centre) * unit, (after - centre) * unit)


def by_changed_scores(pair: Pair, people: Rows) -> Space:
    """The same of normal scores, the places that ranks would have if values were normal: as shuffling moves them."""
    from scipy.special import ndtri

    before, after = both_ranks(pair) if pair.in_order.any() else _nothing(pair)
    n = len(pair.original)
    return _informed(pair, people, ndtri((before - 0.5) / n), ndtri((after - 0.5) / n))


def by_equality(pair: Pair, people: Rows) -> Space:
    """Exact values that survived, of every attribute, and gaps: near is whoever agrees where few do."""
    coded = _beside(_equal(pair, people, np.ones(len(pair.attributes), np.bool_)), _gaps(pair, people))
    before, after = _looked_at(pair, people, _nothing(pair))
    return _space(pair, people, before, after, coded, coded.surprise)


BY: dict[str, Callable[[Pair, Rows], Space]] = {
    "standard deviations": by_deviations,
    "Mahalanobis distance": by_mahalanobis,
    "ranks": by_ranks,
    "what masking changed": by_changes,
    "what masking changed of ranks": by_changed_ranks,
    "what masking changed of normal scores": by_changed_scores,
    "values and gaps that survived": by_equality,
}


# ---- coordinates


@once
def both_ranks(pair: Pair) -> tuple[Matrix, Matrix]:
    """Ranks within each table, those of the masked one stretched to as many as the original has records."""
    n = len(pair.original)
    return ranks(pair.ordered.original, n), ranks(pair.ordered.masked, n)


def ranks(values: Matrix, n: int) -> Matrix:
    """Average ranks of each column from 1 to n; what is missing, or a value alone, stands in the middle."""
    average = pl.from_numpy(values + 0.0).select(pl.all().fill_nan(None).rank("average")).to_numpy()
    present = (~np.isnan(average)).sum(axis=0)
    stretched = 1.0 + (average - 1.0) * (n - 1) / np.maximum(present - 1, 1)
    return np.where(np.isnan(average) | (present < 2), (n + 1) / 2, stretched)


def _standardised(pair: Pair) -> tuple[Matrix, Matrix]:
    return pair.standardised if pair.in_order.any() else _nothing(pair)


def _nothing(pair: Pair) -> tuple[Matrix, Matrix]:
    return np.empty((len(pair.original), 0)), np.empty((len(pair.masked), 0))


def _looked_at(pair: Pair, people: Rows, tables: tuple[Matrix, Matrix]) -> tuple[Matrix, Matrix]:
    """Of the original these people, of the masked table the records that differ."""
    before, after = tables
    return before[people], after[different(pair).first]


def _space(pair: Pair, people: Rows, before: Matrix, after: Matrix, coded: _Coded, weights: Matrix) -> Space:
    """These people among the records that differ, `before` and `after` being their coordinates."""
    from shoal.kernels.linking import Space

    sets, often = _sets(pair, people), different(pair).often
    return Space(before, after, coded.values, coded.shown, weights, sets, often)


def _plain(pair: Pair, people: Rows, before: Matrix, after: Matrix) -> Space:
    """Whatever does not agree weighs alike."""
    nominal, gaps = _equal(pair, people, ~pair.in_order), _gaps(pair, people)
    weights = np.repeat([_DIFFERS, _GAP], [nominal.values.shape[1], gaps.values.shape[1]])
    return _space(pair, people, before, after, _beside(nominal, gaps), np.tile(weights, (len(people), 1)))


def _informed(pair: Pair, people: Rows, before: Matrix, after: Matrix) -> Space:
    """Everything weighs as much as it tells of a person's own record, learned from all pairs.

    Values are first brought to what masking makes of them on average, as it may shrink them towards the mean.
    """
    mine = slice(None) if pair.kept is None else pair.kept
    known = _known(pair)
    if len(after) >= _RECORDS_EACH * before.shape[1]:
        expected = (
            before @ np.linalg.lstsq(np.where(known, before[mine], 0.0), np.where(known, after, 0.0), rcond=None)[0]
        )
    else:
        expected = before
    change = np.where(known, after - expected[mine], 0.0)
    counts = known.T.astype(float) @ known.astype(float)
    value, direction = np.linalg.eigh(change.T @ change / np.maximum(counts, 1.0))
    whiten = direction / np.sqrt(np.maximum(value, _SURE))
    coded = _beside(_equal(pair, people, ~pair.in_order), _gaps(pair, people))
    before, after = _looked_at(pair, people, (expected, after))
    return _space(pair, people, before @ whiten, after @ whiten, coded, coded.surprise)


@once
def _known(pair: Pair) -> npt.NDArray[np.bool_]:
    """Of each released record, which of its ordered attributes are known before and after."""
    known: npt.NDArray[np.bool_] = ~(
        np.isnan(pair.released[:, pair.in_order]) | np.isnan(pair.masked[:, pair.in_order])
    )
    return known


# ---- cells that show several values


class _Cells(NamedTuple):
    """Of a column in which cells show several values: which cells hold which, and how many each."""

    admits: npt.NDArray[np.bool_]  # value and cell; missing is the last value
    size: npt.NDArray[np.float64]
    cell: npt.NDArray[np.int32]  # of each record


@once
def _several(pair: Pair) -> list[_Cells]:
    return [_cells(column) for column in pair.several.values()]


def _cells(column: MaskedColumn) -> _Cells:
    assert column.runs is not None
    runs, cells = column.runs, len(column.text)
    values = int(runs.high.max()) + 1
    if values > _LISTED:
        raise InputError(
            f"Column {column.attribute.name!r} shows several of {values:,} values at once: whom that points to is not "
            f"measured beyond {_LISTED}. Leave out the measured risk, or generalise the column beforehand."
        )
    stretches = np.diff(runs.starts)
    cell = np.repeat(np.arange(cells), stretches)
    begun = np.zeros((values + 1, cells), np.int8)  # runs of a cell are apart: 1 where one begins, -1 where it ended
    begun[runs.low.astype(np.int64), cell] = 1
    begun[runs.high.astype(np.int64) + 1, cell] = -1
    admits = np.cumsum(begun, axis=0, dtype=np.int8, out=begun).astype(np.bool_)
    admits[values] = stretches == 0
    return _Cells(admits, admits.sum(axis=0).astype(np.float64), column.index)


def _sets(pair: Pair, people: Rows) -> Sets:
    """A cell has a share of 1 at each value that it shows; a person's value is 1/2 from any other."""
    from shoal.kernels.linking import Sets

    columns, at = _several(pair), {attribute.name: j for j, attribute in enumerate(pair.attributes)}
    first = np.cumsum([0, *(column.admits.shape[1] for column in columns)], dtype=np.int64)
    begins = np.cumsum([0, *(column.admits.size for column in columns)], dtype=np.int64)
    values = np.empty((len(people), len(columns)), np.int32)
    cells = np.empty((len(different(pair).first), len(columns)), np.int32)
    for j, (name, column) in enumerate(zip(pair.several, columns, strict=True)):
        missing = len(column.admits) - 1
        values[:, j] = np.nan_to_num(pair.original[people, at[name]], nan=missing)
        cells[:, j] = column.cell[different(pair).first] + first[j]
    size = np.concatenate([np.ones(0), *(column.size for column in columns)])
    admits = np.concatenate([np.zeros(0, np.bool_), *(column.admits.ravel() for column in columns)])
    inside, outside = ((1 + sign / size) * _DIFFERS / 2 for sign in (-1, 1))
    return Sets(values, cells, begins[:-1], first, admits, inside, outside)


# ---- codes


class _Coded(NamedTuple):
    """Attributes that agree or differ, a column each."""

    values: Codes  # of the people who are looked for
    shown: Codes  # of the records that differ
    surprise: Matrix  # person and attribute -> twice the log odds that agreeing is worth there


def _beside(left: _Coded, right: _Coded) -> _Coded:
    return _Coded(
        np.column_stack([left.values, right.values]),
        np.column_stack([left.shown, right.shown]),
        np.column_stack([left.surprise, right.surprise]),
    )


class _Column(NamedTuple):
    """An attribute of a pair that agrees or differs."""

    original: npt.NDArray[np.float64]
    line: npt.NDArray[np.float64]  # code -> the value that is shown
    shown: Codes  # of the records that differ
    often: Rows  # code -> how many records show it
    agree: int  # people whose own record shows their value


def _equal(pair: Pair, people: Rows, wanted: npt.NDArray[np.bool_]) -> _Coded:
    """The values of these attributes as codes; missing is one of them, and -1 what no record shows."""
    columns = [column for column, want in zip(_columns(pair), wanted, strict=True) if want and column is not None]
    return _together(pair, people, columns)


def _gaps(pair: Pair, people: Rows) -> _Coded:
    """Of attributes in an order: whether the value is missing."""
    return _together(pair, people, _missing(pair))


@once
def _columns(pair: Pair) -> list[_Column | None]:
    return [
        None if attribute.name in pair.several else _column(pair, pair.original[:, j], pair.masked[:, j])
        for j, attribute in enumerate(pair.attributes)
    ]


@once
def _missing(pair: Pair) -> list[_Column]:
    """Of the ordered attributes in which something is."""
    gaps = ((np.isnan(pair.original[:, j]), np.isnan(pair.masked[:, j])) for j in np.flatnonzero(pair.in_order))
    return [_column(pair, before * 1.0, after * 1.0) for before, after in gaps if before.any() or after.any()]


def _column(pair: Pair, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> _Column:
    first, often, _ = different(pair)
    line, shown = np.unique(after[first] + 0.0, return_inverse=True)  # -0.0 is 0.0; all that are missing are one value
    mine = before if pair.kept is None else before[pair.kept]
    agree = int(np.count_nonzero((mine == after) | (np.isnan(mine) & np.isnan(after))))
    return _Column(before, line, shown.astype(np.int32), np.bincount(shown, often).astype(np.int64), agree)


def _together(pair: Pair, people: Rows, columns: Sequence[_Column]) -> _Coded:
    """The codes of these people beside those of the records, and what agreeing is worth."""
    n = len(pair.masked)
    values, surprise = np.empty((len(people), len(columns)), np.int32), np.zeros((len(people), len(columns)))
    shown = np.empty((len(different(pair).first), len(columns)), np.int32)
    for j, column in enumerate(columns):
        value = column.original[people] + 0.0
        place = np.minimum(np.searchsorted(column.line, value), len(column.line) - 1)
        same = (column.line[place] == value) | (np.isnan(column.line[place]) & np.isnan(value))
        values[:, j], shown[:, j] = np.where(same, place, -1), column.shown
        agree = (column.agree + 0.5) / (n + 1)
        by_chance = (np.where(same, column.often[place], 0) + 0.5) / (n + 1)
        odds = np.log(agree / (1 - agree)) - np.log(by_chance / (1 - by_chance))
        surprise[:, j] = 2 * np.maximum(odds, 0.0)  # nothing where it tells of nobody
    return _Coded(values, shown, surprise)
