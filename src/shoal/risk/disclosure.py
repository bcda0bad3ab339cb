"""Attribute disclosure: who stands in a class where everybody has the value that must not be learnt.

(Paper 1, Eq. 5; docs/spec.md#attribute-disclosure.) For a condition z on what is released, the risk is the share of the
records with z that lie in a class all of whose records satisfy z: whoever is known to be in such a class is known to
satisfy z. Classes are those of equal released quasi-identifiers (docs/spec.md#class-equality); on unmasked data a
unique record is one.

A missing value satisfies no condition but `... is null`. Conditions of which no record satisfies two, such as
the values of one attribute, form a family, and a class is non-diverse exactly where the least and the
greatest condition of its records are the same: one pass over the table answers any number of families.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Coded, Whole, encode
from shoal.data.schema import Attribute
from shoal.engines.memory import table_of
from shoal.engines.table import Table, records_of
from shoal.errors import InputError, did_you_mean, require
from shoal.privacy.classes import RECORDS, How, Sizes, count_sizes, counted, counts_of, rows, sizes_of, without_nan

NONE = -1  # satisfies no condition of the family
BANDS = 10


@dataclass(frozen=True)
class Disclosure:
    """Eq. 5 for one condition: `exposed` of the `records` that satisfy it can be known to do so."""

    condition: str
    records: int
    exposed: int

    @property
    def risk(self) -> float:
        """The share of these records that are exposed."""
        return self.exposed / self.records if self.records else 0.0

    @property
    def nobody(self) -> bool:
        """No record satisfies the condition: the risk of 0 says nothing about the masking."""
        return self.records == 0


@dataclass(frozen=True)
class DisclosureByValue:
    """Eq. 5 for each value, or band of values, of one attribute: (condition, records, exposed, risk)."""

    attribute: str
    family: pl.DataFrame

    @property
    def worst(self) -> Disclosure | None:
        """The condition of highest risk, the one with most records among equals; None without any value."""
        if self.family.height == 0:
            return None
        top = self.family.sort("risk", "records", descending=True, maintain_order=True).row(0, named=True)
        return Disclosure(top["condition"], top["records"], top["exposed"])

    @property
    def maximum(self) -> float:
        """The risk of the value that is learnt most."""
        return self.worst.risk if self.worst else 0.0


def attribute_disclosure(frame: pl.DataFrame, quasi: Sequence[str], condition: str) -> Disclosure:
    """Eq. 5 for a condition such as `charge > 100000` or `diag_p in ('V3000', '4280')`."""
    return single(expose(frame, quasi, [condition_family(frame, condition)]).families[0])


def disclosure_by_value(
    frame: pl.DataFrame, quasi: Sequence[str], attribute: Attribute, bands: int = BANDS
) -> DisclosureByValue:
    """Eq. 5 for each category, or each of `bands` quantile bands of numbers and dates."""
    family = value_family(frame[attribute.name], attribute, bands)
    return DisclosureByValue(attribute.name, expose(frame, quasi, [family]).families[0])


# ---- families of conditions


class Conditions(Protocol):
    """Conditions of which each record satisfies one or none: asked of any records of a table, chunk by chunk."""

    @property
    def conditions(self) -> pl.Series:
        """The conditions, a text each."""
        ...

    @property
    def records(self) -> npt.NDArray[np.int64] | None:
        """How many records of the whole table satisfy each; None of a single condition: they are to be counted."""
        ...

    def of(self, frame: pl.DataFrame) -> npt.NDArray[np.int32]:
        """Record -> condition, or NONE."""
        ...


@dataclass(frozen=True)
class Family:
    """Conditions, and which of them each record of a table in memory satisfies."""

    conditions: pl.Series
    satisfied: npt.NDArray[np.int32]  # record -> condition, or NONE

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """How many records of the whole table meet each condition."""
        return np.bincount(self.satisfied[self.satisfied != NONE], minlength=len(self.conditions))

    def of(self, frame: pl.DataFrame) -> npt.NDArray[np.int32]:
        """Record -> the condition that it meets, NONE where it meets none."""
        return self.satisfied


@dataclass(frozen=True)
class Asked:
    """One condition, written as in SQL, that can be asked of each record by itself."""

    condition: str
    records: None = None

    @property
    def conditions(self) -> pl.Series:
        """The conditions, a text each."""
        return pl.Series([self.condition])

    def of(self, frame: pl.DataFrame) -> npt.NDArray[np.int32]:
        """Record -> the condition that it meets, NONE where it meets none."""
        return condition_family(frame, self.condition).satisfied


@dataclass(frozen=True)
class Values:
    """A confidential attribute of a table that comes in chunks, its values under conditions."""

    attribute: Attribute
    whole: Whole
    banded: Banded

    @property
    def conditions(self) -> pl.Series:
        """The conditions, a text each."""
        return self.banded.conditions

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """How many records of the whole table meet each condition."""
        return self.banded.records

    def of(self, frame: pl.DataFrame) -> npt.NDArray[np.int32]:
        """Record -> the condition that it meets, NONE where it meets none."""
        return self.banded.of_code[encode(frame[self.attribute.name], self.attribute, self.whole).codes]


def condition_family(frame: pl.DataFrame, condition: str, hidden: Collection[str] = ()) -> Family:
    """One condition, written as in SQL; it may not use the columns that are `hidden`."""
    expression = _parsed(condition)
    named = set(expression.meta.root_names())
    for name in sorted(named):
        _check_released(name, frame, hidden, condition)
    used = [without_nan(frame[name]) for name in sorted(named)]
    try:
        holds = pl.DataFrame(used).select(expression.alias("holds")).to_series()
    except pl.exceptions.PolarsError as error:
        raise _unusable(condition, _first_sentence(error)) from None
    if holds.dtype != pl.Boolean or len(holds) != frame.height:
        raise _unusable(condition, "it does not say of each record whether it holds")
    return Family(pl.Series([condition]), np.where(holds.fill_null(False).to_numpy(), 0, NONE).astype(np.int32))


def value_family(column: pl.Series, attribute: Attribute, bands: int = BANDS) -> Family:
    """One condition for each value; of numbers and dates, for each of `bands` bands of about equally many records.

    Where bands suffice for all values, each has its own. Masked or free text counts as it stands.
    """
    coded = encode(column, attribute.as_it_stands(column.dtype))
    banded = in_bands(coded, bands)
    return Family(banded.conditions, banded.of_code[coded.codes])


@dataclass(frozen=True)
class Banded:
    """The values of an attribute, each under one condition."""

    conditions: pl.Series
    records: npt.NDArray[np.int64]  # condition -> records of the whole table
    of_code: npt.NDArray[np.int32]  # code -> condition, the last that of missing: NONE


def in_bands(coded: Coded, bands: int = BANDS) -> Banded:
    """One condition a value, or a band of values on a line."""
    require("disclosure by value", "bands", bands, "a whole number of at least 1", holds=bands >= 1)
    band: npt.NDArray[np.int64] = np.arange(len(coded.values))
    if not coded.is_nominal and len(band) > bands:
        before = np.cumsum(coded.counts) - coded.counts
        _, band = np.unique(before * bands // coded.counts.sum(), return_inverse=True)
    first = np.flatnonzero(np.diff(band, prepend=-1))
    last = np.append(first[1:], len(band)) - 1 if len(band) else first
    conditions = _conditions(coded.values.gather(first), coded.values.gather(last))
    records = np.bincount(band, coded.counts, minlength=len(first)).astype(np.int64)
    return Banded(conditions, records, np.append(band, NONE).astype(np.int32))


def _conditions(least: pl.Series, greatest: pl.Series) -> pl.Series:
    """Each band as a condition that can be asked again: `charge = 5`, `charge between 5 and 9`."""
    name = least.name if _needs_no_quotes(least.name) else '"' + least.name.replace('"', '""') + '"'
    literal = pl.DataFrame({"least": _literals(least), "greatest": _literals(greatest)})
    equal = pl.format("{} = {}", pl.lit(name), "least")
    several = pl.format("{} between {} and {}", pl.lit(name), "least", "greatest")
    same = pl.col("least") == pl.col("greatest")
    return literal.select(condition=pl.when(same).then(equal).otherwise(several)).to_series()


def _literals(values: pl.Series) -> pl.Series:
    """The values as SQL writes them."""
    text = values.cast(pl.String)
    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        return text
    kind = {pl.Date: "DATE ", pl.Datetime: "TIMESTAMP ", pl.Time: "TIME "}.get(values.dtype.base_type(), "")
    return kind + "'" + text.str.replace_all("'", "''", literal=True) + "'"


def _needs_no_quotes(name: str) -> bool:
    try:
        return re.fullmatch(r"\w+", name) is not None and pl.sql_expr(name).meta.root_names() == [name]
    except pl.exceptions.PolarsError:  # a word of SQL
        return False


# ---- the one pass


@dataclass(frozen=True)
class Exposure:
    """How many classes there are of each size, and Eq. 5 for each family: (condition, records, exposed, risk)."""

    counts: Sizes
    families: list[pl.DataFrame]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The size of every class, ascending."""
        return np.repeat(self.counts.size, self.counts.classes)


