"""Whom m known purchases single out."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.kernels.jaccard import Lists
from shoal.kernels.unicity import others_who_match
from shoal.transactions.histories import Roles, histories_of, read_histories
from shoal.transactions.unicity import price_bands, unicity
from tests.oracles import transactions as oracle
from tests.oracles.transactions import histories

DATA = os.environ.get("SHOAL_DATA")


@given(st.lists(st.lists(st.integers(0, 6), unique=True, min_size=1), min_size=2, max_size=15))
def test_those_who_match_are_those_of_the_oracle(learnt: list[list[int]]) -> None:
    def lists(rows: list[list[int]]) -> Lists:
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return Lists(starts, np.array([member for row in rows for member in row], np.int32))

    postings = [[u for u, points in enumerate(learnt) if point in points] for point in range(7)]
    others = np.empty((len(learnt), 4), np.int32)
    for start, stop in ((0, 1), (1, len(learnt))):
        others_who_match(lists(learnt), lists(postings), start, stop, others)
    assert others.tolist() == oracle.others_who_match([set(points) for points in learnt], learnt, 4)


def test_shares_on_histories_small_enough_to_tell() -> None:
    groups = [[f"{item}{group}" for item in own] for group in range(80) for own in ("ab", "ac", "d", "e", "e")]
    found = unicity(histories(groups), most=3, seed=1)
    assert found.draws == 25
    one, two, three = found.shares["item"]
    assert one == pytest.approx((0.5 + 0.5 + 1) / 5, abs=0.02)  # b or c known; d; nobody tells the two e apart
    assert two == three == 3 / 5
    assert found.fewer["item"] == (0, 3 / 5, 1)


def test_day_and_price_make_points_rarer() -> None:
    table = pl.DataFrame(
        {
            "c": [1, 2, 3, 4],
            "i": ["tea"] * 4,
            "t": ["2011-01-01 10:00", "2011-01-01 11:00", "2011-01-01 12:00", "2011-01-02 10:00"],
            "p": [1.0, 1.9, 2.1, 1.0],
        }
    )
    found = unicity(histories_of(table, Roles("c", "i", "t", "p")), most=1, seed=1).shares
    assert found == {"item": (0.0,), "item, day": (0.25,), "item, day, price band": (0.5,)}
    assert list(unicity(histories_of(table, Roles("c", "i", "t")), most=1).shares) == ["item", "item, day"]
    assert list(unicity(histories_of(table, Roles("c", "i", price="p")), most=1).shares) == ["item"]


def test_price_bands_are_factors_of_two() -> None:
    bands = price_bands(np.array([1.0, 1.99, 2.0, 0.5, 0.99, 0.0, -3.0]))
    assert bands[0] == bands[1] == bands[2] - 1 == bands[3] + 1 == bands[4] + 1
    assert bands[5] == bands[6]
    assert bands[5] not in bands[:5]


def test_a_seed_makes_the_same_draws() -> None:
    table = histories([[i % 9, i % 7, i % 5] for i in range(60)])
    assert unicity(table, seed=3) == unicity(table, seed=3) != unicity(table, seed=4)


def test_no_purchases_to_know_are_told() -> None:
    with pytest.raises(InputError, match="'most' parameter"):
        unicity(histories(["a", "b"]), most=0)


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA does not name the folder of data sets")
def test_the_papers_customers_are_singled_out_by_few_dated_purchases() -> None:
    path = Path(DATA or "", "purchases", "transactions_400.csv")
    table = read_histories(path, customer="1", item="5", time="3", price="6", header=False)
    found = unicity(table, seed=1).shares
    for shares in found.values():
        assert list(shares) == sorted(shares)
    assert found["item"][0] < 0.02
    assert 0.78 < found["item"][9] < 0.88
    assert found["item, day"][2] > 0.99
