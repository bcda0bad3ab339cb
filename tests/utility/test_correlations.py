"""Pairwise correlations and their agreement."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.data.microdata import encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role
from shoal.utility.correlations import (
    Placed,
    agreement,
    correlation_table,
    correlations,
    place_masked,
    place_original,
)
from tests.oracles import measures as oracle

# The 36 printed pairs, row by row: oshpd_id, age_yrs, sex, ethncty, race, patzip, patcnty, los, adm_qtr.
TABLE_S4 = """
0.001 0.001 0.045 -0.056 0.043 0.811 0.003 -0.001
0.013 0.359 -0.215 -0.006 -0.004 0.118 -0.012
-0.048 0.022 0.007 0.012 -0.036 0.004
-0.334 0.134 0.036 0.048 -0.007
-0.081 -0.054 -0.014 0.015
0.094 -0.012 -0.002
0.001 0.000
-0.005
"""
TABLE_S5 = """
0.000 0.003 0.029 -0.045 0.031 0.807 0.003 -0.001
0.006 0.209 -0.117 -0.001 -0.004 0.022 -0.006
-0.035 0.008 0.037 0.013 -0.013 0.002
-0.209 0.008 0.021 0.012 -0.003
-0.027 -0.044 0.003 0.013
0.180 -0.014 -0.007
0.000 -0.001
-0.002
"""


def attribute(kind: Kind, domain: tuple[int, int] | None = None) -> Attribute:
    return Attribute("x", frozenset({Role.QUASI_IDENTIFIER}), kind, domain)


def symmetric(upper: str) -> np.ndarray:
    table = np.eye(9)
    table[np.triu_indices(9, 1)] = [float(number) for number in upper.split()]
    return np.maximum(table, table.T) + np.minimum(table, table.T)


def column(name: str, values: list[float | None]) -> Placed:
    series = pl.Series(name, values, dtype=pl.Float64)
    return place_original(encode(series, Attribute(name, frozenset(), Kind.NUMERIC)))


# ---- agreement


def test_tables_s4_and_s5_agree_as_the_paper_says() -> None:
    assert agreement(symmetric(TABLE_S4), symmetric(TABLE_S5)) == pytest.approx(0.9575, abs=5e-5)


def test_agreement_is_of_pairs_not_of_the_diagonal() -> None:
    table = symmetric(TABLE_S4)
    assert agreement(table, table) == pytest.approx(1.0)
    assert agreement(table, -table) == pytest.approx(-1.0)


def test_a_correlation_that_masking_wiped_out_counts_as_zero() -> None:
    before, after = symmetric(TABLE_S4), symmetric(TABLE_S4)
    after[0, :], after[:, 0] = np.nan, np.nan
    zeroed = np.nan_to_num(after)
    assert agreement(before, after) == agreement(before, zeroed)
    assert agreement(before, after) < 0.9  # the largest correlation, hospital and county, is gone


def test_agreement_of_one_pair_means_nothing() -> None:
    assert agreement(np.eye(2), np.eye(2)) is None
    assert agreement(np.eye(3), np.eye(3)) is None


# ---- tables

numbers = st.one_of(st.none(), st.integers(-5, 5).map(float))


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=20))
def test_tables_follow_the_definition_over_the_records_where_both_are_known(
    rows: list[tuple[float | None, ...]],
) -> None:
    columns = [list(values) for values in zip(*rows, strict=True)]
    table = correlation_table([column(str(j), values) for j, values in enumerate(columns)])
    for i in range(3):
        for j in range(3):
            expected = oracle.pearson(columns[i], columns[j])
            if expected is None:
                assert np.isnan(table[i, j])
            else:
                assert table[i, j] == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 2**32), st.floats(-1e9, 1e9))
def test_a_large_offset_and_many_blocks_keep_the_digits(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 50, 80_000).astype(float)
    y = x + rng.integers(0, 50, 80_000)
    x[::7] = np.nan
    assume(abs(offset) > 1e6)
    table = correlation_table([column("x", list(x + offset)), column("y", list(y - offset))])
    known = ~np.isnan(x)
    assert table[0, 1] == pytest.approx(np.corrcoef(x[known], y[known])[0, 1], abs=1e-9)


def test_a_constant_column_correlates_with_nothing() -> None:
    table = correlation_table([column("x", [1.1] * 4), column("y", [0.1, 0.7, 0.3, 0.9])])
    assert np.isnan(table[0]).all()
    assert table[1, 1] == pytest.approx(1.0)


# ---- where cells stand


def test_masked_cells_stand_at_their_midpoints_and_wildcards_nowhere() -> None:
    cells = pl.Series(["5", "[2;4]", "{0;9}", "*", None])
    placed = place_masked(read_cells(cells, attribute(Kind.NUMERIC, (0, 100))))
    np.testing.assert_array_equal(placed.place[placed.index], [5, 3, 4.5, np.nan, np.nan])


def test_categories_stand_at_the_position_of_their_code() -> None:
    values = pl.Series(["low", "middle", "high"])
    cells = read_cells(pl.Series(["high", "[low;middle]"]), attribute(Kind.ORDINAL), values)
    placed = place_masked(cells)
    assert placed.place[placed.index].tolist() == [2.0, 0.5]
    original = place_original(encode(pl.Series("x", ["b", None, "a"]), attribute(Kind.NOMINAL)))
    np.testing.assert_array_equal(original.place[original.index], [1, np.nan, 0])


def test_moments_are_those_of_the_known_values() -> None:
    assert column("x", [1.0, None, 3.0, 3.0]).moments() == pytest.approx((7 / 3, np.std([1, 3, 3])))
    assert all(np.isnan(column("x", [None, None]).moments()))


def test_pairs_list_each_two_attributes_once_with_undefined_ones_left_open() -> None:
    before = [column("a", [1, 2, 3]), column("b", [3, 2, 1]), column("c", [1, 1, 1])]
    found = correlations(before, before).pairs()
    assert found.select("attribute", "other").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["before"].to_list() == [pytest.approx(-1.0), None, None]
