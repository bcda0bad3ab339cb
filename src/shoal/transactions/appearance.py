"""What a released record looks like beside all others: the features of the trained intruder, from the release alone.

A dummy that no single column betrays may still not fit: its quantity the customer's other quantities, its price the
price of that week, its good the other goods of the basket, its day the rhythm of the visits. Each feature says how a
record stands to one of those. Counts are shares, so that what is learnt on one release serves for another.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.transactions.alike import same_sets
from shoal.transactions.histories import Histories
from shoal.transactions.numbering import incidence, numbered

if TYPE_CHECKING:
    pass

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

WEEK = 7
_CELLS = 2_000_000  # visits by goods looked up at once


def visits(released: Histories) -> Codes:
    """record -> visit: a basket of a customer; where none is shown, a day or moment; else the whole history."""
    roles = released.roles
    keys = [pl.Series(released.customer)]
    if roles.basket is not None:
        keys.append(released.table[roles.basket])
    elif released.times is not None:
        keys.append(released.times)
    return numbered(keys).astype(np.int32)


def features(released: Histories) -> npt.NDArray[np.float32]:
    """A row a record: how it stands to its visit, its customer, its good, its group and its time."""
    visit = visits(released)
    frame = pl.DataFrame(
        {"u": released.customer, "g": released.item, "v": visit, "x": same_sets(released)[released.customer]}
    ).with_columns(members=pl.col("u").n_unique().over("x"))
    columns = [*_counted(frame), _company(released, visit)]
    roles = released.roles
    amounts = {}
    for role, column in (("price", roles.price), ("quantity", roles.quantity)):
        if column is not None:
            number = released.numbers(column)
            amounts[role] = pl.Series(role, np.sign(number) * np.log1p(np.abs(number)))
    frame = frame.with_columns(*amounts.values())
    if released.times is not None:
        frame = frame.with_columns(day=released.days, week=released.days // WEEK)
        columns += _timed(frame, released.times)
    for role in amounts:
        columns += _amount(frame, role)
    if len(amounts) == 2:
        columns += _price_by_quantity(frame)
    look = np.column_stack(columns).astype(np.float32)
    look[~np.isfinite(look)] = np.nan
    return look


def _evaluated(frame: pl.DataFrame, *expressions: pl.Expr) -> list[Floats]:
    named = [expression.cast(pl.Float64).alias(str(place)) for place, expression in enumerate(expressions)]
    return [column.to_numpy() for column in frame.select(named)]


def _counted(frame: pl.DataFrame) -> list[Floats]:
    """How large visit, history and group are, and how common the good is in each."""
    everybody, groups_shown = frame["u"].n_unique(), frame["x"].n_unique()
    records = pl.len()
    in_history = records.over("u")
    of_good = records.over("u", "g")
    frame = frame.with_columns(again=of_good)
    return _evaluated(
        frame,
        records.over("v"),
        pl.col("g").n_unique().over("v"),
        in_history / pl.col("g").n_unique().over("u"),
        in_history,
        in_history / records.over("x") * pl.col("members"),
        pl.col("v").n_unique().over("u"),
        records.over("v") / in_history,
        pl.col("again"),
        pl.col("v").n_unique().over("u", "g"),
        pl.col("again") / records.over("x", "g") * pl.col("members"),
        records.over("x", "g") / pl.col("members"),
        (pl.col("again") > 1).mean().over("x", "g"),
        pl.col("u").n_unique().over("g") / everybody,
        pl.col("x").n_unique().over("g") / groups_shown,
        records.over("g") / pl.col("u").n_unique().over("g"),
        (pl.col("again") > 1).mean().over("u"),
        (pl.col("again") > 1).mean().over("v"),
        pl.col("members"),
    )


def _timed(frame: pl.DataFrame, times: pl.Series) -> list[Floats]:
    """How the day lies among the customer's days, the good's and the group's."""
    first, last = int(frame["day"].min()), int(frame["day"].max())  # type: ignore[arg-type]
    frame = frame.with_columns(moment=_minute(times))
    days = frame.select("u", "day").unique().sort("u", "day")
    days = days.with_columns(
        before=(pl.col("day") - pl.col("day").shift(1)).over("u"),
        after=(pl.col("day").shift(-1) - pl.col("day")).over("u"),
    )
    frame = frame.join(days, on=["u", "day"], how="left", maintain_order="left")
    records = pl.len()
    return _evaluated(
        frame,
        pl.col("day") - first,
        last - pl.col("day"),
        pl.col("day") % WEEK,
        pl.col("moment"),
        pl.col("before"),
        pl.col("after"),
        pl.col("day") - pl.col("day").min().over("u"),
        pl.col("day").max().over("u") - pl.col("day"),
        pl.col("day").n_unique().over("u"),
        pl.col("day") - pl.col("day").min().over("g"),
        pl.col("day").max().over("g") - pl.col("day"),
        (pl.col("day") - pl.col("day").median().over("g")) / (1 + pl.col("day").std().over("g")),
        (records.over("g", "week") - records.over("u", "g", "week")) / records.over("g"),
        records.over("week"),
        (pl.col("x").n_unique().over("g", "day") - 1) / records.over("g"),
        records.over("x", "g", "day"),
        pl.col("u").n_unique().over("x", "day") / pl.col("members"),
        records.over("u", "day") / records.over("u"),
        pl.col("v").n_unique().over("u", "day"),
    )


