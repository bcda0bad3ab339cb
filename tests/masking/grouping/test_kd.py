"""Mondrian: against the plain recursion, and what its classes must be."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.kernels.kd import kd_classes
from shoal.masking.grouping.kd import kd
from tests.oracles.grouping import mondrian


@pytest.mark.parametrize("by_median", [False, True])
def test_classes_are_those_of_the_recursion(by_median: bool) -> None:
    @given(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=50),
        st.integers(1, 5),
    )
    def as_printed(records: list[tuple[int, int, int]], k: int) -> None:
        order, starts = kd_classes(np.array(records, np.float32), k, by_median)
        found = [part.tolist() for part in np.split(order, starts[1:-1])]
        assert found == mondrian(records, list(range(len(records))), k, by_median=by_median)

    as_printed()


def test_an_odd_number_with_ties_is_cut_where_it_can_be() -> None:
    """1 | 2 2 3 4 leaves one alone, 1 2 2 | 3 4 is as good as five can be halved."""
    _, starts = kd_classes(np.array([[1], [2], [2], [3], [4]], np.float32), 2, True)
    assert starts.tolist() == [0, 3, 5]


def test_records_alike_are_never_parted() -> None:
    order, starts = kd_classes(np.ones((20, 2), np.float32), 3, False)
    assert starts.tolist() == [0, 20]
    assert order.tolist() == list(range(20))


@pytest.mark.parametrize("by", ["space", "median"])
def test_every_class_has_k_records_and_could_not_be_cut_again(by: str) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(rng.integers(0, 50, (500, 3)), schema=["x", "y", "z"])
    schema = Schema(tuple(Attribute(n, frozenset({Role.QUASI_IDENTIFIER}), Kind.NUMERIC) for n in frame.columns))
    partition = kd(Microdata(frame, schema), 4, by=by)
    assert np.sort(partition.order).tolist() == list(range(500))
    assert partition.sizes.min() >= 4
    assert partition.sizes.max() < 16
