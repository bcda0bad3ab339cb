"""Words and numbers that may say that nothing is known: `-`, `n/a`, `?`, `unknown`, `-9`, `999`.

They are offered to the custodian and never assumed: `?` may be an answer, 999 a price.
"""

from __future__ import annotations

import shlex

import polars as pl

from shoal.choices import quoted_item
from shoal.data.text_types import trimmed

_WORDS = [
    "-", "--", ".", "..", "?", "??", "#n/a", "n/a", "n.a.", "na", "nan", "none", "nil", "null", "missing", "unknown",
    "unk", "not known", "not available", "not applicable", "no answer", "refused", "k.a.", "k. a.", "unbekannt",
    "inconnu", "desconocido", "sconosciuto", "onbekend", "okänd", "ukjent", "nd", "n.d.", "s/d",
]  # fmt: skip
_ABOVE = [99.0, 999.0, 9999.0, 99999.0, 999999.0]
_BELOW = [-1.0, -9.0, -99.0, -999.0, -9999.0]
_FEW = 10  # values that a column has besides, at least


def marks_in(column: pl.Series) -> dict[str, int]:
    """What in a column may say that nothing is known, and how often it stands there."""
    if column.dtype == pl.String:
        words = trimmed(column)
        counted = words.filter(words.str.to_lowercase().is_in(_WORDS)).alias("word").value_counts()
        counts = dict(counted.sort("word").iter_rows())
        return counts if words.n_unique() > len(counts) else {}
    return _numbers(column) if column.dtype.is_numeric() else {}


def _numbers(column: pl.Series) -> dict[str, int]:
    """A number of nines beyond all others by more than these differ, or the only ones below zero."""
    known = column.drop_nulls().cast(pl.Float64)
    marks = known.is_in([*_ABOVE, *_BELOW])
    if not marks.any() or (rest := known.filter(~marks)).n_unique() < _FEW:
        return {}
    least, most = float(rest.min()), float(rest.max())  # type: ignore[arg-type]
    counts = known.filter(marks).alias("number").value_counts().sort("number").iter_rows()
    return {
        f"{number:.0f}": count
        for number, count in counts
        if (number < 0 <= least) or (number > 0 and number - most > most - least)
    }


def offered(name: str, marks: dict[str, int]) -> str:
    """The sentence that asks whether these say that nothing is known."""
    shown = " and ".join(f"{mark!r} ({count:,} {'time' if count == 1 else 'times'})" for mark, count in marks.items())
    return (
        f"Column {name!r} holds {shown}, which may mean that nothing is known. If so, say "
        f"{as_option(name, list(marks))}; until then it is a value like any other."
    )


def as_option(name: str, words: list[str]) -> str:
    """The option that says so, as a shell takes it."""
    first, *others = words
    items = [quoted_item(f"missing.{name}={first}"), *map(quoted_item, others)]
    return f"--read {shlex.quote(','.join(items))}"
