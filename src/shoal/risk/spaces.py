"""The spaces in which an intruder looks for people among masked records: what counts as near.

Every quasi-identifier counts in each of them. Values that stand in an order are coordinates: in standard deviations,
decorrelated (Mahalanobis), in ranks, or in units of what masking changed, which whoever knows the method knows. Others
agree or differ; where a cell shows several values, each of them is likelier than the rest. A missing value is a value:
missing and present differ.

What agreeing is worth depends on chance: a rare value that survived tells more than a common one. The informed spaces
weigh it by the likelihood of agreeing of a person's own record against that of anybody's (Fellegi & Sunter 1969).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.data.cells import MaskedColumn
from shoal.errors import InputError
from shoal.measure import Matrix, Pair

if TYPE_CHECKING:
    from shoal.kernels.linking import Space

Codes = npt.NDArray[np.int32]

_DIFFERS = 1.0  # adds as much to a squared distance as one standard deviation
_GAP = 4.0  # missing and present differ by two standard deviations
_SURE = 1e-6  # least variance of a change, in that of the values: what was not masked weighs 1,000 deviations
_LISTED = 512  # values of a column in which cells show several of them
_RECORDS_EACH = 20  # records for every coefficient of a regression


def by_deviations(pair: Pair) -> Space:
    """Attributes in standard deviations of the original."""
    return _plain(pair, *_standardised(pair))


def by_mahalanobis(pair: Pair) -> Space:
    """Attributes by Mahalanobis distance: correlated ones count once."""
    before, after = _standardised(pair)
    value, direction = np.linalg.eigh(before.T @ before / len(before))
    varies = value > 1e-10 * value.max(initial=0.0)  # what follows from the other attributes tells nothing more
    whiten = direction[:, varies] / np.sqrt(value[varies])
    return _plain(pair, before @ whiten, after @ whiten)


def by_ranks(pair: Pair) -> Space:
    """In units in which ranks have a standard deviation of about one."""
    before, after = both_ranks(pair) if pair.in_order.any() else _nothing(pair)
    unit = sqrt(12) / len(pair.original)
    return _plain(pair, before * unit, after * unit)


def by_changes(pair: Pair) -> Space:
    """In units of what masking leaves uncertain of a value: of a person's own record the likeliest is the nearest."""
    return _informed(pair, *_standardised(pair))


def by_changed_ranks(pair: Pair) -> Space:
    """The same of ranks: of methods that move values by their ranks, this is what stays alike for all."""
    before, after = both_ranks(pair) if pair.in_order.any() else _nothing(pair)
    unit = sqrt(12) / len(pair.original)
    centre = (len(pair.original) + 1) / 2
    return _informed(pair, (before - centre) * unit, (after - centre) * unit)


def by_changed_scores(pair: Pair) -> Space:
    """The same of normal scores, the places that ranks would have if values were normal: as shuffling moves them."""
    from scipy.special import ndtri

    before, after = both_ranks(pair) if pair.in_order.any() else _nothing(pair)
    n = len(pair.original)
    return _informed(pair, ndtri((before - 0.5) / n), ndtri((after - 0.5) / n))


def by_equality(pair: Pair) -> Space:
    """Exact values that survived, of every attribute, and gaps: near is whoever agrees where few do."""
    from shoal.kernels.linking import Space

    values, shown = _equal(pair, np.ones(len(pair.attributes), np.bool_))
    gaps, shown_gaps = _gaps(pair)
    values, shown = np.column_stack([values, gaps]), np.column_stack([shown, shown_gaps])
    return Space(*_sets(pair), values, shown, _surprise(pair, values, shown))


BY: dict[str, Callable[[Pair], Space]] = {
    "standard deviations": by_deviations,
    "Mahalanobis distance": by_mahalanobis,
    "ranks": by_ranks,
    "what masking changed": by_changes,
    "what masking changed of ranks": by_changed_ranks,
    "what masking changed of normal scores": by_changed_scores,
    "values and gaps that survived": by_equality,
}


# ---- coordinates


def both_ranks(pair: Pair) -> tuple[Matrix, Matrix]:
    """Ranks within each table, those of the masked one stretched to as many as the original has records."""
    n = len(pair.original)
    return ranks(pair.ordered.original, n), ranks(pair.ordered.masked, n)


def ranks(values: Matrix, n: int) -> Matrix:
    """Average ranks of each column from 1 to n; what is missing, or a value alone, stands in the middle."""
    import polars as pl

    average = pl.from_numpy(values + 0.0).select(pl.all().fill_nan(None).rank("average")).to_numpy()
    present = (~np.isnan(average)).sum(axis=0)
    stretched = 1.0 + (average - 1.0) * (n - 1) / np.maximum(present - 1, 1)
    return np.where(np.isnan(average) | (present < 2), (n + 1) / 2, stretched)


def _standardised(pair: Pair) -> tuple[Matrix, Matrix]:
    return pair.standardised if pair.in_order.any() else _nothing(pair)


def _nothing(pair: Pair) -> tuple[Matrix, Matrix]:
    return np.empty((len(pair.original), 0)), np.empty((len(pair.masked), 0))


