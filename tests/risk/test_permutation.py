"""The permutation paradigm: reverse mapping and the permutation distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.errors import InputError
from shoal.risk.linkage import nearest_in_ranks
from shoal.risk.permutation import permutation_distance, reverse_map
from tests.oracles import linkage as oracle
from tests.oracles.linkage import E3_X, E3_Y, Matrix, pair_of

some = arrays(float, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(-3, 3).map(float))


def column(*values: float) -> Matrix:
    return np.array(values, float)[:, None]


def test_example_e1() -> None:
    mapped = reverse_map(column(10, 20, 30, 40, 50), column(33, 12, 41, 35, 60))
    assert mapped.ravel().tolist() == [20, 10, 40, 30, 50]


@given(some, st.randoms(use_true_random=False))
def test_reverse_mapping_keeps_the_originals_values_and_the_masked_ranks(x: Matrix, random: object) -> None:
    y = np.random.default_rng(random.randint(0, 2**32)).normal(size=x.shape)  # type: ignore[attr-defined]
    z = reverse_map(x, y)
    assert np.array_equal(np.sort(z, axis=0), np.sort(x, axis=0))
    for j in range(x.shape[1]):
        assert (np.diff(z[np.argsort(y[:, j]), j]) >= 0).all()


def test_ties_are_broken_by_position_and_missing_comes_last() -> None:
    assert reverse_map(column(1, 2, 3, 4), column(7, 5, 5, 5)).ravel().tolist() == [4, 1, 2, 3]
    mapped = reverse_map(column(np.nan, 2, 1), column(5, np.nan, 4)).ravel()
    assert mapped[[0, 2]].tolist() == [2, 1]
    assert np.isnan(mapped[1])


def test_tables_of_two_sizes_have_no_reverse_mapping() -> None:
    with pytest.raises(InputError, match="of the original's shape"):
        reverse_map(column(1, 2), column(1, 2, 3))


def test_example_e3() -> None:
    assert nearest_in_ranks(pair_of(E3_X, E3_Y), largest=True).tolist() == [1, 1, 1, 1, 1]
    assert permutation_distance(pair_of(E3_X, E3_Y)) == 1.0


@given(some)
def test_as_comparing_every_record_with_every_other(x: Matrix) -> None:
    x[:2] = [[0.0], [1.0]]
    y = x[::-1] * np.array([1.0, -1.0, 2.0])[: x.shape[1]]
    ranked = (oracle.rank_rows(table.tolist(), len(x)) for table in (x, y))
    expected = np.mean(oracle.nearest(*ranked, oracle.largest))
    assert permutation_distance(pair_of(x, y)) == pytest.approx(expected)


@given(some)
def test_changes_that_keep_the_order_are_no_permutation(x: Matrix) -> None:
    x[:2] = [[0.0], [1.0]]
    assert permutation_distance(pair_of(x, np.exp(x) - 5)) == 0.0
    assert np.array_equal(reverse_map(x, np.exp(x)), x)
