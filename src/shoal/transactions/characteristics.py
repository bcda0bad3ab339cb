"""How alike customers are: b, mu and h of paper 4 (Definitions 1 and 2, Proposition 1; docs/spec.md#alike).

Proposition 1 says h = 2b mu / (1 + mu), the mean number of goods that two customers share. Its proof takes the mean of
ratios for the ratio of means, so the measured number stands beside it. The paper calls h a coefficient by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.show import Result, Sheet
from shoal.transactions.histories import Histories
from shoal.transactions.similarity import Floats, each_block

EVERY_PAIR = 20_000  # customers up to whom every pair is compared
SAMPLED = 2_000  # of more customers so many, drawn at random, are each compared with all others


@dataclass(frozen=True)
class Characteristics(Result):
    """How alike customers are. `pairs` is how many pairs of them the Jaccard coefficients come from."""

    customers: int
    records: int
    goods: int
    goods_a_customer: float  # b
    mean_jaccard: float  # mu
    largest_jaccard: float
    shared_goods: float  # of two customers, measured over all pairs
    pairs: int

    @property
    def h(self) -> float:
        """Goods that two customers share, by Proposition 1."""
        return shared_by_proposition_1(self.goods_a_customer, self.mean_jaccard)

    @property
    def sampled(self) -> bool:
        """Whether only some pairs of customers were compared."""
        return self.pairs < self.customers * (self.customers - 1) // 2

    def to_dict(self) -> dict[str, object]:
        """All numbers, as JSON takes them."""
        return {
            "customers": self.customers,
            "records": self.records,
            "goods": self.goods,
            "b": self.goods_a_customer,
            "mean_jaccard": self.mean_jaccard,
            "largest_jaccard": self.largest_jaccard,
            "h": self.h,
            "shared_goods": self.shared_goods,
            "pairs": self.pairs,
            "sampled": self.sampled,
        }

    def sheets(self) -> list[Sheet]:
        """The characteristics as a table."""
        over = f"of {SAMPLED:,} drawn customers with all" if self.sampled else "all pairs"
        rows = [
            ("customers", f"{self.customers:,}", "n"),
            ("records", f"{self.records:,}", "m"),
            ("goods", f"{self.goods:,}", ""),
            ("goods a customer, mean", f"{self.goods_a_customer:.2f}", "b"),
            ("Jaccard of two customers, mean", f"{self.mean_jaccard:.5f}", f"μ, {over}"),
            ("Jaccard of two customers, largest", f"{self.largest_jaccard:.4f}", over),
            ("goods two share, by Proposition 1", f"{self.h:.3f}", "h = 2bμ/(1+μ)"),
            ("goods two share, measured", f"{self.shared_goods:.3f}", "all pairs"),
        ]
        return [Sheet("Purchase histories", ("", "value", "meaning"), rows)]


def shared_by_proposition_1(b: float, mu: float) -> float:
    """The goods that two customers share by Proposition 1: h = 2b mu / (1 + mu)."""
    return 2 * b * mu / (1 + mu)


def characteristics(histories: Histories, *, seed: int | None = None) -> Characteristics:
    """The characteristics of section 2.1; of very many customers some pairs only, drawn by `seed`."""
    sets = histories.sets.astype(np.float64)
    n = sets.shape[0]
    chosen = np.arange(n)
    if n > EVERY_PAIR:
        chosen = np.sort(np.random.default_rng(seed).choice(n, SAMPLED, replace=False))
    total, largest = np.zeros(len(chosen)), np.zeros(len(chosen))

    def look(start: int, rows: Floats) -> None:
        here = np.arange(start, start + len(rows))
        rows[here - start, chosen[here]] = 0.0  # with oneself
        total[here], largest[here] = rows.sum(axis=1), rows.max(axis=1)

    each_block(sets[chosen], sets, False, look)
    buyers = np.bincount(sets.indices, minlength=sets.shape[1]).astype(np.float64)
    return Characteristics(
        customers=n,
        records=len(histories),
        goods=len(histories.items),
        goods_a_customer=float(histories.sizes.mean()),
        mean_jaccard=float(total.sum() / (len(chosen) * (n - 1))),
        largest_jaccard=float(largest.max()),
        shared_goods=float((buyers * (buyers - 1)).sum() / (n * (n - 1))),
        pairs=_pairs(len(chosen), n),
    )


def _pairs(chosen: int, customers: int) -> int:
    """Different pairs with at least one of the chosen customers."""
    return chosen * (customers - 1) - chosen * (chosen - 1) // 2
