"""Ordering x cutting: Algorithm S2 against the paper's own table and its pseudo-code; the curve; the cuts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.kernels.cuts import optimal_cuts
from shoal.kernels.hilbert import hilbert_keys
from shoal.kernels.resplit import resplit
from shoal.kernels.sorting import argsort_keys, float_keys
from shoal.masking.grouped import publish
from shoal.masking.grouping.ordered import (
    hilbert,
    hilbert_order,
    optimal,
    runs,
    zero_distance,
    zero_distance_order,
)
from shoal.masking.partition import Partition
from shoal.utility.information_loss import information_loss
from tests.oracles import grouping as oracle
from tests.oracles.measures import TABLE_S2, TABLE_S6

QUASI = TABLE_S2.columns[:8]
Rows = npt.NDArray[np.float32]


def numbers(frame: pl.DataFrame) -> Microdata:
    roles = frozenset({Role.QUASI_IDENTIFIER})
    return Microdata(frame, Schema(tuple(Attribute(name, roles, Kind.NUMERIC) for name in frame.columns)))


def labels(partition: Partition) -> list[int]:
    return partition.class_of(len(partition.order)).tolist()


def members(partition: Partition) -> list[list[int]]:
    return [part.tolist() for part in np.split(partition.order, partition.starts[1:-1])]


# ---- Algorithm S2


def test_the_distances_of_table_s2_to_the_zero_record() -> None:
    microdata = numbers(TABLE_S2.select(QUASI))
    assert [coded.sigma for coded in microdata.quasi] == pytest.approx(
        [12.76584, 0.408248, 0.408248, 0.408248, 66.761266, 3.464102, 0.983192, 19.366638], abs=1e-6
    )
    z = np.sqrt(sum(coded.places()[coded.codes] ** 2 for coded in microdata.quasi))
    expected = [1403.859011, 1402.197387, 1401.459898, 1401.443145, 1401.369070, 1401.309805]
    assert z.tolist() == pytest.approx(expected, abs=1e-6)
    assert zero_distance_order(microdata).tolist() == [5, 4, 3, 2, 1, 0]


def test_table_s6_comes_out_of_table_s2() -> None:
    microdata = numbers(TABLE_S2.select(QUASI))
    partition = zero_distance(microdata, 3)
    assert labels(partition) == [1, 1, 1, 0, 0, 0]
    masked = publish(microdata, partition)
    assert pl.DataFrame([column.values() for column in masked.columns.values()]).equals(TABLE_S6.select(QUASI))
    assert TABLE_S6["age"][0] == "[35;52]"
    assert information_loss(microdata, masked.columns) == pytest.approx(0.530513, abs=1e-6)


@pytest.mark.parametrize(
    ("k", "groups", "loss"), [(3, [0, 0, 0, 1, 1, 1, 1], 0.701415), (2, [0, 0, 1, 1, 2, 2, 2], 0.420849)]
)
def test_seven_records_in_a_row(k: int, groups: list[int], loss: float) -> None:
    microdata = numbers(pl.DataFrame({"x": range(1, 8), "y": range(10, 80, 10)}))
    partition = zero_distance(microdata, k)
    assert labels(partition) == groups
    assert information_loss(microdata, publish(microdata, partition).columns) == pytest.approx(loss, abs=1e-6)


records = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 999)), min_size=2, max_size=40)


def no_two_as_far(table: list[tuple[int, int]]) -> bool:
    """Records at the same distance by chance: rounding decides which comes first."""
    far = sorted({(z, record) for z, record in zip(oracle.distances_to_zero(table), table, strict=True)})
    return all(b[0] - a[0] > 1e-9 for a, b in pairwise(far))


@given(records, st.integers(2, 6))
def test_s2_as_printed(table: list[tuple[int, int]], k: int) -> None:
    assume(len(table) >= k and no_two_as_far(table))
    partition = zero_distance(numbers(pl.DataFrame(table, schema=["x", "y"], orient="row")), k)
    assert members(partition) == oracle.algorithm_s2(table, k)


def test_records_at_the_same_distance_keep_their_order() -> None:
    microdata = numbers(pl.DataFrame({"x": [3, -3, 1, -1, 3, 1]}))
    assert zero_distance_order(microdata).tolist() == [2, 3, 5, 0, 1, 4]


@given(st.integers(2, 60), st.integers(2, 9))
def test_runs_are_of_k_and_the_last_of_less_than_twice_that(n: int, k: int) -> None:
    sizes = runs(np.arange(n), k).sizes
    assert sizes.sum() == n
    assert (sizes[:-1] == k).all()
    assert len(sizes) == 1 or k <= sizes[-1] < 2 * k


# ---- sorting


@given(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)), max_size=60))
def test_keys_sort_as_numpy_sorts_them(keys: list[int]) -> None:
    array = np.array(keys, np.uint64)
    assert argsort_keys(array).tolist() == np.argsort(array, kind="stable").tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**40)), max_size=60))
def test_words_of_a_key_sort_one_after_the_other(keys: list[tuple[int, int]]) -> None:
    high, low = np.array(keys, np.uint64).reshape(-1, 2).T
    order = argsort_keys(np.ascontiguousarray(high), argsort_keys(np.ascontiguousarray(low)))
    assert order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30))
def test_keys_of_floats_are_in_the_order_of_the_floats(values: list[float]) -> None:
    keys = float_keys(np.array(values)).tolist()
    for a, b in pairwise(range(len(values))):
        assert (keys[a] < keys[b]) == (values[a] < values[b])
        assert (keys[a] == keys[b]) == (values[a] == values[b])


# ---- the Hilbert curve


def keys_of(cells: npt.NDArray[np.int64], bits: int) -> list[tuple[int, ...]]:
    m = cells.shape[1]
    keys = np.zeros((-(-m * bits // 64), len(cells)), np.uint64)
    hilbert_keys(cells.astype(np.float32), np.zeros(m, np.float32), np.ones(m, np.float32), bits, keys)
    return [tuple(key) for key in keys.T.tolist()]


@pytest.mark.parametrize(("m", "bits"), [(1, 5), (2, 1), (2, 4), (3, 1), (3, 3), (4, 2), (5, 1)])
def test_the_curve_visits_every_cell_once_and_only_steps_to_neighbours(m: int, bits: int) -> None:
    grid = np.stack(np.meshgrid(*[np.arange(2**bits)] * m), axis=-1).reshape(-1, m)
    keys = keys_of(grid, bits)
    assert len(set(keys)) == len(grid)
    path = grid[sorted(range(len(grid)), key=keys.__getitem__)]
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def test_a_key_of_several_words_orders_as_one_long_number() -> None:
    """Twenty attributes of four bits: a curve through those that vary is the curve of few attributes."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 16, (50, 20))
    keys = keys_of(cells, 4)
    assert len(keys[0]) == 2
    assert len(set(keys)) == len(np.unique(cells, axis=0))
    assert all(word % 2**48 == 0 for _, word in keys)  # 80 bits: the second word is filled from its top


