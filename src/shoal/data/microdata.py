"""Microdata: a table and its schema, each attribute encoded once; every algorithm sees only the arrays.

A value is a code: its index among the attribute's values in their order (numbers and dates ascending, ordinal
categories as declared, nominal ones in hierarchy or alphabetical order). Missing is the code -1, a value of its
own. Distances live on positions divided by sigma (paper 1, Eq. 2; docs/spec.md#distance).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.person import numbered
from shoal.data.schema import Attribute, Kind, Schema
from shoal.errors import InputError

MISSING = -1
_FAR = 1e9  # standard deviations
_TABLE = 1 << 22  # integers that span less are coded by a look-up table, others by sorting
_FEW = 10_000  # records: of fewer, starting threads takes longer than the work


@dataclass(frozen=True)
class Whole:
    """What the whole table says of one attribute, where the records at hand are only a part of it."""

    values: pl.Series | None  # all of them in order; None: too many to list
    counts: npt.NDArray[np.int64]  # value -> records
    missing: int  # records without a value
    sigma: float = 0.0  # this and the ends only where the values are not listed
    least: float = 0.0
    greatest: float = 0.0
    having: npt.NDArray[np.int64] | None = None  # value -> people who have it, missing last, where people are counted


def _none() -> npt.NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Coded:
    """One attribute as arrays: the code of each record, and of each code the value, its position and its count."""

    attribute: Attribute
    codes: npt.NDArray[np.int32]  # record -> code, MISSING where there is no value
    values: pl.Series  # code -> value
    positions: npt.NDArray[np.float64]  # code -> place on a line: the number, the day, the rank
    counts: npt.NDArray[np.int64]  # code -> records of the whole table
    missing: int  # records of the whole table that have no value
    unlisted: Whole | None = None  # where the codes list only a part's values: what is known of the whole
    weights: npt.NDArray[np.int64] = field(default_factory=_none)  # records that each code stands for; none: one each
    people: npt.NDArray[np.int64] | None = None  # record -> whose it is, where people are counted and not records
    having: npt.NDArray[np.int64] | None = None  # of people: how many of the whole table have each value, missing last

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @property
    def is_nominal(self) -> bool:
        """Whether the values have no order."""
        return self.attribute.kind is Kind.NOMINAL

    @cached_property
    def sigma(self) -> float:
        """Sample standard deviation; for nominal values its analogue sqrt((1 - sum p^2) / 2).

        Defined in docs/spec.md#distance.
        """
        if self.unlisted is not None:
            return self.unlisted.sigma
        n = int(self.counts.sum())
        if n < 2:
            return 0.0
        if self.is_nominal:
            share = self.counts / n
            return float(np.sqrt(max(0.0, 1.0 - float(share @ share)) / 2.0))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(self.counts @ self.positions) / n
            sigma = float(np.sqrt(self.counts @ (self.positions - mean) ** 2 / (n - 1)))
        return sigma if np.isfinite(sigma) else 0.0  # numbers whose squares have no number cannot be compared

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest position of the domain: as declared, otherwise as found in the table."""
        if len(self.positions) == 0:
            return 0.0, 0.0
        low, high = float(self.positions[0]), float(self.positions[-1])
        if self.unlisted is not None:
            low, high = self.unlisted.least, self.unlisted.greatest
        domain = self.attribute.domain
        if domain and self.attribute.kind in (Kind.NUMERIC, Kind.DATE):
            line = pl.Float64 if self.values.dtype.is_numeric() else self.values.dtype
            declared = pl.Series(list(domain), strict=False).cast(line, strict=False).drop_nulls()
            ends = _physical(declared).cast(pl.Float64).to_list()  # a type of few bits may not hold them itself
            low, high = min([low, *ends]), max([high, *ends])
        return low, high

    @cached_property
    def scale(self) -> float:
        """What one unit of position counts in a distance: 1 / sigma, over the whole domain for nominal values."""
        if self.sigma == 0.0:
            return 0.0
        return 1.0 / (self.sigma * (len(self.values) - 1)) if self.is_nominal else 1.0 / self.sigma

    def places(self) -> npt.NDArray[np.float64]:
        """code -> standardised place on a line; missing, the last, lies one whole domain beyond the end.

        So a class that mixes missing and present is as wide as the wildcard it will be published as, and no
        algorithm needs to know about missing values.
        """
        low, high = self.bounds
        if self.scale == 0.0:  # values that all count alike: only missing is elsewhere
            return np.append(np.zeros(len(self.positions)), self.attribute.weight)
        return np.append(self.positions, high + (high - low)) * self.scale * self.attribute.weight

    def from_least(self) -> npt.NDArray[np.float32]:
        """code -> standardised place counted from the least, in single precision; missing is the last.

        So single precision tells large numbers apart; and no weight or domain, however odd, leaves what can be squared.
        """
        places = self.places()
        if self.is_nominal and self.attribute.hierarchy is None:  # no order is theirs: what is frequent stands together
            places[np.argsort(-self.counts, kind="stable")] = places[:-1].copy()
        least = places.min()
        if self.unlisted is not None:
            least = self.unlisted.least * self.scale * self.attribute.weight
        from_least: npt.NDArray[np.float64] = np.nan_to_num(places - least, posinf=_FAR)
        return np.minimum(from_least, _FAR).astype(np.float32)


