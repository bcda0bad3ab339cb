"""Global recoding: one level of each attribute's hierarchy for all records, the best one (paper 3; SPEC 4.5).

Models on the class size alone are searched by the lattice's own pruning. For others the nodes are judged one by one,
cheapest first: suppressing the classes that fail them can only add to a node's cost, so the search ends, proven, at the
first node whose cost by class size alone is no better than the best cost found.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.masked import WILDCARD, MaskedColumn
from shoal.data.microdata import Coded, Microdata
from shoal.data.schema import Schema
from shoal.errors import InputError, did_you_mean, require
from shoal.masking.enforce import enforce, failing
from shoal.masking.grouped import beyond_size, class_size, publish
from shoal.masking.grouping.cheapest_first import cheapest_first
from shoal.masking.method import Masked
from shoal.masking.partition import Partition
from shoal.masking.recoding.lattice import Cost, Lattice, Levels, Mean, Nodes, cost_at, lattice_of, search
from shoal.privacy import KMap, PrivacyModel
from shoal.privacy.matching import Population, population_of


@dataclass(frozen=True)
class Optimum:
    """The best node found, in words and numbers."""

    levels: Levels  # in the order of the quasi-identifiers
    cost: float
    kept: npt.NDArray[np.bool_]  # record -> whether it is released
    nodes: int
    nodes_checked: int
    proven_optimal: bool
    bound: float

    @property
    def suppressed(self) -> int:
        return int((~self.kept).sum())


@dataclass(frozen=True)
class GlobalRecoding:
    """One level of each hierarchy, the same for all records: the cheapest that keeps the promise, proven.

    `cost` is `loss`, `discernibility`, `average-class-size`, `precision` or `entropy`; `mean` of `loss` is `geometric`
    or `arithmetic`. `seconds` stops the search early, with a note on what is not proven; `local` recodes each record
    as finely as it has company; `levels` takes one node and searches nothing.
    """

    cost: Cost = "loss"
    mean: Mean = "geometric"  # of the attributes' losses
    seconds: float | None = None  # give the best found so far after that time
    local: bool = False  # recode each record by itself, as finely as it has company
    levels: Mapping[str, int] | None = None  # no search: these levels, others at 0

    name: ClassVar[str] = "recode"

    def __post_init__(self) -> None:
        require("recode", "cost", self.cost, f"one of {', '.join(get_args(Cost))}", holds=self.cost in get_args(Cost))
        require("recode", "mean", self.mean, "'geometric' or 'arithmetic'", holds=self.mean in get_args(Mean))
        good = self.seconds is None or self.seconds >= 0
        require("recode", "seconds", self.seconds, "a number of at least 0", holds=good)

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        k = class_size(microdata, models)
        others = beyond_size(models)
        if self.local:
            masked = publish(microdata, enforce(microdata, cheapest_first(microdata, k), others, suppression))
            return replace(masked, facts={"cost": share_loss(microdata, masked, self.mean)})
        found = self.optimum(microdata, k, others, int(suppression * len(microdata) + 1e-9))
        kept = None if found.suppressed == 0 else np.flatnonzero(found.kept)
        columns = {
            coded.name: show_level(coded, level, kept)
            for coded, level in zip(microdata.quasi, found.levels, strict=True)
        }
        return Masked(columns, kept, _in_words(microdata, found), _facts(microdata, found))

    def optimum(self, microdata: Microdata, k: int, others: Sequence[PrivacyModel], limit: int) -> Optimum:
        start = time.monotonic()
        lattice = lattice_of(microdata)
        nodes = (
            search(lattice, k, limit, self.cost, self.mean, seconds=self.seconds, whole=bool(others))
            if self.levels is None
            else _only(lattice, self._chosen(microdata, lattice))
        )
        if len(nodes.number) == 0:
            raise InputError(
                f"No recoding found keeps classes of {k} with at most {limit} records suppressed: "
                "allow more (--suppress), or more time (--seconds)."
            )
        left = None if self.seconds is None else self.seconds - (time.monotonic() - start)
        return self._judged(microdata, lattice, nodes, k, others, limit, left)

    def _chosen(self, microdata: Microdata, lattice: Lattice) -> Levels:
        """The levels asked for, in the lattice's order of attributes."""
        names = microdata.schema.quasi_identifiers
        for name, level in (self.levels or {}).items():
            if name not in names:
                raise InputError(
                    f"Levels are asked for {name!r}, which is no quasi-identifier.{did_you_mean(name, names)}"
                )
            top = lattice.trees[int(np.flatnonzero(lattice.position == names.index(name))[0])].levels - 1
            require("recode", f"levels of {name}", level, f"a level from 0 to {top}", holds=0 <= level <= top)
        return tuple((self.levels or {}).get(names[i], 0) for i in lattice.position)

    def _judged(
        self,
        microdata: Microdata,
        lattice: Lattice,
        nodes: Nodes,
        k: int,
        others: Sequence[PrivacyModel],
        limit: int,
        seconds: float | None,
    ) -> Optimum:
        """The cheapest node when the classes that fail the other models are suppressed too."""
        deadline = float("inf") if seconds is None else time.monotonic() + seconds
        best: Optimum | None = None
        bound = nodes.bound
        for number, cost in zip(nodes.number, nodes.cost, strict=True):
            if best is not None and cost >= best.cost:
                break
            if time.monotonic() > deadline:
                bound = min(bound, float(cost))
                break
            levels = lattice.at(int(number))
            label, sizes = lattice.classes(levels)
            bad = _with_failing(microdata, lattice.by_attribute(levels), label, sizes < k, others, limit)
            if int(sizes[bad].sum()) > limit:
                continue
            exact = not others and self.levels is None
            now = float(cost) if exact else cost_at(lattice, levels, bad, label, self.cost, self.mean)
            if best is None or now < best.cost:
                checked, proven = nodes.checked, False
                best = Optimum(lattice.by_attribute(levels), now, ~bad[label], lattice.nodes, checked, proven, now)
        if best is None:
            raise InputError("No recoding keeps all the models asked for within the suppression limit: allow more.")
        proven = bound >= best.cost and self.levels is None
        return Optimum(
            best.levels, best.cost, best.kept, best.nodes, best.nodes_checked, proven, best.cost if proven else bound
        )


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
    levels: Levels,
    label: npt.NDArray[np.int64],
    bad: npt.NDArray[np.bool_],
    models: Sequence[PrivacyModel],
    limit: int,
) -> npt.NDArray[np.bool_]:
    """The classes to suppress so that the others keep the models, judged on the records that remain."""
    sizes = np.bincount(label)
    counted = [model for model in models if isinstance(model, KMap)]
    if counted:
        bad = bad | _too_few_people(microdata, levels, label, counted)
    models = [model for model in models if model not in counted]
    while models and not bad.all() and sizes[bad].sum() <= limit:
        kept = np.flatnonzero(~bad[label])
        classes, local = np.unique(label[kept], return_inverse=True)
        worse = failing(microdata.take(kept), Partition.of_labels(local), models)
        if not worse.any():
            break
        bad = bad.copy()
        bad[classes[worse]] = True
    return bad


