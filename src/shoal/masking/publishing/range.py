"""A class shown by what it spans: numbers, dates and ordinals as [least;greatest], nominal values as a set.

(Paper 1, Algorithm S2, lines 8 to 13.) A set too long to be read is shown shorter (`shoal.data.short_sets`). A class
that mixes missing and present shows `*`; one that is missing throughout shows nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import WILDCARD, MaskedColumn, interval_text
from shoal.data.microdata import Coded, code_numbers
from shoal.data.short_sets import LONGEST, SetCells, set_cells
from shoal.masking.partition import Partition


def publish_range(
    coded: Coded, partition: Partition, index: npt.NDArray[np.int32], longest: int = LONGEST
) -> MaskedColumn:
    """`index` is the partition's class of each kept record; no set is longer than so many characters."""
    from shoal.kernels.segments import distinct, extremes

    low, high = extremes(coded.codes, partition.order, partition.starts)
    mixed, missing, shortened = (low < 0) & (high >= 0), high < 0, 0
    if coded.is_nominal:
        offsets, codes = distinct(coded.codes, partition.order, partition.starts)
        sets = _sets(coded, offsets, codes, longest)
        text, size = sets.text, np.where(low < 0, float(len(coded.values)), sets.size)
        low, high = np.where(low < 0, low, sets.low), np.where(low < 0, high, sets.high)
        shortened = int(np.count_nonzero(low[sets.shortened] >= 0))
    else:
        low, high, cell = _distinct_pairs(low, high)
        index = cell[index]
        text = interval_text(_values(coded, low, low < 0), _values(coded, high, low < 0))
        size = np.broadcast_to(np.nan, len(low))  # only categories are counted
        mixed, missing = (low < 0) & (high >= 0), high < 0
    text = _with_missing(text, mixed, missing)
    least, greatest = _ends(coded, low, high, mixed, missing)
    return MaskedColumn(coded.attribute, index, text, least, greatest, size, shortened=shortened)


def _distinct_pairs(
    low: npt.NDArray[np.int32], high: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The distinct ends, and which of them each class has: far fewer than there are classes."""
    width = np.int64(high.max()) + 2  # codes begin with that of missing, -1
    cell, pairs, _ = code_numbers((low + np.int64(1)) * width + high + 1, whole=True)
    return (pairs // width - 1).astype(np.int32), (pairs % width - 1).astype(np.int32), cell


def _values(coded: Coded, codes: npt.NDArray[np.int32], skip: npt.NDArray[np.bool_]) -> pl.Series:
    if not skip.any():
        return coded.values.gather(codes)
    if len(coded.values) == 0:
        return pl.Series(coded.name, [None] * len(codes), dtype=coded.values.dtype)
    return coded.values.gather(np.where(skip, 0, codes))


def _sets(coded: Coded, offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.int32], longest: int) -> SetCells:
    """The sets of what is there; a class of which some is missing gets its text later."""
    if len(coded.values):
        return set_cells(coded.values, offsets, np.maximum(codes, 0), longest)
    none = np.full(len(offsets) - 1, -1, np.int32)
    text = pl.Series(coded.name, [None] * len(none), dtype=pl.String)
    return SetCells(text, np.zeros(len(none)), none, none, np.zeros(0, np.int64))


def _with_missing(text: pl.Series, mixed: npt.NDArray[np.bool_], missing: npt.NDArray[np.bool_]) -> pl.Series:
    if mixed.any():
        text = text.set(pl.Series(mixed), WILDCARD)
    if missing.any():
        text = text.set(pl.Series(missing), None)
    return text


def _ends(
    coded: Coded,
    low: npt.NDArray[np.int32],
    high: npt.NDArray[np.int32],
    mixed: npt.NDArray[np.bool_],
    missing: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Positions of the ends: the domain's for a wildcard, none for missing."""
    places = np.append(coded.positions, np.nan)
    least = np.where(mixed, coded.bounds[0], places[low])
    greatest = np.where(mixed, coded.bounds[1], places[high])
    return np.where(missing, np.nan, least), np.where(missing, np.nan, greatest)
