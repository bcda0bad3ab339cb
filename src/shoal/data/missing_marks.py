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
_FEW = 10  # values that a column has besides, at least; of fewer, those of a scale
_BESIDE_A_SCALE = [9.0, *_ABOVE, *_BELOW]
_CODES = ["nd"]  # words that are codes beside codes: North Dakota


def marks_in(column: pl.Series) -> dict[str, int]:
    """What in a column may say that nothing is known, and how often it stands there."""
    if column.dtype == pl.String:
        return _words(trimmed(column))
    return _numbers(column) if column.dtype.is_numeric() else {}


def _words(texts: pl.Series) -> dict[str, int]:
    lower = texts.str.to_lowercase()
    marks, rest = lower.is_in(_WORDS), lower.filter(~lower.is_in(_WORDS)).drop_nulls()
    if rest.is_empty():
        return {}
    if rest.n_unique() > 2 and rest.str.contains(r"^\pL{2}$").all():
        marks &= ~lower.is_in(_CODES)
    counted = texts.filter(marks).alias("word").value_counts()
    return dict(counted.sort("word").iter_rows())


def _numbers(column: pl.Series) -> dict[str, int]:
    """A number of nines beyond all others by more than these differ, or the only ones below zero."""
    known = column.drop_nulls().cast(pl.Float64)
    marks = known.is_in([*_ABOVE, *_BELOW])
    rest = known.filter(~marks)
    if rest.n_unique() < _FEW:
        return _beside_a_scale(known)
    if not marks.any():
        return {}
    least, most = float(rest.min()), float(rest.max())  # type: ignore[arg-type]
    beyond = ((known < 0) & (least >= 0)) | ((known > 0) & (known - most > most - least))
    return _counted(known.filter(marks & beyond))


def _beside_a_scale(known: pl.Series) -> dict[str, int]:
    """Numbers that stand apart from answers that count from 0 or 1 without a gap: 9 or -9 beside 1 to 5."""
    marks = known.is_in(_BESIDE_A_SCALE)
    scale = known.filter(~marks).unique().sort().to_list()
    if not marks.any() or len(scale) < 2 or scale[0] not in (0, 1) or scale[-1] - scale[0] != len(scale) - 1:
        return {}
    return _counted(known.filter(marks & ~known.is_between(scale[0] - 1, scale[-1] + 1)))


def _counted(numbers: pl.Series) -> dict[str, int]:
    return {f"{number:.0f}": count for number, count in numbers.alias("n").value_counts().sort("n").iter_rows()}


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