def _too_few_people(
    microdata: Microdata, levels: Levels, label: npt.NDArray[np.int64], models: Sequence[KMap]
) -> npt.NDArray[np.bool_]:
    """The classes that too few of the population look like, when it is recoded to the same levels."""
    bad = np.zeros(int(label.max()) + 1, np.bool_)
    records = _shown(microdata, levels)
    shown = records.with_columns(pl.Series("@class", label)).unique("@class")
    for model in models:
        people = _shown(_encoded(population_of(model.population), microdata.schema), levels)
        counts = people.group_by(people.columns).agg(pl.len().alias("@people"))
        found = shown.join(counts, on=records.columns, how="left", nulls_equal=True).sort("@class")
        bad |= found["@people"].fill_null(0).to_numpy() < model.k
    return bad


def _shown(table: Microdata, levels: Levels) -> pl.DataFrame:
    """The quasi-identifiers at these levels."""
    return pl.DataFrame(
        [show_level(coded, level, None).values() for coded, level in zip(table.quasi, levels, strict=True)]
    )


@lru_cache(maxsize=4)
def _encoded(population: Population, schema: Schema) -> Microdata:
    """Encoded once for all nodes of a search."""
    return Microdata(population.table, schema)


def show_level(coded: Coded, level: int, kept: npt.NDArray[np.int64] | None) -> MaskedColumn:
    """The attribute at one level of its hierarchy, missing as missing below the top."""
    hierarchy = coded.attribute.hierarchy
    assert hierarchy is not None
    node = hierarchy.ancestors[level].astype(np.int64)
    first = np.unique(node, return_index=True)[1]
    labels = [hierarchy.nodes[level][leaf] for leaf in first]
    size = np.bincount(node).astype(np.float64)
    top = level == hierarchy.levels - 1
    text = pl.Series([*labels, WILDCARD if top else None], dtype=pl.String)
    low = np.append(first.astype(np.float64), first[0] if top else np.nan)
    high = np.append(first + size - 1, len(node) - 1 if top else np.nan)
    codes = coded.codes if kept is None else coded.codes[kept]
    index = np.append(node, len(labels))[codes].astype(np.int32)
    return MaskedColumn(coded.attribute, index, text, low, high, np.append(size, len(node) if top else np.nan))


def _facts(microdata: Microdata, found: Optimum) -> dict[str, Any]:
    return {
        "levels": dict(zip(microdata.schema.quasi_identifiers, found.levels, strict=True)),
        "cost": found.cost,
        "nodes": found.nodes,
        "nodes_checked": found.nodes_checked,
        "proven_optimal": found.proven_optimal,
        "bound": found.bound,
    }


def _in_words(microdata: Microdata, found: Optimum) -> tuple[str, ...]:
    if found.nodes_checked == 1:
        proof = "as chosen"
    elif found.proven_optimal:
        proof = "proven optimal"
    else:
        proof = f"not proven optimal: no recoding costs less than {found.bound:.6g}"
    levels = "; ".join(
        f"{coded.name} {coded.attribute.hierarchy.describe(level)}"  # type: ignore[union-attr]
        for coded, level in zip(microdata.quasi, found.levels, strict=True)
    )
    return (
        f"Recoded: {levels}.",
        f"Cost {found.cost:.6g}, {proof}; {found.nodes_checked:,} of {found.nodes:,} nodes looked at.",
    )
