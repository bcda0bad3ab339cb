"""The report on a release that is never in memory: all is counted on the engine, values are compared on drawn records.

Whose record is whose is known only while a part is masked. There some records are drawn evenly and told with what
became of them, and with what each attribute lost over all records of the part.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.data.frames import OWN
from shoal.data.microdata import Microdata, Whole, encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Schema
from shoal.engines.table import packed, unpacked
from shoal.masking.method import Masked
from shoal.parted.source import Attributes
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel, Verdict
from shoal.report.reported import Tables
from shoal.utility.information_loss import attribute_loss

if TYPE_CHECKING:
    from shoal.parted.release import PartedRelease

PAIRS = 20_000  # records that values are compared of
KEPT = f"{OWN}kept"
CELL = f"{OWN}cell "  # begins the name of a column that shows what became of another


def facts_to_report(original: Microdata, masked: Masked, share: float, seed: Sequence[int]) -> dict[str, Any]:
    """What a part tells for the report: that share of its records beside what became of them, and losses."""
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


@dataclass(frozen=True)
class DrawnRelease:
    """A release of any size as the report asks for it (`shoal.report.reported.Reported`)."""

    release: PartedRelease = field(repr=False)
    original: Microdata = field(repr=False)
    masked: Masked = field(repr=False)
    attribute_losses: Mapping[str, float]

    @classmethod
    def of(cls, release: PartedRelease) -> DrawnRelease:
        """From what the parts told when they were masked."""
        pairs = unpacked([b64decode(fact["pairs"]) for fact in release.told])
        released = max(sum(fact["released"] for fact in release.told), 1)
        names = release.source.schema.quasi_identifiers
        losses = {name: sum(fact["losses"][name] for fact in release.told) / released for name in names}
        original = _as_a_whole(pairs.select(a.name for a in release.source.schema), release.source.attributes)
        kept = np.flatnonzero(pairs[KEPT].to_numpy())
        columns = {
            name: read_cells(
                pairs[f"{CELL}{name}"].gather(kept).alias(name), original.schema[name], original[name].values
            )
            for name in names
        }
        facts = {name: fact for name, fact in release.facts.items() if name == "levels"}
        masked = Masked(columns, None if len(kept) == pairs.height else kept, facts=facts)
        return cls(release, original, masked, losses)

    @property
    def schema(self) -> Schema:
        return self.release.source.schema

    @property
    def policy(self) -> Policy:
        return self.release.source.policy

    @property
    def promises(self) -> tuple[PrivacyModel, ...]:
        return self.release.source.promises

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.release.verdicts

    @property
    def notes(self) -> tuple[str, ...]:
        return self.release.notes

    @property
    def read(self) -> int:
        return self.release.source.records

    @property
    def records(self) -> int:
        return self.release.records

    @property
    def suppressed(self) -> int:
        return self.read - self.records

    @property
    def information_loss(self) -> float:
        return self.release.information_loss

    @property
    def table(self) -> pl.DataFrame:
        kept = self.original.frame if self.masked.kept is None else self.original.frame[self.masked.kept]
        return kept.with_columns(column.values().alias(name) for name, column in self.masked.columns.items())

    @property
    def drawn(self) -> int:
        return len(self.original)

    def tables(self) -> Tables:
        """All records before and after, on the engine."""
        source = self.release.source
        names = [attribute.name for attribute in source.schema]
        return Tables(source.table.select(names), source.spelled.as_values(self.release.table))


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
