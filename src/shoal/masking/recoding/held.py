"""The models that classes of the right size may still miss, judged by counts alone, at any node of the lattice.

What a class holds is a histogram: how many records of each distinct row have each confidential value. It is counted
once, of a table in memory or by an engine, and serves every node. Who a class is, it shows: people of a population who
are recoded alike are counted.

No class is suppressed for what it holds: whoever recodes everybody's quasi-identifiers alike sees which classes are
missing, and would know what they held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.data.microdata import Coded, Microdata
from shoal.data.schema import Schema
from shoal.data.weights import weights_of
from shoal.masking.enforce import failing
from shoal.masking.partition import Partition
from shoal.masking.recoding.lattice import Floats, Ints, Keys, Levels, Packing
from shoal.masking.recoding.levels import show_level
from shoal.privacy.matching import Population, population_of
from shoal.privacy.model import PrivacyModel
from shoal.privacy.weighed import weights_in

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Held:
    """One attribute's histogram: of the distinct row row[i], coded.weights[i] records have the value coded.codes[i].

    Where people are counted, the person coded.people[i] has it there, once.
    """

    row: Ints
    coded: Coded

    @classmethod
    def of(cls, coded: Coded, row: Ints) -> Held:
        """Of records: each has a code and is in a row."""
        room = len(coded.values) + 1
        if coded.people is not None:
            triples = np.unique(np.stack([row * room + coded.codes + 1, coded.people]), axis=1)
            codes = (triples[0] % room - 1).astype(np.int32)
            once = np.ones(len(codes), np.int64)
            return cls(triples[0] // room, replace(coded, codes=codes, people=triples[1], weights=once))
        pairs, counts = np.unique(row * room + coded.codes + 1, return_counts=True)
        return cls(pairs // room, replace(coded, codes=(pairs % room - 1).astype(np.int32), weights=counts))

    def misses(self, model: PrivacyModel, class_of_row: Ints, out: Flags) -> bool:
        """Whether some class misses the model when those that are `out` are left out.

        What is promised is promised of the records that remain: they are judged against their own distribution.
        """
        from shoal.kernels.sorting import argsort_keys

        label = class_of_row[self.row]
        kept = np.flatnonzero(~out[label])
        order = kept[argsort_keys(label[kept].astype(np.uint64))]
        starts = np.append(np.flatnonzero(np.diff(label[order], prepend=-1)), len(order))
        codes, weights = self.coded.codes[kept], self.coded.weights[kept]
        counts = np.bincount(codes + 1, weights, len(self.coded.values) + 1).astype(np.int64)
        coded = replace(self.coded, counts=counts[1:], missing=int(counts[0]))
        if coded.people is not None:  # each stands for herself, and the others are not there
            coded = replace(coded, codes=codes, people=coded.people[kept], having=None, weights=weights[:0])
            order = np.searchsorted(kept, order)
        elif not model.weighs:  # record by record
            times = self.coded.weights[order]
            starts = np.append(0, np.cumsum(times))[starts]
            coded, order = replace(coded, weights=times[:0]), np.repeat(order, times)
        return not model.meets(model.levels(coded, order, starts)).all()


@dataclass(frozen=True)
class Beyond:
    """Models beyond class size, and what they are judged by."""

    models: Sequence[PrivacyModel]
    schema: Schema
    quasi: Sequence[Coded]
    held: Mapping[str, Held]  # by attribute
    people: Mapping[str, Floats]  # by column of sampling weights: for how many people each distinct row stands
    records: tuple[Microdata, Ints] | None = None  # and the distinct row of each, where they are in memory

    @classmethod
    def of(cls, microdata: Microdata, models: Sequence[PrivacyModel], row: Ints) -> Beyond:
        """Of a table in memory, of which each record is in a distinct row."""
        held = {name: Held.of(microdata[name], row) for name in protected(models)}
        people = {
            name: np.bincount(row, weights_of(microdata.frame, name)).astype(np.float64) for name in weights_in(models)
        }
        return cls(models, microdata.schema, microdata.quasi, held, people, (microdata, row))

    def out(
        self, packing: Packing, levels: Levels, keys: Keys, class_of_row: Ints, small: Flags, sizes: Ints, limit: int
    ) -> Flags:
        """The classes to suppress, for their size or for how few people they are; all, where the rest miss a model.

        The classes are known by their keys at these levels, in the lattice's order; `small` are those below k.
        """
        out = small
        for model in self.models:
            if model.counted_in is not None:
                out = out | self._too_few_people(model, packing, levels, keys)
            elif model.about_who and self.records is not None:
                microdata, row = self.records
                out = out | failing(microdata, Partition.of_labels(class_of_row[row]), [model])
        if out.all() or sizes[out].sum() > limit:
            return out
        judged = [model for model in self.models if model.counted_in is None and not model.about_who]
        return np.ones_like(out) if any(self._misses(model, class_of_row, sizes, out) for model in judged) else out

    def _misses(self, model: PrivacyModel, class_of_row: Ints, sizes: Ints, out: Flags) -> bool:
        if model.attribute is not None:
            return self.held[model.attribute].misses(model, class_of_row, out)
        if model.weights is not None:
            people = np.bincount(class_of_row, self.people[model.weights], len(sizes)).astype(np.float64)
            return not model.meets(model.levels_by_weights(sizes[~out], people[~out])).all()
        if self.records is None:  # somebody's own model about whole records: judged on what comes out
            return False
        microdata, row = self.records
        label = class_of_row[row]
        kept = np.flatnonzero(~out[label])
        local = np.unique(label[kept], return_inverse=True)[1]
        return bool(failing(microdata.take(kept), Partition.of_labels(local), [model]).any())

    def _too_few_people(self, model: PrivacyModel, packing: Packing, levels: Levels, keys: Keys) -> Flags:
        """The classes that too few of the population look like, when it is recoded to the same levels."""
        alike, by_attribute = f"{OWN}people", packing.by_attribute(levels)
        leaves = packing.leaves(keys, levels)
        classes = [replace(coded, codes=codes) for coded, codes in zip(self.quasi, leaves, strict=True)]
        shown = _shown(classes, by_attribute)
        people = _shown(_encoded(population_of(model.counted_in), self.schema).quasi, by_attribute)
        counts = people.group_by(people.columns).agg(pl.len().alias(alike))
        joined = shown.join(counts, on=shown.columns, how="left", nulls_equal=True, maintain_order="left")
        few: Flags = joined[alike].fill_null(0).to_numpy() < model.asked
        return few


def protected(models: Sequence[PrivacyModel]) -> list[str]:
    """The confidential attributes that the models are about."""
    return list(dict.fromkeys(model.attribute for model in models if model.attribute is not None))


def _shown(quasi: Sequence[Coded], levels: Levels) -> pl.DataFrame:
    """The quasi-identifiers at these levels, as text: only where many records share a label is it a code."""
    shown = (show_level(coded, level, None).values() for coded, level in zip(quasi, levels, strict=True))
    return pl.DataFrame([column.cast(pl.String) for column in shown])


@lru_cache(maxsize=4)
def _encoded(population: Population, schema: Schema) -> Microdata:
    """Encoded once for all nodes of a search."""
    return Microdata(population.table, schema)
