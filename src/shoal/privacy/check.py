"""The independent check: judges a finished release by nothing but what it shows.

Classes are found by comparing released texts, column by column, in Polars; nothing of any method is used here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from shoal.data.microdata import declared_order
from shoal.data.schema import Attribute, Kind, Schema
from shoal.errors import InputError, PromiseError
from shoal.privacy.model import EquivalenceClasses, PrivacyModel, Verdict


def classes_of(frame: pl.DataFrame, quasi: Sequence[str], kinds: Mapping[str, Kind]) -> EquivalenceClasses:
    return EquivalenceClasses(frame, tuple(quasi), dict(kinds))


def released_classes(table: pl.DataFrame, schema: Schema) -> EquivalenceClasses:
    """The classes of a released table, in which confidential categories stand in their declared order."""
    learnt = [schema[name] for name in schema.confidential if name not in schema.quasi_identifiers]
    ordered = [_in_order(table[a.name], a) for a in learnt if a.kind in (Kind.ORDINAL, Kind.NOMINAL)]
    kinds = {attribute.name: attribute.kind for attribute in schema}
    return EquivalenceClasses(table.with_columns(ordered), tuple(schema.quasi_identifiers), kinds, schema)


def _in_order(column: pl.Series, attribute: Attribute) -> pl.Series:
    order = declared_order(column, attribute)
    if order is None:
        return column.cast(pl.String) if column.dtype == pl.Categorical else column
    text = column.cast(pl.String)
    unknown = text.filter(text.is_not_null() & ~text.is_in(order.cast(pl.String).implode()))
    if len(unknown):
        raise InputError(
            f"Column {column.name!r} holds {unknown[0]!r}, which its declared order does not list: "
            "add it there, or correct the value."
        )
    return text.cast(pl.Enum(order.cast(pl.String)))


def judge(classes: EquivalenceClasses, models: Sequence[PrivacyModel]) -> tuple[Verdict, ...]:
    return tuple(model.verdict(classes) for model in models)


def refuse_broken(verdicts: Sequence[Verdict]) -> None:
    """Raises unless every promise holds."""
    for verdict in verdicts:
        if not verdict.holds:
            of = f" of {verdict.attribute!r}" if verdict.attribute else ""
            raise PromiseError(
                f"The result does not keep {verdict.model}{of}: {verdict.asked:g} was asked for, "
                f"{verdict.achieved:.4g} is reached. Nothing was released. "
                "Choose a method that groups records, or allow more suppression."
            )
