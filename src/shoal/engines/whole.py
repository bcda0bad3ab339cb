"""Statistics of a whole table in one pass: each attribute's values and how often they occur, and a sample of records.

What some batches show can be added to what others show, in any order. An attribute of more than `LISTED` values keeps
only its moments (Chan, Golub & LeVeque's pairwise update): enough for distances and ranges, where no algorithm asks for
the values themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.choices import quoted_item
from shoal.data.frames import OWN
from shoal.data.microdata import Whole, encode
from shoal.data.schema import Attribute, Kind
from shoal.engines.table import Batch, Table
from shoal.errors import InputError

LISTED = 1 << 20  # values of an attribute
SAMPLE = 1 << 17  # records
POSITION, DRAW = f"{OWN}position", f"{OWN}draw"  # of a record of the sample


@dataclass(frozen=True)
class Marginal:
    """What some records show of one attribute."""

    counts: pl.DataFrame | None  # value, records; None: more values than are listed
    missing: int
    present: int = 0  # this and what follows of numbers and times only
    mean: float = 0.0
    squares: float = 0.0  # of the distances to the mean
    least: float = np.inf
    greatest: float = -np.inf

    @classmethod
    def of(cls, column: pl.Series) -> Marginal:
        """What a column of a batch shows; NaN counts as missing."""
        column = column.fill_nan(None) if column.dtype.is_float() else column
        counts = column.drop_nulls().alias("value").value_counts(name="records")
        missing = column.null_count()
        if not (column.dtype.is_numeric() or column.dtype.is_temporal()) or len(column) == missing:
            return cls(_listed(counts), missing)
        number = column.drop_nulls().to_physical().cast(pl.Float64).to_numpy()
        with np.errstate(over="ignore", invalid="ignore"):  # numbers whose squares have no number
            mean = float(number.mean())
            squares = float(((number - mean) ** 2).sum())
        return cls(_listed(counts), missing, len(number), mean, squares, float(number.min()), float(number.max()))

    def plus(self, marginal: Marginal) -> Marginal:
        """What both show together: counts summed, moments by the pairwise update, which loses no precision."""
        counts = None
        if self.counts is not None and marginal.counts is not None:
            both = pl.concat([self.counts, marginal.counts])
            counts = _listed(both.group_by("value").agg(pl.col("records").sum()))
        n = self.present + marginal.present
        apart = marginal.mean - self.mean
        share = marginal.present / n if n else 0.0
        return Marginal(
            counts,
            self.missing + marginal.missing,
            n,
            self.mean + apart * share,
            self.squares + marginal.squares + apart * apart * self.present * share,
            min(self.least, marginal.least),
            max(self.greatest, marginal.greatest),
        )

    def values(self, name: str) -> pl.Series | None:
        """All values, in order, a missing one last."""
        if self.counts is None:
            return None
        distinct = self.counts["value"].sort().alias(name)
        return distinct.extend_constant(None, 1) if self.missing else distinct

    def numbers(self) -> pl.Series | None:
        """How many records have each of these values, and at last how many have none."""
        if self.counts is None:
            return None
        records = self.counts.sort("value")["records"]
        return records.extend_constant(self.missing, 1) if self.missing else records

    def whole(self, attribute: Attribute) -> Whole:
        """As the attribute's kind asks."""
        if self.counts is None:
            if attribute.kind not in (Kind.NUMERIC, Kind.DATE):
                raise InputError(
                    f"Column {attribute.name!r} has more than {LISTED:,} categories: too many to be listed. "
                    "Leave it out of the quasi-identifiers and confidential columns or, if they are numbers, say so "
                    f"(--kind {quoted_item(attribute.name)}=numeric)."
                )
            sigma = float(np.sqrt(self.squares / (self.present - 1))) if self.present > 1 else 0.0
            return Whole(None, np.zeros(0, np.int64), self.missing, sigma, self.least, self.greatest)
        coded = encode(self.counts["value"].alias(attribute.name), attribute)
        present = coded.codes >= 0  # each value stands there once: its code says where its count goes
        records = np.zeros(len(coded.values), np.int64)
        np.add.at(records, coded.codes[present], self.counts["records"].to_numpy()[present])
        return Whole(coded.values, records, self.missing)


def _listed(counts: pl.DataFrame) -> pl.DataFrame | None:
    return counts.with_columns(pl.col("records").cast(pl.Int64)) if counts.height <= LISTED else None


class Shown(NamedTuple):
    """How many records there are, and what they show of some attributes."""

    records: int
    marginals: dict[str, Marginal]

    def plus(self, shown: Shown) -> Shown:
        """What both groups of records show together; they show the same attributes."""
        marginals = {name: own.plus(shown.marginals[name]) for name, own in self.marginals.items()}
        return Shown(self.records + shown.records, marginals)


@dataclass(frozen=True)
class _Look:
    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> Shown:
        return Shown(batch.frame.height, {name: Marginal.of(batch.frame[name]) for name in self.names})


def look(table: Table, names: Sequence[str]) -> Shown:
    """What a table shows of these attributes, by one pass."""
    return table.fold(_Look(tuple(names)), Shown.plus) or Shown(0, {})


@dataclass(frozen=True)
class Summary:
    """Of all records seen: how many, what each attribute shows, and some of them, drawn evenly."""

    records: int
    marginals: dict[str, Marginal]
    sample: pl.DataFrame  # with its POSITION

    @classmethod
    def of(cls, names: Sequence[str], batch: Batch) -> Summary:
        """Of one batch. The draw is a hash of a record's position: whatever the engine, the same are drawn."""
        frame = batch.frame.select(names)
        position = pl.Series(POSITION, batch.positions())
        drawn = frame.with_columns(position, position.hash(seed=1).alias(DRAW)).bottom_k(SAMPLE, by=DRAW)
        return cls(frame.height, {name: Marginal.of(frame[name]) for name in names}, drawn)

    def plus(self, summary: Summary) -> Summary:
        """Of both together; of both samples the records with the least draws stay."""
        marginals = {name: marginal.plus(summary.marginals[name]) for name, marginal in self.marginals.items()}
        sample = pl.concat([self.sample, summary.sample]).bottom_k(SAMPLE, by=DRAW)
        return Summary(self.records + summary.records, marginals, sample)


def look_at(table: Table, names: Sequence[str]) -> Summary:
    """What a table shows of these attributes and some of its records, by one pass."""
    empty = pl.DataFrame(schema={name: table.schema[name] for name in names})
    return table.fold(partial(Summary.of, list(names)), Summary.plus) or Summary(0, {}, empty)


def summarise(table: Table, names: Sequence[str]) -> Summary:
    """The same of a table that has records; one without is refused."""
    summary = look_at(table, names)
    need_records(summary.records)
    return summary


def need_records(records: int) -> None:
    """Refuses a table without any."""
    if not records:
        raise InputError("The table has no records: nothing can be released.")
