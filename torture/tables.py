"""Tables that a release must survive: everyday ones, and those in which something wants to go wrong.

Every value that must not leave carries a token that occurs nowhere else, so that the bytes of a release can be
searched for it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
    *(
        "bmiibtAJMkTB",
        "ecgpK_]EavZb",
        "all but {a;b}",
        "a to b",
        "=1+1",
        "@SUM(1)",
        "é",
        " lead",
        "trail ",
        "-",
        "True",
    ),
)


@dataclass(frozen=True)
class Column:
    """A column, and whether its values lie in an order."""

    name: str
    values: pl.Series
    ordered: bool

    def value(self, i: int) -> Any:
        """Of one record; of short floats the number that their digits say."""
        value = self.values[i]
        return float(str(np.float32(value))) if value is not None and self.values.dtype == pl.Float32 else value


@dataclass(frozen=True)
class Table:
    """Columns by their roles; `rid` names each record, so that the judge knows whom a released record is about."""

    quasi: tuple[Column, ...]
    confidential: tuple[Column, ...]
    rid: pl.Series
    secrets: dict[str, pl.Series] = field(default_factory=dict)  # an identifier, and a column that no role names
    shape: str = "as drawn"

    @property
    def rows(self) -> int:
        return len(self.rid)

    def frame(self) -> pl.DataFrame:
        columns = {column.name: column.values for column in (*self.quasi, *self.confidential)}
        return pl.DataFrame({**self.secrets, **columns, "rid": self.rid})

    def take(self, records: slice) -> Table:
        """Some of the records."""
        return Table(
            tuple(replace(column, values=column.values[records]) for column in self.quasi),
            tuple(replace(column, values=column.values[records]) for column in self.confidential),
            self.rid[records],
            {name: values[records] for name, values in self.secrets.items()},
            self.shape,
        )

    def write(self, path: Path) -> None:
        write(self.frame(), path)


def write(frame: pl.DataFrame, path: Path) -> None:
    """In the format that the file's name says."""
    if path.suffix in (".csv", ".tsv"):
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif path.suffix == ".arrow":
        frame.write_ipc(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".xlsx":
        frame.write_excel(path)
    elif path.suffix == ".db":
        _write_sqlite(frame, path)
    else:
        import pyreadstat

        getattr(pyreadstat, {".sav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}[path.suffix])(frame, path)


def _write_sqlite(frame: pl.DataFrame, path: Path) -> None:
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"create table people ({names})")
        places = ", ".join("?" * frame.width)
        rows = ([str(one) if isinstance(one, dt.date) else one for one in row] for row in frame.rows())
        database.executemany(f"insert into people values ({places})", rows)


def token(rng: np.random.Generator, word: str) -> str:
    return f"{word}-{rng.integers(16**12):012x}"


def draw_table(
    rng: np.random.Generator, *, plain: bool = False, typed: bool = False, kinds: str = "any", varied: bool = False
) -> Table:
    """A table; `plain`: of names and types that every format has; `typed`: of types that only Arrow and Parquet have.

    `kinds`: quasi-identifiers are "ordered", "unordered", such as discharges have ("discharges"), or "any"; `varied`:
    no column holds one value only.
    """
    rows = int(rng.choice([1, 2, 7, 12, 25, 60, 150, 400], p=[0.01, 0.02, 0.1, 0.17, 0.25, 0.25, 0.15, 0.05]))
    names = [str(name) for name in rng.choice([f"v{i}" for i in range(9)] if plain else NAMES, 7, replace=False)]
    made = _PLAIN if plain else (*_ORDERED, *_UNORDERED, *(_TYPED if typed else ()))
    if kinds in ("ordered", "unordered"):
        made = tuple(one for one in made if (one in _IN_ORDER) == (kinds == "ordered"))
    shape = str(rng.choice(SHAPES, p=[0.6, 0.1, 0.1, 0.1, 0.1]))
    if varied:
        made = tuple(one for one in made if one not in (_constant, _no_numbers))
        shape = "as drawn" if shape in ("one row", "an outlier") else shape
    quasi = tuple(_column(rng, rows, names.pop(), made, shape) for _ in range(rng.integers(1, 5)))
    if kinds == "discharges":
        quasi = tuple(_column(rng, rows, name, (_DISCHARGES[name],), shape) for name in _DISCHARGES)
    confidential = [_confidential(rng, rows, names.pop(), quasi[0], plain=plain)]
    if rng.random() < 0.25:
        confidential.append(_confidential(rng, rows, names.pop(), quasi[0], plain=plain))
    secrets = {
        "identifier": pl.Series([token(rng, "person") for _ in range(rows)]),
        "left_out": pl.Series([token(rng, "note") for _ in range(rows)]),
    }
    rid = pl.Series([f"{token(rng, 'record')}-{i}" for i in range(rows)])
    return Table(quasi, tuple(confidential), rid, secrets, shape)


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


def _plain_words(rng: np.random.Generator, rows: int) -> pl.Series:
    """Without spaces around them, which some formats do not keep."""
    return _words(rng, rows).str.strip_chars()


def _truths(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.random(rows) < 0.3)


def _moments(rng: np.random.Generator, rows: int) -> pl.Series:
    start = dt.datetime(2001, 1, 1)
    return pl.Series([start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 10**6, rows)])


def _codes(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([f"{code:05d}" for code in rng.integers(900, 1100, rows)])


def _spelled(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([str(word) for word in rng.choice(["yes", "Yes", "yes ", "no", "no\u00a0", "NO"], rows)])


def _tiny(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.integers(-100, 100, rows), dtype=pl.Int8)


def _beyond(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([0, 1, 2**63, 2**64 - 1], dtype=pl.UInt64).gather(rng.integers(0, 4, rows))


def _single(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.normal(size=rows).astype(np.float32))


def _no_numbers(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.choice([np.nan, np.inf, -np.inf, 0.5, 1.5], rows))


def _categories(rng: np.random.Generator, rows: int) -> pl.Series:
    return _towns(rng, rows).cast(pl.Categorical)


def _amounts(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series(rng.integers(0, 10**5, rows)).cast(pl.Decimal(12, 2))


def _times(rng: np.random.Generator, rows: int) -> pl.Series:
    return pl.Series([dt.time(int(hour), 30) for hour in rng.integers(0, 24, rows)])


Make = Callable[[np.random.Generator, int], pl.Series]
_ORDERED: tuple[Make, ...] = (_few, _many, _huge, _floats, _zeros, _constant, _days)
_UNORDERED: tuple[Make, ...] = (_towns, _words, _truths, _codes, _spelled)
_PLAIN: tuple[Make, ...] = (_few, _many, _floats, _constant, _towns, _plain_words)
_TYPED: tuple[Make, ...] = (_moments, _tiny, _beyond, _single, _no_numbers, _categories, _amounts, _times)
_IN_ORDER = {*_ORDERED, _moments, _tiny, _beyond, _single, _no_numbers, _amounts, _times}
SHAPES = ("as drawn", "one row", "each three times", "an outlier", "on a line")


_DISCHARGES: dict[str, Make] = {
    "age_yrs": lambda rng, rows: pl.Series(rng.integers(0, 95, rows)),
    "sex": lambda rng, rows: pl.Series([str(one) for one in rng.choice(["F", "M"], rows)]),
    "patzip": lambda rng, rows: pl.Series([f"{code:05d}" for code in rng.choice([937, 90210, 90211], rows)]),
}
_IN_ORDER.add(_DISCHARGES["age_yrs"])


def _column(rng: np.random.Generator, rows: int, name: str, kinds: tuple[Make, ...], shape: str) -> Column:
    made = kinds[rng.integers(len(kinds))]
    values = _shaped(made(rng, rows), shape)
    if rng.random() < 0.3:
        values = _with_gaps(rng, values, float(rng.choice([0.05, 0.15, 0.6, 1.0], p=[0.45, 0.4, 0.1, 0.05])))
    return Column(name, values.alias(name), made in _IN_ORDER)


def _shaped(values: pl.Series, shape: str) -> pl.Series:
    """Rows that are all the same, that come three times each, all but the last, or along one line."""
    rows = len(values)
    if shape == "one row":
        return values.gather(np.zeros(rows, np.int64))
    if shape == "each three times":
        return values.gather(np.arange(rows) // 3)
    if shape == "an outlier":
        return values.gather(np.append(np.zeros(rows - 1, np.int64), rows - 1))
    return values.sort() if shape == "on a line" else values


def _with_gaps(rng: np.random.Generator, values: pl.Series, share: float) -> pl.Series:
    gaps = rng.random(len(values)) < share
    return pl.select(pl.when(pl.Series(~gaps)).then(pl.lit(values))).to_series()


def _confidential(rng: np.random.Generator, rows: int, name: str, known: Column, *, plain: bool) -> Column:
    """Diagnoses of which one is frequent, charges, or what is told by who somebody is; some of it missing."""
    sort = str(rng.choice(["illness", "charge", "at the end", "of each", "constant"], p=[0.4, 0.35, 0.1, 0.1, 0.05]))
    values: list[Any]
    if sort == "charge":
        values = np.round(rng.lognormal(8, 1, rows)).astype(np.int64).tolist()
    elif sort == "illness":
        illnesses = [token(rng, "illness") for _ in range(4)]
        values = [str(one) for one in rng.choice(illnesses, rows, p=[0.6, 0.2, 0.15, 0.05])]
        values[: len(illnesses)] = illnesses[: len(values)]
    elif sort == "at the end":
        last = np.zeros(rows, bool)
        last[known.values.arg_sort().to_numpy()[int(0.9 * rows) :]] = True
        yes, no = token(rng, "illness"), token(rng, "illness")
        values = [yes if one else no for one in last]
    else:
        values = [token(rng, "illness") for _ in range(rows)] if sort == "of each" else [token(rng, "illness")] * rows
    if rng.random() < 0.2 and not plain:
        values = [None if gap else value for gap, value in zip(rng.random(rows) < 0.2, values, strict=True)]
    made = pl.Series(name, values, dtype=pl.Int64 if sort == "charge" else pl.String)
    return Column(name, made, ordered=sort == "charge")
