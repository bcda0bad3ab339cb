"""Text is released in its own spelling: what nothing masks is copied, and masked values are written alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from shoal.data.forms import Form, Forms
from shoal.data.notation import Notation, Notations, common, has_notation, notations_of, rewritten
from shoal.data.schema import Role, Schema
from shoal.engines.table import Batch, Table, selected
from shoal.engines.text import SPELLED, Typed


@dataclass(frozen=True)
class Spelled:
    """How a table of text is to be written: columns that are copied, with their types, and notations of others."""

    copied: Mapping[str, pl.DataType] = field(default_factory=dict)
    notations: Mapping[str, Notation] = field(default_factory=dict)
    forms: Forms = field(default_factory=Forms)  # in which columns write dates and amounts

    def written(self, shown: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
        """What is shown in the text of the records that were `kept`."""
        copies = (kept[f"{SPELLED}{name}"].alias(name) for name in self.copied)
        return shown.with_columns(*copies, *(rewritten(shown[name], way) for name, way in self.notations.items()))

    @property
    def cells(self) -> dict[str, Form]:
        """The forms in which values and masks are written, of columns that are not copied."""
        return {name: self.forms.columns[name] for name in self.notations if name in self.forms.columns}

    def as_values(self, table: Table) -> Table:
        """What was copied as the values that it was read as; cells with masks as they are written."""
        if not self.copied:
            return table
        return table.map(Typed(dict(self.copied), forms=self.forms), pl.Schema({**table.schema, **self.copied}))


def spelling_of(table: Table, schema: Schema, forms: Forms) -> Spelled:
    """What nothing masks is copied; whether quasi-identifiers have a notation, one more pass shows."""
    if not any(name.startswith(SPELLED) for name in table.schema):
        return Spelled()
    types, quasi = table.schema, schema.quasi_identifiers
    values = {a.name for a in schema if Role.PSEUDONYM not in a.roles}  # a pseudonym is no date, whatever it replaced
    forms = replace(forms, columns={name: form for name, form in forms.columns.items() if name in values})
    in_form = {n: forms.columns[n] for n in quasi if n in forms.columns and schema[n].hierarchy is None}
    noted = {n: types[n] for n in quasi if n not in forms.columns and has_notation(types[n], schema[n])}
    notations: dict[str, Notations] = {}
    if noted:
        texts = selected(table, [f"{SPELLED}{name}" for name in noted])
        notations = texts.fold(_Notations(noted, forms), _common) or {}
    copied = {attribute.name: types[attribute.name] for attribute in schema if attribute.name not in quasi}
    return Spelled(copied, {**in_form, **{name: ways[0] for name, ways in notations.items() if ways}}, forms)


@dataclass(frozen=True)
class _Notations:
    types: Mapping[str, pl.DataType]
    forms: Forms

    def __call__(self, batch: Batch) -> dict[str, Notations]:
        return {name: notations_of(self._known(batch, name), dtype) for name, dtype in self.types.items()}

    def _known(self, batch: Batch, name: str) -> pl.Series:
        return self.forms.known(batch.frame[f"{SPELLED}{name}"].alias(name))


def _common(left: dict[str, Notations], right: dict[str, Notations]) -> dict[str, Notations]:
    return {name: common(left[name], right[name]) for name in left}
