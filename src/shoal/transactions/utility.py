"""What analysts can still do with released histories: cross tables, RFM, sets of goods, sales (paper 4, 4.1).

cMAE: an amount is aggregated per customer, then per cell of a cross table of customers; the tables of original and
release are compared by the mean absolute difference over the cells that neither leaves empty. The paper does not define
U1 and U2. Sums follow the number of dummies as its Table 1 says they do, means do not: so U1 is the total spend and U2
the total quantity by the attributes of a customer table (sex x country); without one, by good.

Defined in docs/spec.md#purchase-utility.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.files import read_table
from shoal.errors import InputError, did_you_mean
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.transactions.attack import secret_map
from shoal.transactions.histories import Histories
from shoal.transactions.numbering import places

Floats = npt.NDArray[np.float64]
Amount = Literal["records", "price", "quantity", "spend"]
Aggregate = Literal["sum", "mean"]

QUINTILES = (0.2, 0.4, 0.6, 0.8)
FREQUENT = 0.05  # share of customers from which a set of goods is frequent
GOODS = 200  # the most bought ones, whose joint purchases are compared


@dataclass(frozen=True)
class TransactionUtility(Result):
    """What was measured, and what could not be: measure -> why."""

    values: Mapping[str, float]
    left_out: Mapping[str, str]

    def to_dict(self) -> dict[str, object]:
        """All measures, as JSON takes them."""
        return {**self.values, "left_out": dict(self.left_out)}

    def charts(self) -> list[Chart]:
        """All measures, as bars."""
        names = [MEANING[name] for name in self.values]
        return [Bars("What was kept", names, (Series("value", list(self.values.values())),), "number")]

    def sheets(self) -> list[Sheet]:
        """All measures, and why others are left out, as tables."""
        rows = [(name.replace("_", " "), f"{value:,.4f}", MEANING[name]) for name, value in self.values.items()]
        left_out = [(name.replace("_", " "), why) for name, why in self.left_out.items()]
        return [
            Sheet("What was kept", ("measure", "value", ""), rows),
            Sheet("Left out", ("measure", "why"), left_out, numbers=0),
        ]


MEANING = {
    "u1": "mean error of total spend, a cell of the cross table",
    "u2": "mean error of total quantity, a cell of the cross table",
    "u3": "mean change of recency, frequency and monetary scores (1 to 5)",
    "frequent_sets_kept": "frequent goods and pairs of goods that still are",
    "frequent_sets_new": "frequent goods and pairs of goods that were not",
    "support_error": "mean error of the share of customers with a frequent set",
    "correlation_error": "mean error of the correlation of two goods",
    "revenue_by_good_error": "error of revenue by good, as a share of all revenue",
    "revenue_by_month_error": "error of revenue by month, as a share of all revenue",
}


def transaction_utility(
    original: Histories,
    masked: Histories,
    *,
    truth: pl.DataFrame | None = None,
    people: pl.DataFrame | None = None,
) -> TransactionUtility:
    """All measures that the columns named and the tables given allow.

    `truth` (pseudonym, customer) tells who is who, without it customers kept their names; `people` is a customer table,
    whose first column is the customer and whose others make the cells of U1 and U2.
    """
    whose = owners(original, masked, truth)
    unknown = "it needs to be told who is who (--truth)."
    values: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for name, amount in (("u1", "spend"), ("u2", "quantity")):
        if _lacks(original, amount):
            left_out[name] = f"it needs a column of {_lacks(original, amount)}."
        elif people is not None and whose is None:
            left_out[name] = unknown
        else:
            values[name] = cmae(original, masked, amount, by=people, whose=whose)  # type: ignore[arg-type]
    if whose is None:
        left_out["u3"] = unknown
    elif original.times is None or masked.times is None:
        left_out["u3"] = "it needs a column of times."
    else:
        values["u3"] = rfm_change(original, masked, whose)
    values |= joint_purchases(original, masked)
    values |= _revenue(original, masked, left_out)
    return TransactionUtility(values, left_out)


def read_people(source: str | Path, by: Sequence[str] = (), *, header: bool = True) -> pl.DataFrame:
    """A customer table: the first column, and those that make cells (by number from 1 without a header) or all."""
    table = read_table(source, header=header)
    wanted = [name if header or not name.isdecimal() else f"column_{name}" for name in by] or table.columns[1:]
    for name in wanted:
        if name not in table.columns:
            hint = did_you_mean(name, table.columns) or f" There are {', '.join(table.columns)}."
            raise InputError(f"The customer table {source} has no column {name!r}.{hint}")
    if not wanted or table[:, 0].is_duplicated().any():
        raise InputError(f"{source} must list each customer once in its first column, and say something of them.")
    return table.select(table.columns[0], *wanted)


def owners(original: Histories, masked: Histories, truth: pl.DataFrame | None) -> pl.Series | None:
    """The customer of each masked record by the original name; None where some cannot be told."""
    names = masked.customers.cast(pl.String)
    if truth is not None:
        secret = secret_map(truth)
        names = names.replace_strict(secret["pseudonym"], secret["customer"], default=None)
    known = names.is_in(original.customers.cast(pl.String).implode()).fill_null(False)
    return names.gather(masked.customer) if known.all() else None


# ---- cross tables


def cmae(
    original: Histories,
    masked: Histories,
    amount: Amount,
    *,
    inner: Aggregate = "sum",
    outer: Aggregate = "sum",
    by: pl.DataFrame | None = None,
    whose: pl.Series | None = None,
) -> float:
    """Mean absolute difference of cross tables: `inner` over a customer's records, `outer` over a cell's customers.

    The cells are the combinations of all columns of `by` after the first, which is the customer; without it, goods.
    `whose` names the customer of each masked record as the original does.
    """
    before = _cross_table(original, _amounts(original, amount), _names(original), inner, outer, by)
    after_names = _names(masked) if whose is None else whose
    after = _cross_table(masked, _amounts(masked, amount), after_names, inner, outer, by)
    both = before.join(
        after, on=[name for name in before.columns if name != "value"], suffix="_after", nulls_equal=True
    )
    if both.is_empty():
        raise InputError(
            "No cell of the cross table holds records of both the original and the release: "
            "name customers and goods alike in both."
        )
    return float((both["value"] - both["value_after"]).abs().mean())  # type: ignore[arg-type]


def _cross_table(
    histories: Histories, amounts: Floats, names: pl.Series, inner: Aggregate, outer: Aggregate, by: pl.DataFrame | None
) -> pl.DataFrame:
    records = pl.DataFrame({"customer": names, "value": amounts, "good": _goods(histories)})
    if by is None:
        cells = ["good"]
    else:
        cells = by.columns[1:]
        people = by.rename({by.columns[0]: "customer"}).with_columns(pl.col("customer").cast(pl.String))
        records = records.drop("good").join(people, on="customer", maintain_order="left")
    per_customer = records.group_by("customer", *cells, maintain_order=True).agg(getattr(pl.col("value"), inner)())
    return per_customer.group_by(cells, maintain_order=True).agg(getattr(pl.col("value"), outer)())


def _names(histories: Histories) -> pl.Series:
    return histories.customers.cast(pl.String).gather(histories.customer)


def _goods(histories: Histories) -> pl.Series:
    return histories.items.cast(pl.String).gather(histories.item)


def _amounts(histories: Histories, amount: Amount) -> Floats:
    roles = histories.roles
    if lacking := _lacks(histories, amount):
        raise InputError(f"The {amount} is asked for, but no column of {lacking} is named: name one.")
    if amount == "records":
        return np.ones(len(histories))
    price = histories.numbers(roles.price) if roles.price else np.ones(len(histories))
    quantity = histories.numbers(roles.quantity) if roles.quantity else np.ones(len(histories))
    return {"price": price, "quantity": quantity, "spend": price * quantity}[amount]


def _lacks(histories: Histories, amount: str) -> str:
    """The column without which there is no such amount; a spend without quantities takes them as one."""
    needed = {"price": "price", "spend": "price", "quantity": "quantity"}.get(amount)
    return f"{needed}s".replace("ys", "ies") if needed and needed not in histories.roles.named else ""


# ---- recency, frequency, monetary value


def rfm_change(original: Histories, masked: Histories, whose: pl.Series) -> float:
    """U3: mean absolute change of the three scores, 1 to 5 by the original's quintiles."""
    last_day = int(original.days.max())
    before, after = _rfm(original, _names(original), last_day), _rfm(masked, whose, last_day)
    both = before.join(after, on="customer", suffix="_after")
    change = 0.0
    for part in before.columns[1:]:
        cuts = np.quantile(both[part].to_numpy(), QUINTILES)
        scores = [np.searchsorted(cuts, both[name].to_numpy()) for name in (part, f"{part}_after")]
        change += float(np.abs(scores[0] - scores[1]).mean()) / 3
    return change


