"""Dummy records: all customers of a cluster are shown with the same set of goods (paper 4, section 3.1).

For each customer u of cluster x and each good of I(x) that u did not buy one record is added. It is a copy of a real
record of that good, by a member of the same cluster: its time, price and quantity are those of a purchase that took
place. Dummies of one customer that come from one basket make one basket, and all baskets are numbered anew.

That is how the paper counts them. Who is trained on other customers still tells such dummies from purchases
(`trained`), by how quantity, price, day and basket go together. What cannot be told is a copy of a whole visit that
every member of the cluster has: `pool` gives each member all visits of all members. Fewer would hardly do: nearly
every visit holds a good that no other member bought, and all of them have to be shown with it. A whole visit still says
what was bought together, so that one known good of it gives away the others. Scattered, the days and baskets of a
cluster are dealt anew among its records, real ones and dummies alike.

Where a good has few buyers in a cluster, taking it away from them costs less than giving it to all others: within
their limits, records of such goods are altered to goods of the cluster that their customer lacks, or deleted.

Defined in docs/spec.md#dummies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.transactions.clustering import Labels
from shoal.transactions.histories import Histories
from shoal.transactions.numbering import by_code, in_random_order, incidence, numbered

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = npt.NDArray[np.int32]
Dummies = Literal["scattered", "visits", "records"]
DUMMIES: tuple[Dummies, ...] = ("scattered", "visits", "records")
_TRIES = 5  # to find a visit of the customer's own on which a dummy's good was sold


@dataclass(frozen=True)
class Padded:
    """Records as they will be shown: whose they are, and which real records they are like.

    The first are real ones, then those altered, then the dummies: this order never leaves the custodian's hands.
    """

    customer: Codes  # record -> customer
    like: Codes  # record -> the real record from which the good comes
    when: Codes  # record -> the real record from which time and basket come
    price: Codes  # record -> the real record from which the price comes
    amount: Codes  # record -> the real record from which the quantity comes
    kept: int
    altered: int
    deleted: int

    @property
    def dummies(self) -> int:
        """How many records are dummies."""
        return len(self.customer) - self.kept - self.altered


def unions(sets: csr_array, label: Labels) -> csr_array:
    """Clusters by items: how many members of the cluster hold the item; I(x) is where any does."""
    held = incidence(label, np.arange(len(label)), (int(label.max()) + 1, len(label))) @ sets
    held.sort_indices()
    return held


def count_dummies(sets: csr_array, label: Labels) -> int:
    """The number of dummies of a clustering: the sum over customers of |I(x)| - |I(u)|."""
    return int(np.diff(unions(sets, label).indptr)[label].sum() - sets.nnz)


def pad(
    histories: Histories, label: Labels, *, delete: float = 0.0, alter: float = 0.0, seed: int | None = None
) -> Padded:
    """Adds the dummies; before that, alters and deletes up to these shares of the records where that costs less."""
    rng = np.random.default_rng(seed)
    n = len(histories)
    held = unions(histories.sets, label)
    cell = _cells(held, label[histories.customer], histories.item)
    altered = _costly(held, label, cell, int(alter * n))
    gone = _costly(held, label, cell, int(delete * n), spared=altered) | altered
    shown = np.flatnonzero(~gone[cell])
    donors = _Donors.of(held, cell, shown, rng)
    lacking = _lacking(histories.sets, held, label, ~gone)
    customer = np.repeat(np.arange(len(label), dtype=np.int32), np.diff(lacking.indptr))
    dummy = donors.of_cells(lacking.data - 1)
    taken, stands_for = _alterations(np.flatnonzero(altered[cell]), histories.customer, lacking, rng)
    good = donors.of_clusters(label[histories.customer[taken]])  # where nothing is lacking, something is bought again
    good[stands_for >= 0] = dummy[stands_for[stands_for >= 0]]
    needed = np.ones(len(dummy), np.bool_)
    needed[stands_for[stands_for >= 0]] = False
    whose = np.concatenate([histories.customer[taken], customer[needed]])
    made = np.concatenate([good, dummy[needed]])
    market = _Market(histories, shown, rng)
    bought = histories.item[made]
    return Padded(
        customer=np.concatenate([histories.customer[shown], whose]),
        like=np.concatenate([shown, made]).astype(np.int32),
        when=np.concatenate([shown, market.visits(whose, bought)]).astype(np.int32),
        price=np.concatenate([shown, market.purchases(bought)]).astype(np.int32),
        amount=np.concatenate([shown, market.purchases(bought)]).astype(np.int32),
        kept=len(shown),
        altered=len(taken),
        deleted=n - len(shown) - len(taken),
    )


def pool(histories: Histories, label: Labels, *, delete: float = 0.0, scattered: bool = False) -> Padded:
    """Gives each customer all visits of his cluster: its members are shown with the same records, up to their numbers.

    Before that, up to a share of the records is deleted where a good has few buyers in its cluster; scattered, days and
    baskets are then dealt anew among the records of a cluster.
    """
    n = len(histories)
    held = unions(histories.sets, label)
    cell = _cells(held, label[histories.customer], histories.item)
    shown = np.flatnonzero(~_costly(held, label, cell, int(delete * n))[cell])
    members, starts = by_code(label, int(label.max()) + 1)
    cluster = label[histories.customer[shown]]
    copies = starts[cluster + 1] - starts[cluster]
    source = np.repeat(shown, copies)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
    whose = members[np.repeat(starts[cluster], copies) + rank]
    copied = whose != histories.customer[source]
    like = np.concatenate([shown, source[copied]]).astype(np.int32)
    visit = np.arange(n, dtype=np.int32)
    if scattered:
        lot = np.random.default_rng().random(len(shown))  # never by a seed: who guessed it could undo it
        visit[shown[np.argsort(cluster, kind="stable")]] = shown[np.lexsort((lot, cluster))]
    return Padded(
        customer=np.concatenate([histories.customer[shown], whose[copied]]).astype(np.int32),
        like=like,
        when=visit[like],
        price=like,
        amount=like,
        kept=len(shown),
        altered=0,
        deleted=n - len(shown),
    )


def padded_table(histories: Histories, padded: Padded, names: pl.Series) -> pl.DataFrame:
    """The records in the columns that have a role, with `names` for customers and new numbers for baskets."""
    roles, table = histories.roles, histories.table
    source = {roles.item: padded.like, roles.price: padded.price, roles.time: padded.when}
    source |= {roles.quantity: padded.amount}
    columns = []
    for name in (name for name in table.columns if name in roles.named.values()):
        if name == roles.customer:
            columns.append(names.gather(padded.customer).alias(name))
        elif name == roles.basket:
            columns.append(_new_baskets(histories, padded).alias(name))
        else:
            columns.append(table[name].gather(source[name]))
    return pl.DataFrame(columns)


# ---- goods of a cluster: a cell is a cluster and a good that some member holds, in the order of `held`


def _cells(held: csr_array, cluster: Codes, item: Codes) -> npt.NDArray[np.int64]:
    """The cell of each record."""
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    key = rows * held.shape[1] + held.indices
    cells: npt.NDArray[np.int64] = np.searchsorted(key, cluster.astype(np.int64) * held.shape[1] + item)
    return cells


def _costly(
    held: csr_array,
    label: Labels,
    cell: npt.NDArray[np.int64],
    budget: int,
    spared: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.bool_]:
    """The cells that need more dummies than they have records: those that save most a record, within the budget.

    The good that most members hold stays in every cluster: nobody is left with nothing.
    """
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    saved = np.bincount(label)[rows] - held.data
    records = np.bincount(cell, minlength=held.nnz)
    worth = saved > records
    worth[np.lexsort([-held.data, rows])[held.indptr[:-1]]] = False
    if spared is not None:
        worth &= ~spared
    best = np.flatnonzero(worth)
    best = best[np.argsort(-saved[best] / records[best], kind="stable")]
    chosen = np.zeros(held.nnz, np.bool_)
    chosen[best[np.cumsum(records[best]) <= budget]] = True
    return chosen


def _lacking(sets: csr_array, held: csr_array, label: Labels, remains: npt.NDArray[np.bool_]) -> csr_array:
    """Customers by items: 1 + the cell, where a remaining good of the cluster is not the customer's own."""
    from scipy.sparse import csr_array

    numbers = np.where(remains, np.arange(1, held.nnz + 1, dtype=np.int32), 0)
    numbered = csr_array((numbers, held.indices, held.indptr), shape=held.shape)
    numbered.eliminate_zeros()
    shown = numbered[label]
    lacking = csr_array(shown - shown.multiply(sets))
    lacking.eliminate_zeros()
    return lacking


