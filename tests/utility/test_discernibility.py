"""Discernibility and average class size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.utility.discernibility import average_class_size, discernibility
from tests.oracles import measures as oracle

# Figures 1 and 2 of the k-map paper (docs/spec.md#discernibility): sex and year of birth of fourteen people.
PEOPLE = [
    *("M1959", "M1962", "F1955", "M1959", "F1942", "F1975", "F1966"),
    *("F1987", "M1975", "M1978", "F1964", "M1959", "F1975", "M1967"),
]


def sizes_of(rows: list[tuple[str, int]]) -> np.ndarray:
    return np.array(oracle.class_sizes(rows), np.int64)


def banded(years: int) -> list[tuple[str, int]]:
    return [(person[0], int(person[1:]) // years) for person in PEOPLE]


def kept(rows: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The records that 2-anonymity need not suppress."""
    return [row for row in rows if rows.count(row) >= 2]


def test_the_fourteen_people_by_decades() -> None:
    rows = kept(banded(10))
    assert len(rows) == 11
    assert discernibility(sizes_of(rows), suppressed=3) == 67


def test_the_fourteen_people_by_five_years() -> None:
    assert discernibility(sizes_of(banded(5))) == 24  # k-map suppresses nobody
    assert discernibility(sizes_of(kept(banded(5))), suppressed=7) == 115


@given(st.lists(st.tuples(st.just("M"), st.integers(0, 5)), max_size=25), st.integers(0, 9))
def test_every_record_is_charged_the_size_of_its_class(rows: list[tuple[str, int]], suppressed: int) -> None:
    assert discernibility(sizes_of(rows), suppressed) == oracle.discernibility(rows, suppressed)


def test_classes_of_billions_do_not_overflow() -> None:
    people = 8 * 10**9
    assert discernibility(np.array([people]), suppressed=people) == people**2 + 2 * people**2


def test_average_class_size_counts_the_suppressed_as_one_class() -> None:
    assert average_class_size(np.array([2, 4])) == 3.0
    assert average_class_size(np.array([2, 4]), suppressed=3) == 3.0
    assert average_class_size(np.array([2, 4]), suppressed=9) == 5.0


def test_a_table_of_nothing_has_no_classes() -> None:
    nothing = np.zeros(0, np.int64)
    assert discernibility(nothing) == 0
    assert average_class_size(nothing) == 0.0
    assert discernibility(nothing, suppressed=3) == 9
    assert average_class_size(nothing, suppressed=3) == 3.0
