"""What a trained intruder makes of her scores: whom she takes a customer for, and which other good she names.

From some goods of a customer she takes those who are shown with all of them, and of these the one whose purchases of
them look real. If p is the probability that a shown good was bought, the good speaks for a customer by p over the sum
of p in his cluster, one of whom must have bought it. Then she names one more good of his: the likeliest one of a visit
that holds goods she knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.risk.attack import Outcome
from shoal.transactions.appearance import visits
from shoal.transactions.histories import Histories
from shoal.transactions.numbering import Ints, by_code, columns_of, incidence, places, renumbered, values_of
from shoal.transactions.similarity import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_ATTACKED = 2_000  # customers
SUREST = 0.1  # share of guesses
LEAST_CHANCE = 1e-6  # that a record is real: no feature makes anybody surer


@dataclass(frozen=True)
class _Guess:
    """Who may be meant, who seems to be, several where nothing tells them apart, and how sure she is of one of them."""

    candidates: Ints
    best: Ints
    sure: float


@dataclass(frozen=True)
class Scene:
    """Whom she looks for among the released customers, and what she knows of them."""

    released: Histories
    group: npt.NDArray[np.int32]  # released customer -> cluster
    bought: csr_array  # released customers by released goods: 1 where the customer really bought it
    attacked: Ints  # released customers
    knows: tuple[Ints, ...]  # of each attacked customer, the goods that are known
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        original: Histories,
        released: Histories,
        own: Ints,
        group: npt.NDArray[np.int32],
        known: int,
        rng: np.random.Generator,
    ) -> Scene:
        """Draws whom to look for, and which `known` goods of each she has."""
        bought = _in_goods_of(released, original, own)
        has = np.flatnonzero(np.diff(bought.indptr))
        attacked = np.sort(rng.permutation(has)[:MOST_ATTACKED])
        knows = tuple(rng.permutation(columns_of(bought, customer))[:known].astype(np.int64) for customer in attacked)
        return cls(released, group, bought, attacked, knows, rng)

    @cached_property
    def holders(self) -> csr_array:
        """Goods by released customers who are shown with them."""
        turned = self.released.sets.T.tocsr()
        turned.sort_indices()
        return turned

    def find(self, score: Floats) -> tuple[Outcome, float, Ints]:
        """How many she names rightly, overall and among the surest tenth, and whom she takes each for."""
        evidence = self._evidence(score)
        guesses = [self._guess(goods, evidence) for goods in self.knows]
        n = len(self.attacked)

        def rates(picked: list[Ints], whose: Ints) -> Floats:
            return np.array([float(who in best) / len(best) for best, who in zip(picked, whose, strict=True)])

        best = [guess.best for guess in guesses]
        right = rates(best, self.attacked)
        baseline = rates([guess.candidates for guess in guesses], self.attacked)
        control = rates(best, self._shuffled[self.attacked])
        surest = np.argsort([-guess.sure for guess in guesses], kind="stable")[: max(1, round(SUREST * n))]
        outcome = Outcome(
            "trained", "the customer", n, n, float(right.sum()), float(baseline.mean()), float(control.mean())
        )
        chosen = np.array([int(self.rng.choice(each)) for each in best])
        return outcome, float(right[surest].mean()), chosen

    @cached_property
    def _shuffled(self) -> Ints:
        """Released customer -> another one of the cluster, by lot."""
        n = len(self.group)
        before, after = np.argsort(self.group, kind="stable"), np.argsort(self.group + self.rng.random(n))
        drawn = np.empty(n, np.int64)
        drawn[before] = after
        return drawn

    def name_a_good(self, score: Floats, chosen: Ints) -> Outcome:
        """How many she rightly names a good of that she did not know of."""
        chance = self._chance(score)
        ways: list[tuple[int, ...]] = []
        usual, whose = [], []
        for goods, taken, customer in zip(self.knows, chosen, self.attacked, strict=True):
            left = np.setdiff1d(columns_of(self.released.sets, taken), goods)
            if len(left) and len(columns_of(self.bought, customer)) > len(goods):
                takens = (int(taken), self._with_most_in_a_visit(goods))
                ways.append(tuple(good for each in takens for good in self._likeliest(each, goods, chance)))
                usual.append(left[np.argmax(np.diff(self.holders.indptr)[left])])
                whose.append(customer)
        others = self.rng.permutation(len(self.released.customers))[np.array(whose, np.int64)]
        named = max(zip(*ways, strict=True), key=lambda goods: self._share(whose, goods), default=())
        right = self._share(whose, named)
        return Outcome(
            "trained",
            "another good",
            len(self.attacked),
            len(named),
            right * len(named),
            self._share(whose, usual),
            self._share(others, named),
        )

    def _share(self, customers: npt.ArrayLike, goods: npt.ArrayLike) -> float:
        places = np.asarray(customers, np.int64), np.asarray(goods, np.int64)
        return float(self.bought[places].mean()) if len(places[0]) else 0.0

    def _shown_with_all(self, goods: Ints) -> Ints:
        """Released customers who are shown with the most of these goods: all, where none was deleted."""
        count = np.zeros(len(self.released.customers), np.int64)
        for good in goods:
            count[columns_of(self.holders, good)] += 1
        return np.flatnonzero(count == count.max())

    def _chance(self, score: Floats) -> csr_array:
        """Released customers by goods: the probability that the good was bought, at least one of its records real."""
        from scipy.sparse import csr_array

        dummy = np.log1p(-np.clip(1 / (1 + np.exp(-score)), LEAST_CHANCE, 1 - LEAST_CHANCE))
        summed = self.released.matrix(dummy)
        chance = np.clip(-np.expm1(summed.data), LEAST_CHANCE, 1.0)
        return csr_array((chance, summed.indices, summed.indptr), shape=summed.shape)

    def _evidence(self, score: Floats) -> csr_array:
        """Goods by released customers: how much a good speaks for the customer, beside others of the cluster."""
        from scipy.sparse import csr_array

        chance = self._chance(score)
        n = chance.shape[0]
        members = incidence(self.group, np.arange(n), (int(self.group.max()) + 1, n))
        total = csr_array(members @ chance)[self.group]
        for matrix in (chance, total):
            matrix.sort_indices()  # all of a cluster are shown with its goods, so that the entries are the same
        evidence = csr_array((np.log(chance.data / total.data), chance.indices, chance.indptr), shape=chance.shape)
        turned = evidence.T.tocsr()
        turned.sort_indices()
        return turned

    def _guess(self, goods: Ints, evidence: csr_array) -> _Guess:
        candidates = self._shown_with_all(goods)
        total = np.zeros(len(self.released.customers))
        for good in goods:
            total[columns_of(evidence, good)] += values_of(evidence, good)
        points = np.round(total[candidates], 9)
        sure = float(1 / np.exp(points - points.max()).sum())
        return _Guess(candidates, candidates[points == points.max()], sure)

    @cached_property
    def _visit(self) -> npt.NDArray[np.int32]:
        return visits(self.released)

    @cached_property
    def _visitor(self) -> npt.NDArray[np.int32]:
        """Visit -> released customer."""
        visitor = np.empty(int(self._visit.max()) + 1, np.int32)
        visitor[self._visit] = self.released.customer
        return visitor

    @cached_property
    def _by_customer(self) -> tuple[Ints, Ints]:
        return by_code(self.released.customer, len(self.released.customers))

    @cached_property
    def _by_good(self) -> tuple[Ints, Ints]:
        return by_code(self.released.item, len(self.released.items))

    @cached_property
    def _size(self) -> Floats | None:
        """record -> how much larger its quantity is than is usual of the good, as a logarithm."""
        column = self.released.roles.quantity
        if column is None:
            return None
        size = np.log1p(np.abs(self.released.numbers(column)))
        frame = pl.DataFrame({"good": self.released.item, "size": size})
        return frame.select(pl.col("size") - pl.col("size").median().over("good")).to_series().to_numpy()

    def _as_large(self, mine: Ints, goods: Ints, left: Ints) -> list[Floats]:
        """Of each good left how near its quantities come to those of the goods known, each of these by its mean."""
        if self._size is None:
            return []
        item, size = self.released.item[mine], self._size[mine]
        count = np.maximum(np.bincount(item, minlength=len(self.released.items)), 1)
        mean = np.bincount(item, size, minlength=len(self.released.items)) / count
        near: Floats = -np.abs(mean[left] - np.median(mean[goods]))
        return [near]

    def _with_most_in_a_visit(self, goods: Ints) -> int:
        """Of those who are shown with all of the goods, one with a visit that holds the most of them."""
        order, starts = self._by_good
        visit = np.concatenate([np.unique(self._visit[order[starts[good] : starts[good + 1]]]) for good in goods])
        visits_with_some, count = np.unique(visit, return_counts=True)
        most = np.zeros(len(self.released.customers))
        np.maximum.at(most, self._visitor[visits_with_some], count)
        candidates = self._shown_with_all(goods)
        return int(self.rng.choice(candidates[most[candidates] == most[candidates].max()]))

    def _likeliest(self, taken: int, goods: Ints, chance: csr_array) -> tuple[int, ...]:
        """Of the goods left one that was likely bought: by its visit, by how it looks, by both, by how much is bought.

        A known good that lies in one visit only says that the visit is of the one she looks for; one of n visits, by a
        chance of 1/n. Which way is best depends on the dummies, and she can try all of them on customers of her own.
        """
        order, starts = self._by_customer
        mine = order[starts[taken] : starts[taken + 1]]
        item, visit = self.released.item[mine], np.unique(self._visit[mine], return_inverse=True)[1]
        lies = np.unique(np.column_stack([visit, item])[np.isin(item, goods)], axis=0)
        among = np.bincount(lies[:, 1], minlength=len(self.released.items))
        not_his = np.ones(visit.max() + 1)
        np.multiply.at(not_his, lies[:, 0], 1 - 1 / among[lies[:, 1]])
        bought, his = np.zeros((2, len(self.released.items)))
        bought[columns_of(chance, taken)] = values_of(chance, taken)
        np.maximum.at(his, item, 1 - not_his[visit])
        left = np.setdiff1d(columns_of(self.released.sets, taken), goods)
        bought, his = bought[left], his[left]
        likely = (his + LEAST_CHANCE * bought, bought, his * bought, *self._as_large(mine, goods, left))
        return tuple(int(self.rng.choice(left[points == points.max()])) for points in likely)


def _in_goods_of(released: Histories, original: Histories, own: Ints) -> csr_array:
    """The original sets of the released customers, by the numbers of the released goods; goods not shown are gone."""
    from scipy.sparse import csr_array

    goods = len(released.items)
    place = places(original.items, released.items)
    return csr_array(renumbered(original.sets[own], np.where(place < 0, goods, place), goods + 1)[:, :goods])