def _rfm(histories: Histories, names: pl.Series, last_day: int) -> pl.DataFrame:
    """Of each customer: days since the last purchase, number of records, spend (records where there is no price)."""
    spend = _amounts(histories, "records" if _lacks(histories, "spend") else "spend")
    records = pl.DataFrame({"customer": names, "day": histories.days, "spend": spend})
    return records.group_by("customer", maintain_order=True).agg(
        recency=last_day - pl.col("day").max(), frequency=pl.len(), monetary=pl.col("spend").sum()
    )


# ---- goods bought together


def joint_purchases(original: Histories, masked: Histories) -> dict[str, float]:
    """Frequent sets of one or two goods, and correlations of two, among the goods most bought before."""
    buyers = np.bincount(original.sets.indices, minlength=len(original.items))
    top = np.argsort(-buyers, kind="stable")[:GOODS]
    goods = original.items.cast(pl.String).gather(top)
    before, after = _shares(original, goods), _shares(masked, goods)
    upper = np.triu_indices(len(goods))
    was, now = before[upper], after[upper]
    frequent, still = was >= FREQUENT, now >= FREQUENT
    pairs = np.triu_indices(len(goods), 1)
    change = np.abs(_correlations(before) - _correlations(after))[pairs]
    return {
        "frequent_sets_kept": float(still[frequent].mean()) if frequent.any() else 1.0,
        "frequent_sets_new": float((~frequent)[still].mean()) if still.any() else 0.0,
        "support_error": float(np.abs(was - now)[frequent].mean()) if frequent.any() else 0.0,
        "correlation_error": float(change.mean()) if len(change) else 0.0,
    }


