"""Text is released in its own spelling: what nothing masks is copied, and masked values are written alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from shoal.data.notation import Notation, Notations, common, has_notation, notations_of, rewritten
from shoal.data.schema import Schema
from shoal.engines.table import Batch, Table, selected
from shoal.engines.text import SPELLED, Typed


@dataclass(frozen=True)
class Spelled:
    """How a table of text is to be written: columns that are copied, with their types, and notations of others."""

    copied: Mapping[str, pl.DataType] = field(default_factory=dict)
    notations: Mapping[str, Notation] = field(default_factory=dict)

    def written(self, shown: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
        """What is shown in the text of the records that were `kept`."""
        copies = (kept[f"{SPELLED}{name}"].alias(name) for name in self.copied)
        return shown.with_columns(*copies, *(rewritten(shown[name], way) for name, way in self.notations.items()))

    def as_values(self, table: Table) -> Table:
        """What was written as the values that it was read as."""
        if not self.copied:
            return table
        return table.map(Typed(dict(self.copied)), pl.Schema({**table.schema, **self.copied}))


def spelling_of(table: Table, schema: Schema) -> Spelled:
    """What nothing masks is copied; whether quasi-identifiers have a notation, one more pass shows."""
    if not any(name.startswith(SPELLED) for name in table.schema):
        return Spelled()
    types, quasi = table.schema, schema.quasi_identifiers
    noted = {name: types[name] for name in quasi if has_notation(types[name], schema[name])}
    notations: dict[str, Notations] = {}
    if noted:
        texts = selected(table, [f"{SPELLED}{name}" for name in noted])
        notations = texts.fold(_Notations(noted), _common) or {}
    copied = {attribute.name: types[attribute.name] for attribute in schema if attribute.name not in quasi}
    return Spelled(copied, {name: ways[0] for name, ways in notations.items() if ways})


@dataclass(frozen=True)
class _Notations:
    types: Mapping[str, pl.DataType]

    def __call__(self, batch: Batch) -> dict[str, Notations]:
        return {name: notations_of(batch.frame[f"{SPELLED}{name}"], dtype) for name, dtype in self.types.items()}


def _common(left: dict[str, Notations], right: dict[str, Notations]) -> dict[str, Notations]:
    return {name: common(left[name], right[name]) for name in left}