@dataclass(frozen=True)
class _Donors:
    """Real records that are shown, cell after cell and so cluster after cluster."""

    records: npt.NDArray[np.int64]
    of_cell: npt.NDArray[np.int64]  # where each cell's records begin; one more entry at the end
    of_cluster: npt.NDArray[np.int64]
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        held: csr_array,
        cell: npt.NDArray[np.int64],
        shown: npt.NDArray[np.int64],
        rng: np.random.Generator,
    ) -> _Donors:
        order, of_cell = by_code(cell[shown], held.nnz)
        return cls(shown[order], of_cell, of_cell[held.indptr], rng)

    def of_cells(self, cells: Codes) -> npt.NDArray[np.int64]:
        """A record of each cell, by lot."""
        return self._drawn(self.of_cell, cells)

    def of_clusters(self, clusters: Codes) -> npt.NDArray[np.int64]:
        """A record of each cluster, by lot."""
        return self._drawn(self.of_cluster, clusters)

    def _drawn(self, starts: npt.NDArray[np.int64], which: Codes) -> npt.NDArray[np.int64]:
        return self.records[self.rng.integers(starts[which], starts[which + 1])]


@dataclass(frozen=True)
class _Market:
    """When and how goods were really bought, so that nothing invented stands out.

    A dummy joins a visit of its own customer on a day when the good was on sale, as real purchases share their days and
    baskets; its price and quantity are those of two purchases of the good, drawn apart, so that it is nobody's copy.
    """

    histories: Histories
    shown: npt.NDArray[np.int64]  # the real records that are shown
    rng: np.random.Generator

    def purchases(self, goods: Codes) -> npt.NDArray[np.int64]:
        """A shown purchase of each good, by lot."""
        return self._drawn(self.histories.item, goods, len(self.histories.items))

    def visits(self, customers: Codes, goods: Codes) -> npt.NDArray[np.int64]:
        """A record of each customer's own on a day the good was sold; where that day was none, one of the good's."""
        records = self.purchases(goods)
        left = np.arange(len(goods))
        for _ in range(_TRIES):
            own = self._drawn(self.histories.customer, customers[left], len(self.histories.customers))
            fits = self._on_sale(own, goods[left])
            records[left[fits]] = own[fits]
            left = left[~fits]
        return records

    def _on_sale(self, records: npt.NDArray[np.int64], goods: Codes) -> npt.NDArray[np.bool_]:
        """Whether each record lies between the first and the last sale of the good; -1 is no record."""
        if self.histories.times is None:
            return records >= 0
        days, item = self.histories.days, self.histories.item[self.shown]
        first = np.full(len(self.histories.items), np.iinfo(np.int32).max)
        last = np.full(len(self.histories.items), np.iinfo(np.int32).min)
        np.minimum.at(first, item, days[self.shown])
        np.maximum.at(last, item, days[self.shown])
        return (records >= 0) & (first[goods] <= days[records]) & (days[records] <= last[goods])

    def _drawn(self, of: Codes, which: Codes, kinds: int) -> npt.NDArray[np.int64]:
        """A shown record of each of these, by lot; -1 where there is none."""
        order, starts = by_code(of[self.shown], kinds)
        count = starts[which + 1] - starts[which]
        place = starts[which] + (self.rng.random(len(which)) * count).astype(np.int64)
        return np.where(count > 0, self.shown[order[np.minimum(place, len(order) - 1)]], -1)


def _alterations(
    records: npt.NDArray[np.int64], customer: Codes, lacking: csr_array, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The records to alter, and which lacking good of its customer each stands for, by lot; -1 when all are there."""
    records = records[np.argsort(customer[records], kind="stable")]
    whose = customer[records]
    rank = np.arange(len(records)) - np.searchsorted(whose, whose)
    starts = lacking.indptr
    stands_for = np.full(len(records), -1, np.int64)
    has_lacking = rank < starts[whose + 1] - starts[whose]
    stands_for[has_lacking] = in_random_order(lacking, rng)[starts[whose[has_lacking]] + rank[has_lacking]]
    return records, stands_for


def _new_baskets(histories: Histories, padded: Padded) -> pl.Series:
    """Numbers from 1 by lot: one for each basket of a customer, and for each that his dummies were copied from."""
    baskets = histories.table[histories.roles.named["basket"]]
    owner = histories.customer[padded.when]
    number = numbered([pl.Series(padded.customer), pl.Series(owner), baskets.gather(padded.when)])
    order = np.random.default_rng().permutation(int(number.max()) + 1)  # never by a seed: it could be guessed
    return pl.Series(order[number] + 1)
