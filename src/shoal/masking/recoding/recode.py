"""Global recoding: one level of each attribute's hierarchy for all records, the best one (paper 3).

Models on the class size alone are searched by the lattice's own pruning. For others the nodes are judged one by one,
cheapest first: suppressing the classes that fail them can only add to a node's cost, so the search ends, proven, at the
first node whose cost by class size alone is no better than the best cost found.

Defined in docs/spec.md#best-recoding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.catalogue import Chunks, parameter
from shoal.data.cells import WILDCARD, MaskedColumn
from shoal.data.frames import OWN
from shoal.data.microdata import Coded, Microdata
from shoal.data.node_labels import node_text
from shoal.data.schema import Attribute, Schema
from shoal.errors import InputError, did_you_mean, require
from shoal.masking.enforce import enforce, failing
from shoal.masking.grouped import publish
from shoal.masking.grouping.cheapest_first import cheapest_first
from shoal.masking.method import Masked, Method, beyond_size, class_size
from shoal.masking.partition import Partition
from shoal.masking.recoding.lattice import (
    Cost,
    Keys,
    Lattice,
    Levels,
    Mean,
    Nodes,
    Packing,
    cost_at,
    lattice_of,
    search,
)
from shoal.privacy.matching import Population, population_of
from shoal.privacy.model import PrivacyModel

# Levels by attribute, distinct row -> class, and the classes suppressed by their size -> those suppressed in all.
Failing = Callable[[Levels, npt.NDArray[np.int64], npt.NDArray[np.bool_]], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Optimum:
    """The best node found, in words and numbers."""

    levels: Levels  # in the order of the quasi-identifiers
    cost: float
    suppressed: int  # records
    out: Keys  # the classes they are in, by their keys at these levels, ascending
    nodes: int
    nodes_checked: int
    proven_optimal: bool
    bound: float

    @property
    def facts(self) -> dict[str, Any]:
        names = ("cost", "nodes", "nodes_checked", "proven_optimal", "bound")
        return {name: getattr(self, name) for name in names}


class Recode(Method):
    """One level of each hierarchy, the same for all records: the cheapest that keeps the promise, proven.

    `cost` is `loss`, `discernibility`, `average-class-size`, `precision` or `entropy`; `mean` of `loss` is `geometric`
    or `arithmetic`. `seconds` stops the search early, with a note on what is not proven; `local` recodes each record
    as finely as it has company; `levels` takes one node and searches nothing.
    """

    cost: Cost = parameter("what is made least", default="loss")
    mean: Mean = parameter("of the attributes' losses", default="geometric")
    seconds: float | None = parameter("give the best found so far after that time", default=None, least=0)
    local: bool = parameter("recode each record by itself, as finely as it has company", default=False)
    levels: Mapping[str, int] | None = parameter("no search: these levels by column, others at 0", default=None)

    needs = ("hierarchies",)
    seedless = True
    can_promise = ("k-anonymity", "k-map", "l-diversity", "t-closeness")
    in_chunks = Chunks("same result; of too many distinct rows by a sample, verified on all")
    did = (
        "Every quasi-identifier was raised to one level of its hierarchy, the same for all records: the "
        "cheapest combination of levels that keeps the promise (El Emam & Dankar 2008)."
    )

    def cells_fixed(self, schema: Schema) -> bool:
        """One level of trees that were written down beforehand; local recoding looks for a class's own ancestors."""
        trees = [schema[name].hierarchy for name in schema.quasi_identifiers]
        return not self.local and all(tree is not None and not tree.learnt for tree in trees)

    def each_by_itself(self, microdata: Microdata, k: int) -> Partition | None:
        return cheapest_first(microdata, k) if self.local else None

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        k = class_size(microdata, models)
        others = beyond_size(models)
        if self.local:
            masked = publish(microdata, enforce(microdata, cheapest_first(microdata, k), others, suppression))
            return replace(masked, facts={"cost": share_loss(microdata, masked, self.mean)})
        lattice = lattice_of(microdata)
        found = self._optimum(microdata, lattice, k, others, int(suppression * len(microdata) + 1e-9))
        kept = None
        if found.suppressed:
            out = among(lattice.lifted(lattice.in_order(found.levels)), found.out)
            kept = np.flatnonzero(~out[lattice.row])
        quasi = [coded.attribute for coded in microdata.quasi]
        return Masked(at_levels(microdata, found.levels, kept), kept, in_words(quasi, found), facts(quasi, found))

    def optimum(self, microdata: Microdata, k: int, others: Sequence[PrivacyModel], limit: int) -> Optimum:
        return self._optimum(microdata, lattice_of(microdata), k, others, limit)

    def _optimum(
        self, microdata: Microdata, lattice: Lattice, k: int, others: Sequence[PrivacyModel], limit: int
    ) -> Optimum:
        failing = partial(_with_failing, microdata, lattice, others, limit) if others else None
        return self.best(lattice, microdata.schema.quasi_identifiers, k, limit, failing)

    def best(
        self, lattice: Lattice, names: Sequence[str], k: int, limit: int, failing: Failing | None = None
    ) -> Optimum:
        """Of a table's distinct rows; `failing` are the models that classes of the right size may miss."""
        start = time.monotonic()
        nodes = (
            search(lattice, k, limit, self.cost, self.mean, seconds=self.seconds, whole=failing is not None)
            if self.levels is None
            else _only(lattice, self.levels_chosen(lattice, names))
        )
        if len(nodes.number) == 0:
            raise none_found(k, limit)
        left = None if self.seconds is None else self.seconds - (time.monotonic() - start)
        return self._judged(lattice, nodes, k, limit, failing, left)

    def levels_chosen(self, packing: Packing, names: Sequence[str]) -> Levels:
        """The levels asked for, in the lattice's order of attributes."""
        for name, level in (self.levels or {}).items():
            if name not in names:
                raise InputError(
                    f"Levels are asked for {name!r}, which is no quasi-identifier.{did_you_mean(name, names)}"
                )
            top = packing.trees[int(np.flatnonzero(packing.position == names.index(name))[0])].levels - 1
            require("recode", f"levels of {name}", level, f"a level from 0 to {top}", holds=0 <= level <= top)
        return tuple((self.levels or {}).get(names[i], 0) for i in packing.position)

    def _judged(
        self,
        lattice: Lattice,
        nodes: Nodes,
        k: int,
        limit: int,
        failing: Failing | None,
        seconds: float | None,
    ) -> Optimum:
        """The cheapest node at which what is not suppressed keeps the other models."""
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        best: Optimum | None = None
        bound = nodes.bound
        for number, cost in events.ticking(zip(nodes.number, nodes.cost, strict=True), len(nodes.number)):
            if best is not None and cost >= best.cost:
                break
            if time.monotonic() > deadline:
                bound = min(bound, float(cost))
                break
            levels = lattice.at(int(number))
            keys, label, sizes = lattice.classes(levels)
            bad = sizes < k if failing is None else failing(lattice.by_attribute(levels), label, sizes < k)
            if (out := int(sizes[bad].sum())) > limit or (failing is not None and bad.all()):
                continue
            exact = failing is None and self.levels is None
            now = float(cost) if exact else cost_at(lattice, levels, (keys, sizes), bad, self.cost, self.mean)
            if best is None or now < best.cost:
                by_attribute = lattice.by_attribute(levels)
                best = Optimum(by_attribute, now, out, keys[bad], lattice.nodes, nodes.checked, False, now)
        if best is None:
            raise InputError(
                "No recoding keeps all the models asked for within the suppression limit: allow more (--suppress), or "
                "coarser levels. Nobody is left out for what her class holds, since who is missing would tell it."
            )
        proven = bound >= best.cost and self.levels is None
        return replace(best, proven_optimal=proven, bound=best.cost if proven else bound)


