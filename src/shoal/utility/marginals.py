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
from shoal.measure import OF_VALUES, Pair, measure

_BINS = 10

Codes = npt.NDArray[np.int64]
Column = npt.NDArray[np.float64]


@measure("utility", "worse", in_chunks=OF_VALUES, of_tables=lambda tables: tables.one_way())
def marginals_1way(pair: Pair) -> float:
    """Share of records counted elsewhere than before in the table of one attribute, on average; 0 if all were kept."""
    return float(np.mean([total_variation(before, after) for before, after in _binned(pair)]))


@measure("utility", "worse", in_chunks=OF_VALUES, of_tables=lambda tables: tables.two_way())
def marginals_2way(pair: Pair) -> float:
    """Share of records counted elsewhere than before in the table of two attributes, on average; 0 if all were kept."""
    binned = _binned(pair)
    if len(binned) < 2:
        raise InputError("There is only one attribute: there are no two-way tables.")
    return float(np.mean([_crossed(first, second) for first, second in combinations(binned, 2)]))


def total_variation(before: Codes, after: Codes) -> float:
    """Between the shares of the codes in both columns."""
    codes, place = np.unique(np.concatenate([before, after]), return_inverse=True)
    return variation_of(
        np.bincount(place[: len(before)], minlength=len(codes)),
        np.bincount(place[len(before) :], minlength=len(codes)),
    )


def variation_of(before: Codes, after: Codes) -> float:
    """The same from how many records each cell of both tables counts."""
    return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)


def _crossed(first: tuple[Codes, Codes], second: tuple[Codes, Codes]) -> float:
    width = 1 + max(int(codes.max()) for codes in second)
    before, after = (a * width + b for a, b in zip(first, second, strict=True))
    return total_variation(before, after)


def _binned(pair: Pair) -> list[tuple[Codes, Codes]]:
    """Of each attribute the bins of the original and of the masked values."""
    columns = zip(pair.attributes, pair.original.T, pair.masked.T, strict=True)
    return [_both(before, after, attribute.kind) for attribute, before, after in columns]


def _both(before: Column, after: Column, kind: Kind) -> tuple[Codes, Codes]:
    known = before[~np.isnan(before)]
    edges = None if kind is Kind.NOMINAL else edges_of(*np.unique(known, return_counts=True))
    return bins_of(before, edges), bins_of(after, edges)


def edges_of(values: Column, records: Codes) -> Column:
    """Where bins begin, the first excepted: at each of a few values, otherwise at the deciles."""
    if len(values) <= _BINS:
        return values
    last = np.cumsum(records) - 1  # value -> the place of its last record, in order
    place = last[-1] * (np.arange(1, _BINS) / _BINS)
    below, above = (values[np.searchsorted(last, end(place))] for end in (np.floor, np.ceil))
    step, share = above - below, place - np.floor(place)
    nearest = np.where(share < 0.5, below + step * share, above - step * (1 - share))  # as np.quantile rounds
    return np.unique(nearest)


def bins_of(values: Column, edges: Column | None) -> Codes:
    """Missing is 0, the others count from 1; nominal values by their codes."""
    bins = values if edges is None else np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), 0, bins + 1).astype(np.int64)
