"""Global recoding: one level of each attribute's hierarchy for all records, the best one (paper 3).

Defined in docs/spec.md#best-recoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.catalogue import Chunks, parameter
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.engines.table import Parts
from shoal.masking.chunks import WholeTable, at_random
from shoal.masking.enforce import enforce
from shoal.masking.grouped import publish
from shoal.masking.grouping.cheapest_first import cheapest_first
from shoal.masking.method import Masked, Method, beyond_size, class_size
from shoal.masking.partition import Partition
from shoal.masking.recoding.held import Beyond
from shoal.masking.recoding.lattice import Cost, Lattice, Mean, lattice_of
from shoal.masking.recoding.levels import among, at_levels
from shoal.masking.recoding.local import locally, share_loss
from shoal.masking.recoding.optimum import Optimum, Search
from shoal.masking.recoding.searched import searched
from shoal.privacy.model import PrivacyModel


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

    choose = "analysts need one recoding for all records: the best level of each hierarchy, proven"
    needs = ("hierarchies",)
    seedless = True
    has_frontier = True
    can_promise = ("k-anonymity", "persons", "k-map", "l-diversity", "t-closeness")
    in_chunks = Chunks(
        "same result; of too many distinct rows by a sample, verified on all; local with l or t: inside random chunks"
    )
    did = (
        "Every quasi-identifier was raised to one level of its hierarchy, the same for all records: the "
        "cheapest combination of levels that keeps the promise (El Emam & Dankar 2008)."
    )

    def frontier(self, microdata: Microdata, models: Sequence[PrivacyModel]) -> tuple[pl.DataFrame, str]:
        """The cheapest recoding for each number of suppressed records."""
        from shoal.masking.recoding.frontier import frontier

        return frontier(microdata, self, models), self.cost

    def cells_fixed(self, schema: Schema) -> bool:
        """One level of trees that were written down beforehand; local recoding looks for a class's own ancestors."""
        trees = [schema[name].hierarchy for name in schema.quasi_identifiers]
        return not self.local and all(tree is not None and not tree.learnt for tree in trees)

    def each_by_itself(self, microdata: Microdata, k: int) -> Partition | None:
        """Local recoding by class size alone; one level for all makes no classes of its own."""
        return cheapest_first(microdata, k) if self.local else None

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """The quasi-identifiers at the best levels, or each record's own where they are local."""
        k = class_size(microdata, models)
        others = beyond_size(models)
        if self.local:
            masked = publish(microdata, enforce(microdata, cheapest_first(microdata, k), others, suppression))
            return replace(
                masked, facts={"cost": share_loss(microdata.quasi, masked.columns, len(microdata), self.mean)}
            )
        lattice = lattice_of(microdata)
        best = self._best(microdata, lattice, k, others, int(suppression * len(microdata) + 1e-9))
        kept = None
        if best.suppressed:
            out = among(lattice.lifted(lattice.in_order(best.levels)), best.out)
            kept = np.flatnonzero(~out[lattice.row])
        quasi = [coded.attribute for coded in microdata.quasi]
        return Masked(at_levels(microdata, best.levels, kept), kept, best.in_words(quasi), best.facts(quasi))

    def optimum(self, microdata: Microdata, k: int, others: Sequence[PrivacyModel], limit: int) -> Optimum:
        """The best node with classes of k that keep the others, and at most `limit` records suppressed."""
        return self._best(microdata, lattice_of(microdata), k, others, limit)

    def _best(
        self, microdata: Microdata, lattice: Lattice, k: int, others: Sequence[PrivacyModel], limit: int
    ) -> Optimum:
        beyond = Beyond.of(microdata, others, lattice.row) if others else None
        return self._search(microdata.schema, k, limit).best(lattice, beyond)

    def _search(self, schema: Schema, k: int, limit: int) -> Search:
        return Search(self.cost, self.mean, self.seconds, self.levels, schema.quasi_identifiers, k, limit)

    def prepared(self, whole: WholeTable) -> Method:
        """The levels or, where they are local, the classes of the whole table's distinct rows."""
        if self.local:
            return locally(whole, self, self.mean)
        return searched(whole, self._search(whole.schema, whole.k, int(whole.suppression * whole.records + 1e-9)))

    def chunks(self, whole: WholeTable, seed: int) -> Parts:
        """Chunks drawn at random; large ones where each is recoded by itself and must be distributed as the table."""
        return at_random(whole, seed, large=self.local and bool(beyond_size(whole.promises)))
