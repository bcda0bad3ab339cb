"""The search for the cheapest node of the lattice that keeps every model (paper 3), over distinct rows with counts.

Models on the class size alone are searched by the lattice's own pruning. For others the nodes are judged one by one,
cheapest first: suppressing the classes that fail them can only add to a node's cost, so the search ends, proven, at the
first node whose cost by class size alone is no better than the best cost found.

Defined in docs/spec.md#best-recoding.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal import events
from shoal.data.schema import Attribute
from shoal.errors import InputError, did_you_mean, require
from shoal.masking.recoding.held import Beyond
from shoal.masking.recoding.lattice import Cost, Keys, Lattice, Levels, Mean, Nodes, Packing, cost_at, search


@dataclass(frozen=True)
class Optimum:
    """The best node, and what is known of all others."""

    levels: Levels  # in the order of the quasi-identifiers
    cost: float
    suppressed: int  # records
    out: Keys  # the classes they are in, by their keys at these levels, ascending
    nodes: int
    nodes_checked: int
    proven_optimal: bool
    bound: float
    searched: bool = True  # not where the levels were chosen

    def facts(self, quasi: Sequence[Attribute]) -> dict[str, Any]:
        """For machines: the level of each quasi-identifier, the cost, and what is proven."""
        levels = {attribute.name: level for attribute, level in zip(quasi, self.levels, strict=True)}
        return {
            "levels": levels,
            "cost": self.cost,
            "nodes": self.nodes,
            "nodes_checked": self.nodes_checked,
            "proven_optimal": self.proven_optimal,
            "bound": self.bound,
        }

    def in_words(self, quasi: Sequence[Attribute]) -> tuple[str, ...]:
        """For people: what each quasi-identifier was recoded to, and how the search ended."""
        if not self.searched:
            proof = "as chosen"
        elif self.proven_optimal:
            proof = "proven optimal"
        else:
            proof = f"not proven optimal: no recoding costs less than {self.bound:.6g}"
        looked_at = f"{self.nodes_checked:,} of {self.nodes:,} nodes looked at"
        return recoded_to(quasi, self.levels), f"Cost {self.cost:.6g}, {proof}; {looked_at}."


def recoded_to(quasi: Sequence[Attribute], levels: Levels) -> str:
    """The level of each quasi-identifier, in words."""
    described = (
        f"{attribute.name} {attribute.hierarchy.describe(level)}"  # type: ignore[union-attr]
        for attribute, level in zip(quasi, levels, strict=True)
    )
    return f"Recoded: {'; '.join(described)}."


@dataclass(frozen=True)
class Search:
    """What is searched for: the least `cost` with classes of `k` and at most `limit` records suppressed.

    It ends after so many `seconds`. Where levels are `chosen` by name, others at 0, nothing is searched: that node is
    judged.
    """

    cost: Cost
    mean: Mean
    seconds: float | None
    chosen: Mapping[str, int] | None
    names: Sequence[str]  # of the quasi-identifiers
    k: int
    limit: int

    def best(self, lattice: Lattice, beyond: Beyond | None = None) -> Optimum:
        """The cheapest node of a table's distinct rows at which what is not suppressed keeps all models."""
        start = time.monotonic()
        nodes = (
            search(lattice, self.k, self.limit, self.cost, self.mean, seconds=self.seconds, whole=beyond is not None)
            if self.chosen is None
            else _only(lattice, self.levels_chosen(lattice))
        )
        if len(nodes.number) == 0:
            raise self.none_found()
        left = None if self.seconds is None else self.seconds - (time.monotonic() - start)
        return self._judged(lattice, nodes, beyond, left)

    def levels_chosen(self, packing: Packing) -> Levels:
        """The levels asked for, in the lattice's order of attributes."""
        chosen = self.chosen or {}
        for name, level in chosen.items():
            if name not in self.names:
                raise InputError(
                    f"Levels are asked for {name!r}, which is no quasi-identifier.{did_you_mean(name, self.names)}"
                )
            top = packing.trees[int(np.flatnonzero(packing.position == self.names.index(name))[0])].levels - 1
            require("recode", f"levels of {name}", level, f"a level from 0 to {top}", holds=0 <= level <= top)
        return tuple(chosen.get(self.names[i], 0) for i in packing.position)

    def _judged(self, lattice: Lattice, nodes: Nodes, beyond: Beyond | None, seconds: float | None) -> Optimum:
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
            bad = sizes < self.k
            if beyond is not None:
                bad = beyond.out(lattice, levels, keys, label, bad, sizes, self.limit)
            if (out := int(sizes[bad].sum())) > self.limit or (beyond is not None and bad.all()):
                continue
            exact = beyond is None and self.chosen is None
            now = float(cost) if exact else cost_at(lattice, levels, (keys, sizes), bad, self.cost, self.mean)
            if best is None or now < best.cost:
                by_attribute = lattice.by_attribute(levels)
                best = Optimum(by_attribute, now, out, keys[bad], lattice.nodes, nodes.checked, False, now)
        if best is None:
            raise self.none_kept()
        proven = bound >= best.cost and self.chosen is None
        known = best.cost if proven else bound
        return replace(best, proven_optimal=proven, bound=known, searched=self.chosen is None)

    def none_found(self) -> InputError:
        """The refusal where no node was found that suppresses few enough."""
        return InputError(
            f"No recoding found keeps classes of {self.k} with at most {self.limit} records suppressed: "
            "allow more (--suppress), or more time (recode:seconds=60)."
        )

    def none_kept(self) -> InputError:
        """The refusal where no node keeps all models."""
        return InputError(
            "No recoding keeps all the models asked for within the suppression limit: allow more (--suppress), or "
            "coarser levels. Nobody is left out for what her class holds, since who is missing would tell it."
        )


def _only(lattice: Lattice, levels: Levels) -> Nodes:
    """One node, its cost still unknown."""
    number = np.ravel_multi_index(levels, tuple(lattice.levels))
    return Nodes(np.array([number]), np.zeros(1), np.zeros(1, np.int64), 1, 0.0)
