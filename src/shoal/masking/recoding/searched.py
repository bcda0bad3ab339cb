"""Global recoding of a table in chunks: the engine counts distinct rows and what they hold, and they are searched here.

Where there are too many of them, the levels are searched on a sample of records and verified on all. Of a class that
holds few of all records a sample holds one at most, so the sample is asked for pairs at least, and for larger classes
each time that what it proposes does not hold of all records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.engines.table import COUNTED, Batch, Table
from shoal.errors import InputError
from shoal.masking.chunks import Attributes, WholeTable
from shoal.masking.method import beyond_size
from shoal.masking.recoding import frequencies
from shoal.masking.recoding.frequencies import count_rows, how_many, refuse_unlisted
from shoal.masking.recoding.held import Beyond, Held, protected
from shoal.masking.recoding.lattice import (
    Floats,
    Ints,
    Keys,
    Lattice,
    Levels,
    Packing,
    cost_at,
    lattice_from,
    lattice_of,
    packing_of,
)
from shoal.masking.recoding.lattice import search as search_lattice
from shoal.masking.recoding.levels import AtLevels, Lifted
from shoal.masking.recoding.optimum import Optimum, Search, recoded_to
from shoal.privacy.classes import How, by_class
from shoal.privacy.weighed import PEOPLE, PeopleByWeights, weights_in

_KEY = f"{OWN}key"
_TRIED = 3  # recodings that each search on a sample may propose, where all its nodes are judged


def searched(whole: WholeTable, search: Search) -> AtLevels:
    """The best levels of a table in chunks, for every chunk alike."""
    packing = packing_of(whole.sample.quasi)
    quasi = [coded.attribute for coded in whole.sample.quasi]
    models = beyond_size(whole.promises)
    if whole.schema.person is not None and protected(models):
        raise InputError(
            "Where a table is recoded in chunks, the people of a class are counted, not those who have a confidential "
            "value: use --engine memory, or a method that groups records."
        )
    if fits(whole, packing, protected(models)):
        keys, counts = distinct_rows(whole, packing)
        beyond = _beyond(whole, Lifted(packing), keys) if models else None
        best = search.best(lattice_from(packing, keys, counts), beyond)
        notes = best.in_words(quasi)
    else:
        best, drawn = _by_sample(whole, search, packing)
        notes = recoded_to(quasi, best.levels), _of_a_sample(whole, best, drawn)
    return AtLevels(packing, best.levels, best.out, notes, best.facts(quasi))


def fits(whole: WholeTable, packing: Packing, held: Sequence[str] = ()) -> bool:
    """Whether distinct rows, and with them the values that these attributes hold, are few enough to be counted here."""
    lifted, combinations = Lifted(packing), prod(len(tree.records) for tree in packing.trees)
    for name in held:
        refuse_unlisted(
            whole, name, "too many to be counted in each class: round it, or use the memory engine or a grouped method."
        )
    rooms = {name: len(whole.sample[name].values) + 1 for name in held}
    return how_many(whole, lifted, combinations) <= frequencies.LIMIT and all(
        how_many(whole, _Pairs(lifted, name), combinations * room) <= frequencies.LIMIT for name, room in rooms.items()
    )


def distinct_rows(whole: WholeTable, packing: Packing, levels: Levels = ()) -> tuple[Keys, Ints]:
    """The distinct rows at these levels by their keys, which ascend, and how many records have each."""
    rows, counts = count_rows(whole, Lifted(packing, levels))
    keys = rows["key"].view(np.uint64)
    order = np.argsort(keys)
    return keys[order], counts[order]


@dataclass(frozen=True)
class _Pairs:
    """A record's row at some levels, and the code of what it holds."""

    lifted: Lifted
    attribute: str

    def __call__(self, microdata: Microdata) -> dict[str, npt.NDArray[np.generic]]:
        return {**self.lifted(microdata), "code": microdata[self.attribute].codes}


def _beyond(whole: WholeTable, lifted: Lifted, keys: Keys) -> Beyond:
    """The models beyond class size, and what all records of these distinct rows hold."""
    models = beyond_size(whole.promises)
    held = {}
    for name in protected(models):
        pairs, counts = count_rows(whole, _Pairs(lifted, name))
        row = np.searchsorted(keys, pairs["key"].view(np.uint64))
        held[name] = Held(row, replace(whole.sample[name], codes=pairs["code"].astype(np.int32), weights=counts))
    people = {name: _people(whole, lifted, keys, name) for name in weights_in(models)}
    return Beyond(models, whole.schema, whole.sample.quasi, held, people, _of_people(whole, lifted, keys))


def _people(whole: WholeTable, lifted: Lifted, keys: Keys, weights: str) -> Floats:
    """For how many people the records of each distinct row stand."""
    rows = by_class(
        _with_keys(whole, lifted, weights), [_KEY], _KeyAndPeople(weights), _as_they_are, _KeyAndPeople.schema,
        whole.records,
    )  # fmt: skip
    people = np.zeros(len(keys))
    people[np.searchsorted(keys, rows["row"].to_numpy().view(np.uint64))] = rows[PEOPLE].to_numpy()
    return people


@dataclass(frozen=True)
class _KeyAndPeople(PeopleByWeights):
    """Of a record its row and the people it stands for."""

    adds: ClassVar[dict[str, tuple[pl.DataType, How]]] = {**PeopleByWeights.adds, "row": (pl.Int64(), "min")}
    schema: ClassVar[pl.Schema] = pl.Schema({"row": pl.Int64(), PEOPLE: pl.Float64()})

    def __call__(self, frame: pl.DataFrame) -> list[pl.Series]:
        return [*super().__call__(frame), frame[_KEY].alias("row")]