def expose(
    table: pl.DataFrame | Table, quasi: Sequence[str], families: Sequence[Conditions] = (), records: int | None = None
) -> Exposure:
    """Counts the classes, and for each family the records in classes where all satisfy the same condition.

    `records`: no fewer than the table has, where the caller knows.
    """
    table = table_of(table)
    require("classes", "quasi", quasi, "at least one column of the table", holds=_are_columns(quasi, table.schema))
    counts = counted(
        table,
        quasi,
        _Satisfied(tuple(families)),
        _Count(len(families)),
        records_of(table) if records is None else records,
    )
    return Exposure(sizes_of(counts), [_answers(family, i, counts) for i, family in enumerate(families)])


def _are_columns(quasi: Sequence[str], columns: Collection[str]) -> bool:
    return bool(quasi) and set(quasi) <= set(columns)


@dataclass(frozen=True)
class _Satisfied:
    """The least and the greatest condition that records of a class satisfy, and how many satisfy any."""

    families: tuple[Conditions, ...]

    @property
    def adds(self) -> dict[str, tuple[pl.DataType, How]]:
        columns: dict[str, tuple[pl.DataType, How]] = {}
        for i, family in enumerate(self.families):
            columns |= {f"{i} least": (pl.Int32(), "min"), f"{i} most": (pl.Int32(), "max")}
            if family.records is None:
                columns[f"{i} records"] = pl.Int64(), "sum"
        return columns

    def __call__(self, frame: pl.DataFrame) -> list[pl.Series]:
        columns = []
        for i, family in enumerate(self.families):
            satisfied = pl.Series(family.of(frame), dtype=pl.Int32)
            columns += [satisfied.alias(f"{i} least"), satisfied.alias(f"{i} most")]
            if family.records is None:
                columns.append((satisfied != NONE).cast(pl.Int64).alias(f"{i} records"))
        return columns


