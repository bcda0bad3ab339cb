"""Synthetic regeneration of masked values from published counts (paper 1, Algorithm S1).

Where the publisher says how often each original value was masked, the masked cells get these values back,
each exactly as often and in random order. The attribute's distribution is then exact; its ties to other
attributes are lost where it was masked, which is why correlations shrink (Tables S4 and S5).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.cells import unescape
from shoal.data.paths import refuse_pipe
from shoal.errors import InputError, did_you_mean

# Masks as shoal.data.cells prints them: interval, set, prefix or wildcard, open end.
_MASK = r"(?s)^(?:\[.*;.*\]|\{.*\}|(?:\\.|[^\\*;{}\[\]])*\*+|-?\d+(?:\.\d+)?\+)$"
# A number only where text loses nothing by it: codes such as 00501 stay text.
_WHOLE = r"^-?(?:0|[1-9]\d{0,17})$"
_DECIMAL = r"^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d+)?$"


def regenerate(
    frame: pl.DataFrame,
    counts: Mapping[str, Mapping[str, int]],
    *,
    seed: int | None = None,
    rescale: bool = False,
) -> pl.DataFrame:
    """Hands out value e of attribute a to counts[a][e] of a's masked cells, drawn at random.

    The counts of an attribute must sum to its masked cells, or are brought to that sum with `rescale`. Each
    attribute draws from a stream of its own, so that one more of them changes no other.
    """
    entropy = np.random.SeedSequence(seed).entropy
    assert isinstance(entropy, int)
    for name, of_value in counts.items():
        if name not in frame.columns:
            raise InputError(
                f"The counts name {name!r}, but there is no such column.{did_you_mean(name, frame.columns)}"
            )
        rng = np.random.default_rng([entropy, *name.encode()])
        frame = frame.with_columns(_regenerated(frame[name], of_value, rng, rescale))
    return frame


def _regenerated(column: pl.Series, of_value: Mapping[str, int], rng: np.random.Generator, rescale: bool) -> pl.Series:
    values, times = list(of_value), list(of_value.values())
    masked = _masked(column, values)
    times = _times(column.name, times, len(masked), rescale)
    if not len(masked):
        return column
    handed_out = rng.permutation(np.repeat(np.arange(len(values)), times))
    original = unescape(column)
    return _natural(original.scatter(masked, pl.Series(values, dtype=pl.String).gather(handed_out)))


def _masked(column: pl.Series, values: list[str]) -> pl.Series:
    """The records that show a mask; `85+` is none where the counts list it as a value."""
    if column.dtype != pl.String:
        return pl.Series(dtype=pl.UInt32)
    return (column.str.contains(_MASK) & ~column.is_in(values)).fill_null(False).arg_true()


def _times(name: str, times: list[int], cells: int, rescale: bool) -> list[int]:
    wrong = [t for t in times if not isinstance(t, int) or t < 0]
    if wrong:
        raise InputError(f"The counts of {name!r} hold {wrong[0]!r}: give whole numbers of at least 0.")
    total = sum(times)
    if total == cells:
        return times
    if rescale and total > 0:
        return _largest_remainders(times, cells)
    remedy = "give counts" if rescale else "correct the counts, or let them be rescaled"
    raise InputError(f"The counts of {name!r} sum to {total:,}, but {cells:,} of its cells are masked: {remedy}.")


def _largest_remainders(times: list[int], cells: int) -> list[int]:
    """The counts in the same proportions with another sum; what rounding leaves goes where it lost most."""
    total = sum(times)
    scaled, remainders = (list(part) for part in zip(*(divmod(t * cells, total) for t in times), strict=True))
    by_remainder = sorted(range(len(times)), key=lambda e: -remainders[e])
    for e in by_remainder[: cells - sum(scaled)]:
        scaled[e] += 1
    return scaled


def _natural(text: pl.Series) -> pl.Series:
    """Numbers as numbers and dates as dates, where every value of the column is one."""
    for dtype, pattern in ((pl.Int64, _WHOLE), (pl.Float64, _DECIMAL)):
        if text.str.contains(pattern).all():
            return text.cast(dtype)
    day = text.str.to_date("%Y-%m-%d", strict=False)
    return day if day.null_count() == text.null_count() else text


# ---- the counts


def read_counts(path: str | Path) -> dict[str, dict[str, int]]:
    """Counts of masked values from a CSV file `attribute,value,count` or JSON {attribute: {value: count}}."""
    path = Path(path)
    refuse_pipe(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"The counts cannot be read from {str(path)!r}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"The counts in {str(path)!r} are not UTF-8 text: save the file as UTF-8.") from None
    return _from_json(text, path) if path.suffix.lower() == ".json" else _from_csv(text, path)


def _from_json(text: str, path: Path) -> dict[str, dict[str, int]]:
    try:
        read = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"The counts in {str(path)!r} are not JSON: line {error.lineno}, {error.msg}.") from None
    if not isinstance(read, dict) or not all(isinstance(of_value, dict) for of_value in read.values()):
        raise InputError(f"The counts in {str(path)!r} must have the form {{attribute: {{value: count}}}}.")
    for name, of_value in read.items():
        for value, count in of_value.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < 0:
                raise InputError(
                    f"The counts in {str(path)!r} give {count!r} for value {value!r} of {name!r}: "
                    "give a whole number of at least 0."
                )
    return read


def _from_csv(text: str, path: Path) -> dict[str, dict[str, int]]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not {"attribute", "value", "count"} <= set(rows.fieldnames or ()):
        raise InputError(f"The counts in {str(path)!r} lack their first line: it must be 'attribute,value,count'.")
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        name, value, count = row["attribute"], row["value"], (row["count"] or "").strip()
        where = f"Line {rows.line_num} of {str(path)!r}"
        if not name or not value:
            raise InputError(f"{where} lacks the attribute or the value: give both.")
        if not count.isascii() or not count.isdigit():
            raise InputError(f"{where} has {count!r} as count: give a whole number of at least 0.")
        if value in counts.setdefault(name, {}):
            raise InputError(f"{where} gives value {value!r} of {name!r} a second time: keep one line.")
        counts[name][value] = int(count)
    return counts
