"""Global recoding of a large table: its distinct rows are counted by the engine, searched here, and recoded in parts.

Where there are too many of them, the levels are searched on a sample of records and verified on all. Of a class that
holds few of all records a sample holds one at most, so the sample is asked for pairs at least, and for larger classes
each time that what it proposes does not hold of all records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking.method import Masked, Method, beyond_size
from shoal.masking.recoding.lattice import Keys, Levels, Packing, cost_at, lattice_from, lattice_of, packing_of, search
from shoal.masking.recoding.recode import (
    Optimum,
    Recode,
    among,
    at_levels,
    facts,
    in_words,
    none_found,
    recoded_to,
)
from shoal.parted import frequencies
from shoal.parted.frequencies import how_many, rows_of
from shoal.parted.source import Source
from shoal.privacy.model import PrivacyModel

_TRIED = 3  # recodings that each search on a sample may propose


@dataclass(frozen=True)
class Lifted:
    """A record's row at these levels, as a key."""

    packing: Packing
    levels: Levels = ()

    def __call__(self, microdata: Microdata) -> Keys:
        return self.packing.lift(self.packing.pack(microdata.quasi), self.levels)


class AtLevels(Method):
    """The levels found, for every part alike."""

    packing: Packing
    levels: Levels  # in the order of the quasi-identifiers
    out: Keys  # the classes suppressed
    notes: tuple[str, ...]
    facts: Mapping[str, Any]

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        lifted = Lifted(self.packing, self.packing.in_order(self.levels))(microdata)
        kept = np.flatnonzero(~among(lifted, self.out)) if len(self.out) else None
        return Masked(at_levels(microdata, self.levels, kept), kept, self.notes, self.facts)


def refuse_recoding(method: Recode, models: Sequence[PrivacyModel], engine: str) -> None:
    """What needs all records of a class at once, at every node of the search."""
    for model in beyond_size(models):
        raise InputError(
            f"The engine {engine!r} cannot search a recoding for {model.name}: use the memory engine, or a grouped "
            "method."
        )
    if method.local:
        raise InputError(
            f"The engine {engine!r} cannot recode each record by itself (local): use the memory engine, or a grouped "
            "method."
        )


def recoded(source: Source, method: Recode) -> AtLevels:
    refuse_recoding(method, source.promises, source.table.engine)
    quasi = source.sample.quasi
    packing = packing_of(quasi)
    limit = int(source.policy.suppression * source.records + 1e-9)
    attributes = [coded.attribute for coded in quasi]
    combinations = prod(len(tree.records) for tree in packing.trees)
    if how_many(source, Lifted(packing), combinations) <= frequencies.LIMIT:
        lattice = lattice_from(packing, *rows_of(source, Lifted(packing)))
        found = method.best(lattice, source.schema.quasi_identifiers, source.k, limit)
        notes = in_words(attributes, found)
    else:
        found, drawn = _by_sample(source, method, packing, limit)
        notes = recoded_to(attributes, found.levels), _of_a_sample(source, found, drawn)
    return AtLevels(packing, found.levels, found.out, notes, facts(attributes, found))


def _of_a_sample(source: Source, found: Optimum, drawn: int) -> str:
    levels = f"levels searched on a sample of {drawn:,} records" if drawn else "levels as chosen"
    return f"Cost {found.cost:.6g}; {levels} and verified on all {source.records:,}: not proven optimal."


def _by_sample(source: Source, method: Recode, packing: Packing, limit: int) -> tuple[Optimum, int]:
    """The first recoding proposed that keeps k on all records; and how many of them were searched."""
    if method.levels is not None:
        proposed, drawn = iter([(method.levels_chosen(packing, source.schema.quasi_identifiers), 1)]), 0
    else:
        sample = Microdata(source.summary.sample, source.schema)
        proposed, drawn = _proposals(source, method, packing, sample, limit), len(sample)
    for levels, checked in proposed:
        found = _verified(source, method, packing, levels, limit, checked)
        if found is not None:
            return found, drawn
    raise none_found(source.k, limit)


def _proposals(
    source: Source, method: Recode, packing: Packing, sample: Microdata, limit: int
) -> Iterator[tuple[Levels, int]]:
    """Levels in the lattice's order, cheapest first, and how many nodes were looked at so far; the top at last."""
    lattice = lattice_of(sample)
    share = len(sample) / source.records
    k = max(min(2, source.k), ceil(source.k * share))
    checked, before = 0, set()
    while k <= len(sample):
        nodes = search(lattice, k, int(limit * share), method.cost, method.mean, seconds=method.seconds)
        checked += nodes.checked
        for number in nodes.number[:_TRIED]:
            levels = packing.in_order(lattice.by_attribute(lattice.at(int(number))))
            if levels not in before:
                before.add(levels)
                yield levels, checked
        k *= 2
    yield tuple(tree.levels - 1 for tree in packing.trees), checked


def _verified(
    source: Source, method: Recode, packing: Packing, levels: Levels, limit: int, checked: int
) -> Optimum | None:
    """The node on all records; None where it suppresses too many."""
    classes = rows_of(source, Lifted(packing, levels))
    bad = classes.counts < source.k
    out = int(classes.counts[bad].sum())
    if out > limit:
        return None
    cost = cost_at(packing, levels, classes, bad, method.cost, method.mean)
    by_attribute = packing.by_attribute(levels)
    return Optimum(by_attribute, cost, out, classes.keys[bad], packing.nodes, checked, proven_optimal=False, bound=0.0)
