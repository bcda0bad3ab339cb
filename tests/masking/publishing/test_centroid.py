"""Classes shown by their centres: means, medians and modes of every kind, in the type they came in."""

from __future__ import annotations

import datetime as dt
from statistics import fmean, median, median_low, mode

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role
from shoal.masking.partition import Partition
from shoal.masking.publishing.centroid import publish_centroid

QUASI = frozenset({Role.QUASI_IDENTIFIER})


def shown(
    values: list[object] | pl.Series, kind: Kind, classes: list[int], by: str = "mean", **about: object
) -> MaskedColumn:
    coded = encode(pl.Series("a", values), Attribute("a", QUASI, kind, **about))
    partition = Partition.of_labels(np.array(classes))
    return publish_centroid(coded, partition, np.array(classes, np.int32), by)


def test_numbers_by_mean_and_by_median() -> None:
    values = [1, 10, 2, 20, 6, 60]
    assert shown(values, Kind.NUMERIC, [0, 1] * 3).values().to_list() == [3.0, 30.0] * 3
    assert shown(values, Kind.NUMERIC, [0, 1] * 3, "median").values().to_list() == [2.0, 20.0] * 3
    assert shown([1, 2, 4, 9], Kind.NUMERIC, [0] * 4, "median").values().to_list() == [3.0] * 4


def test_cells_say_where_the_centre_lies() -> None:
    column = shown([1, 2, 6, 5], Kind.NUMERIC, [0, 0, 1, 1])
    assert column.low.tolist() == column.high.tolist() == [1.5, 5.5]
    assert column.values().dtype == pl.Float64


def test_dates_are_rounded_to_days_and_times_to_their_step() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 5)]
    assert shown(days, Kind.DATE, [0, 0, 0]).values().to_list() == [dt.date(2020, 1, 3)] * 3
    assert shown(days, Kind.DATE, [0, 0, 0], "median").values().to_list() == [dt.date(2020, 1, 2)] * 3
    times = [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1, 12, 0, 1)]
    assert shown(times, Kind.DATE, [0, 0]).values().to_list() == [dt.datetime(2020, 1, 1, 12, 0, 0, 500000)] * 2


def test_ordered_categories_by_the_lower_median() -> None:
    order = ("low", "middle", "high")
    column = shown(["high", "low", "middle", "high"], Kind.ORDINAL, [0] * 4, domain=order)
    assert column.values().to_list() == ["middle"] * 4
    assert column.low.tolist() == [1.0]


def test_unordered_categories_by_their_mode_the_first_of_those_as_many() -> None:
    column = shown(["b", "b", "a", "c", "c", "a"], Kind.NOMINAL, [0, 0, 0, 1, 1, 1])
    assert column.values().to_list() == ["b"] * 3 + ["c"] * 3
    assert column.size.tolist() == [1, 1]
    assert shown(["c", "b", "c", "b"], Kind.NOMINAL, [0] * 4).values().to_list() == ["b"] * 4


def test_text_that_looks_like_a_mask_is_escaped() -> None:
    assert shown(["*", "*"], Kind.NOMINAL, [0, 0]).values().to_list() == ["\\*"] * 2


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.ORDINAL, Kind.NOMINAL])
def test_a_class_that_mixes_missing_and_present_shows_the_wildcard(kind: Kind) -> None:
    column = shown([1, None, 2, 2, None, None], kind, [0, 0, 1, 1, 2, 2])
    two = "2.0" if kind is Kind.NUMERIC else "2"
    assert column.values().to_list() == ["*", "*", two, two, None, None]
    low, high = (1, 2) if kind is Kind.NUMERIC else (0, 1)
    assert (column.low[0], column.high[0]) == (low, high)
    assert np.isnan(column.low[2])


def test_a_column_of_nothing_shows_nothing() -> None:
    column = shown(pl.Series([None, None], dtype=pl.Int64), Kind.NUMERIC, [0, 0])
    assert column.values().to_list() == [None, None]


def test_a_mean_never_leaves_what_its_class_spans() -> None:
    """0.1 + 0.1 + 0.1 is more than three times 0.1, and two of the largest numbers have no sum."""
    assert shown([0.1] * 3, Kind.NUMERIC, [0] * 3).values().to_list() == [0.1] * 3
    assert shown([1.7e308, 1.5e308], Kind.NUMERIC, [0, 0]).values().to_list() == [pytest.approx(1.6e308)] * 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=1, max_size=40))
def test_centres_are_those_of_the_statistics_module(records: list[tuple[int, int]]) -> None:
    _, label = np.unique([group for group, _ in records], return_inverse=True)
    values = [value for _, value in records]
    kinds = {
        (Kind.NUMERIC, "mean"): fmean,
        (Kind.NUMERIC, "median"): median,
        (Kind.ORDINAL, "mean"): median_low,
        (Kind.NOMINAL, "mean"): lambda members: mode(sorted(members)),
    }
    for (kind, by), centre in kinds.items():
        found = shown(values, kind, label.tolist(), by).values().to_list()
        for group in set(label.tolist()):
            members = [value for value, own in zip(values, label, strict=True) if own == group]
            first = found[label.tolist().index(group)]
            assert float(first) == pytest.approx(centre(members))


def test_what_is_shown_reads_back_to_where_it_lies() -> None:
    rng = np.random.default_rng(0)
    values = pl.Series("a", rng.normal(size=60))
    column = shown(values, Kind.NUMERIC, (np.arange(60) // 5).tolist())
    again = read_cells(column.values(), column.attribute, values)
    assert again.low[again.index].tolist() == column.low[column.index].tolist()
