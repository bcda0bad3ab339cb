"""What a shown label stands for that names only some of its values, such as `MX, CU and 40 more`.

A label admits the values below its node. Those that at least k records have (people, where these are counted) are
listed; of the rarer ones it is said how many there are, which the label tells as well.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import polars as pl

from shoal.data.abridged import Ints, abridged_labels
from shoal.data.schema import Attribute, Person, Schema
from shoal.engines.table import COUNTED, Table, selected
from shoal.privacy.people_in_chunks import people_having

_FEWEST = 2  # whose value may be named, whatever was promised


class Listed(TypedDict):
    """The values that a label stands for, and how many rarer ones are not named."""

    values: list[str]
    rarer: int


Labels = dict[str, dict[str, Listed]]  # column -> label -> what it stands for


def listed_labels(shown: Table, original: Table, schema: Schema, k: int) -> Labels:
    """Of the labels that a release shows those that name only some of their values; by the original, who has which."""
    labels: Labels = {}
    for name in schema.quasi_identifiers:
        hierarchy = schema[name].hierarchy
        of_tree = {} if hierarchy is None else abridged_labels(hierarchy)
        if not of_tree:
            continue
        cells = set(selected(shown, [name]).counts([name])[name].cast(pl.String))
        disarmed = {f"'{label}": leaves for label, leaves in of_tree.items()}  # as a spreadsheet is to take them
        if present := {label: leaves for label, leaves in {**disarmed, **of_tree}.items() if label in cells}:
            assert hierarchy is not None
            common = _having(original, schema[name], schema.person) >= max(k, _FEWEST)
            labels[name] = {
                label: Listed(
                    values=sorted(hierarchy.leaf_values.gather(leaves[common[leaves]])),
                    rarer=int((~common[leaves]).sum()),
                )
                for label, leaves in sorted(present.items())
            }
    return labels


def _having(original: Table, attribute: Attribute, person: Person | None) -> Ints:
    """Leaf -> how many records, or people, of the original have this value."""
    hierarchy, name = attribute.hierarchy, attribute.name
    assert hierarchy is not None
    if person is None:
        counts = selected(original, [name]).counts([name]).select(name, COUNTED)
    else:
        counts = people_having(original, name, person)
    values, numbers = counts.drop_nulls(counts.columns[0]).get_columns()
    leaves = hierarchy.encode(values.alias(name), missing_to_top=hierarchy.open)
    having = np.zeros(len(hierarchy.leaf_values), np.int64)
    np.add.at(having, leaves[leaves >= 0], numbers.to_numpy()[leaves >= 0])
    return having


def labels_note(labels: Labels, *, certified: bool) -> tuple[str, ...]:
    """Where the reader of a release learns what such labels stand for."""
    naming = [label for of_column in labels.values() for label, listed in of_column.items() if listed["values"]]
    if not naming:
        return ()
    where = "is in the certificate" if certified else "is listed in a certificate: write one (--certificate FILE)"
    more = len(naming) - 1
    labels_stand = f" and {more:,} more label{'s' * (more > 1)} stand" if more else " stands"
    return (f"What {naming[0]!r}{labels_stand} for {where}.",)
