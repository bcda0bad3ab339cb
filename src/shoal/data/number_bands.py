"""Hierarchies of numbers: bands by steps, width, cuts or frequency, and bands learnt from the values.

Bands of whole numbers are closed, `[0;4]`, `[5;9]`. Bands of decimals begin at their first end and stop short of the
second, yet print as `[0;5]`, `[5;10]`: a reader who takes both ends as included admits one value too many, never one
too few. By cuts the last band is open, `65+`, so that it does not tell the greatest value; the first begins at a
round number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import interval_text
from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_levels import Ints, Levels, as_levels, check_nested, distinct, merging, refuse
from shoal.errors import InputError, require

EXACT = 2**53  # whole numbers up to here are exact as decimals
LARGEST = 2**58  # of whole numbers: ends of their bands still have 64 bits
FINEST = 6  # halvings of learnt bands: at most 64 of them
_BANDS = 50  # of the finest of round widths, over the bulk of the records
_BULK = (0.05, 0.95)  # shares of the records below its ends
_FEW = 10  # whole numbers that are told apart two by two
_NEXT = {1: 2, 2: 5, 5: 2}  # the first digit of a round width -> how many of it are the next: 5, 10, 20, 100
MIDDLE = (0.4, 0.6)  # share of the records below a learnt cut, so that there is a choice of round numbers


@dataclass(frozen=True)
class _Numbers:
    """A column's distinct numbers, ascending."""

    labels: pl.Series
    numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    counts: Ints
    whole: bool  # only whole numbers occur, kept as such


def _numbers(values: pl.Series, attribute: str, counts: pl.Series | None = None) -> _Numbers:
    distinct_values = distinct(values, attribute, counts)
    dtype = values.dtype
    if not (dtype.is_numeric() or dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)):
        raise InputError(f"Column {attribute!r} holds {dtype}, not numbers: build its hierarchy by another type.")
    source = distinct_values["value"] if dtype.is_numeric() else distinct_values["label"]
    decimal = source.cast(pl.Float64, strict=False)
    refuse(~decimal.is_finite().fill_null(False), distinct_values, attribute, "which is no number")
    refuse(
        decimal.abs() >= 1e300, distinct_values, attribute, "too large a number for bands"
    )  # their ends must be numbers too
    large = decimal.abs() >= LARGEST
    whole = bool((decimal == decimal.floor()).all()) and not (dtype.is_float() and large.any())
    if whole:
        refuse(large, distinct_values, attribute, "a number of more than 58 bits: mask its digits")
        exact = source.cast(pl.Int64, strict=False)
        number = exact if exact.null_count() == 0 else decimal.cast(pl.Int64)  # texts such as 1.0
    distinct_values = distinct_values.with_columns(number=number if whole else decimal).sort("number", "label")
    return _Numbers(
        distinct_values["label"], distinct_values["number"].to_numpy(), distinct_values["count"].to_numpy(), whole
    )


def steps(values: pl.Series, attribute: str, *, steps: Sequence[float], origin: float = 0) -> Hierarchy:
    """Bands of these widths, each a multiple of the one before, counted from the origin: 5, 10, 20."""
    chosen = _exact_numbers(steps, "steps")
    require(
        "hierarchies by steps", "steps", steps, "one or more positive numbers", holds=bool(chosen) and min(chosen) > 0
    )
    for finer, coarser in pairwise(chosen):
        if coarser % finer or coarser == finer:
            raise InputError(
                f"Bands of {coarser} do not nest those of {finer} (hierarchy of {attribute!r}): "
                "make each step a multiple of the one before."
            )
    numbers = _numbers(values, attribute)
    start = _exact_numbers([origin], "origin")[0]
    return merging(numbers.labels, _stepped(numbers, chosen, start, attribute), attribute)


def width(values: pl.Series, attribute: str, *, width: float, origin: float = 0) -> Hierarchy:
    """Bands of equal width, then twice as wide at each level, until one band holds all."""
    chosen = _exact_numbers([width], "width")[0]
    require("hierarchies by width", "width", width, "a positive number", holds=chosen > 0)
    numbers = _numbers(values, attribute)
    start = _exact_numbers([origin], "origin")[0]
    span = max(abs(Decimal(str(end)) - start) for end in (numbers.numbers[0], numbers.numbers[-1]))
    widths = [chosen]
    while widths[-1] < 2 * span:
        widths.append(2 * widths[-1])
    return merging(numbers.labels, _stepped(numbers, widths, start, attribute), attribute)


