"""Linking two releases by what they show: against comparing all pairs of records, and what ranges narrow to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.schema import Attribute, Kind, Role
from shoal.releases.linking import as_shown, link
from tests.oracles.releases import Box, candidates

QUASI = frozenset({Role.QUASI_IDENTIFIER})
AGE, CITY = Attribute("age", QUASI, Kind.NUMERIC), Attribute("city", QUASI, Kind.NOMINAL)
EVERYTHING = frozenset([*range(10), None])
EVERYWHERE = frozenset(["a", "b", "c", "d", None])

ages = st.one_of(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted).map(lambda ends: f"[{ends[0]};{ends[1]}]"),
    st.integers(0, 9).map(str),
    st.sampled_from([None, "*"]),
)
cities = st.one_of(
    st.sets(st.sampled_from("abcd"), min_size=2).map(lambda found: "{" + ";".join(sorted(found)) + "}"),
    st.sampled_from(["a", "b", "c", "d", None, "*"]),
)
tables = st.lists(st.tuples(ages, cities), min_size=1, max_size=25)


def box(row: tuple[str | None, str | None]) -> Box:
    age, city = row
    if age is None or age == "*":
        years = frozenset([None]) if age is None else EVERYTHING
    else:
        low, _, high = age.strip("[]").partition(";")
        years = frozenset(range(int(low), int(high or low) + 1))
    if city is None or city == "*":
        towns = frozenset([None]) if city is None else EVERYWHERE
    else:
        towns = frozenset(city.strip("{}").split(";"))
    return years, towns


def frame(rows: list[tuple[str | None, str | None]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"age": pl.String, "city": pl.String}, orient="row")


@given(tables, tables)
def test_candidates_are_those_that_meet_in_every_attribute(
    first: list[tuple[str | None, str | None]], second: list[tuple[str | None, str | None]]
) -> None:
    ends = [("0", "a"), ("9", "d"), ("5", "b"), ("5", "c")]  # so that the domain is known to both
    first, second = [*first, *ends], [*second, *ends]
    there, back = link(("A", "B"), frame(first), frame(second), [AGE, CITY], 3)
    plain = candidates([box(row) for row in first], [box(row) for row in second])
    assert there.histogram == Counter(plain)
    assert there.records_below_k == sum(0 < found < 3 for found in plain)
    assert there.linked_uniquely == plain.count(1)
    assert back.histogram == Counter(candidates([box(row) for row in second], [box(row) for row in first]))


def test_many_boxes_on_a_tree() -> None:
    rng = np.random.default_rng(5)
    low = rng.integers(0, 1000, (2, 600))
    high = low + rng.integers(0, 30, (2, 600))
    tables = [
        pl.DataFrame({"age": [f"[{a};{b}]" for a, b in zip(*ends, strict=True)]})
        for ends in zip(low, high, strict=True)
    ]
    there, _ = link(("A", "B"), tables[0], tables[1], [AGE], 5)
    meets = (low[0][:, None] <= high[1]) & (low[1] <= high[0][:, None])
    assert there.histogram == Counter(meets.sum(axis=1).tolist())


def test_ranges_narrow_to_what_all_candidates_span_with_them() -> None:
    first = pl.DataFrame({"age": ["[20;40]", "[50;60]"]})
    second = pl.DataFrame({"age": ["[10;25]", "[28;30]", "[55;70]"]})
    there, back = link(("A", "B"), first, second, [AGE], 2)
    # 20..40 keeps 20..30, half of it; 50..60 keeps 55..60.
    assert there.left_open == {"age": 0.5}
    assert there.narrowed == 2
    assert there.linked_uniquely == 1
    assert there.fewest_candidates == 1
    # 10..25 keeps 20..25, 28..30 stays, 55..70 keeps 55..60.
    assert back.narrowed == 2


def test_what_shows_only_numbers_and_ranges_lies_on_a_line() -> None:
    assert as_shown(CITY, pl.Series(["[1;2]", "3", "*", None])).kind is Kind.NUMERIC
    assert as_shown(CITY, pl.Series(["[2020-01-01;2020-02-01]"])).kind is Kind.DATE
    assert as_shown(CITY, pl.Series(["{a;b}"])).kind is Kind.NOMINAL