@dataclass(frozen=True)
class Microdata:
    """A Polars frame, its schema, and the encoded attributes; `whole` where it is only a part of a table."""

    frame: pl.DataFrame
    schema: Schema
    whole: Mapping[str, Whole] | None = None

    @cached_property
    def coded(self) -> dict[str, Coded]:
        """The attributes encoded so far, by name."""
        return {}

    def __len__(self) -> int:
        return self.frame.height

    def __getitem__(self, name: str) -> Coded:
        if name not in self.coded:
            whole = self.whole[name] if self.whole and name in self.whole else None
            coded = encode(self.frame[name], self.schema[name], whole)
            counted = self.schema.person is not None and name in self.schema.confidential
            having = None if whole is None else whole.having
            self.coded[name] = replace(coded, people=self.people, having=having) if counted else coded
        return self.coded[name]

    @cached_property
    def people(self) -> npt.NDArray[np.int64] | None:
        """Record -> whose it is, as a number; None where records are counted and not people, or it is not at hand."""
        person = self.schema.person
        if person is None or person.column not in self.frame.columns:
            return None
        return numbered(self.frame[person.column], one_each=person.one_each)

    def take(self, records: npt.NDArray[np.int64]) -> Microdata:
        """The table of only these records, as a whole of its own."""
        return Microdata(self.frame[records], self.schema)

    @cached_property
    def quasi(self) -> list[Coded]:
        """The quasi-identifiers, encoded."""
        names = self.schema.quasi_identifiers
        if len(self) < _FEW:
            return [self[name] for name in names]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(self.__getitem__, names))

    def rows(self) -> npt.NDArray[np.float32]:
        """The quasi-identifiers as one row-major matrix of standardised places, each counted from its least."""
        matrix = np.empty((len(self), len(self.quasi)), np.float32)

        def fill(j: int) -> None:
            matrix[:, j] = self.quasi[j].from_least()[self.quasi[j].codes]

        if len(self) < _FEW:
            for j in range(len(self.quasi)):
                fill(j)
            return matrix
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, range(len(self.quasi))))
        return matrix

    def least(self) -> npt.NDArray[np.float32]:
        """The least place of each quasi-identifier that occurs in the whole table."""

        def of(coded: Coded) -> float:
            occurring = np.append(coded.counts > 0, coded.missing > 0)
            return 0.0 if coded.unlisted is not None else float(coded.from_least()[occurring].min(initial=_FAR))

        return np.array([of(coded) for coded in self.quasi], np.float32)


def encode(column: pl.Series, attribute: Attribute, whole: Whole | None = None) -> Coded:
    """The column's values as codes, ordered as its kind asks; the codes of the whole table where that is known."""
    listed = None if whole is None else whole.values
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        column = _on_a_line(column, attribute)
        codes, values, counts = _code_numbers(column) if listed is None else _code_listed(column, listed)
        positions = _physical(values).cast(pl.Float64).to_numpy()
    else:
        codes, values = _code_categories(column, attribute, listed)
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        positions = np.arange(len(values), dtype=np.float64)
    if whole is None:
        return Coded(attribute, codes, values, positions, counts, int(np.count_nonzero(codes == MISSING)))
    counts = whole.counts if listed is not None else counts
    return Coded(attribute, codes, values, positions, counts, whole.missing, whole if listed is None else None)


def _on_a_line(column: pl.Series, attribute: Attribute) -> pl.Series:
    """Numbers of 64 bits or times, NaN as missing; refused where they are none."""
    if column.dtype in (pl.Duration, pl.Time) or not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        raise InputError(
            f"Column {column.name!r} is declared {attribute.kind} but holds {column.dtype}: "
            "turn it into numbers or dates, or declare it nominal or ordinal."
        )
    if column.dtype.is_float():
        column = column.fill_nan(None)
        infinite = column.is_infinite().fill_null(False)
        if infinite.any():
            record = int(infinite.arg_max() or 0)
            raise InputError(
                f"Column {column.name!r} holds an infinity in record {record + 1}: "
                "replace it by a number or leave it empty."
            )
    elif column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    elif column.dtype == pl.Int128:  # as a database sums up
        narrow = column.cast(pl.Int64, strict=False)
        if narrow.null_count() > column.null_count():
            raise InputError(
                f"Column {column.name!r} holds whole numbers of more than 64 bits: declare it nominal, or leave it out."
            )
        column = narrow
    return column


