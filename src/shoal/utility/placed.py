"""Where the values of an original and of a masked table stand on a line, whatever the size of the tables.

What is listed of an attribute, up to a million values, is placed once; of more, each batch by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.microdata import Coded, Microdata, Whole, encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Schema, need_quasi
from shoal.engines.memory import MemoryTable
from shoal.engines.table import Table
from shoal.engines.whole import LISTED, Marginal, Summary, look_at
from shoal.errors import InputError, did_you_mean
from shoal.measure import Pair
from shoal.utility.correlations import Floats, Ints, moments_of, place_masked
from shoal.utility.statistics import Column


@dataclass(frozen=True)
class Known:
    """What one pass over an original table tells: its attributes, how they are distributed, and some records."""

    table: Table
    schema: Schema
    whole: Mapping[str, Whole]
    summary: Summary

    @classmethod
    def of(cls, original: Microdata) -> Known:
        """The same of a table in memory, of which every value is known."""
        table, quasi = MemoryTable(original.frame), original.schema.quasi_identifiers
        whole = {name: Whole(c.values, c.counts, c.missing) for name, c in ((name, original[name]) for name in quasi)}
        return cls(table, original.schema, whole, look_at(table, quasi))

    @property
    def records(self) -> int:
        """How many records the table has."""
        return self.summary.records

    def microdata(self, frame: pl.DataFrame) -> Microdata:
        """Some records of it, encoded as in the whole table."""
        quasi = self.schema.quasi_identifiers
        return Microdata(frame.select(quasi), Schema(tuple(self.schema[name] for name in quasi)), self.whole)


@dataclass(frozen=True)
class Both:
    """An original table and a masked one, of their quasi-identifiers."""

    original: Known
    masked: Table
    after: Summary

    @property
    def tables(self) -> tuple[Table, Table]:
        """Both tables, with their quasi-identifiers alone."""
        return self.original.table.select(self.quasi), self.masked

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers, by name."""
        return self.original.schema.quasi_identifiers

    def whole(self, name: str) -> Whole:
        """How the attribute is distributed in the whole original."""
        return self.original.whole[name]

    def coded(self, name: str) -> Coded:
        """The attribute of the original, without its records."""
        return encode(
            pl.Series(name, [], self.original.table.schema[name]), self.original.schema[name], self.whole(name)
        )

    def placed(self, name: str) -> tuple[Column, Column]:
        """Where the attribute's values stand in each table, a released range at its midpoint."""
        attribute, whole = self.original.schema[name], self.whole(name)
        before: Column = (
            Numbers.of(attribute, whole, self.original.summary.marginals[name])
            if whole.values is None
            else Listed(attribute, whole, np.append(self.coded(name).positions, np.nan))
        )
        cells = self._cells(name)
        if cells is None:
            return before, Ranges(attribute, self._ends(name), *before.scale)
        return before, self._at(cells, name, _middles)

    def _cells(self, name: str) -> tuple[Attribute, Whole] | None:
        """What the masked table shows of an attribute, each once; None where that cannot be listed."""
        marginal = self.after.marginals[name]
        if marginal.counts is None:
            return None
        shown = self.original.schema[name].as_it_stands(self.masked.schema[name])
        return shown, marginal.whole(shown)

    def _at(
        self, cells: tuple[Attribute, Whole], name: str, place_of: Callable[[pl.Series, Attribute, Whole], Floats]
    ) -> Listed:
        shown, listed = cells
        assert listed.values is not None
        used = listed.counts > 0
        place = np.full(len(used) + 1, np.nan)
        if used.any():
            original = self.whole(name)
            known = replace(original, values=self._ends(name)) if original.values is None else original
            place[:-1][used] = place_of(listed.values.filter(used), self.original.schema[name], known)
        return Listed(shown, listed, place)

    def _ends(self, name: str) -> pl.Series:
        """Of an attribute whose values are not listed."""
        whole = self.whole(name)
        if whole.values is not None:
            return whole.values
        dtype = self.original.table.schema[name]
        ends = pl.Series(name, [whole.least, whole.greatest])
        return ends.cast(pl.Int64).cast(dtype) if dtype.is_temporal() or dtype.is_integer() else ends.cast(dtype)

    def compared(self, name: str) -> tuple[Listed, Listed]:
        """The same as measures of pairs have it: a wildcard at the middle of the domain, several categories nowhere."""
        whole, cells = self.whole(name), self._cells(name)
        if whole.values is None or cells is None:
            raise InputError(f"Column {name!r} has more than {LISTED:,} values: this is measured only in memory.")
        coded = self.coded(name)
        before = Listed(self.original.schema[name], whole, np.append(coded.positions, np.nan))
        return before, self._at(cells, name, _of_pairs)


