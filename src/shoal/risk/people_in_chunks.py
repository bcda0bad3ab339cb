"""How exposed the people of a table of any size are: counted class by class, then person by person.

In the chunk that holds all records of a class its people are counted. What is known of them goes on to the chunk of
each person, where her smallest class is, and where all of her classes make one text. No hash stands for any of them.
Defined in docs/spec.md#people-at-risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from shoal.data.person import IN_CLASS, numbered, shown_person
from shoal.data.schema import Person
from shoal.engines.table import COUNTED, Batch, Table, records_of, selected
from shoal.privacy.classes import CLASS, RECORDS, ByHash, Sizes, class_sizes, in_classes, shown
from shoal.privacy.people_in_chunks import refuse_gaps_in, text_of_person
from shoal.risk.people import PeopleInClasses, PeopleRisk, Tally, classes_by, untold

_PERSON, _SHARED, _HISTORY = "@person", "@shared", "@history"
_IN_CLASS = pl.Schema({CLASS: pl.String(), _PERSON: pl.String(), RECORDS: pl.Int64()})


def risk_shown(table: Table, quasi: Sequence[str], person: Person | None) -> tuple[PeopleRisk | None, str]:
    """Of people, by what the table shows of whose each record is; where it shows nothing of that, the reason."""
    if person is None:
        return None, ""
    if (column := shown_person(table.schema, person)) is None:
        return None, untold(person)
    refuse_gaps_in(table, column, one_each=person.one_each)
    sizes = class_sizes(selected(table, quasi), quasi, records_of(table))
    return risk_of_people(table, quasi, column, sizes, across=column != IN_CLASS), ""


def risk_of_people(
    table: Table, quasi: Sequence[str], column: str, sizes: Sizes, *, histories: bool = True, across: bool = True
) -> PeopleRisk:
    """Of whoever has a record, by the column that says whose each is; an empty cell is a person of her own.

    `sizes` are those of the table's classes. Without `histories` nobody is looked for by all of her records; nor where
    nobody is known `across` classes, as each numbers its people afresh.
    """
    histories = histories and across
    if (frame := table.whole) is not None:
        return PeopleRisk.of(PeopleInClasses(classes_by(frame, quasi), numbered(frame[column], one_each=True)))
    chunks = table.chunks(sizes.records)
    pairs = selected(table, [*quasi, column]).map(_Pairs(tuple(quasi), column, across), _IN_CLASS)
    classes = pairs.exchange(ByHash(chunks), chunks).map(_PeopleOfClasses(), _PeopleOfClasses.schema)
    people = classes.exchange(ByHash(chunks, _PERSON), chunks).map(_EachPerson(histories), _EachPerson.schema)
    people = people.kept()[0]
    nearest = people.counts([_SHARED]).sort(_SHARED)
    alike = class_sizes(people.select([_HISTORY]), [_HISTORY], sizes.records) if histories else None
    return PeopleRisk(
        sizes.records,
        sizes.number,
        Tally(nearest[_SHARED].to_numpy(), nearest[COUNTED].to_numpy()),
        None if alike is None else Tally(alike.size, alike.size * alike.classes),
        across,
    )


@dataclass(frozen=True)
class _Pairs:
    """Who has how many records in which class, of a batch."""

    quasi: tuple[str, ...]
    column: str
    across: bool

    def __call__(self, batch: Batch) -> pl.DataFrame:
        person = text_of_person(batch.frame[self.column], batch.positions()).alias(_PERSON)
        pairs = in_classes(shown(batch.frame, self.quasi), self.quasi).with_columns(person)
        if not self.across:
            pairs = pairs.with_columns(pl.concat_str(CLASS, _PERSON).alias(_PERSON))
        return pairs.group_by(CLASS, _PERSON).agg(pl.len().cast(pl.Int64).alias(RECORDS))


@dataclass(frozen=True)
class _PeopleOfClasses:
    """Who stands in a class with how many people, of a chunk that holds all records of each of its classes."""

    schema = pl.Schema({**_IN_CLASS, _SHARED: pl.Int64()})

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        pairs = frame.group_by(CLASS, _PERSON).agg(pl.col(RECORDS).sum())
        return pairs.with_columns(pl.len().over(CLASS).cast(pl.Int64).alias(_SHARED))


@dataclass(frozen=True)
class _EachPerson:
    """The people of each one's smallest class, and all of her classes with how often she is there as one text."""

    histories: bool

    schema = pl.Schema({_SHARED: pl.Int64(), _HISTORY: pl.String()})

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        often = pl.concat_str(pl.col(RECORDS), pl.lit("x"), pl.col(CLASS))  # a class's text says itself where it ends
        history = often.sort().str.join() if self.histories else pl.lit(None, pl.String)
        people = frame.group_by(_PERSON).agg(pl.col(_SHARED).min(), history.alias(_HISTORY))
        return people.select(self.schema.names())
