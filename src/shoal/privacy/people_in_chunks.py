"""People of a table of any size: nobody is counted twice, in whichever chunks her records stand.

A class is masked in one chunk and judged in one chunk, with whose each record is beside it: its people are counted
there, and it does not matter that some of them have records elsewhere too. How many people of the whole table have a
value is counted after the records of each person with that value were brought together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.household import refuse_no_home
from shoal.data.identity import identity_text
from shoal.data.microdata import Whole, encode
from shoal.data.person import empty_in, refuse_gap, spelled_alike
from shoal.data.schema import Person, Schema
from shoal.engines.table import COUNTED, Batch, Table, records_of, selected
from shoal.errors import InputError
from shoal.privacy.classes import ByClass, all_of
from shoal.privacy.model import PrivacyModel

_PERSON = "@person"


def refuse_gaps_in(table: Table, column: str, *, one_each: bool) -> None:
    """Refuses a record that is about nobody, unless each such record is a person of her own."""
    if one_each:
        return
    gaps = selected(table, [column]).fold(_Gaps(column), _both)
    if gaps is not None and gaps[1]:
        refuse_gap(column, *gaps)


def refuse_homeless_in(table: Table, column: str) -> None:
    """Refuses a record that is in no household."""
    gaps = selected(table, [column]).fold(_Gaps(column), _both)
    if gaps is not None and gaps[1]:
        refuse_no_home(column, *gaps)


@dataclass(frozen=True)
class _Gaps:
    """The first record about nobody, and how many there are."""

    column: str

    def __call__(self, batch: Batch) -> tuple[int, int]:
        gaps = empty_in(batch.frame[self.column])
        return batch.position + int(gaps.arg_max() or 0) if gaps.any() else 1 << 62, int(gaps.sum())


def _both(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return min(left[0], right[0]), left[1] + right[1]


def people_having(table: Table, name: str, person: Person, column: str | None = None) -> pl.DataFrame:
    """How many people (`@records`) have each value (`@value`) of an attribute; `column` tells whose each record is."""
    who = column or person.column
    work = _Pairs(name, who)
    pairs = selected(table, [name, who]).map(work, pl.Schema({"@value": table.schema[name], _PERSON: pl.String()}))
    chunks = table.chunks(records_of(table))
    schema = pl.Schema({"@value": table.schema[name], "@records": pl.Int64()})
    counts = all_of(pairs.exchange(ByClass(("@value", _PERSON), chunks), chunks).map(_Once(), schema))
    return counts.group_by("@value").agg(pl.col("@records").sum())


def text_of_person(column: pl.Series, positions: npt.NDArray[np.int64]) -> pl.Series:
    """Record -> a text that only the records of the same person have; an empty cell is a person of her own."""
    who = identity_text(column).alias("who")
    named = pl.when(pl.col("who").is_null()).then("!" + pl.col("alone")).otherwise("=" + pl.col("who"))
    return pl.DataFrame([who, pl.Series("alone", positions).cast(pl.String)]).select(named).to_series()


@dataclass(frozen=True)
class _Pairs:
    """Each record's value and whose it is, as text; whoever is not named has one of her own."""

    name: str
    person: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        value = batch.frame[self.name]
        value = value.fill_nan(None) if value.dtype.is_float() else value
        people = text_of_person(batch.frame[self.person], batch.positions())
        return pl.DataFrame([value.alias("@value"), people.alias(_PERSON)])


@dataclass(frozen=True)
class _Once:
    """How many people have each value, of a chunk in which the records of each of both stand together."""

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        counts = frame.unique().group_by("@value").agg(pl.len().cast(pl.Int64).alias("@records"))
        return counts.select("@value", "@records")


def with_people(
    whole: Mapping[str, Whole], table: Table, schema: Schema, models: Sequence[PrivacyModel]
) -> dict[str, Whole]:
    """What the whole table says of each attribute and, where a model asks how it is distributed, of how many people."""
    assert schema.person is not None
    known = dict(whole)
    close = [model.attribute for model in models if model.closeness is not None]
    for name in schema.confidential:
        if name not in close and None not in close:
            continue
        values = whole[name].values
        if values is None:
            raise InputError(
                f"Column {name!r} has too many values for the people who have each to be counted: round it."
            )
        counts = people_having(table, name, schema.person)
        coded = encode(counts["@value"].alias(name), schema[name], replace(whole[name]))
        having = np.zeros(len(values) + 1, np.int64)
        np.add.at(having, coded.codes, counts["@records"].to_numpy())
        known[name] = replace(whole[name], having=having)
    return known


def people_of_parts(parts: Table) -> dict[int, int]:
    """Part -> how many people it has, as `CountPeople` tells it of each."""
    counts = all_of(parts)
    return dict(zip(counts["part"].to_list(), counts[COUNTED].to_list(), strict=True))


@dataclass(frozen=True)
class CountPeople:
    """How many people a part has."""

    person: Person

    schema = pl.Schema({"part": pl.Int64(), COUNTED: pl.Int64()})

    def __call__(self, frame: pl.DataFrame, part: int) -> pl.DataFrame:
        """One record, of the part."""
        who = spelled_alike(frame[self.person.column])
        people = who.drop_nulls().n_unique() + (who.null_count() if self.person.one_each else 0)
        return pl.DataFrame({"part": [part], COUNTED: [people]}, schema=self.schema)