Codes = tuple[npt.NDArray[np.int32], pl.Series, npt.NDArray[np.int64]]  # record -> code, code -> value, code -> records


def _code_numbers(column: pl.Series) -> Codes:
    physical = _physical(column)
    present = physical.drop_nulls() if physical.null_count() else physical
    if len(present) == 0:
        return np.full(len(column), MISSING, np.int32), column.clear(), np.zeros(0, np.int64)
    codes, distinct, counts = code_numbers(present.to_numpy(), column.dtype.is_integer() or column.dtype.is_temporal())
    values = pl.Series(column.name, distinct, dtype=physical.dtype).cast(column.dtype)
    return _with_missing(codes, physical), values, counts


def _code_listed(column: pl.Series, values: pl.Series) -> Codes:
    """All values are known beforehand."""
    physical = _physical(column)
    codes = np.searchsorted(_physical(values).to_numpy(), physical.drop_nulls().to_numpy()).astype(np.int32)
    return _with_missing(codes, physical), values, np.bincount(codes, minlength=len(values))


def _with_missing(present: npt.NDArray[np.int32], column: pl.Series) -> npt.NDArray[np.int32]:
    """The codes of the values that are there, as codes of all records."""
    if len(present) == len(column):
        return present
    codes = np.full(len(column), MISSING, np.int32)
    codes[column.is_not_null().to_numpy()] = present
    return codes


def code_numbers(
    numbers: npt.NDArray[Any], whole: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Each number's code, the distinct numbers in ascending order, and how often each occurs."""
    if whole and (span := int(numbers.max()) - int(low := numbers.min())) < _TABLE:
        # What leaves 8 or 16 bits by subtraction is right again when read as unsigned.
        unsigned = np.dtype(f"u{numbers.dtype.itemsize}")
        offsets = (numbers - low).view(unsigned)
        offsets = offsets.view(np.int64) if offsets.itemsize == 8 else offsets.astype(np.int64)
        table = np.bincount(offsets, minlength=span + 1)
        offset = np.flatnonzero(table)
        code_of = np.cumsum(table > 0, dtype=np.int32) - np.int32(1)
        return code_of[offsets], offset.astype(numbers.dtype) + low, table[offset]
    distinct = pl.Series(numbers).unique().sort().to_numpy()
    codes = np.searchsorted(distinct, numbers).astype(np.int32)
    return codes, distinct, np.bincount(codes, minlength=len(distinct))


def _code_categories(
    column: pl.Series, attribute: Attribute, listed: pl.Series | None = None
) -> tuple[npt.NDArray[np.int32], pl.Series]:
    """`listed` are all categories where they are known beforehand, and no order of them is declared."""
    if (hierarchy := attribute.hierarchy) is not None:
        return hierarchy.encode(column, missing_to_top=hierarchy.open), hierarchy.leaf_values.alias(column.name)
    order = declared_order(column, attribute)
    if order is None:
        order = listed
    text = column.cast(pl.String) if column.dtype != pl.String else column
    if order is None:
        distinct = column.unique().drop_nulls().sort()
        values = distinct if not isinstance(column.dtype, pl.Categorical | pl.Enum) else distinct.cast(pl.String).sort()
    else:
        values = order
    labels = values.cast(pl.String)
    codes = text.cast(pl.Enum(labels), strict=False).to_physical().cast(pl.Int32)
    unknown = codes.is_null() & text.is_not_null()
    if unknown.any():
        value = text.filter(unknown)[0]
        raise InputError(
            f"Column {column.name!r} holds {value!r}, which its declared domain does not list: "
            "add it there, or correct the value."
        )
    return codes.fill_null(MISSING).to_numpy(), values.alias(column.name)


def declared_order(column: pl.Series, attribute: Attribute) -> pl.Series | None:
    """All categories in their order, where the hierarchy, the domain or the column's type states it."""
    if attribute.hierarchy is not None:
        return attribute.hierarchy.leaf_values
    if attribute.domain is not None:
        return pl.Series([str(v) for v in attribute.domain])
    if isinstance(column.dtype, pl.Enum):
        return column.dtype.categories
    return None


def _physical(column: pl.Series) -> pl.Series:
    return column.to_physical() if column.dtype.is_temporal() else column
