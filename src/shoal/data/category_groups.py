"""Hierarchies of categories: neighbours in an order, a taxonomy of parents, or bundles learnt from frequencies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.data.abridged import abridged
from shoal.data.cells import set_text
from shoal.data.hierarchy import Hierarchy, from_levels
from shoal.data.hierarchy_levels import Ints, as_levels, check_nested, distinct, merging
from shoal.data.short_sets import LONGEST
from shoal.data.spans import span_text
from shoal.errors import InputError, did_you_mean, require

BUNDLES = (64, 16, 4)  # about how many groups learnt from frequencies, level by level
LEAST = 5  # records of a value that a label names, unless told
IN_FULL = 8  # values of a group that its label still lists


def order(
    values: pl.Series,
    attribute: str,
    *,
    order: Sequence[str] | None = None,
    cuts: Sequence[str] | Sequence[Sequence[str]] | None = None,
) -> Hierarchy:
    """Categories in their order, merged with their neighbours: from one cut to the next, or in pairs at each level.

    A cut names the category with which a group begins; the finest level comes first. A group shows as `low to high`.
    """
    if order is None and isinstance(values.dtype, pl.Enum):
        order = values.dtype.categories.to_list()
    listed = isinstance(order, Sequence) and not isinstance(order, str)
    require("hierarchies by order", "order", order, "all categories in their order", holds=listed)
    assert order is not None
    categories = pl.Series([str(category) for category in order], dtype=pl.String)
    place = {category: i for i, category in enumerate(categories)}
    require("hierarchies by order", "order", order, "different categories", holds=0 < len(place) == len(categories))
    _check_known(values.drop_nulls().cast(pl.String).unique(maintain_order=True), place, attribute)
    if cuts is None:
        levels = [(f"groups of {size}", [*range(0, len(place), size)]) for size in _powers_of_two(len(place))]
    else:
        named = [[*map(str, level)] for level in as_levels(cuts)]
        check_nested(named, attribute)
        levels = [("", _places_of(level, place, attribute)) for level in named]
    return merging(categories, [(name, _merged(categories, begins, place)) for name, begins in levels], attribute)


def _check_known(present: Iterable[str], known: Mapping[str, object], attribute: str) -> None:
    for value in present:
        if value not in known:
            hint = did_you_mean(value, known) or " Add it, or correct the value."
            raise InputError(f"Column {attribute!r} holds {value!r}, which its hierarchy does not list.{hint}")


def _powers_of_two(below: int) -> list[int]:
    return [2**power for power in range(1, below.bit_length()) if 2**power < below]


def _places_of(level: Sequence[str], place: Mapping[str, int], attribute: str) -> list[int]:
    _check_known(level, place, attribute)
    return sorted({0, *(place[cut] for cut in level)})


def _merged(categories: pl.Series, begins: Sequence[int], place: Mapping[str, int]) -> pl.Series:
    ends = [*(begin - 1 for begin in begins[1:]), len(categories) - 1]
    group = np.searchsorted(np.array(begins), np.arange(len(categories)), side="right") - 1
    return span_text(categories.gather(list(begins)), categories.gather(ends), place).gather(group)


def tree(values: pl.Series, attribute: str, *, parents: Mapping[str, str] | Sequence[Sequence[str]]) -> Hierarchy:
    """A taxonomy given as child and parent, as a table or as pairs.

    All its leaves are listed, and nodes that occur as values. A leaf nearer to the top than others stays itself on
    the levels below its parent's, so that each level is one depth of the taxonomy.
    """
    parent = _parents(parents, attribute)
    present = values.drop_nulls().cast(pl.String).unique(maintain_order=True).to_list()
    names = list(dict.fromkeys([*parent, *parent.values()]))
    _check_known(present, dict.fromkeys(names), attribute)
    number = {name: i for i, name in enumerate(names)}
    up = np.array([number[parent.get(name, name)] for name in names])
    depth = _depths(up, names, attribute)
    inner = np.zeros(len(names), np.bool_)
    inner[up[depth > 0]] = True
    value = np.array([number[v] for v in present], np.int64)
    leaves = np.union1d(np.flatnonzero(~inner), value)
    # A node that is a value too has itself as a leaf, one level below.
    below = depth[leaves] + inner[leaves]
    columns, at, labels = [], leaves, pl.Series(names, dtype=pl.String)
    for level in range(int(below.max()), -1, -1):
        columns.append(labels.gather(at))
        at = np.where((depth[at] == level) & (level > 0), up[at], at)
    return from_levels(columns, attribute)


def _parents(given: object, attribute: str) -> dict[str, str]:
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    usable = isinstance(pairs, Sequence) and all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs)
    require("hierarchies by tree", "parents", given, "a table of child = parent, or pairs of them", holds=usable)
    assert isinstance(pairs, Sequence)
    parent: dict[str, str] = {}
    for child, above in ((str(a), str(b)) for a, b in pairs):
        if parent.setdefault(child, above) != above:
            raise InputError(
                f"The hierarchy of {attribute!r} gives {child!r} two parents, {parent[child]!r} and {above!r}: "
                "keep one."
            )
    require("hierarchies by tree", "parents", given, "not empty", holds=bool(parent))
    return parent


def _depths(up: Ints, names: Sequence[str], attribute: str) -> Ints:
    """How far each node is below its root; by jumps that double, so that a long chain costs little."""
    depth: Ints = (up != np.arange(len(up))).astype(np.int64)
    jump = up
    for _ in range(len(up).bit_length()):
        depth, jump = depth + depth[jump], jump[jump]
    circular = np.flatnonzero(up[jump] != jump)
    if len(circular):
        raise InputError(
            f"The hierarchy of {attribute!r} makes {names[circular[0]]!r} an ancestor of itself: break the circle."
        )
    return depth


def learnt_bundles(
    values: pl.Series, attribute: str, counts: pl.Series | None = None, *, least: int = LEAST
) -> Hierarchy:
    """Values from the most to the least frequent, the rarer ones bundled: a bundle is a stretch of equal share.

    A label names no value of fewer than `least` records, since it is read where nobody has that value; all of these are
    in one bundle, so that whoever knows what the others hold knows what this one does.
    """
    listed = distinct(values, attribute, counts).sort("count", "label", descending=[True, False])
    count = listed["count"].to_numpy()
    before = np.cumsum(count) - count
    common = int(np.searchsorted(-count, -least, side="right"))
    levels = []
    for parts in BUNDLES:
        bundle = before * parts // count.sum()
        bundle[common:] = bundle[min(common, len(bundle) - 1)]
        levels.append((f"bundles of 1/{parts} of the records", _bundled(listed["label"], bundle, common)))
    return replace(merging(listed["label"], levels, attribute), learnt=True)


def _bundled(labels: pl.Series, bundle: Ints, common: int) -> pl.Series:
    """`{a;b;c}` where they are few, `a, b and 40 more` where they are many, `12 rare values`; `common` come first."""
    first, group = np.unique(bundle, return_index=True, return_inverse=True)[1:]
    offsets = np.append(first, len(labels))
    texts = set_text(labels, offsets, np.arange(len(labels), dtype=np.int32)).to_list()
    for i, (begin, end) in enumerate(pairwise(offsets.tolist())):
        if end > common or end - begin > IN_FULL or len(texts[i]) > LONGEST:
            texts[i] = abridged(labels[begin : min(end, common)].to_list(), end - begin)
    return pl.Series(texts, dtype=pl.String).gather(group)
