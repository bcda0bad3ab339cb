"""The report on a release that is never in memory: all is counted on the engine, values are compared on drawn records.

Whose record is whose is known only while a chunk is masked. There some records are drawn evenly and told with what
became of them, and with what each attribute lost over all records of the chunk.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.data.microdata import Microdata, Whole, encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Schema
from shoal.engines.table import packed, unpacked
from shoal.masking.chunks import Attributes
from shoal.masking.method import Masked
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel, Verdict
from shoal.privacy.people_in_chunks import text_of_person
from shoal.report.reported import Tables
from shoal.risk.owners import Owners, owner_columns
from shoal.utility.information_loss import attribute_loss

Ints = npt.NDArray[np.int64]

PAIRS = 20_000  # records that values are compared of
KEPT = f"{OWN}kept"
CELL = f"{OWN}cell "  # begins the name of a column that shows what became of another


@dataclass(frozen=True)
class Draw:
    """Which records the report compares: a share of all, or of the people or households that columns name."""

    share: float
    whose: tuple[str, ...] = ()  # the larger last: a household is drawn with all of its people

    @classmethod
    def some(cls, pairs: int, records: int, policy: Policy) -> Draw | None:
        """So many of all records; None where none are asked for."""
        whose = owner_columns(policy.person, policy.household_column)
        return cls(min(1.0, pairs / records), tuple(whose.values())) if pairs else None

    def rows(self, frame: pl.DataFrame, seed: int, chunk: int) -> Ints:
        """Some records of a chunk, of each person who is drawn all: she is drawn in every chunk, or in none.

        Each chunk tells of somebody, also where its share is less than one.
        """
        if not self.whose:
            dice = np.random.default_rng([seed, chunk, 1])
            return np.sort(dice.choice(len(frame), min(len(frame), ceil(self.share * len(frame))), replace=False))
        person = text_of_person(frame[self.whose[-1]], np.arange(len(frame)))
        place = person.hash(seed=seed).to_numpy() / 2.0**64
        return np.flatnonzero(place <= max(self.share, place.min(initial=1.0)))


def facts_to_report(original: Microdata, masked: Masked, draw: Draw, seed: int, chunk: int) -> dict[str, Any]:
    """What a chunk tells for the report: some of its records beside what became of them, and losses."""
    names = original.schema.quasi_identifiers
    rows = draw.rows(original.frame, seed, chunk)
    place = rows if masked.kept is None else np.searchsorted(masked.kept, rows)
    kept = np.ones(len(rows), np.bool_)
    if masked.kept is not None:
        kept = (place < len(masked.kept)) & (np.append(masked.kept, -1)[place] == rows)
    pairs = original.frame[rows].select(_compared(original.schema, draw.whose))
    cells = []
    for name in names:
        column = masked.columns[name]
        text = column.text.cast(pl.String).gather(column.index[np.where(kept, place, 0)]) if len(column.index) else None
        shown = pl.Series([None] * len(rows), dtype=pl.String) if text is None else text
        cells.append(shown.alias(f"{CELL}{name}"))
    frame = pairs.with_columns(pl.Series(KEPT, kept), *cells)
    released = len(original) if masked.kept is None else len(masked.kept)
    return {
        "pairs": b64encode(packed(frame)).decode(),
        "released": released,
        "losses": {
            name: attribute_loss(original[name], masked.columns[name], masked.kept) * released for name in names
        },
    }


class Drawn(NamedTuple):
    """Records that were drawn when they were masked, as a table of its own."""

    original: Microdata
    masked: Masked
    losses: Mapping[str, float]  # of each quasi-identifier, over all records


def _compared(schema: Schema, whose: Iterable[str]) -> list[str]:
    """The columns of the original that go along with drawn records."""
    return list(dict.fromkeys((*schema.names, *whose)))


def drawn_records(facts: Sequence[Mapping[str, Any]], attributes: Attributes, whose: Iterable[str]) -> Drawn:
    """Puts together the records that each chunk drew when it was masked, and what the chunks lost.

    Columns that say `whose` a record is are never released, and go along.
    """
    schema, names = attributes.schema, attributes.schema.quasi_identifiers
    pairs = unpacked([b64decode(fact["pairs"]) for fact in facts])
    released = max(sum(fact["released"] for fact in facts), 1)
    losses = {name: sum(fact["losses"][name] for fact in facts) / released for name in names}
    original = _as_a_whole(pairs.select(_compared(schema, whose)), attributes)
    kept = np.flatnonzero(pairs[KEPT].to_numpy())
    columns = {
        name: read_cells(pairs[f"{CELL}{name}"].gather(kept).alias(name), schema[name], original[name].values)
        for name in names
    }
    levels = {name: fact for name, fact in facts[0]["facts"].items() if name == "levels"}
    return Drawn(original, Masked(columns, None if len(kept) == pairs.height else kept, facts=levels), losses)


@dataclass(frozen=True)
class DrawnRelease:
    """A release of any size as the report asks for it (`shoal.report.reported.Reported`)."""

    schema: Schema
    policy: Policy
    promises: tuple[PrivacyModel, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    read: int
    records: int
    information_loss: float
    separation_loss: float | None
    owners: tuple[Owners, ...]
    counted: Tables = field(repr=False)
    pairs: Drawn = field(repr=False)

    @property
    def suppressed(self) -> int:
        """How many records of the original it leaves out."""
        return self.read - self.records

    @property
    def attribute_losses(self) -> Mapping[str, float]:
        """What each quasi-identifier lost, over all records."""
        return self.pairs.losses

    @property
    def original(self) -> Microdata:
        """The records of the original that were drawn."""
        return self.pairs.original

    @property
    def masked(self) -> Masked:
        """The quasi-identifiers of the records that were drawn, as they are shown."""
        return self.pairs.masked

    @property
    def table(self) -> pl.DataFrame:
        """What is released of the records that were drawn."""
        kept = self.original.frame if self.masked.kept is None else self.original.frame[self.masked.kept]
        shown = kept.with_columns(column.values().alias(name) for name, column in self.masked.columns.items())
        return shown.select(name for name in shown.columns if name in self.counted.released.schema)

    @property
    def drawn(self) -> int:
        """How many records of the original were drawn."""
        return len(self.original)

    def tables(self) -> Tables:
        """All records before and after, on the engine."""
        return self.counted


def _as_a_whole(frame: pl.DataFrame, attributes: Attributes) -> Microdata:
    """The drawn records as a table of its own, in which every value of the whole table has its place."""
    schema = attributes.schema
    whole = {}
    for name, known in attributes.whole.items():
        if known.values is not None:
            codes = encode(frame[name], schema[name], known).codes
            present = codes[codes >= 0]
            counts = np.bincount(present, minlength=len(known.values)).astype(np.int64)
            whole[name] = Whole(known.values, counts, len(codes) - len(present))
    return Microdata(frame, schema, whole)
