"""The report on a release that is never in memory: all is counted on the engine, values are compared on drawn records.

Whose record is whose is known only while a chunk is masked. There some records are drawn evenly and told with what
became of them, and with what each attribute lost over all records of the chunk.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

import numpy as np
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
from shoal.report.reported import Tables
from shoal.risk.owners import Owners
from shoal.utility.information_loss import attribute_loss

PAIRS = 20_000  # records that values are compared of
KEPT = f"{OWN}kept"
CELL = f"{OWN}cell "  # begins the name of a column that shows what became of another


def facts_to_report(original: Microdata, masked: Masked, share: float, seed: Sequence[int]) -> dict[str, Any]:
    """What a chunk tells for the report: that share of its records beside what became of them, and losses."""
    names = original.schema.quasi_identifiers
    dice = np.random.default_rng(list(seed))
    rows = np.sort(dice.choice(len(original), min(len(original), ceil(share * len(original))), replace=False))
    place = rows if masked.kept is None else np.searchsorted(masked.kept, rows)
    kept = np.ones(len(rows), np.bool_)
    if masked.kept is not None:
        kept = (place < len(masked.kept)) & (np.append(masked.kept, -1)[place] == rows)
    pairs = original.frame[rows].select(attribute.name for attribute in original.schema)
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


def drawn_records(facts: Sequence[Mapping[str, Any]], attributes: Attributes) -> Drawn:
    """Puts together the records that each chunk drew when it was masked, and what the chunks lost."""
    schema, names = attributes.schema, attributes.schema.quasi_identifiers
    pairs = unpacked([b64decode(fact["pairs"]) for fact in facts])
    released = max(sum(fact["released"] for fact in facts), 1)
    losses = {name: sum(fact["losses"][name] for fact in facts) / released for name in names}
    original = _as_a_whole(pairs.select(attribute.name for attribute in schema), attributes)
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
    counted: Tables = field(repr=False)
    pairs: Drawn = field(repr=False)

    @property
    def suppressed(self) -> int:
        """How many records of the original it leaves out."""
        return self.read - self.records

    @property
    def owners(self) -> tuple[Owners, ...]:
        """None: whose each record is, is known chunk by chunk, and nobody is followed from one to another."""
        return ()

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
        return kept.with_columns(column.values().alias(name) for name, column in self.masked.columns.items())

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