def _sets(pair: Pair) -> tuple[Matrix, Matrix]:
    """Of columns in which cells show several values: a coordinate a value, at which a cell has a share of 1.

    A person's value is 1/2 from any other, less from a set that holds it than from one that does not.
    """
    before, after = [np.empty((len(pair.original), 0))], [np.empty((len(pair.masked), 0))]
    for name, column in pair.several.items():
        at = next(j for j, attribute in enumerate(pair.attributes) if attribute.name == name)
        shares = _shares(column)
        codes = np.nan_to_num(pair.original[:, at], nan=shares.shape[1] - 1).astype(np.int64)
        before.append(np.eye(shares.shape[1])[codes] * sqrt(_DIFFERS / 2))
        after.append(shares[column.index] * sqrt(_DIFFERS / 2))
    return np.column_stack(before), np.column_stack(after)


def _shares(column: MaskedColumn) -> Matrix:
    """cell and value -> 1 / the number of values it admits; missing is the last."""
    assert column.runs is not None
    runs, cells = column.runs, len(column.text)
    values = int(runs.high.max()) + 1
    if values > _LISTED:
        raise InputError(
            f"Column {column.attribute.name!r} shows several of {values:,} values at once: whom that points to is not "
            f"measured beyond {_LISTED}. Leave out the measured risk, or generalise the column beforehand."
        )
    shares = np.zeros((cells, values + 1))
    for cell in range(cells):
        stretches = range(runs.starts[cell], runs.starts[cell + 1])
        for run in stretches:
            shares[cell, int(runs.low[run]) : int(runs.high[run]) + 1] = 1.0
        shares[cell, values] = 0.0 if stretches else 1.0
    of_one: Matrix = shares / shares.sum(axis=1, keepdims=True)
    return of_one


# ---- codes


def _plain(pair: Pair, before: Matrix, after: Matrix) -> Space:
    """Whatever does not agree weighs alike."""
    from shoal.kernels.linking import Space

    nominal, shown = _equal(pair, ~pair.in_order)
    gaps, shown_gaps = _gaps(pair)
    weights = np.repeat([_DIFFERS, _GAP], [nominal.shape[1], gaps.shape[1]])
    sets, shown_sets = _sets(pair)
    return Space(
        np.column_stack([before, sets]),
        np.column_stack([after, shown_sets]),
        np.column_stack([nominal, gaps]),
        np.column_stack([shown, shown_gaps]),
        np.tile(weights, (len(before), 1)),
    )


def _informed(pair: Pair, before: Matrix, after: Matrix) -> Space:
    """Everything weighs as much as it tells of a person's own record, learned from all pairs.

    Values are first brought to what masking makes of them on average, as it may shrink them towards the mean.
    """
    mine = np.arange(len(before)) if pair.kept is None else pair.kept
    known = ~(np.isnan(pair.original[mine][:, pair.in_order]) | np.isnan(pair.masked[:, pair.in_order]))
    if len(mine) >= _RECORDS_EACH * before.shape[1]:
        expected = (
            before @ np.linalg.lstsq(np.where(known, before[mine], 0.0), np.where(known, after, 0.0), rcond=None)[0]
        )
    else:
        expected = before
    change = np.where(known, after - expected[mine], 0.0)
    counts = known.T.astype(float) @ known.astype(float)
    value, direction = np.linalg.eigh(change.T @ change / np.maximum(counts, 1.0))
    whiten = direction / np.sqrt(np.maximum(value, _SURE))
    plain = _plain(pair, expected @ whiten, after @ whiten)
    return plain._replace(weights=_surprise(pair, plain.values, plain.shown))


def _single(pair: Pair) -> npt.NDArray[np.bool_]:
    return np.array([attribute.name not in pair.several for attribute in pair.attributes], np.bool_)


def _equal(pair: Pair, wanted: npt.NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """The values of these attributes as codes, of both tables; missing is one of them."""
    both = np.concatenate([pair.original, pair.masked]) + 0.0  # -0.0 is 0.0
    columns = np.flatnonzero(wanted & _single(pair))
    codes = np.empty((len(both), len(columns)), np.int32)
    for at, j in enumerate(columns):
        codes[:, at] = np.unique(both[:, j], return_inverse=True)[1]  # all that are missing are one value
    return codes[: len(pair.original)], codes[len(pair.original) :]


def _gaps(pair: Pair) -> tuple[Codes, Codes]:
    """Of attributes in an order: whether the value is missing."""
    before, after = (np.isnan(table[:, pair.in_order]).astype(np.int32) for table in (pair.original, pair.masked))
    some = before.any(axis=0) | after.any(axis=0)
    return before[:, some], after[:, some]


def _surprise(pair: Pair, values: Codes, shown: Codes) -> Matrix:
    """person and attribute -> twice the log odds that agreeing is worth there; nothing where it tells of nobody."""
    mine = np.arange(len(values)) if pair.kept is None else pair.kept
    weights = np.zeros(values.shape)
    for j in range(values.shape[1]):
        agree = (np.count_nonzero(values[mine, j] == shown[:, j]) + 0.5) / (len(mine) + 1)
        least = min(values[:, j].min(), shown[:, j].min())
        often = np.bincount(shown[:, j] - least, minlength=int(values[:, j].max() - least) + 1)
        by_chance = (often[values[:, j] - least] + 0.5) / (len(shown) + 1)
        odds = np.log(agree / (1 - agree)) - np.log(by_chance / (1 - by_chance))
        weights[:, j] = 2 * np.maximum(odds, 0.0)
    return weights