def _minute(times: pl.Series) -> pl.Series:
    if times.dtype == pl.Date:
        return pl.repeat(0, len(times), eager=True)
    return times.dt.hour().cast(pl.Int32) * 60 + times.dt.minute()


def _amount(frame: pl.DataFrame, role: str) -> list[Floats]:
    """How a price or quantity compares with the good's, the visit's and the customer's, and how often it is seen."""
    value, records = pl.col(role), pl.len()
    usual = frame.with_columns(rest=value - value.median().over("g"))
    rest = pl.col("rest")
    expressions = [
        value,
        rest,
        rest / (0.1 + value.std().over("g")),
        value - value.median().over("v"),
        value - value.median().over("u"),
        value.median().over("v") - value.median().over("u"),
        value.std().over("v"),
        value.std().over("u"),
        rest - rest.median().over("v"),
        rest - rest.mean().over("u"),
        rest.mean().over("v"),
        rest.abs().median().over("v"),
        value.rank().over("v") / records.over("v"),
        records.over("v", role) / records.over("v"),
        records.over("u", role) / records.over("u"),
        records.over("g", role) / records.over("g"),
        records.over("x", "g", role),
        pl.col("x").n_unique().over("g", role) / pl.col("x").n_unique().over("g"),
        value - value.median().over("u", "g"),
        value.std().over("u", "g"),
    ]
    if "week" in frame.columns:
        expressions += [
            value - value.median().over("g", "week"),
            records.over("g", role, "week") / records.over("g", "week"),
            records.over("x", "g", "day", role),
            (records.over("g", "day", role) - 1) / records.over("g", "day"),
        ]
    return _evaluated(usual, *expressions)


def _price_by_quantity(frame: pl.DataFrame) -> list[Floats]:
    """Whether the price is that of so many pieces, and the amount of money that of the visit."""
    price, quantity, records = pl.col("price"), pl.col("quantity"), pl.len()
    frame = frame.with_columns(large=(quantity * 2).round(), money=price + quantity)
    return _evaluated(
        frame,
        price - price.median().over("g", "large"),
        records.over("g", "price", "quantity") / records.over("g", "quantity"),
        records.over("g", "price", "quantity") / records.over("g", "price"),
        records.over("x", "g", "price", "quantity"),
        pl.col("money") - pl.col("money").median().over("v"),
        pl.corr("price", "quantity").over("v"),
    )


def _company(released: Histories, visit: Codes) -> Floats:
    """How often the good is seen with the other goods of its visit, in visits of others: the mean cosine."""
    from scipy.sparse import csr_array, diags_array

    shape = (int(visit.max()) + 1, len(released.items))
    held = incidence(visit, released.item, shape)
    length = np.sqrt(np.maximum(held.sum(axis=0), 1.0))
    goods = np.maximum(held.sum(axis=1), 1.0)
    scaled = held @ diags_array(1 / length)
    company = np.zeros(len(visit))
    order = np.argsort(visit, kind="stable")
    together = csr_array(scaled.T @ scaled)
    block = max(1, _CELLS // shape[1])
    starts = np.searchsorted(visit[order], np.arange(0, shape[0] + block, block))
    for number, (start, stop) in enumerate(pairwise(starts)):
        mine = order[start:stop]
        rows = held[number * block : (number + 1) * block]
        seen = (rows @ together).toarray()
        company[mine] = seen[visit[mine] - number * block, released.item[mine]]
    others: Floats = (company - 1.0) / np.maximum(goods[visit] - 1, 1.0)  # without the good itself
    return others