def _stepped(numbers: _Numbers, widths: Sequence[Decimal], origin: Decimal, attribute: str) -> Levels:
    """Ends of bands are whole multiples of the finest decimal in widths and origin, so that they print exactly."""
    decimals = max(0, *(-int(n.normalize().as_tuple().exponent) for n in (*widths, origin)))
    scale = 10**decimals
    step, start = int(widths[0] * scale), int(origin * scale)
    closed = numbers.whole and scale == 1
    if closed:
        finest = (numbers.numbers.astype(np.int64) - start) // step
    else:
        if (float(np.abs(numbers.numbers).max()) + abs(float(origin))) * scale >= EXACT:
            raise InputError(f"Bands of {widths[0]} are too narrow for column {attribute!r}: widen them.")
        finest = np.floor((numbers.numbers * scale - start) / step).astype(np.int64)
        finest -= numbers.numbers < (finest * step + start) / scale  # floor of a rounded quotient: one off at most
        finest += numbers.numbers >= ((finest + 1) * step + start) / scale
    levels = []
    for width in widths:
        low = finest // int(width / widths[0]) * int(width * scale) + start
        low, band = np.unique(low, return_inverse=True)
        high = low + int(width * scale) - closed
        ends = (pl.Series(end if scale == 1 else end / scale) for end in (low, high))
        levels.append((f"bands of {width.normalize():f}", interval_text(*ends).gather(band)))
    return levels


def cuts(values: pl.Series, attribute: str, *, cuts: Sequence[float] | Sequence[Sequence[float]]) -> Hierarchy:
    """Bands that begin at the cuts of each level, finest first: [[18, 40, 65], [65]]; one list is one level."""
    numbers = _numbers(values, attribute)
    levels = [_exact_numbers(level, "cuts") for level in as_levels(cuts)]
    for level in levels:
        rising = bool(level) and all(a < b for a, b in pairwise(level))
        require("hierarchies by cuts", "cuts", cuts, "rising numbers", holds=rising)
    check_nested([[*map(str, level)] for level in levels], attribute)
    tree = merging(numbers.labels, [("", _cut(numbers, level)) for level in levels], attribute)
    below = any(_exact(numbers.numbers[0]) < level[0] for level in levels)  # such a band begins near the least value
    return replace(tree, learnt=below)


def frequency(values: pl.Series, attribute: str, *, bands: int) -> Hierarchy:
    """Bands of about equally many records, as near as ties let them; neighbours merge in pairs at each level."""
    whole = isinstance(bands, int) and not isinstance(bands, bool)
    require("hierarchies by frequency", "bands", bands, "a whole number of 2 or more", holds=whole and bands >= 2)
    numbers = _numbers(values, attribute)
    upto = np.cumsum(numbers.counts)
    starts = np.arange(bands) * upto[-1] // bands  # the record with which each band begins
    at = [_exact(numbers.numbers[i]) for i in np.searchsorted(upto, starts, side="right")]
    levels: Levels = []
    apart = 1
    while apart < bands:
        merged = sorted({*at[apart::apart]} - {at[0]})
        if merged:
            levels.append((f"{len(merged) + 1} bands of like frequency", _cut(numbers, merged)))
        apart *= 2
    return replace(merging(numbers.labels, levels, attribute), learnt=True)


def _cut(numbers: _Numbers, starts: Sequence[Decimal]) -> pl.Series:
    """Each number's band `[start;next start]`; below the first cut from a round number on, above the last open."""
    whole = numbers.whole
    edges = [Decimal(ceil(start)) for start in starts] if whole else list(starts)
    at = np.array([int(edge) if whole else float(edge) for edge in edges])
    band = np.searchsorted(at, numbers.numbers, side="right")
    least, greatest = _exact(numbers.numbers[0]), _exact(numbers.numbers[-1])
    next_width = abs((edges[1] if len(edges) > 1 else greatest) - edges[0])
    if least < edges[0]:
        edges.insert(0, _roundest(least - next_width, least, least, whole))
    else:
        band -= 1
    text = [f"{edge.normalize():f}" for edge in edges]
    last = [f"{edge - 1:f}" if whole else shown for edge, shown in zip(edges[1:], text[1:], strict=True)]
    labels = [low if low == high else f"[{low};{high}]" for low, high in zip(text, last, strict=False)]
    return pl.Series([*labels, f"{text[-1]}+"], dtype=pl.String).gather(band)


def _exact(number: float | np.number[Any]) -> Decimal:
    """The number as it prints."""
    return Decimal(str(number))


