"""Random-guess risk from class sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.risk.classes import by_class_size, class_risk, records_at_risk
from tests.oracles import measures as oracle

labels = st.lists(st.integers(0, 6), min_size=1, max_size=30)


def sizes_of(rows: list[int]) -> np.ndarray:
    return np.array(oracle.class_sizes([(row,) for row in rows]), np.int64)


def test_table_s6_gives_a_random_guess_one_chance_in_three() -> None:
    risk = class_risk(np.array([3, 3]))
    assert (risk.records, risk.classes, risk.smallest_class) == (6, 2, 3)
    assert risk.highest_risk == risk.average_risk == pytest.approx(1 / 3)


@given(labels)
def test_average_risk_is_the_mean_chance_of_a_guess(rows: list[int]) -> None:
    risk = class_risk(sizes_of(rows))
    assert risk.average_risk == pytest.approx(oracle.average_risk([(row,) for row in rows]))
    assert risk.highest_risk == max(1 / rows.count(row) for row in rows)


@given(labels, st.floats(0, 1))
def test_records_at_risk_are_those_in_classes_too_small_for_the_threshold(rows: list[int], limit: float) -> None:
    assert records_at_risk(sizes_of(rows), limit) == sum(1 / rows.count(row) > limit for row in rows)


def test_a_class_of_five_meets_a_threshold_of_one_fifth() -> None:
    assert records_at_risk(np.array([4, 5, 6]), 0.2) == 4


def test_a_threshold_beyond_one_is_refused() -> None:
    with pytest.raises(InputError, match="threshold"):
        records_at_risk(np.array([1]), 20)


def test_records_are_counted_by_the_size_of_their_class() -> None:
    labels, (before, after) = by_class_size(np.array([3, 1, 4, 1, 1]), np.array([10]))
    assert labels == ["1 (unique)", "2", "3 to 4", "5 to 9", "10 to 19"]
    assert before == [0.3, 0, 0.7, 0, 0]
    assert after == [0, 0, 0, 0, 1]
    assert by_class_size(np.array([10**6]))[0][-2:] == ["100 to 999", "1,000 and more"]


def test_an_empty_table_has_no_risk() -> None:
    risk = class_risk(np.zeros(0, np.int64))
    assert (risk.records, risk.smallest_class, risk.highest_risk, risk.average_risk) == (0, 0, 0.0, 0.0)
    assert records_at_risk(np.zeros(0, np.int64), 0.0) == 0
