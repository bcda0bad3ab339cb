"""A column's hierarchy: as a policy gives it or, where one is needed and none is given, built as suits its values.

What its labels may show. Bands, months and beginnings of codes follow from a rule, and are shown of at least k records
who all fit them. The order of ordinal categories is declared, and so public. Bundles of other categories are read where
nobody has some of their values: they name none of fewer than k records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from shoal.data.hierarchy import Hierarchy, hierarchy_of
from shoal.data.hierarchy_files import read_hierarchy, write_hierarchy
from shoal.data.kinds import kind_by_type
from shoal.data.ordered_categories import refuse_without_order
from shoal.data.schema import Attribute, Kind, Role, Scalar

if TYPE_CHECKING:
    from pathlib import Path


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
    kind = kind or kind_by_type(column)
    if kind is Kind.ORDINAL and domain is None:
        refuse_without_order(column)
    tree = suited(column, column.name, kind, domain, counts=values.counts, least=k)
    return Attribute(column.name, roles, Kind.ORDINAL if kind is Kind.ORDINAL else Kind.NOMINAL, None, tree, weight)


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