def check_columns(quasi: Sequence[str], original: Sequence[str], masked: Sequence[str]) -> None:
    """Refuses where a quasi-identifier is missing from either table."""
    need_quasi(quasi, "that were masked")
    for table, columns in {"original": original, "masked": masked}.items():
        for name in quasi:
            if name not in columns:
                hint = did_you_mean(name, columns)
                raise InputError(f"The {table} table has no column {name!r}, named as quasi-identifier.{hint}")


def read_tables(original: Known, masked: Table) -> Both:
    """One pass over the masked table."""
    quasi = original.schema.quasi_identifiers
    check_columns(quasi, list(original.table.schema), list(masked.schema))
    masked = masked.select(quasi)
    after = look_at(masked, quasi)
    if not after.records:
        raise InputError("The masked table has no records: there is nothing to measure.")
    return Both(original, masked, after)


def _middles(shown: pl.Series, attribute: Attribute, whole: Whole) -> Floats:
    placed = place_masked(read_cells(shown, attribute, whole.values))
    return placed.place[placed.index]


def _of_pairs(shown: pl.Series, attribute: Attribute, whole: Whole) -> Floats:
    assert whole.values is not None
    values = Microdata(whole.values.to_frame(), Schema((attribute,)), {attribute.name: whole})
    return Pair.of(values, {attribute.name: read_cells(shown, attribute, whole.values)}).masked[:, 0]


# ---- a column's records on a line


@dataclass(frozen=True)
class Listed:
    """Where each value stands, missing the last, and how many records have it."""

    attribute: Attribute
    whole: Whole
    place: Floats

    def __call__(self, column: pl.Series) -> Floats:
        """Where each record of the column stands."""
        return self.place[encode(column, self.attribute, self.whole).codes]

    @property
    def records(self) -> Ints:
        """How many records have each value, missing the last."""
        return np.append(self.whole.counts, self.whole.missing)

    @cached_property
    def scale(self) -> tuple[float, float]:
        """Mean and standard deviation of where records stand."""
        return moments_of(self.place, self.records)


@dataclass(frozen=True)
class Numbers:
    """Numbers too many to list stand where they are."""

    attribute: Attribute
    whole: Whole
    scale: tuple[float, float]

    @classmethod
    def of(cls, attribute: Attribute, whole: Whole, marginal: Marginal) -> Numbers:
        """From the mean and the squares of an attribute in the whole table."""
        return cls(attribute, whole, (marginal.mean, float(np.sqrt(marginal.squares / max(marginal.present, 1)))))

    def __call__(self, column: pl.Series) -> Floats:
        """Where each record of the column stands."""
        coded = encode(column, self.attribute, self.whole)
        return np.append(coded.positions, np.nan)[coded.codes]


@dataclass(frozen=True)
class Ranges:
    """Ranges too many to list are read batch by batch; what is open at an end reaches to the original's."""

    attribute: Attribute
    ends: pl.Series
    mean: float
    deviation: float

    def __call__(self, column: pl.Series) -> Floats:
        """Where each record of the column stands: in the middle of its range."""
        return _middles(column, self.attribute, Whole(self.ends, np.zeros(0, np.int64), 0))

    @property
    def scale(self) -> tuple[float, float]:
        """The original's: any that is near will do."""
        return self.mean, self.deviation
