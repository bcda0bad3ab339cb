"""One- and two-way tables before and after masking: half the sum of the differences of their shares (total variation).

Numbers, dates and ordered values are counted in ten bins that hold equal shares of the original, or each by itself
where there are no more than ten; nominal values each by itself. A range counts at its midpoint. Missing, and a nominal
cell that shows several values, is a category of its own.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.measure import Pair, measure

_BINS = 10

Codes = npt.NDArray[np.int64]
Column = npt.NDArray[np.float64]


@measure("utility", "worse")
def marginals_1way(pair: Pair) -> float:
    """Share of records counted elsewhere than before in the table of one attribute, on average; 0 if all were kept."""
    return float(np.mean([total_variation(before, after) for before, after in _binned(pair)]))


@measure("utility", "worse")
def marginals_2way(pair: Pair) -> float:
    """Share of records counted elsewhere than before in the table of two attributes, on average; 0 if all were kept."""
    binned = _binned(pair)
    if len(binned) < 2:
        raise InputError("There is only one attribute: there are no two-way tables.")
    return float(np.mean([_crossed(one, other) for one, other in combinations(binned, 2)]))


def total_variation(before: Codes, after: Codes) -> float:
    """Between the shares of the codes in both columns."""
    found, place = np.unique(np.concatenate([before, after]), return_inverse=True)
    shares = (
        np.bincount(part, minlength=len(found)) / len(part) for part in (place[: len(before)], place[len(before) :])
    )
    return float(np.abs(np.subtract(*shares)).sum() / 2)


def _crossed(one: tuple[Codes, Codes], other: tuple[Codes, Codes]) -> float:
    width = 1 + max(int(codes.max()) for codes in other)
    before, after = (a * width + b for a, b in zip(one, other, strict=True))
    return total_variation(before, after)


def _binned(pair: Pair) -> list[tuple[Codes, Codes]]:
    """Of each attribute the bins of the original and of the masked values."""
    columns = zip(pair.attributes, pair.original.T, pair.masked.T, strict=True)
    return [_both(before, after, attribute.kind) for attribute, before, after in columns]


def _both(before: Column, after: Column, kind: Kind) -> tuple[Codes, Codes]:
    edges = None if kind is Kind.NOMINAL else _edges(before[~np.isnan(before)])
    return _bins(before, edges), _bins(after, edges)


def _edges(known: Column) -> Column:
    """Where bins begin, the first excepted: at each of a few values, otherwise at the deciles."""
    values = np.unique(known)
    return values if len(values) <= _BINS else np.unique(np.quantile(known, np.arange(1, _BINS) / _BINS))


def _bins(values: Column, edges: Column | None) -> Codes:
    """Missing is 0, the others count from 1; nominal values by their codes."""
    bins = values if edges is None else np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), 0, bins + 1).astype(np.int64)
