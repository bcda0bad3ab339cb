"""A column as an attribute: as a policy says or, where it is silent, as its name and values say.

Hierarchies are as given or, where one is needed and none is given, built as suits the values.

What its labels may show. Bands, months and beginnings of codes follow from a rule, and are shown of at least k records
who all fit them. The order of ordinal categories is declared, and so public. Bundles of other categories are read where
nobody has some of their values: they name none of fewer than k records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.choices import quoted_item
from shoal.data.attribute_choice import AttributeChoice
from shoal.data.hierarchy import Hierarchy, hierarchy_of
from shoal.data.hierarchy_files import read_hierarchy, write_hierarchy
from shoal.data.kinds import Reading, kind_by_type, read_kind
from shoal.data.ordered_categories import refuse_without_order
from shoal.data.prefix_trees import prefix_tree
from shoal.data.schema import Attribute, Kind, Role, Scalar, Schema, refuse_twice

if TYPE_CHECKING:
    from pathlib import Path

_FEWEST = 100  # records, before values that all differ say anything
_NEARLY_ALL = 0.9  # of the records, each with a value of its own


class Valued(NamedTuple):
    """A column with all its records or, with how many records have each, its values."""

    column: pl.Series
    counts: pl.Series | None = None


def chosen_hierarchy(
    values: Valued,
    choice: str | Sequence[Sequence[str]] | Mapping[str, Any] | None,
    unlisted: str,
    k: int,
    *,
    released: bool,
) -> Hierarchy | None:
    """As chosen: a file, its lines, or how to build it, which cannot be done of a released table: it shows masks."""
    column = values.column
    if choice is None or (released and isinstance(choice, Mapping)):
        return None
    if isinstance(choice, Mapping):
        from shoal.data.build_hierarchy import build

        least = {"least": k} if choice.get("type") == "auto" else {}
        hierarchy = build({**least, **choice}, column, column.name, values.counts)
    elif isinstance(choice, str):
        hierarchy = read_hierarchy(choice, column.name)
    else:
        hierarchy = hierarchy_of(choice, column.name)
    return hierarchy.with_unlisted() if unlisted == "top" else hierarchy


def built_attribute(
    values: Valued,
    roles: frozenset[Role],
    kind: Kind | None,
    domain: tuple[Scalar, ...] | None,
    weight: float,
    k: int,
) -> Attribute:
    """The column with a hierarchy built of its values; the values of a tree are categories, in an order if declared."""
    from shoal.data.build_hierarchy import suited

    column = values.column
    reading = read_kind(column) if kind is None else Reading(kind)
    kind, domain = reading.kind, domain or reading.order
    if kind is Kind.ORDINAL and domain is None:
        refuse_without_order(column)
    tree = suited(column, column.name, kind, domain, counts=values.counts, least=k)
    shown = Kind.ORDINAL if kind is Kind.ORDINAL else Kind.NOMINAL
    return Attribute(column.name, roles, shown, None, tree, weight, _assumed(reading, column))


def chosen_attribute(
    values: Valued, roles: frozenset[Role], choice: AttributeChoice, k: int, *, released: bool, shows_values: bool
) -> Attribute:
    """The column as its choice says; what that leaves open, as its name, type and values say."""
    column = values.column
    hierarchy = chosen_hierarchy(values, choice.hierarchy, choice.unlisted, k, released=released)
    kind, domain, assumed = choice.kind, choice.domain, ""
    if kind is None and hierarchy is None:
        reading = _reading(column, roles, choice, released=released)
        kind, domain, assumed = reading.kind, domain or reading.order, _assumed(reading, column)
        if reading.nests and Role.QUASI_IDENTIFIER in roles and not released:
            hierarchy = prefix_tree(column, column.name)
            assumed = reading.reason if hierarchy is not None else assumed
    kind = Kind.NOMINAL if kind in (None, Kind.TEXT) else kind
    if domain is None and hierarchy is None and isinstance(column.dtype, pl.Enum):
        domain = tuple(column.dtype.categories)  # a text file would lose their order
    if kind is Kind.ORDINAL and domain is None and hierarchy is None and shows_values:
        refuse_without_order(column)
    if kind in (Kind.ORDINAL, Kind.NOMINAL) and domain is not None:
        refuse_twice(column.name, domain)
    return Attribute(column.name, roles, kind, domain, hierarchy, choice.weight, assumed)


def _reading(column: pl.Series, roles: frozenset[Role], choice: AttributeChoice, *, released: bool) -> Reading:
    """What a column holds of which no kind is chosen.

    A chosen domain or tree goes with the kind of its type. Values are looked at where they are masked and have not been
    yet: a release and its original, in chunks or not, must be taken alike.
    """
    if choice.domain is not None or choice.hierarchy is not None:
        return Reading(kind_by_type(column))
    return read_kind(column if Role.QUASI_IDENTIFIER in roles and not released else column.clear())


def _assumed(reading: Reading, column: pl.Series) -> str:
    """Why it is taken for something else than its type says."""
    return reading.reason if reading.kind is not kind_by_type(column) else ""


def assumed_notes(schema: Schema) -> tuple[str, ...]:
    """What the custodian should know of columns that were taken for codes, or for ordered, where no policy says so."""
    masked = [a for a in schema if a.assumed and a.roles & {Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL}]
    notes = []
    for ordered, what in ((False, "codes, not numbers"), (True, "ordered categories")):
        names = [a for a in masked if (a.kind is Kind.ORDINAL) is ordered]
        if names:
            listed = "; ".join(f"{a.name} ({_as_shown(a)})" for a in names)
            say = f"--kind {quoted_item(names[0].name)}=nominal shows sets" + ("" if ordered else ", =numeric ranges")
            notes.append(f"Taken as {what}: {listed}. Where that is wrong, say so: {say}.")
    return tuple(notes)


def distinct_notes(schema: Schema, counts: Callable[[str], npt.NDArray[np.int64]]) -> tuple[str, ...]:
    """Of quasi-identifiers that are masked as sets; `counts` says how many records have each value."""
    sets = [n for n in schema.quasi_identifiers if schema[n].kind is Kind.NOMINAL and schema[n].hierarchy is None]
    return distinct_note([n for n in sets if nearly_distinct(int((counts(n) > 0).sum()), int(counts(n).sum()))])


def nearly_distinct(values: int, records: int) -> bool:
    """Whether so many records hardly have a value in common."""
    return records >= _FEWEST and values > _NEARLY_ALL * records


def distinct_note(names: Sequence[str]) -> tuple[str, ...]:
    """What the custodian should know of columns without an order in which nearly every record has its own value."""
    if not names:
        return ()
    return (
        f"Nearly every record has a value of its own in {', '.join(names)}, which is read as text without order: its "
        "cells list values that have nothing in common, and the information loss makes that look cheap. If it holds "
        f"dates, numbers or codes, have it read so (--kind {quoted_item(names[0])}=..., --read date-format=...); else "
        "leave it out.",
    )


def _as_shown(attribute: Attribute) -> str:
    """Why it is taken so, and of what levels its tree is."""
    tree = attribute.hierarchy
    return attribute.assumed if tree is None else f"{attribute.assumed}; shown by {_levels(tree)}"


def built_notes(built: Iterable[Hierarchy]) -> tuple[str, ...]:
    """What the custodian should know of hierarchies that were built: of what levels, and how to keep them."""
    levels = [f"{tree.attribute} ({_levels(tree)})" for tree in built]
    if not levels:
        return ()
    return (
        f"Built hierarchies, because none were given: {'; '.join(levels)}. Write them with --write hierarchies=DIR, "
        "look at them (shoal hierarchy show) and repeat the release with --hierarchies DIR.",
    )


def _levels(tree: Hierarchy) -> str:
    inner = [tree.level_name(level) for level in range(1, tree.levels - 1)]
    return ", ".join([*inner, "not shown"])


def write_built(built: Iterable[Hierarchy], folder: Path, *, overwrite: bool) -> None:
    """Writes each as COLUMN.csv, for the custodian alone: they list every value of their columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for tree in built:
        write_hierarchy(tree, folder / f"{tree.attribute}.csv", overwrite=overwrite)
