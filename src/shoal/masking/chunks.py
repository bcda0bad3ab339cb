"""Masking a table of any size, chunk by chunk: what a method may ask of the whole table, and chunks drawn at random.

What the whole table must be asked for is asked first, and gives a method that treats every chunk alike
(`Method.prepared`). Then the records of each chunk are brought together (`Method.chunks`) and masked by the code of a
table in memory. A union of k-anonymous chunks is k-anonymous.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Microdata, Whole
from shoal.data.schema import Schema
from shoal.engines.table import Batch, Parts, Table, heads
from shoal.engines.whole import Summary
from shoal.privacy.model import PrivacyModel
from shoal.privacy.people_in_chunks import CountPeople, people_of_parts

CHUNK = 1 << 19  # records that are masked together
RANDOM_CHUNK = 1 << 20  # where classes are distributed as the table is, larger chunks lose less


@dataclass(frozen=True)
class Attributes:
    """What travels to every chunk: the schema, and what the whole table says of each attribute."""

    schema: Schema
    whole: Mapping[str, Whole] = field(repr=False)

    def of_strangers(self) -> Attributes:
        """The same where it is not known of whom the records are, so that each may be somebody else's."""
        person = self.schema.person
        if person is None:
            return self
        return replace(self, schema=replace(self.schema, person=replace(person, one_each=True)))

    def microdata(self, frame: pl.DataFrame) -> Microdata:
        """Some records, with each attribute encoded as in the whole table."""
        return Microdata(frame, self.schema, self.whole)


@dataclass(frozen=True)
class WholeTable:
    """A table that is masked in chunks, as a method may ask it: records on an engine, statistics, and what is promised.

    `k` is the least class that may be released; `suppression` the share of records that may be left out.
    """

    table: Table
    attributes: Attributes
    summary: Summary = field(repr=False)
    promises: tuple[PrivacyModel, ...]
    k: int
    suppression: float = 0.0

    @property
    def schema(self) -> Schema:
        """The attributes that will be shown."""
        return self.attributes.schema

    @property
    def records(self) -> int:
        """How many records the table has."""
        return self.summary.records

    @cached_property
    def sample(self) -> Microdata:
        """Some records, drawn evenly."""
        return self.attributes.microdata(self.summary.sample)


def chunks_of(records: int) -> int:
    """How many chunks hold so many records."""
    return -(-records // CHUNK)


def at_random(whole: WholeTable, seed: int, *, large: bool = False) -> Parts:
    """The records in chunks drawn at random, each distributed as the table is, at least k in each."""
    chunks = -(-whole.records // (RANDOM_CHUNK if large else CHUNK))
    divided = whole.table.exchange(_Drawn(chunks, seed), chunks)
    return with_people(filled(divided, whole.k, _as_it_stands), whole)


@dataclass(frozen=True)
class _Drawn:
    """The chunk of a record, drawn evenly; the same record comes to the same chunk however often it is asked."""

    chunks: int
    seed: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        drawn = pl.Series(batch.positions()).hash(seed=self.seed)
        return (drawn % self.chunks).cast(pl.Int64).to_numpy()


def _as_it_stands(frame: pl.DataFrame) -> npt.NDArray[np.int64]:
    return np.arange(frame.height)


def with_people(chunks: Parts, whole: WholeTable) -> Parts:
    """The chunks with the k people in each that a class needs; those with fewer join the chunk before."""
    person = whole.schema.person
    if person is None:
        return chunks
    return with_enough(chunks, people_of_parts(chunks.map(CountPeople(person), CountPeople.schema)), whole.k)


def with_enough(chunks: Parts, people: Mapping[int, int], k: int) -> Parts:
    """The chunks with k people in each, as they were counted; those with fewer join the chunk before."""
    sizes, taken, held = chunks.sizes(), np.zeros_like(chunks.sizes()), 0
    for part, size in enumerate(sizes.tolist()):
        here = people.get(part, 0)
        if not size:
            continue
        if held and min(held, here) < k:
            taken[part], held = size, max(held, here)
        else:
            held = here
    return chunks.moved(taken, _as_it_stands) if taken.any() else chunks


def filled(
    chunks: Parts, k: int, order: Callable[[pl.DataFrame], npt.NDArray[np.int64]], *, exactly: bool = False
) -> Parts:
    """The chunks with at least k records in each: those of smaller ones join the chunk before, first in `order`.

    `exactly`: in all but the last a multiple of k.
    """
    taken = heads(chunks.sizes(), k, exactly=exactly)
    return chunks.moved(taken, order) if taken.any() else chunks