def _as_they_are(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("row", PEOPLE)


def _of_people(whole: WholeTable, lifted: Lifted, keys: Keys) -> tuple[Microdata, Ints] | None:
    """One record of each person in each distinct row, where people are counted and nothing else is asked of records."""
    person = whole.schema.person
    alone = [model for model in beyond_size(whole.promises) if model.attribute is None and model.counted_in is None]
    if person is None or not alone or not all(model.about_who for model in alone):
        return None
    who = person.column
    pairs = _with_keys(whole, lifted, who).counts([_KEY, who])
    if person.one_each:  # whoever is not named is several people
        pairs = pairs.select(pl.exclude(COUNTED).repeat_by(pl.when(pl.col(who).is_null()).then(COUNTED).otherwise(1)))
        pairs = pairs.explode(_KEY, who)
    row = np.searchsorted(keys, pairs[_KEY].to_numpy().view(np.uint64))
    return Microdata(pairs.select(who), Schema((), person)), row


def _with_keys(whole: WholeTable, lifted: Lifted, column: str) -> Table:
    """Each record's row at some levels (`_KEY`), beside this column."""
    schema = pl.Schema({_KEY: pl.Int64(), column: whole.table.schema[column]})
    return whole.table.map(_WithKeys(whole.attributes, lifted, column), schema)


@dataclass(frozen=True)
class _WithKeys:
    attributes: Attributes
    lifted: Lifted
    column: str

    def __call__(self, batch: Batch) -> pl.DataFrame:
        keys = self.lifted.keys(self.attributes.microdata(batch.frame)).view(np.int64)
        return pl.DataFrame([pl.Series(_KEY, keys), batch.frame[self.column]])


# ---- more than can be counted here


def _of_a_sample(whole: WholeTable, best: Optimum, drawn: int) -> str:
    levels = f"levels searched on a sample of {drawn:,} records" if drawn else "levels as chosen"
    return f"Cost {best.cost:.6g}; {levels} and verified on all {whole.records:,}: not proven optimal."


def _by_sample(whole: WholeTable, search: Search, packing: Packing) -> tuple[Optimum, int]:
    """The first recoding proposed that keeps all models on all records; and how many of them were searched."""
    if search.chosen is not None:
        proposed, drawn = iter([(search.levels_chosen(packing), 1)]), 0
    else:
        sample = Microdata(whole.summary.sample, whole.schema)
        proposed, drawn = _proposals(whole, search, packing, sample), len(sample)
    for levels, checked in proposed:
        verified = _verified(whole, search, packing, levels, checked)
        if verified is not None:
            return verified, drawn
    raise search.none_kept() if beyond_size(whole.promises) else search.none_found()


def _proposals(whole: WholeTable, search: Search, packing: Packing, sample: Microdata) -> Iterator[tuple[Levels, int]]:
    """Levels in the lattice's order, cheapest first, and how many nodes were looked at so far; the top at last."""
    lattice = lattice_of(sample)
    models = [model for model in beyond_size(whole.promises) if model.weights is None]  # weights are all records'
    beyond = Beyond.of(sample, models, lattice.row) if models else None
    share = len(sample) / whole.records
    k, limit = max(min(2, search.k), ceil(search.k * share)), int(search.limit * share)
    most = 1 if beyond is None else _TRIED  # by size alone the search leaves out all but the cheapest
    checked, proposed, missing = 0, set(), set()
    while k <= len(sample):
        nodes = search_lattice(
            lattice, k, limit, search.cost, search.mean, seconds=search.seconds, whole=beyond is not None
        )
        checked += nodes.checked
        tried = 0
        for number in nodes.number.tolist():
            if number in missing:
                continue
            if number not in proposed:
                if beyond is not None and _misses(beyond, lattice, number, k, limit):
                    missing.add(number)
                    continue
                proposed.add(number)
                yield packing.in_order(lattice.by_attribute(lattice.at(number))), checked
            tried += 1
            if tried == most:
                break
        k += max(1, k // 4)
    yield tuple(tree.levels - 1 for tree in packing.trees), checked


def _misses(beyond: Beyond, lattice: Lattice, number: int, k: int, limit: int) -> bool:
    """Whether a node misses a model on the sample."""
    levels = lattice.at(number)
    keys, label, sizes = lattice.classes(levels)
    out = beyond.out(lattice, levels, keys, label, sizes < k, sizes, limit)
    return bool(out.all() or sizes[out].sum() > limit)


def _verified(whole: WholeTable, search: Search, packing: Packing, levels: Levels, checked: int) -> Optimum | None:
    """The node on all records; None where it suppresses too many, or what is left misses a model."""
    keys, sizes = distinct_rows(whole, packing, levels)
    bad = sizes < search.k
    if sizes[bad].sum() > search.limit:
        return None
    if beyond_size(whole.promises):
        beyond = _beyond(whole, Lifted(packing, levels), keys)
        bad = beyond.out(packing, levels, keys, np.arange(len(keys)), bad, sizes, search.limit)
        if bad.all() or sizes[bad].sum() > search.limit:
            return None
    cost = cost_at(packing, levels, (keys, sizes), bad, search.cost, search.mean)
    out = int(sizes[bad].sum())
    by_attribute = packing.by_attribute(levels)
    return Optimum(by_attribute, cost, out, keys[bad], packing.nodes, checked, proven_optimal=False, bound=0.0)
