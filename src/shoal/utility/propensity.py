"""Propensity scores: how well a model tells masked records from original ones (Woo et al. 2009, Snoke et al. 2018).

A logistic regression on all attributes, their squares and their products gives each record the probability p of being
a masked one; pMSE is the mean of (p - c)^2, c the masked table's share of all records: 0 where nothing tells the tables
apart, c (1 - c) where everything does. Were the masked records drawn from the original's own distribution, chance would
give (k - 1) (1 - c)^2 c / N on average for k coefficients and N records: the ratio to it is near 1 then (2 for a second
sample of the same population), and below where records merely moved a little. Nominal values are told apart one by one
(the thirty most frequent), without products, and so is missing. Tables of more than 20,000 records are judged by as
many of each, drawn at random.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.measure import Matrix, Pair, measure, once

_MOST = 20_000  # records of each table
_VALUES = 30  # of a nominal attribute
_RIDGE = 1e-4  # keeps coefficients finite where the tables are told apart perfectly
_SINGULAR = 1e-9  # variance, of the largest, below which a feature follows from the others

Column = npt.NDArray[np.float64]


def drawn(pair: Pair) -> str:
    """How many records were looked at, where not all were."""
    n = max(len(pair.original), len(pair.masked))
    return f"{_MOST:,} records of each table, drawn at random" if n > _MOST else ""


@measure("utility", "worse", how=drawn)
def pmse(pair: Pair) -> float:
    """How well a model tells masked from original records: 0 not at all, 0.25 always, for tables of one size."""
    return _pmse(pair)[0]


@measure("utility", "worse", how=drawn)
def pmse_ratio(pair: Pair) -> float:
    """How much better a model tells masked from original records than records drawn from the original; 1: no better."""
    observed, expected = _pmse(pair)
    return observed / expected


@once
def _pmse(pair: Pair) -> tuple[float, float]:
    """pMSE, and what it would be by chance."""
    before, after = _draw(len(pair.original)), _draw(len(pair.masked))
    features = _features(pair, before, after)
    is_masked = np.repeat([0, 1], [len(before), len(after)])
    n, coefficients = features.shape
    share = len(after) / n
    score = _logistic(features, is_masked)
    return float(((score - share) ** 2).mean()), coefficients * (1 - share) ** 2 * share / n


def _draw(n: int) -> npt.NDArray[np.int64]:
    return np.arange(n) if n <= _MOST else np.sort(np.random.default_rng(0).choice(n, _MOST, replace=False))


def _logistic(features: Matrix, is_masked: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The probability of each record to be a masked one."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / _RIDGE, solver="newton-cholesky", max_iter=50)
    score: npt.NDArray[np.float64] = model.fit(features, is_masked).predict_proba(features)[:, 1]
    return score


def _features(pair: Pair, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> Matrix:
    """What the model may look at, original records above masked ones."""
    table = np.concatenate([pair.original[before], pair.masked[after]])
    numbers: list[Column] = []
    marks: list[Column] = []
    for attribute, column in zip(pair.attributes, table.T, strict=True):
        missing = np.isnan(column)
        marks.append(missing.astype(np.float64))
        if attribute.kind is Kind.NOMINAL:
            value, count = np.unique(column[~missing], return_counts=True)
            frequent = value[np.argsort(-count, kind="stable")][1 : _VALUES + 1]  # the first is what others differ from
            marks.extend((column == code).astype(np.float64) for code in frequent)
        elif not missing.all():
            centred = np.where(missing, 0.0, column - column[~missing].mean())
            numbers.append(centred / (np.abs(centred).max() or 1.0))
    products = [first * second for first, second in combinations_with_replacement(numbers, 2)]
    return _independent(np.column_stack([*numbers, *marks, *products]))


def _independent(features: Matrix) -> Matrix:
    """The same space spanned by columns that are uncorrelated and vary alike; what does not vary is gone."""
    centred = features - features.mean(axis=0)
    deviation = np.sqrt((centred**2).mean(axis=0))
    centred = centred[:, deviation > 0] / deviation[deviation > 0]
    if not centred.shape[1]:
        raise InputError("No attribute varies: there is nothing that could tell the tables apart.")
    value, direction = np.linalg.eigh(centred.T @ centred / len(centred))
    varies = value > _SINGULAR * value[-1]
    independent: Matrix = centred @ (direction[:, varies] / np.sqrt(value[varies]))
    return independent
