"""Bands of numbers written as text, which are in an order by themselves: `[70-80)`, `18-24`, `65+`, `<20k`."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf

import polars as pl

MOST = 200  # bands; more are no bands of anything
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_UNIT = r"(?: ?(?:years?(?: old)?|yrs?|y|jahre|ans|anos|anni|jaar|lat|ar|vuotta|let))?"
_BETWEEN = re.compile(rf"^[\[(]?{_NUMBER}{_UNIT} ?(?:-|–|,|to|bis|a|<=? ?\.\.\. ?<) ?{_NUMBER}{_UNIT} ?[\])\[]?$")
_ABOVE = re.compile(
    rf"^(?:(?:>=?|≥|over|above|(?:greater|more|older) than|from|ab|uber|plus de) ?)?{_NUMBER}{_UNIT} ?"
    r"(\+|(?:and|or|und|et|y) (?:over|older|above|more|mehr|alter|plus|mas))?$"
)
_THOUSANDS = re.compile(r"(\d+(?:\.\d+)?) ?k\b")  # 20k
_SHARED = re.compile(r"^(\d+(?:\.\d+)?)( ?(?:-|–|to|bis) ?\d+(?:\.\d+)? ?k)$")  # 20-40k
_BELOW = re.compile(
    rf"^(?:<=?|≤|under|below|(?:less|younger) than|up to|unter|bis|moins de|menos de) ?{_NUMBER}{_UNIT}$"
)


def bands_in_order(texts: pl.Series) -> tuple[str, ...] | None:
    """The distinct texts from low to high, where all of them are bands that do not overlap; else None.

    Two closed bands at least, or one between open ones, most of them joining the next: what only looks like a band
    (`12-34`, `71-05`) does not.
    """
    listed = texts.drop_nulls().unique().sort().to_list()
    if not 2 <= len(listed) <= MOST:
        return None
    ends = [_ends(text) for text in listed]
    bands = sorted((ends_of[0], ends_of[1], text) for ends_of, text in zip(ends, listed, strict=True) if ends_of)
    closed = sum(low < high and abs(low) < inf and high < inf for low, high, _ in bands)
    open_ends = bool(bands) and bands[0][0] == -inf and bands[-1][1] == inf
    if len(bands) < len(listed) or closed < 2 - open_ends:
        return None
    steps = [above[0] - below[1] for below, above in pairwise(bands)]
    if any(step < 0 for step in steps) or 2 * sum(step <= 1 for step in steps) < len(steps):
        return None
    return tuple(text for _, _, text in bands)


def _digits(text: str) -> str:
    """Without marks of currencies and between thousands: `$20,000` is 20000."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", re.sub(r" ?[$€£¥] ?", "", text.strip().casefold()))


def _ends(text: str) -> tuple[float, float] | None:
    """The least and the greatest number of a band; None where the text is none."""
    plain = _THOUSANDS.sub(lambda part: f"{float(part[1]) * 1000:.10g}", _SHARED.sub(r"\1k\2", _digits(text)))
    if match := _BETWEEN.match(plain):
        low, high = float(match[1]), float(match[2])
        return (low, high) if low <= high else None
    if match := _BELOW.match(plain):
        return -inf, float(match[1])
    if match := _ABOVE.match(plain):
        low = float(match[1])
        open_above = match[2] or (not plain[0].isdigit() and plain[0] != "-")
        return (low, inf) if open_above else (low, low)
    return None
