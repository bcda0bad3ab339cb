"""The nodes of a hierarchy as released cells show them: as masks where they read as such, otherwise as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MISREAD, WILDCARD, plain_text
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError

Ints = npt.NDArray[np.int64]


def node_text(attribute: Attribute, level: int) -> pl.Series:
    """The nodes of a level of the attribute's hierarchy, as released cells show them.

    A label such as `937**` or `[20;29]` stands as it is where it reads as what lies below its node also to whoever does
    not have the hierarchy; any other is a text, and escaped like one where it would be misread.
    """
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    labels = hierarchy.labels(level)
    special = labels.str.contains(MISREAD).arg_true().to_numpy()
    if level == 0 or not len(special):
        return plain_text(labels)
    begins = hierarchy.starts(level)
    alike = _read_alike(attribute, labels.gather(special), begins[special], begins[special + 1] - 1)
    alike |= (level == hierarchy.levels - 1) & (labels.gather(special) == WILDCARD).to_numpy()
    return plain_text(labels).scatter(special[alike], labels.gather(special[alike]))


def _kind_of_leaves(attribute: Attribute, leaves: pl.Series) -> Kind:
    """As the attribute's; texts of numbers lie on a line, where `[8;15]` admits 9 whatever the tree lists."""
    if leaves.dtype == pl.String and leaves.cast(pl.Float64, strict=False).is_finite().fill_null(False).all():
        return Kind.NUMERIC
    return attribute.kind


def _read_alike(attribute: Attribute, labels: pl.Series, first: Ints, last: Ints) -> npt.NDArray[np.bool_]:
    """Which labels, taken for masks, admit the leaves from `first` to `last` and no other?"""
    assert attribute.hierarchy is not None
    leaves = attribute.hierarchy.leaf_values.head(len(attribute.hierarchy.lines) - attribute.hierarchy.open)
    without = replace(attribute, hierarchy=None, domain=None, kind=_kind_of_leaves(attribute, leaves))
    on_a_line = without.kind in (Kind.NUMERIC, Kind.DATE)
    try:
        masks = read_cells(labels, without, None if on_a_line else leaves)
        place = read_cells(leaves, without).low if on_a_line else np.arange(len(leaves), dtype=np.float64)
    except InputError:  # one of them is no mask at all: which?
        if len(labels) == 1:
            return np.zeros(1, np.bool_)
        half = len(labels) // 2
        parts = (slice(None, half), slice(half, None))
        return np.concatenate([_read_alike(attribute, labels[part], first[part], last[part]) for part in parts])
    assert masks.runs is not None
    low, high, single = (of_cell[masks.index] for of_cell in (masks.low, masks.high, np.diff(masks.runs.starts) == 1))
    line = np.sort(place)
    admitted = np.searchsorted(line, high, side="right") - np.searchsorted(line, low)
    own = [place[begin : end + 1] for begin, end in zip(first, last, strict=True)]
    within = [
        bool((leaf_places >= least).all() and (leaf_places <= most).all())
        for leaf_places, least, most in zip(own, low, high, strict=True)
    ]
    alike: npt.NDArray[np.bool_] = single & np.array(within, np.bool_) & (admitted == last - first + 1)
    return alike