def none_found(k: int, limit: int) -> InputError:
    return InputError(
        f"No recoding found keeps classes of {k} with at most {limit} records suppressed: "
        "allow more (--suppress), or more time (recode:seconds=60)."
    )


def among(keys: Keys, some: Keys) -> npt.NDArray[np.bool_]:
    """Which of the keys are among some, which ascend."""
    if len(some) == 0:
        return np.zeros(len(keys), np.bool_)
    found: npt.NDArray[np.bool_] = some[np.minimum(np.searchsorted(some, keys), len(some) - 1)] == keys
    return found


def share_loss(microdata: Microdata, masked: Masked, mean: Mean) -> float:
    """The cost `loss` of any table published by hierarchies: what share of its domain each value shown admits."""
    n, losses = len(microdata), []
    for coded in microdata.quasi:
        column = masked.columns[coded.name]
        values = len(coded.values)
        suppressed = n - len(column.index)
        shares = float((np.nan_to_num(column.size, nan=1.0) / values)[column.index].sum()) + suppressed
        least = 1 / values
        losses.append(max(0.0, (shares / n - least) / (1 - least)) if values > 1 else 0.0)
    if mean == "arithmetic":
        return float(np.mean(losses))
    return float(np.expm1(np.mean(np.log1p(losses))))


def _only(lattice: Lattice, levels: Levels) -> Nodes:
    """One node, its cost still unknown."""
    number = np.ravel_multi_index(levels, tuple(lattice.levels))
    return Nodes(np.array([number]), np.zeros(1), np.zeros(1, np.int64), 1, 0.0)


