"""Rank swapping (Moore 1996; paper 5, Section 5): values change places within each attribute, not far in rank.

Independently for each attribute: the ranks are visited in random order, and each that still has its own value swaps
it with one drawn from those within p n ranks that have theirs. So every attribute keeps its distribution exactly.
`ascending` is the method as first published: ranks in their order, each swapped with one of the next p n.

One round of swaps can be undone. Who swapped holds the other's value: if this record is hers, the record that shows her
income is the one of the person whose income this record shows. Each guess so implies one in every attribute, and all of
them together have one solution: of 1,080 people and three attributes everybody is found, at any p. So there are two
rounds, each within half of the window: the second leaves no such pairs.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.masking.method import Strength
from shoal.masking.perturbing.columns import IN_ORDER, in_order, shown_from
from shoal.masking.perturbing.method import EachByItself


class Swap(EachByItself):
    """Values change places with others of near rank, attribute by attribute: every distribution stays.

    No value moves by more than `p` times the number of records. Ranks are visited in `random` or, as first published,
    in `ascending` order. One of the `rounds` is as published; it can be undone, so that no risk of it can be promised.
    """

    p: float = parameter("how far in rank a value may move, as a share of the records", default=0.1, above=0, most=1)
    order: Literal["random", "ascending"] = parameter("in which ranks are visited", default="random")
    rounds: int = parameter("one is as published, and can be undone", default=2, least=1, most=2)

    choose = "every record must stay apart, and the values of each attribute are to be kept; promise a measured risk"
    needs = ("an order",)
    kinds = IN_ORDER
    strength = Strength("p", 0.001, 1.0)
    can_promise = ("measured-risk",)
    did = "Every value was exchanged with one of near rank, attribute by attribute."

    @property
    def undone(self) -> str:
        """Why no risk of it can be promised."""
        return "one round of swaps can be undone, whatever p is" if self.rounds == 1 else ""

    def window(self, records: int) -> int:
        """By how many ranks a value may move in a table of so many records."""
        return round(self.p * records)

    def changed(self, microdata: Microdata, name: str, rng: np.random.Generator) -> MaskedColumn:
        """Each rank shows the value of the rank that it swapped with."""
        from shoal.kernels.swapping import swap_partners

        ranked = in_order(microdata, name, rng)
        n = len(ranked)
        held = np.arange(n)  # rank -> the rank whose value it has
        for w in self._windows(n):
            if self.order == "random":
                held = held[swap_partners(rng.permutation(n), w, w, rng)]
            else:
                held = held[swap_partners(np.arange(n), 0, w, rng)]
        source = np.arange(len(microdata))
        source[ranked] = ranked[held]
        return shown_from(microdata, name, source)

    def _windows(self, records: int) -> list[int]:
        """Of each round; together no more than the whole."""
        whole = self.window(records)
        return [whole] if self.rounds == 1 else [whole - whole // 2, whole // 2]

    def notes(self, records: int) -> tuple[str, ...]:
        """That nothing was swapped, where the window is less than one rank."""
        if self.window(records):
            return ()
        return (f"p = {self.p:g} of {records:,} records is less than one rank: nothing was swapped.",)