@dataclass(frozen=True)
class _Count:
    """Of a chunk's classes: how many there are of each size, and for each condition the records that are exposed."""

    families: int

    def __call__(self, classes: pl.DataFrame) -> pl.DataFrame:
        counts = [count_sizes(classes)]
        for i in range(self.families):
            least, most = pl.col(f"{i} least"), pl.col(f"{i} most")
            alike = classes.filter(least == most, least != NONE).group_by(least.alias("key"))
            counts.append(rows(f"exposed {i}", alike.agg(pl.col(RECORDS).sum().alias("count"))))
            if f"{i} records" in classes.columns:
                counts.append(rows(f"records {i}", classes.select(key=0, count=pl.col(f"{i} records").sum())))
        return pl.concat(counts)


def _answers(family: Conditions, number: int, counts: pl.DataFrame) -> pl.DataFrame:
    """Eq. 5: the sizes of the non-diverse classes, summed for each condition, over its records."""

    def by_condition(what: str) -> npt.NDArray[np.int64]:
        own = counts_of(counts, what)
        by_number = np.zeros(len(family.conditions), np.int64)
        by_number[own["key"].to_numpy()] = own["count"].to_numpy()
        return by_number

    records = by_condition(f"records {number}") if family.records is None else family.records
    answers = pl.DataFrame(
        {"condition": family.conditions, "records": records, "exposed": by_condition(f"exposed {number}")}
    )
    share = pl.when(pl.col("records") > 0).then(pl.col("exposed") / pl.col("records")).otherwise(0.0)
    return answers.with_columns(risk=share)


def single(family: pl.DataFrame) -> Disclosure:
    """The answer to a family of one condition."""
    condition, records, exposed, _ = family.row(0)
    return Disclosure(condition, records, exposed)


# ---- reading a condition

_OF_ONE_RECORD = re.compile(  # what Polars calls the functions that look at one record only
    r"str|dt|when|then|otherwise|cast|strict_cast|not|is_(not_)?(null|nan|in|finite)|is_between|sql_is_in|abs|sign|round|floor|ceil|sqrt|exp|log\w*|pow"
    r"|fill_null|coalesce|min_horizontal|max_horizontal|clip"
)


def of_one_record(condition: str) -> bool:
    """Whether it can be asked of each record by itself; `charge > avg(charge)` cannot."""
    written = re.sub(r'"[^"]*"', "", str(_parsed(condition)))
    called = re.findall(r"(str\.|dt\.)?\b([a-z]\w*)\(", written)
    return all(space or name == "col" or _OF_ONE_RECORD.fullmatch(name) for space, name in called)


def named_in(condition: str) -> list[str]:
    """The columns that a condition asks for."""
    return _parsed(condition).meta.root_names()


def _parsed(condition: str) -> pl.Expr:
    try:
        return pl.sql_expr(condition)
    except pl.exceptions.PolarsError as error:
        raise _unusable(condition, _first_sentence(error)) from None


def _check_released(name: str, frame: pl.DataFrame, hidden: Collection[str], condition: str) -> None:
    released = [column for column in frame.columns if column not in hidden]
    if name in hidden:
        raise InputError(
            f"The condition {condition!r} uses {name!r}, an identifier, which is never released: "
            "use released columns only."
        )
    if name not in released:
        known = did_you_mean(name, released) or f" The columns are {', '.join(released)}."
        raise InputError(f"The condition {condition!r} uses {name!r}, but there is no such column.{known}")


def _unusable(condition: str, reason: str) -> InputError:
    return InputError(
        f"The condition {condition!r} cannot be used ({reason}): write it as in SQL, for example "
        "charge > 100000, diag_p in ('V3000', '4280') or admitted >= DATE '2024-01-31'."
    )


def _first_sentence(error: Exception) -> str:
    return str(error).split("\n")[0]
