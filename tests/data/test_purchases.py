"""Generated histories look like paper 4's, and come again by their seed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.data.purchases import purchases
from shoal.errors import InputError
from shoal.transactions.characteristics import characteristics
from shoal.transactions.histories import Roles, histories_of

ROLES = Roles("customer", "good", "date", "price", "quantity", "invoice")


def test_400_customers_are_like_the_papers() -> None:
    found = [characteristics(histories_of(purchases(400, seed), ROLES)) for seed in range(4)]

    def mean(name: str) -> float:
        return float(np.mean([getattr(one, name) for one in found]))

    assert mean("records") == pytest.approx(38_087, rel=0.1)
    assert mean("goods") == pytest.approx(2_781, rel=0.05)
    assert mean("goods_a_customer") == pytest.approx(65.7, rel=0.1)
    assert mean("mean_jaccard") == pytest.approx(0.03, rel=0.1)
    assert mean("shared_goods") == pytest.approx(4.41, rel=0.15)


def test_histories_are_long_tailed() -> None:
    sizes = histories_of(purchases(2_000, 1), ROLES).sizes
    assert np.median(sizes) < 0.65 * sizes.mean()
    assert sizes.max() > 10 * sizes.mean()


def test_a_table_is_whole_and_plausible() -> None:
    table = purchases(50, 3)
    assert table.columns == ["customer", "invoice", "date", "time", "good", "price", "quantity"]
    assert not any(column.null_count() for column in table)
    assert table["customer"].n_unique() == 50
    assert table["invoice"].is_sorted()
    assert table["price"].min() > 0  # type: ignore[operator]
    assert table["quantity"].min() >= 1  # type: ignore[operator]
    assert table["time"].str.contains(r"^(8|9|1[0-7]):[0-5]\d$").all()
    assert not (table["date"].dt.weekday() == 6).any()
    one = table.group_by("invoice").agg(pl.col("customer", "date", "time").n_unique())
    assert one.select(pl.col("customer", "date", "time").max()).row(0) == (1, 1, 1)
    moments = table.group_by("invoice").agg(pl.col("date").first()).sort("invoice")
    assert moments["date"].is_sorted()


def test_more_customers_buy_few_more_goods() -> None:
    few, many = purchases(400, 1), purchases(4_000, 1)
    assert 1.1 < many["good"].n_unique() / few["good"].n_unique() < 1.7
    assert 8 < many.height / few.height < 12


def test_seeds() -> None:
    assert purchases(20, 1).equals(purchases(20, 1))
    assert not purchases(20, 1).equals(purchases(20, 2))
    assert not purchases(20).equals(purchases(20))


def test_too_few_customers_are_told() -> None:
    with pytest.raises(InputError, match="'customers' parameter"):
        purchases(1)
