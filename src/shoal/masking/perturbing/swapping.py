"""Rank swapping (Moore 1996; paper 5, Section 5): values change places within each attribute, not far in rank.

Independently for each attribute: the ranks are visited in random order, and each that still has its own value swaps
it with one drawn from those within p n ranks that have theirs. So every attribute keeps its distribution exactly.
`ascending` is the method as first published: ranks in their order, each swapped with one of the next p n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.data.masked import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.errors import require
from shoal.masking.method import Masked, Parameter
from shoal.masking.perturbing.columns import (
    IN_ORDER,
    in_order,
    require_number,
    shown_from,
    side_by_side,
    streams,
    treated,
    with_gaps_moved,
)
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class RankSwapping:
    """Values change places with others of near rank, attribute by attribute: every distribution stays.

    Two swapped values are at most `p` times the number of records apart. Ranks are visited in `random` or, as first
    published, in `ascending` order.
    """

    p: float = 0.1  # how far apart two swapped values may stand, as a share of the records
    order: Literal["random", "ascending"] = "random"

    name: ClassVar[str] = "rank-swapping"
    parameter: ClassVar[Parameter] = Parameter("p", 0.001, 1.0)

    def __post_init__(self) -> None:
        require_number(self.name, "p", self.p, most=1)
        good = self.order in ("random", "ascending")
        require(self.name, "order", self.order, "'random' or 'ascending'", holds=good)

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        names = treated(self.name, microdata, IN_ORDER)
        stream = streams(seed)
        columns = side_by_side(names, lambda name: self._swapped(microdata, name, stream(name)))
        return Masked(with_gaps_moved(columns, stream), notes=self._notes(len(microdata)))

    def window(self, records: int) -> int:
        return round(self.p * records)

    def _swapped(self, microdata: Microdata, name: str, rng: np.random.Generator) -> MaskedColumn:
        from shoal.kernels.swapping import swap_partners

        ranked = in_order(microdata, name, rng)
        n = len(ranked)
        w = self.window(n)
        if self.order == "random":
            partner = swap_partners(rng.permutation(n), w, w, rng)
        else:
            partner = swap_partners(np.arange(n), 0, w, rng)
        source = np.arange(len(microdata))
        source[ranked] = ranked[partner]
        return shown_from(microdata, name, source)

    def _notes(self, records: int) -> tuple[str, ...]:
        if self.window(records):
            return ()
        return (f"p = {self.p:g} of {records:,} records is less than one rank: nothing was swapped.",)
