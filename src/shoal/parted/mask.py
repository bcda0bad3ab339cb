"""One part of a table, masked by the method's own code and shuffled; and what is to be told of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.data.microdata import Microdata
from shoal.draft import assemble
from shoal.engines.table import FACTS
from shoal.engines.whole import POSITION
from shoal.masking.method import Masked, Method
from shoal.parted.measured import told_of_part
from shoal.parted.recorded import Digests
from shoal.parted.reported import facts_to_report
from shoal.parted.source import Attributes, Spelled
from shoal.privacy.model import PrivacyModel
from shoal.utility.information_loss import information_loss


@dataclass(frozen=True)
class Carried:
    """What goes along with masked records and is never released: their position, and digests for a ledger."""

    position: bool = False
    digests: Digests | None = None

    @property
    def schema(self) -> pl.Schema:
        position = {POSITION: pl.Int64()} if self.position else {}
        return pl.Schema({**position, **(self.digests.schema if self.digests else {})})

    def of(self, kept: pl.DataFrame) -> list[pl.Series]:
        """The columns that go along with these records."""
        position = [kept[POSITION]] if self.position else []
        return [*position, *(self.digests(kept) if self.digests else ())]


@dataclass(frozen=True)
class MaskPart:
    attributes: Attributes
    method: Method
    promises: Sequence[PrivacyModel]
    seed: int
    spelled: Spelled
    carried: Carried = field(default_factory=Carried)
    draws: float = 0.0  # the share of records that the report compares
    shown: pl.Schema | None = None  # as all parts show it; None: as this one does

    def __call__(self, frame: pl.DataFrame, part: int) -> pl.DataFrame:
        original = self.attributes.microdata(frame)
        own = np.random.SeedSequence([self.seed, part])
        masked = self.method.mask(original, self.promises, seed=int(own.generate_state(1, np.uint64)[0] >> 1))
        shown = assemble(original, masked)
        coded = [name for name, dtype in shown.schema.items() if isinstance(dtype, pl.Enum) and name in masked.columns]
        shown = shown.with_columns(pl.col(coded).cast(pl.String))
        kept = frame if masked.kept is None else frame[masked.kept]
        shown = self.spelled.written(shown, kept).with_columns(self.carried.of(kept))
        if self.shown is not None:
            shown = shown.cast({name: dtype for name, dtype in self.shown.items() if name != FACTS})
        # Position alone can re-identify. Parts themselves tell nothing: all records of a class are in the same, or
        # the parts were drawn at random.
        order = np.random.default_rng(own).permutation(shown.height)
        told = json.dumps(self._told(original, masked, shown, part))
        facts = pl.Series(FACTS, [told, *[None] * (shown.height - 1)][: shown.height], dtype=pl.String)
        return shown[order].with_columns(facts)

    def _told(self, original: Microdata, masked: Masked, shown: pl.DataFrame, part: int) -> dict[str, Any]:
        drawn = facts_to_report(original, masked, self.draws, (self.seed, part, 1)) if self.draws else {}
        return {
            "records": len(original),
            "loss": information_loss(original, masked.columns, masked.kept) * len(original),
            "notes": list(masked.notes),
            "facts": dict(masked.facts),
            **told_of_part(original, masked, shown, self.promises),
            **drawn,
        }
