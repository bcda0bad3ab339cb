"""One- and two-way tables counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.utility.marginals import marginals_1way, marginals_2way
from tests.oracles.linkage import pair_of

NOMINAL = [Kind.NOMINAL, Kind.NOMINAL]
cells = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20)


def variation(before: Sequence[Hashable], after: Sequence[Hashable]) -> float:
    one, other = Counter(before), Counter(after)
    return sum(abs(one[v] / len(before) - other[v] / len(after)) for v in one | other) / 2


@given(cells, cells)
def test_categories_as_counted_by_hand(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> None:
    pair = pair_of(before, after, NOMINAL)
    each = [variation([row[j] for row in before], [row[j] for row in after]) for j in range(2)]
    assert marginals_1way(pair) == pytest.approx(np.mean(each))
    assert marginals_2way(pair) == pytest.approx(variation(before, after))


def test_numbers_are_counted_in_tenths_of_the_original() -> None:
    x = np.random.default_rng(0).permutation(1_000.0 ** np.linspace(0, 1, 1_000))[:, None]
    assert marginals_1way(pair_of(x, x + 1e-9)) == 0.0
    assert marginals_1way(pair_of(x, np.full_like(x, np.median(x)))) == pytest.approx(0.9)
    assert marginals_1way(pair_of(x, x + 1e9)) == pytest.approx(0.9)


def test_few_numbers_are_counted_one_by_one() -> None:
    x = np.array([[0.0]] * 98 + [[1.0], [5.0]])
    y = np.array([[0.0]] * 99 + [[5.0]])
    assert marginals_1way(pair_of(x, y)) == pytest.approx(0.01)


def test_swapping_keeps_one_way_tables_and_tears_two_way_ones() -> None:
    x = np.repeat(np.arange(2.0), 50)
    pair = pair_of(np.column_stack([x, x]), np.column_stack([x, 1 - x]))
    assert marginals_1way(pair) == 0.0
    assert marginals_2way(pair) == 1.0


def test_missing_is_a_category_of_its_own() -> None:
    x = np.array([[0.0, 0], [1, 0], [np.nan, 0], [1, 1]])
    y = np.array([[0.0, 0], [np.nan, 0], [np.nan, 0], [np.nan, 1]])
    assert marginals_1way(pair_of(x, y, NOMINAL)) == pytest.approx(0.5 / 2)
    assert marginals_2way(pair_of(x, y, NOMINAL)) == pytest.approx(0.5)


def test_a_category_that_is_new_counts_as_new() -> None:
    assert marginals_1way(pair_of([[0.0], [1]], [[0.0], [2]], NOMINAL[:1])) == 0.5


def test_one_attribute_has_no_two_way_table() -> None:
    with pytest.raises(InputError, match="no two-way tables"):
        marginals_2way(pair_of([[0.0], [1]], [[0.0], [1]]))
