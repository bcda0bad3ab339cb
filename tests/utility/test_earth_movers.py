"""Earth mover's distance: examples, every way to pair the records, the paper's Table 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from shoal.data.schema import Kind
from shoal.utility import earth_movers
from shoal.utility.earth_movers import clustered, earth_movers_distance, transport, transport_signatures
from tests.oracles import linkage as oracle
from tests.oracles import transport as programme
from tests.oracles.linkage import E3_X, E3_Y, Matrix, pair_of
from tests.oracles.microaggregation import mdav
from tests.risk.test_linkage import figures


def some(rows: int, columns: int = 2) -> st.SearchStrategy[Matrix]:
    return arrays(float, (rows, columns), elements=st.integers(-3, 3).map(float))


def test_example_e3() -> None:
    assert earth_movers_distance(pair_of(E3_X, E3_Y)) == pytest.approx(0.302327, abs=1e-6)
    assert transport(E3_X, E3_Y) == pytest.approx(3.246545, abs=1e-6)


def test_example_e9() -> None:
    t, q = np.array([[0.0], [1]]), np.array([[0.0], [2]])
    assert transport_signatures(t, np.array([0.5, 0.5]), q, np.array([0.25, 0.75])) == pytest.approx(1.0)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(some(n), some(n))))
def test_as_the_cheapest_of_all_ways_to_pair(tables: tuple[Matrix, Matrix]) -> None:
    x, y = tables
    assert transport(x, y) == pytest.approx(oracle.transport(x.tolist(), y.tolist()), abs=1e-12)


@given(some(4), some(6))
def test_tables_of_two_sizes_as_if_each_were_repeated(x: Matrix, y: Matrix) -> None:
    repeated = transport(np.repeat(x, 3, axis=0), np.repeat(y, 2, axis=0))
    assert transport(x, y) == pytest.approx(repeated, abs=1e-9)
    assert transport(y, x) == pytest.approx(repeated, abs=1e-9)


masses = st.lists(st.integers(1, 9), min_size=1, max_size=7)


@given(st.tuples(masses, masses).flatmap(lambda m: st.tuples(*map(st.just, m), *(some(len(part)) for part in m))))
def test_masses_that_differ_as_the_linear_programme_moves_them(
    case: tuple[list[int], list[int], Matrix, Matrix],
) -> None:
    left, right = (np.array(part, float) for part in case[:2])
    expected = programme.least_cost(cdist(*case[2:]), left / left.sum(), right / right.sum())
    assert transport_signatures(case[2], left, case[3], right) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("seed", "sizes", "whole", "expected"),
    [
        (0, (40, 60), False, 1.110496714064219),
        (1, (200, 150), False, 0.643145748131893),
        (2, (300, 300), True, 0.5227720813360809),
        (3, (120, 97), True, 0.7746365853129333),
    ],
)
def test_numbers_of_python_optimal_transport(seed: int, sizes: tuple[int, int], whole: bool, expected: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=(size, 3)) for size in sizes)
    a, b = (rng.integers(1, 20, size).astype(float) if whole else rng.random(size) for size in sizes)
    assert transport_signatures(x, a, y, b) == pytest.approx(expected, abs=1e-12)


def test_records_of_two_tables_of_the_same_size_as_scipy_assigns_them() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 250, 3))
    distance = cdist(x, y)
    assert transport(x, y) == pytest.approx(distance[linear_sum_assignment(distance)].mean(), abs=1e-12)


def test_clusters_that_weigh_nothing_or_lie_in_one_place_are_no_trouble() -> None:
    t, q = np.array([[0.0], [9], [1]]), np.array([[2.0], [5]])
    assert transport_signatures(t, np.array([1.0, 0, 1]), q, np.array([3.0, 0])) == pytest.approx(1.5)
    assert transport_signatures(t[:1], np.array([2.0]), np.zeros((3, 1)), np.array([1.0, 2, 3])) == 0.0


@given(some(8), some(8))
def test_zero_only_for_the_same_records(x: Matrix, y: Matrix) -> None:
    same = sorted(x.tolist()) == sorted(y.tolist())
    assert (transport(x, y) == 0.0) == same
    assert transport(x, x[::-1]) == 0.0


def test_attributes_count_by_the_originals_range_whatever_is_added_or_constant() -> None:
    scaled = [table * [7, 0.1] + [3, -9] for table in (E3_X, E3_Y)]
    with_constant = [np.column_stack([table, [5.0] * 5, [0, 1, 2, 3, 4.0]]) for table in scaled]
    kinds = [Kind.NUMERIC, Kind.NUMERIC, Kind.NUMERIC, Kind.NOMINAL]
    assert earth_movers_distance(pair_of(*with_constant, kinds)) == pytest.approx(0.302327, abs=1e-6)


def test_missing_values_stand_at_the_mean() -> None:
    x = np.array([[0.0], [1], [2], [np.nan]])
    y = np.array([[0.0], [1], [np.nan], [np.nan]])
    assert earth_movers_distance(pair_of(x, y)) == pytest.approx(0.5 / 4)


def test_larger_tables_are_clustered_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = x + 0.5 * rng.normal(size=x.shape)
    exact = transport(x, y)
    assert clustered(pair_of(x, y)) == ""
    monkeypatch.setattr(earth_movers, "_EXACT", 300)
    monkeypatch.setattr(earth_movers, "_CLUSTERS", 150)
    assert clustered(pair_of(x, y)) == "150 clusters a table"
    assert transport(x, y) == pytest.approx(exact, rel=0.4)
    assert transport(x, y) != exact
    assert transport(x, x[::-1]) == pytest.approx(0.0, abs=1e-9)
    few = np.repeat(x[:100], 4, axis=0)
    assert transport(few, few + np.array([1, 0, 0])) == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "expected"), [("census", 0.1637), ("eia", 0.0400)])
def test_microaggregation_in_table_1(name: str, expected: float) -> None:
    x = figures(name)
    group = mdav(x, 5)
    y = np.array([x[group == g].mean(axis=0) for g in range(group.max() + 1)])[group]
    assert earth_movers_distance(pair_of(x, y)) == pytest.approx(expected, abs=1e-4)


def test_correlated_noise_in_table_1() -> None:
    x = figures("census")
    noise = np.random.default_rng(5).multivariate_normal(np.zeros(x.shape[1]), np.cov(x.T), len(x))
    assert earth_movers_distance(pair_of(x, x + noise)) == pytest.approx(0.38, rel=0.05)