def _shares(histories: Histories, goods: pl.Series) -> Floats:
    """Goods by goods: the share of customers who bought both."""
    place = places(goods, histories.items)
    there = place >= 0
    bought = np.zeros((len(goods), len(goods)))
    columns = histories.sets[:, place[there]].astype(np.int64)
    bought[np.ix_(there, there)] = (columns.T @ columns).toarray()
    return bought / len(histories.customers)


def _correlations(shares: Floats) -> Floats:
    """Phi coefficients of having bought two goods; 0 for a good that all or none bought."""
    single = np.diag(shares)
    deviation = np.sqrt(single * (1 - single))
    scale = np.outer(deviation, deviation)
    phi: Floats = np.divide(shares - np.outer(single, single), scale, out=np.zeros_like(shares), where=scale > 0)
    return phi


# ---- sales


def _revenue(original: Histories, masked: Histories, left_out: dict[str, str]) -> dict[str, float]:
    names = {"revenue_by_good_error": "good", "revenue_by_month_error": "month"}
    if _lacks(original, "spend"):
        left_out |= dict.fromkeys(names, "it needs a column of prices.")
        return {}
    if original.times is None or masked.times is None:
        left_out["revenue_by_month_error"] = "it needs a column of times."
        del names["revenue_by_month_error"]
    return {name: revenue_error(original, masked, [part]) for name, part in names.items()}


def revenue_error(original: Histories, masked: Histories, by: Sequence[str]) -> float:
    """The absolute differences of revenue by good, by month or by both, as a share of the original's revenue."""
    before, after = _sales(original, by), _sales(masked, by)
    both = before.join(after, on=list(by), how="full", coalesce=True, suffix="_after", nulls_equal=True).fill_null(0.0)
    total = float(before["revenue"].abs().sum())
    return float((both["revenue"] - both["revenue_after"]).abs().sum()) / total if total else 0.0


def _sales(histories: Histories, by: Sequence[str]) -> pl.DataFrame:
    records = pl.DataFrame({"good": _goods(histories), "revenue": _amounts(histories, "spend")})
    if histories.times is not None:
        records = records.with_columns(month=histories.times.dt.strftime("%Y-%m"))
    return records.group_by(list(by), maintain_order=True).agg(pl.col("revenue").sum())