def _with_failing(
    microdata: Microdata,
    lattice: Lattice,
    models: Sequence[PrivacyModel],
    limit: int,
    levels: Levels,
    class_of_row: npt.NDArray[np.int64],
    bad: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """The classes to suppress for their size or for how few people fit them; all, where the others miss a model.

    No class is suppressed for what it holds: whoever recodes everybody's quasi-identifiers alike sees which classes are
    missing, and would know what they held.
    """
    label = class_of_row[lattice.row]
    sizes = np.bincount(label)
    counted = [model for model in models if model.counted_in is not None]
    if counted:
        bad = bad | _too_few_people(microdata, levels, label, counted)
    models = [model for model in models if model not in counted]
    if models and not bad.all() and sizes[bad].sum() <= limit:
        kept = np.flatnonzero(~bad[label])
        local = np.unique(label[kept], return_inverse=True)[1]
        if failing(microdata.take(kept), Partition.of_labels(local), models).any():
            return np.ones_like(bad)
    return bad


def _too_few_people(
    microdata: Microdata, levels: Levels, label: npt.NDArray[np.int64], models: Sequence[PrivacyModel]
) -> npt.NDArray[np.bool_]:
    """The classes that too few of the population look like, when it is recoded to the same levels."""
    bad = np.zeros(int(label.max()) + 1, np.bool_)
    records = _shown(microdata, levels)
    in_class, people_alike = f"{OWN}class", f"{OWN}people"
    shown = records.with_columns(pl.Series(in_class, label)).unique(in_class)
    for model in models:
        people = _shown(_encoded(population_of(model.counted_in), microdata.schema), levels)
        counts = people.group_by(people.columns).agg(pl.len().alias(people_alike))
        found = shown.join(counts, on=records.columns, how="left", nulls_equal=True).sort(in_class)
        bad |= found[people_alike].fill_null(0).to_numpy() < model.asked
    return bad


def _shown(table: Microdata, levels: Levels) -> pl.DataFrame:
    """The quasi-identifiers at these levels, as text: only where many records share a label is it a code."""
    shown = (show_level(coded, level, None).values() for coded, level in zip(table.quasi, levels, strict=True))
    return pl.DataFrame([column.cast(pl.String) for column in shown])


@lru_cache(maxsize=4)
def _encoded(population: Population, schema: Schema) -> Microdata:
    """Encoded once for all nodes of a search."""
    return Microdata(population.table, schema)


def at_levels(microdata: Microdata, levels: Levels, kept: npt.NDArray[np.int64] | None) -> dict[str, MaskedColumn]:
    """The quasi-identifiers of the records kept, each at its level."""
    return {coded.name: show_level(coded, level, kept) for coded, level in zip(microdata.quasi, levels, strict=True)}


def show_level(coded: Coded, level: int, kept: npt.NDArray[np.int64] | None) -> MaskedColumn:
    """The attribute at one level of its hierarchy, missing as missing below the top."""
    hierarchy = coded.attribute.hierarchy
    assert hierarchy is not None
    node = hierarchy.ancestors[level].astype(np.int64)
    first = np.unique(node, return_index=True)[1]
    labels = node_text(coded.attribute, level)
    size = np.bincount(node).astype(np.float64)
    top = level == hierarchy.levels - 1
    text = pl.Series([*labels, WILDCARD if top else None], dtype=pl.String)
    low = np.append(first.astype(np.float64), first[0] if top else np.nan)
    high = np.append(first + size - 1, len(node) - 1 if top else np.nan)
    codes = coded.codes if kept is None else coded.codes[kept]
    index = np.append(node, len(labels))[codes].astype(np.int32)
    return MaskedColumn(coded.attribute, index, text, low, high, np.append(size, len(node) if top else np.nan))


def facts(quasi: Sequence[Attribute], found: Optimum) -> dict[str, Any]:
    levels = {attribute.name: level for attribute, level in zip(quasi, found.levels, strict=True)}
    return {"levels": levels, **found.facts}


def in_words(quasi: Sequence[Attribute], found: Optimum) -> tuple[str, ...]:
    if found.nodes_checked == 1:
        proof = "as chosen"
    elif found.proven_optimal:
        proof = "proven optimal"
    else:
        proof = f"not proven optimal: no recoding costs less than {found.bound:.6g}"
    looked_at = f"{found.nodes_checked:,} of {found.nodes:,} nodes looked at"
    return recoded_to(quasi, found.levels), f"Cost {found.cost:.6g}, {proof}; {looked_at}."


def recoded_to(quasi: Sequence[Attribute], levels: Levels) -> str:
    described = (
        f"{attribute.name} {attribute.hierarchy.describe(level)}"  # type: ignore[union-attr]
        for attribute, level in zip(quasi, levels, strict=True)
    )
    return f"Recoded: {'; '.join(described)}."
