"""Tables that a release must survive: everyday ones, and those in which something wants to go wrong.

Every value that must not leave carries a token that occurs nowhere else, so that the bytes of a release can be
searched for it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

NAMES = (
    *("age", "sex", "zip code", "Größe", "年齢", 'say "so"', "it's", "a,b", "a;b", "[1;2]", "{x}", "x^2$", "len"),
    *("count", "index", "literal", "value", "low", "high", "cell", "text", "class", "key", "one", "two", "weight"),
    *("@facts", "@position", "@draw", "@records", "@value", "@row", "@class", "@0", "@level"),
)
# Texts that read as masks or numbers, and two whose hashes were made to collide.
WORDS = (
    *("*", "9*", "937**", "[1;2]", "{a;b}", "\\", "85+", "[70-80)", "a;b", "a,b", 'say "so"', "null", "NA", "007"),
    *("bmiibtAJMkTB", "ecgpK_]EavZb", "=1+1", "@SUM(1)", "é", " lead", "trail ", "-", "True"),
)


@dataclass(frozen=True)
class Column:
    """A column, and whether its values lie in an order."""

    name: str
    values: pl.Series
    ordered: bool


@dataclass(frozen=True)
class Table:
    """Columns by their roles; `rid` names each record, so that the judge knows whom a released record is about."""

    quasi: tuple[Column, ...]
    confidential: tuple[Column, ...]
    rid: pl.Series
    secrets: dict[str, pl.Series] = field(default_factory=dict)  # an identifier, and a column that no role names

    @property
    def rows(self) -> int:
        return len(self.rid)

    def frame(self) -> pl.DataFrame:
        columns = {column.name: column.values for column in (*self.quasi, *self.confidential)}
        return pl.DataFrame({**self.secrets, **columns, "rid": self.rid})

    def write(self, path: Path) -> None:
        frame = self.frame()
        if path.suffix == ".csv":
            frame.write_csv(path)
        elif path.suffix == ".arrow":
            frame.write_ipc(path)
        else:
            frame.write_parquet(path)


def token(rng: np.random.Generator, word: str) -> str:
    return f"{word}-{rng.integers(16**12):012x}"


def draw_table(rng: np.random.Generator) -> Table:
    rows = int(rng.choice([7, 12, 25, 60, 150, 400], p=[0.1, 0.2, 0.25, 0.25, 0.15, 0.05]))
    names = [str(name) for name in rng.choice(NAMES, 6, replace=False)]
    quasi = tuple(_column(rng, rows, names.pop()) for _ in range(rng.integers(1, 5)))
    confidential = (_confidential(rng, rows, names.pop()),)
    secrets = {
        "identifier": pl.Series([token(rng, "person") for _ in range(rows)]),
        "left out": pl.Series([token(rng, "note") for _ in range(rows)]),
    }
    rid = pl.Series([f"{token(rng, 'record')}-{i}" for i in range(rows)])
    return Table(quasi, confidential, rid, secrets)


# ---- columns


def _few(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.integers(0, 6, rows))


def _many(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.integers(-(10**6), 10**6, rows))


def _huge(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.choice([-(2**62), 0, 1, 2**53 + 1, 2**62], rows))


def _floats(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(np.round(rng.standard_cauchy(rows), 3))


def _zeros(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.choice([-0.0, 0.0, 1.5, -1.5], rows))


def _constant(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([7] * rows)


def _days(rng: np.random.Generator, rows: int) -> pl.Series:
    start = dt.date(1940, 1, 1)
    return pl.Series([start + dt.timedelta(days=int(day)) for day in rng.integers(0, 25_000, rows)])


def _towns(rng: np.random.Generator, rows: int) -> pl.Series:
    towns = [token(rng, "town") for _ in range(max(2, rows // 4))]
    return pl.Series([str(town) for town in rng.choice(towns, rows)])


def _words(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([str(word) for word in rng.choice(WORDS, rows)])


def _truths(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.random(rows) < 0.3)


_ORDERED: tuple[Callable[[np.random.Generator, int], pl.Series], ...] = (
    *(_few, _many, _huge, _floats, _zeros, _constant, _days),
)
_UNORDERED: tuple[Callable[[np.random.Generator, int], pl.Series], ...] = (_towns, _words, _truths)


def _column(rng: np.random.Generator, rows: int, name: str) -> Column:
    made = (*_ORDERED, *_UNORDERED)[rng.integers(len(_ORDERED) + len(_UNORDERED))]
    values = made(rng, rows)
    if rng.random() < 0.3:
        values = _with_gaps(rng, values, 0.15)
    return Column(name, values.alias(name), made in _ORDERED)


def _with_gaps(rng: np.random.Generator, values: pl.Series, share: float) -> pl.Series:
    gaps = rng.random(len(values)) < share
    if gaps.all():
        gaps[0] = False
    return pl.select(pl.when(pl.Series(~gaps)).then(pl.lit(values))).to_series()


def _confidential(rng: np.random.Generator, rows: int, name: str) -> Column:
    """Diagnoses of which one is frequent, or charges; sometimes all but told by the order of the records."""
    if rng.random() < 0.5:
        illnesses = [token(rng, "illness") for _ in range(4)]
        values: list[Any] = [str(one) for one in rng.choice(illnesses, rows, p=[0.6, 0.2, 0.15, 0.05])]
        values[: len(illnesses)] = illnesses[: len(values)]
        return Column(name, pl.Series(name, values), ordered=False)
    return Column(name, pl.Series(name, np.round(rng.lognormal(8, 1, rows)).astype(np.int64)), ordered=True)
