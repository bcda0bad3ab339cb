"""Unicity: the share of customers whom a few known purchases single out.

Paper 1 discusses the measure as the one by which shopping histories of millions were called unique (de Montjoye et al.,
Science 2015). m points of a customer, drawn at random, are known; the customer is singled out when nobody else has
them all. A point is an item, an item on a day, or an item on a day within a price band: what is known besides the item
makes points rarer. Customers with fewer than m points are known by all they have: nobody can know more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import require
from shoal.show import Chart, Line, Lines, Result, Sheet
from shoal.transactions.histories import Histories
from shoal.transactions.numbering import in_random_order, incidence
from shoal.transactions.similarity import lists

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from shoal.kernels.jaccard import Lists

BLOCK = 1024
ENOUGH, MOST_DRAWS = 10_000, 25  # customers judged; of fewer, each is judged with several draws of points
RULE = "Customers with fewer than m purchases count as known by all of them."


@dataclass(frozen=True)
class Unicity(Result):
    """The share of customers singled out, for m = 1, 2, ... known points of each kind."""

    customers: int
    draws: int  # of points, for each customer
    shares: Mapping[str, tuple[float, ...]]  # kind of point -> share for m = 1, 2, ...
    fewer: Mapping[str, tuple[float, ...]]  # kind of point -> share of customers with fewer than m points

    def to_dict(self) -> dict[str, object]:
        """All shares, as JSON takes them."""
        return {
            "customers": self.customers,
            "draws": self.draws,
            "shares": {kind: list(shares) for kind, shares in self.shares.items()},
            "fewer_points": {kind: list(shares) for kind, shares in self.fewer.items()},
            "rule": RULE,
        }

    def remarks(self) -> tuple[str, ...]:
        """How customers with few purchases are counted."""
        return (RULE,)

    def charts(self) -> list[Chart]:
        """The shares over the number of known purchases."""
        lines = tuple(Line(kind, [(m + 1, share) for m, share in enumerate(s)]) for kind, s in self.shares.items())
        return [Lines("Customers singled out", lines, "purchases known (m)", "customers", unit="share")]

    def sheets(self) -> list[Sheet]:
        """The shares as a table."""
        kinds = list(self.shares)
        rows = [
            (f"{m + 1}", *(f"{self.shares[kind][m]:.1%}" for kind in kinds), f"{self.fewer[kinds[0]][m]:.1%}")
            for m in range(len(self.shares[kinds[0]]))
        ]
        header = ("m", *kinds, "fewer than m items")
        return [Sheet("Customers singled out by m random purchases", header, rows, numbers=len(kinds) + 1)]


def unicity(histories: Histories, *, most: int = 10, seed: int | None = None) -> Unicity:
    """The share of customers whom 1 to `most` random purchases single out, by each kind of point the table allows."""
    require("unicity", "most", most, "a number of purchases from 1", holds=most >= 1)
    rng = np.random.default_rng(seed)
    customers = len(histories.customers)
    draws = min(-(-ENOUGH // customers), MOST_DRAWS)
    shares, fewer = {}, {}
    for kind, points in _points(histories).items():
        have = incidence(histories.customer, points, (customers, int(points.max()) + 1))
        shares[kind] = _singled_out(have, most, draws, rng)
        fewer[kind] = tuple(float(np.mean(np.diff(have.indptr) < m)) for m in range(1, most + 1))
    return Unicity(customers, draws, shares, fewer)


def _points(histories: Histories) -> dict[str, npt.NDArray[np.int64]]:
    """Each record's point, by kind, as numbers that are equal where the points are."""
    kinds = {"item": histories.item.astype(np.int64)}
    if histories.times is not None:
        kinds["item, day"] = _combined(kinds["item"], histories.days)
        if histories.roles.price is not None:
            bands = price_bands(histories.numbers(histories.roles.price))
            kinds["item, day, price band"] = _combined(kinds["item, day"], bands)
    return kinds


def price_bands(prices: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Prices to within a factor of two; what is given away or missing is a band of its own."""
    exponents: npt.NDArray[np.int64] = np.frexp(prices)[1].astype(np.int64)
    return np.where(prices > 0, exponents, np.iinfo(np.int32).min)


def _combined(first: npt.NDArray[np.int64], second: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Numbers from 0, equal where both are."""
    _, codes = np.unique(second, return_inverse=True)
    _, both = np.unique(first * (codes.max() + 1) + codes, return_inverse=True)
    return both


def _singled_out(have: csr_array, most: int, draws: int, rng: np.random.Generator) -> tuple[float, ...]:
    from shoal.kernels.jaccard import Lists
    from shoal.kernels.threads import in_blocks
    from shoal.kernels.unicity import others_who_match

    customers = have.shape[0]
    postings = lists(have.T.tocsr())
    others = np.empty((customers, most), np.int32)
    alone = np.zeros(most, np.int64)

    def look(learnt: Lists, start: int, stop: int) -> None:
        others_who_match(learnt, postings, start, stop, others)

    for _ in range(draws):
        learnt = Lists(lists(have).starts, have.indices[in_random_order(have, rng)])
        in_blocks(customers, BLOCK, partial(look, learnt))
        alone += (others == 0).sum(axis=0)
    return tuple(float(share) for share in alone / (draws * customers))
