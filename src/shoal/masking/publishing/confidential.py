"""Confidential attributes shown class by class (paper 2, Algorithm 1 and Section 3.2; docs/spec.md#split, #aggregates).

Classes are made from A1..Ar, the quasi-identifiers that are not shown so; then every record of a class shows the same
of each confidential attribute: a range, the mean, the median or a differentially private mean. A class is all that
shows the same in A1..Ar: tables of several attributes can be joined by it, and its records are alike throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Role, Schema
from shoal.data.short_sets import shortened_note
from shoal.errors import InputError, did_you_mean
from shoal.masking.method import Masked, Method
from shoal.masking.partition import Partition, together
from shoal.masking.publishing.ancestor import publish_ancestor
from shoal.masking.publishing.centroid import publish_centroid
from shoal.masking.publishing.private_mean import PrivateMean, opendp, publish_private_mean, require_number
from shoal.masking.publishing.range import publish_range
from shoal.privacy.model import PrivacyModel

Showing = Literal["range", "mean", "median", "private-mean"]

LEAVES_OPEN: dict[Showing, str] = {
    "range": "A range shows the least and the greatest value of a class, a set all of them: true values of people. Who "
    "sees the class once with and once without a person of extreme value learns that value.",
    "mean": "Each of a class moves its mean by his share. Who knows all other values of the class, or sees the class "
    "once with and once without a person, computes that person's value exactly.",
    "median": "A median is, or lies between, true values: somebody's exact value may be shown, and a person's coming "
    "or going may reveal it.",
    "private-mean": "What a private mean tells of any one person is bounded by epsilon, whatever else is known; with "
    "each further release the bounds add up. It holds for the values, not for who is in which class.",
}


def grouped_by(schema: Schema, shown: Mapping[str, Showing]) -> Schema:
    """The roles that classes are made by: what is shown class by class has no part in them."""
    for name in shown:
        if name not in schema.confidential:
            hint = did_you_mean(name, schema.confidential) or " Name it among the confidential ones."
            raise InputError(f"{name!r} is to be shown class by class, but is no confidential column.{hint}")
    alone = _with_roles(schema, shown, frozenset({Role.CONFIDENTIAL}))
    refuse_none_left(alone.quasi_identifiers)
    return alone


def refuse_none_left(quasi: Sequence[str]) -> None:
    """Refuses where no quasi-identifier is left to make classes from."""
    if not quasi:
        raise InputError(
            "All quasi-identifiers are to be shown class by class: none is left to make classes from. Name another."
        )


def shown_alike(schema: Schema, shown: Mapping[str, Showing]) -> Schema:
    """The roles that a release is judged by: whoever knows what is shown class by class finds a whole class still."""
    return _with_roles(schema, shown, frozenset({Role.CONFIDENTIAL, Role.QUASI_IDENTIFIER}))


def _with_roles(schema: Schema, names: Mapping[str, Showing], roles: frozenset[Role]) -> Schema:
    return schema.only(replace(a, roles=roles) if a.name in names else a for a in schema)


def check_promises(
    schema: Schema, method: Method, means: Mapping[str, PrivateMean], promises: Sequence[PrivacyModel]
) -> None:
    """Refuses aggregates of no class, and private means of classes that were made by looking at confidential values."""
    if max((model.smallest_class for model in promises), default=1) < 2:
        raise InputError("Confidential values are shown class by class, but no class size is promised: ask for --k.")
    for name in means:
        require_number(schema[name])
    if means:
        opendp()
    looked_at = [f"{model.name} of {model.attribute!r}" for model in promises if model.attribute is not None]
    if method.looks_at_confidential:
        looked_at.append(f"the method {method.name!r}")
    if means and looked_at:
        raise InputError(
            "A private mean is private only where classes are made without looking at confidential values, as "
            f"{looked_at[0]} does: leave that out, or show a mean."
        )


def publish_confidential(
    microdata: Microdata, masked: Masked, shown: Mapping[str, Showing], means: Mapping[str, PrivateMean]
) -> Masked:
    """Adds to masked quasi-identifiers what their classes show of confidential attributes (Algorithm 1's loop)."""
    cells, notes = shown_by_classes(microdata, classes_shown(masked), shown, means, masked.kept)
    return replace(masked, columns={**masked.columns, **cells}, notes=(*masked.notes, *notes))


def shown_by_classes(
    microdata: Microdata,
    index: npt.NDArray[np.int32],
    shown: Mapping[str, Showing],
    means: Mapping[str, PrivateMean],
    kept: npt.NDArray[np.int64] | None = None,
) -> tuple[dict[str, MaskedColumn], list[str]]:
    """What classes show of confidential attributes, and what the custodian should know; `index`: record -> class."""
    partition = Partition.of_labels(index.astype(np.int64))
    if kept is not None:
        partition = Partition(kept[partition.order], partition.starts)
    columns: dict[str, MaskedColumn] = {}
    notes: list[str] = []
    for name, by in shown.items():
        columns[name], remarks = _show(microdata, name, partition, index, by, means)
        notes += [*remarks, f"{name!r} is shown by {by.replace('-', ' ')}. {LEAVES_OPEN[by]}"]
    return columns, notes


def classes_shown(masked: Masked) -> npt.NDArray[np.int32]:
    """Kept record -> class: all that shows the same in every masked column."""
    return together([_numbered(column) for column in masked.columns.values()])


def _numbered(column: MaskedColumn) -> npt.NDArray[np.int32]:
    """Record -> a number, the same where the same is shown."""
    cell = column.text.rank("dense").cast(pl.Int32).fill_null(0).to_numpy()
    return np.asarray(cell[column.index])


def _show(
    microdata: Microdata,
    name: str,
    partition: Partition,
    index: npt.NDArray[np.int32],
    by: Showing,
    means: Mapping[str, PrivateMean],
) -> tuple[MaskedColumn, tuple[str, ...]]:
    coded = microdata[name]
    if by == "private-mean":
        return publish_private_mean(coded, partition, index, means[name])
    if by == "range":
        by_tree = coded.attribute.hierarchy is not None
        column = (publish_ancestor if by_tree else publish_range)(coded, partition, index)
        return column, shortened_note(column)
    return publish_centroid(coded, partition, index, by), ()