def _exact_numbers(numbers: object, name: str) -> list[Decimal]:
    given = list(numbers) if isinstance(numbers, Sequence) and not isinstance(numbers, str) else [numbers]
    for number in given:
        usable = isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < EXACT
        require("a hierarchy", name, number, "a number", holds=usable)
    return [Decimal(str(number)) for number in given]


def _roundest(low: Decimal, high: Decimal, near: Decimal, whole: bool) -> Decimal:
    """The multiple in [low, high] of the largest 1, 2 or 5 x a power of ten; of several the nearest to `near`."""
    if low <= 0 <= high:
        return Decimal(0)
    for power in range(max(abs(low), abs(high)).adjusted() + 1, -1 if whole else -20, -1):
        for digit in (5, 2, 1):
            unit = Decimal(digit).scaleb(power)
            first, last = ceil(low / unit), floor(high / unit)
            if first <= last:
                return min(max(round(near / unit), first), last) * unit
    return near


def round_widths(values: pl.Series, attribute: str, counts: pl.Series | None = None) -> Hierarchy:
    """Bands of nested round widths, 5, 10, 20, 100 and so on, that begin at their multiples.

    The finest suit where nine in ten of the records lie: there are some fifty of them at most. Where bands end tells
    nothing of any record; how wide they are, about how far the column reaches.
    """
    numbers = _numbers(values, attribute, counts)
    farthest = float(np.abs(numbers.numbers).max())
    if not numbers.whole and farthest >= EXACT:
        return learnt_bands(values, attribute)
    widths = [_finest(numbers, farthest)]
    span = _exact(numbers.numbers[-1]) - _exact(numbers.numbers[0])
    while widths[-1] < span:
        widths.append(widths[-1] * _NEXT[widths[-1].as_tuple().digits[0]])
    return replace(merging(numbers.labels, _stepped(numbers, widths, Decimal(0), attribute), attribute), learnt=True)


def _finest(numbers: _Numbers, farthest: float) -> Decimal:
    """The least of 1 and 5 times a power of ten of which few make up the bulk; of whole numbers at least 2."""
    upto = np.cumsum(numbers.counts)
    ends = numbers.numbers[np.searchsorted(upto, upto[-1] * np.array(_BULK))]
    bulk = _exact(ends[1]) - _exact(ends[0]) or _exact(numbers.numbers[-1]) - _exact(numbers.numbers[0])
    if numbers.whole and bulk <= _FEW:
        return Decimal(2)
    narrowest = max(bulk / _BANDS, Decimal(farthest) / 10**12, Decimal(5 if numbers.whole else 0))
    power = narrowest.adjusted()
    return next(Decimal(digit).scaleb(power) for digit in (1, 5, 10) if Decimal(digit).scaleb(power) >= narrowest)


def learnt_bands(values: pl.Series, attribute: str) -> Hierarchy:
    """Bands halved by their records again and again, at the roundest number near the middle."""
    numbers = _numbers(values, attribute)
    halvings = min(FINEST, max(0, (len(numbers.numbers) // 2).bit_length() - 1))
    upto = np.concatenate([[0], np.cumsum(numbers.counts)])
    bands, cuts = [(0, len(numbers.numbers))], []
    levels: list[list[Decimal]] = []
    for _ in range(halvings):
        halves: list[tuple[int, int]] = []
        for begin, end in bands:
            if end - begin > 1:
                cut = _middle(numbers, upto, begin, end)
                at = int(np.searchsorted(numbers.numbers, int(cut) if numbers.whole else float(cut)))
                cuts.append(cut)
                halves += [(begin, at), (at, end)]
        levels.append(sorted(cuts))
        bands = halves
    named = [(f"{len(level) + 1} learnt bands", _cut(numbers, level)) for level in reversed(levels)]
    return replace(merging(numbers.labels, named, attribute), learnt=True)


def _middle(numbers: _Numbers, upto: Ints, begin: int, end: int) -> Decimal:
    """A round number with about as many of the band's records below it as above."""
    share = (upto[begin : end + 1] - upto[begin]) / (upto[end] - upto[begin])  # of the records below each value
    low, high = int(np.searchsorted(share, MIDDLE[0])), int(np.searchsorted(share, MIDDLE[1], side="right")) - 1
    half = int(np.clip(np.abs(share - 0.5).argmin(), 1, end - begin - 1))
    low, high = (low, high) if 0 < low <= half <= high < end - begin else (half, half)
    before, first = (_exact(numbers.numbers[begin + i]) for i in (low - 1, low))
    just_above = before + 1 if numbers.whole else (before + first) / 2
    last, near = (_exact(numbers.numbers[begin + i]) for i in (high, half))
    return _roundest(just_above, last, near, numbers.whole)
