"""Purchase histories: the attack on 20,000 generated customers, and the generator itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from benchmarks.measure import Claim, seconds
from shoal.data.purchases import purchases
from shoal.transactions.attack import jaccard_attack
from shoal.transactions.characteristics import characteristics
from shoal.transactions.histories import Histories, Roles, histories_of
from shoal.transactions.unicity import unicity

ROLES = Roles("customer", "good", "date", "price", "quantity", "invoice")
CUSTOMERS = 20_000


def transactions(rows: int) -> list[Claim]:
    """Each step on a table of at most 20,000 customers, about 95 records each."""
    customers = min(CUSTOMERS, max(rows // 95, 2))
    table = purchases(customers, 1)
    histories = histories_of(table, ROLES)
    masked = {
        "half of the records": histories_of(table.sample(fraction=0.5, seed=1), ROLES),
        "groups of 8 padded to one set": padded(histories, 8),
    }
    claims = [
        _timed(f"generate {customers:,} customers", lambda: purchases(customers, 1), 30),
        _timed(f"code {table.height:,} records", lambda: histories_of(table, ROLES).sets, 10),
        _timed("mean Jaccard of all pairs", lambda: characteristics(histories), 60),
        _timed("unicity, m = 1 to 10", lambda: unicity(histories, seed=1), 60),
    ]
    for name, release in masked.items():
        claims.append(_timed(f"attack on {name}", lambda release=release: jaccard_attack(histories, release), 60))
    return claims


def padded(histories: Histories, size: int) -> Histories:
    """Customers in random groups, each with all goods of its group."""
    group = np.random.default_rng(1).permutation(len(histories.customers)) // size
    bought = pl.DataFrame({"group": group[histories.customer], "good": histories.table["good"]}).unique()
    members = pl.DataFrame({"customer": histories.customers, "group": group})
    return histories_of(members.join(bought, on="group").drop("group"), Roles("customer", "good"))


def _timed(what: str, work: Callable[[], object], limit: int) -> Claim:
    taken = seconds(work, repeats=1)
    return Claim(what, f"{taken:.1f} s", f"within {limit} s", taken <= limit)
