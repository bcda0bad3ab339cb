"""A class shown by its centre (microaggregation, paper 5).

That is the mean of numbers and dates, the median of ordered categories, the mode of unordered ones; or the median of
all that has an order. Dates are rounded to their step, a median of categories is the lower one, a mode shared by
several the first of them. As with ranges, a class that mixes missing and present shows `*`, one that is missing
throughout shows nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import WILDCARD, MaskedColumn, plain_cells, plain_text
from shoal.data.microdata import MISSING, Coded
from shoal.data.schema import Kind
from shoal.masking.partition import Partition

Centre = Literal["mean", "median"]
Places = npt.NDArray[np.float64]

_LAST = 2.0**63 - 1024  # the greatest number with room in 64 bits


def publish_centroid(
    coded: Coded, partition: Partition, index: npt.NDArray[np.int32], by: Centre = "mean"
) -> MaskedColumn:
    """`index` is the partition's class of each kept record."""
    column = replace(centroids(coded, partition, by), index=index)
    lacking = np.add.reduceat(coded.codes[partition.order] == MISSING, partition.starts[:-1])
    mixed = (lacking > 0) & (lacking < partition.sizes)
    return _with_wildcards(column, coded, mixed) if mixed.any() else column


def centroids(coded: Coded, partition: Partition, by: Centre = "mean") -> MaskedColumn:
    """One cell a class, over the values that are there."""
    at = centres(coded, partition, by)
    if coded.values.dtype.is_temporal():
        at = np.minimum(np.rint(at), _LAST)
        steps = pl.Series(at).fill_nan(None).cast(coded.values.to_physical().dtype)
        values = steps.cast(coded.values.dtype)
    elif coded.attribute.kind is Kind.NUMERIC:
        values = pl.Series(at).fill_nan(None)
    else:
        values = coded.values.gather(pl.Series(at).fill_nan(None).cast(pl.Int64))
    return plain_cells(values.alias(coded.name), coded.attribute, at)


def centres(coded: Coded, partition: Partition, by: Centre = "mean") -> Places:
    """class -> the position of its centre, NaN where all is missing."""
    if coded.attribute.kind is Kind.NOMINAL:
        return _modes(coded, partition)
    if coded.attribute.kind is Kind.ORDINAL:
        return _medians(coded, partition, lower=True)
    return _means(coded, partition) if by == "mean" else _medians(coded, partition)


def _means(coded: Coded, partition: Partition) -> Places:
    """Never outside of what the class spans, however it is rounded."""
    codes, first = coded.codes[partition.order], partition.starts[:-1]
    place, there = np.append(coded.positions, 0.0)[codes], codes != MISSING
    count = np.maximum(1, np.add.reduceat(there, first, dtype=np.int64))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduceat(place, first) / count
        if not np.isfinite(mean).all():  # numbers so large that their sum is none
            mean = np.add.reduceat(place / np.repeat(count, partition.sizes), first)
    least = np.minimum.reduceat(np.where(there, place, np.inf), first)
    greatest = np.maximum.reduceat(np.where(there, place, -np.inf), first)
    return np.where(least <= greatest, np.clip(mean, least, greatest), np.nan)


def _medians(coded: Coded, partition: Partition, *, lower: bool = False) -> Places:
    """Between the two middle ones where there is no one in the middle, or the `lower` of them."""
    codes, there = _ascending(coded, partition)
    ends, place = partition.starts[1:], np.append(coded.positions, np.nan)
    below: Places = place[codes[ends - there + (there - 1) // 2]]
    above: Places = place[codes[np.minimum(ends - there + there // 2, ends - 1)]]
    return below if lower else np.where(below == above, below, below / 2 + above / 2)


def _modes(coded: Coded, partition: Partition) -> Places:
    codes, there = _ascending(coded, partition)
    label = np.repeat(np.arange(partition.classes), partition.sizes)
    run = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (label[1:] != label[:-1])))
    length = np.where(codes[run] == MISSING, 0, np.diff(np.append(run, len(codes))))
    best = run[np.lexsort((codes[run], -length, label[run]))]
    first = best[np.append(True, label[best][1:] != label[best][:-1])]
    return np.where(there > 0, codes[first], np.nan)


def _ascending(coded: Coded, partition: Partition) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The codes, class after class, each class ascending and missing ones first; and how many each class has."""
    from shoal.kernels.sorting import argsort_keys

    codes = coded.codes[partition.order]
    label = np.repeat(np.arange(partition.classes), partition.sizes)
    keys = (label * (len(coded.values) + 1) + codes + 1).astype(np.uint64)
    there = np.add.reduceat(codes != MISSING, partition.starts[:-1], dtype=np.int64)
    return codes[argsort_keys(keys)], there


def _with_wildcards(column: MaskedColumn, coded: Coded, mixed: npt.NDArray[np.bool_]) -> MaskedColumn:
    low, high = coded.bounds
    text = column.text if column.text.dtype == pl.String else plain_text(column.text)
    return replace(
        column,
        text=text.set(pl.Series(mixed), WILDCARD),
        low=np.where(mixed, low, column.low),
        high=np.where(mixed, high, column.high),
        size=np.where(mixed & coded.is_nominal, float(len(coded.values)), column.size),
    )
