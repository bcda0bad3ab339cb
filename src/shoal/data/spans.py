"""Neighbours among ordered categories as people say it: `10th to 12th`.

The label of a group of a built hierarchy. It is used where it can be read back without doubt: where the text is no
category itself, is no mask, and is divided in one way only into two categories, the lower one first. Categories such as
`3`, `3 to 4` and `4 to 5` would make `3 to 4 to 5` two things: they are shown as `[3;4 to 5]` and `[3 to 4;5]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from shoal.data.cells import MISREAD, interval_text

TO = " to "
_TO = re.compile(f"(?={TO})")  # ahead, so that of `a to to b` both places count
_MISREAD = re.compile(MISREAD)


def span_text(low: pl.Series, high: pl.Series, place: Mapping[str, int]) -> pl.Series:
    """`low to high`, or the value itself where both ends are the same; `place` has all categories in their order."""
    interval = interval_text(low, high)
    spans = [f"{first}{TO}{last}" for first, last in zip(low, high, strict=True)]
    read = [first != last and _clear(span, place) for first, last, span in zip(low, high, spans, strict=True)]
    return interval.zip_with(~pl.Series(read, dtype=pl.Boolean), pl.Series(spans, dtype=pl.String))


def _clear(span: str, place: Mapping[str, int]) -> bool:
    """Whether whoever reads it, and may cut off spaces, finds these two categories in it and nothing else."""
    plain = span not in place and span == span.strip() and _MISREAD.search(span) is None
    return plain and span_ends(span, place) is not None


def span_ends(text: str, place: Mapping[str, int]) -> tuple[str, str] | None:
    """The two categories of `low to high`; None where the text is no such span, or could be several."""
    divided = ((text[: at.start()], text[at.start() + len(TO) :]) for at in _TO.finditer(text))
    ends = [(low, high) for low, high in divided if low in place and high in place and place[low] < place[high]]
    return ends[0] if len(ends) == 1 else None
