"""What is known of a large table before any work: roles and kinds by the policy, statistics by one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from shoal.data.frames import check_names
from shoal.data.microdata import Microdata, Whole
from shoal.data.notation import Notation, Notations, common, has_notation, notations_of, rewritten
from shoal.data.schema import Role, Schema
from shoal.draft import in_order_of_type, left_out
from shoal.engines.table import Batch, Table, selected
from shoal.engines.text import SPELLED, Typed
from shoal.engines.whole import Summary, summarise
from shoal.errors import InputError
from shoal.masking.method import class_size, with_cells
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel
from shoal.releases.ledger import Ledger


@dataclass(frozen=True)
class Attributes:
    """What travels to every part: the schema, and what the whole table says of each attribute."""

    schema: Schema
    whole: Mapping[str, Whole] = field(repr=False)

    def microdata(self, frame: pl.DataFrame) -> Microdata:
        return Microdata(frame, self.schema, self.whole)


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


@dataclass(frozen=True)
class Source:
    table: Table  # the columns that will be shown
    policy: Policy
    attributes: Attributes
    summary: Summary = field(repr=False)
    notes: tuple[str, ...]
    spelled: Spelled = field(default_factory=Spelled)
    in_order: bool = False  # whether the release keeps the order of the input
    ledger: Ledger | None = None  # that will record the release
    drawn: int = 0  # records that are drawn for the report

    @property
    def schema(self) -> Schema:
        return self.attributes.schema

    @property
    def records(self) -> int:
        return self.summary.records

    @cached_property
    def promises(self) -> tuple[PrivacyModel, ...]:
        promises = self.policy.promises(self.schema)
        return with_cells(promises, self.policy.method, self.schema, class_size(range(self.records), promises))

    @cached_property
    def k(self) -> int:
        """The least class that may be released; whoever asks for more than there are records is refused."""
        return class_size(range(self.records), self.promises)

    @cached_property
    def sample(self) -> Microdata:
        """Some records, drawn evenly."""
        return self.attributes.microdata(self.summary.sample)


def prepare(table: Table, policy: Policy, ledger: Ledger | None = None) -> Source:
    """One pass over the table; refused where it cannot be worked on."""
    names = [name for name in table.schema if not name.startswith(SPELLED)]
    check_names(names, "The table")
    roles = policy.roles(names)
    if not any(Role.QUASI_IDENTIFIER in found for found in roles.values()):
        raise InputError("No quasi-identifier is named: name the columns an intruder may know (--quasi a,b).")
    ordered = [name for name in names if name in roles and Role.IDENTIFIER not in roles[name]]
    asked = [name for name in ordered if roles[name] & {Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL}]
    whole_table, table = table, selected(table, ordered)
    summary = summarise(table, asked)
    for name in asked:
        if Role.CONFIDENTIAL in roles[name] and summary.marginals[name].missing == summary.records:
            raise InputError(f"The confidential column {name!r} is missing in every record: leave it out.")
    empty = pl.DataFrame(schema=table.schema)
    values = {name: summary.marginals[name].values(name) for name in asked}
    columns = {name: empty[name] if (found := values.get(name)) is None else found for name in ordered}
    schema = policy.schema(
        {**{name: pl.Series(name, dtype=pl.Null) for name in names if name not in columns}, **columns}
    )
    schema = Schema(tuple(attribute for attribute in schema if attribute.name in columns))
    notes = left_out(names, roles) + in_order_of_type(policy, table.schema)
    whole = {name: summary.marginals[name].whole(schema[name]) for name in asked}
    spelled = _spelled(whole_table, schema)
    subject = [ledger.subject] if ledger is not None else []
    table = selected(whole_table, [*ordered, *(f"{SPELLED}{name}" for name in spelled.copied), *subject])
    return Source(table, policy, Attributes(schema, whole), summary, notes, spelled, ledger=ledger)


def _spelled(table: Table, schema: Schema) -> Spelled:
    """What nothing masks is copied; whether quasi-identifiers have a notation, one more pass shows."""
    if not any(name.startswith(SPELLED) for name in table.schema):
        return Spelled()
    types, quasi = table.schema, schema.quasi_identifiers
    noted = {name: types[name] for name in quasi if has_notation(types[name], schema[name])}
    found: dict[str, Notations] = {}
    if noted:
        texts = selected(table, [f"{SPELLED}{name}" for name in noted])
        found = texts.fold(_Notations(noted), _common) or {}
    copied = {attribute.name: types[attribute.name] for attribute in schema if attribute.name not in quasi}
    return Spelled(copied, {name: ways[0] for name, ways in found.items() if ways})


@dataclass(frozen=True)
class _Notations:
    types: Mapping[str, pl.DataType]

    def __call__(self, batch: Batch) -> dict[str, Notations]:
        return {name: notations_of(batch.frame[f"{SPELLED}{name}"], dtype) for name, dtype in self.types.items()}


def _common(one: dict[str, Notations], other: dict[str, Notations]) -> dict[str, Notations]:
    return {name: common(one[name], other[name]) for name in one}