def test_far_values_share_the_last_cell() -> None:
    cells = np.array([[7, 3], [100, 3], [7, -4], [7, 0]])
    keys = keys_of(cells, 3)
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]


def test_records_alike_stay_in_their_order_on_the_curve() -> None:
    rows = np.array([[1, 2], [0, 0], [1, 2], [0, 0], [1, 2]], np.float32)
    assert hilbert_order(rows).tolist() == [1, 3, 0, 2, 4]


# ---- optimal cuts

lines = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=13)


@given(lines, st.integers(1, 4))
def test_no_way_to_cut_a_line_loses_less(line: list[tuple[int, int]], k: int) -> None:
    assume(len(line) >= k)
    starts = optimal_cuts(np.array(line, np.float32), k, True)
    sizes = np.diff(starts)
    assert starts[0] == 0
    assert sizes.sum() == len(line)
    assert ((sizes >= k) & (sizes <= 2 * k - 1)).all()
    assert oracle.loss_of_cuts(line, sizes.tolist()) == pytest.approx(oracle.least_loss(line, k))


# ---- classes divided anew


def loss(rows: Rows, classes: list[list[int]]) -> float:
    return sum(oracle.loss(rows[part].tolist()) for part in classes)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 60), st.sampled_from([1, 2, 3]))
def test_dividing_anew_keeps_all_records_and_loses_no_more(seed: int, k: int, extra: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 12, (k + extra, m)).astype(np.float32)
    starts = optimal_cuts(rows, k, True)
    before = members(Partition(np.arange(len(rows)), starts))
    after = members(Partition(*resplit(rows, starts, k, 3)))
    assert sorted(record for part in after for record in part) == list(range(len(rows)))
    assert all(k <= len(part) <= 2 * k - 1 for part in after)
    assert loss(rows, after) <= loss(rows, before) * (1 + 1e-6)


def test_classes_that_lie_in_each_other_are_divided_anew() -> None:
    """Two heaps that the line mixes up come apart."""
    rows = np.array([[0, 0], [9, 9], [0, 1], [9, 8], [1, 0], [8, 9], [1, 1], [8, 8]], np.float32)
    order, starts = resplit(rows, np.array([0, 4, 8]), 3, 2)
    assert sorted(map(sorted, members(Partition(order, starts)))) == [[0, 2, 4, 6], [1, 3, 5, 7]]


@pytest.mark.parametrize("k", [2, 7, 40])
def test_classes_of_the_default_are_of_k_to_twice_that_and_hold_every_record_once(k: int) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(5000, 3)).astype(np.float32)  # more than one block
    partition = optimal(rows, hilbert_order(rows), k)
    assert np.sort(partition.order).tolist() == list(range(5000))
    assert partition.starts[0] == 0
    assert partition.starts[-1] == 5000
    assert ((partition.sizes >= k) & (partition.sizes <= 2 * k - 1)).all()


def test_the_default_loses_far_less_than_algorithm_s2() -> None:
    rng = np.random.default_rng(2)
    microdata = numbers(pl.DataFrame(rng.normal(100, 5, (600, 3)), schema=["x", "y", "z"]))
    by_curve, by_distance = (
        information_loss(microdata, publish(microdata, grouping(microdata, 5)).columns)
        for grouping in (hilbert, zero_distance)
    )
    assert by_curve < by_distance / 2


@pytest.mark.parametrize("value", [1e200, 1e-30, 2.0**62])
def test_numbers_of_any_size_are_grouped(value: float) -> None:
    """Squares beyond all numbers once led the cuts out of memory."""
    column = pl.Series("x", [value * i for i in (1, 2, 3, 4, -5, -6)] + [None, None])
    partition = hilbert(numbers(pl.DataFrame([column, pl.Series("y", range(8))])), 2)
    assert sorted(partition.order.tolist()) == list(range(8))
    assert (partition.sizes >= 2).all()


def test_neither_an_absurd_weight_nor_an_absurd_domain_breaks_the_grouping() -> None:
    quasi = frozenset({Role.QUASI_IDENTIFIER})
    schema = Schema(
        (
            Attribute("x", quasi, Kind.NUMERIC, weight=1e300),
            Attribute("y", quasi, Kind.NUMERIC, domain=(-1e308, 1e308)),
        )
    )
    frame = pl.DataFrame({"x": range(10), "y": [None, *range(9)]})
    assert sorted(hilbert(Microdata(frame, schema), 3).order.tolist()) == list(range(10))
