"""A class shown by what it spans: numbers, dates and ordinals as [least;greatest], nominal values as a set.

(Paper 1, Algorithm S2, lines 8 to 13.) A class that mixes missing and present shows `*`; one that is missing
throughout shows nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import WILDCARD, MaskedColumn, interval_text, set_text
from shoal.data.microdata import Coded, code_numbers
from shoal.masking.partition import Partition


def publish_range(coded: Coded, partition: Partition, index: npt.NDArray[np.int32]) -> MaskedColumn:
    """`index` is the partition's class of each kept record."""
    from shoal.kernels.segments import distinct, extremes

    low, high = extremes(coded.codes, partition.order, partition.starts)
    if coded.is_nominal:
        offsets, codes = distinct(coded.codes, partition.order, partition.starts)
        text = _sets(coded, offsets, codes, low < 0)
        size = np.where(low < 0, len(coded.values), np.diff(offsets)).astype(np.float64)
    else:
        low, high, cell = _distinct_pairs(low, high)
        index = cell[index]
        text = interval_text(_values(coded, low, low < 0), _values(coded, high, low < 0))
        size = np.broadcast_to(np.nan, len(low))  # only categories are counted
    mixed, missing = (low < 0) & (high >= 0), high < 0
    text = _with_missing(text, mixed, missing)
    least, greatest = _ends(coded, low, high, mixed, missing)
    return MaskedColumn(coded.attribute, index, text, least, greatest, size)


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


def _sets(
    coded: Coded, offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.int32], skip: npt.NDArray[np.bool_]
) -> pl.Series:
    if not skip.any():
        return set_text(coded.values, offsets, codes)
    if len(coded.values) == 0:
        return pl.Series(coded.name, [None] * (len(offsets) - 1), dtype=pl.String)
    return set_text(coded.values, offsets, np.maximum(codes, 0))


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
