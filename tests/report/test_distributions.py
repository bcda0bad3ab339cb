from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from shoal import Coarsen, Policy, anonymize
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded
from shoal.report.distributions import BARS, distribution, precision
from shoal.show import Bars, Histogram
from tests.oracles.spreading import spread

N = 400


def column_of(values: list[object], kind: str | None = None, **attribute: object):  # type: ignore[no-untyped-def]
    """The coded attribute and its masked column, grouped together with another attribute."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"a": values, "other": rng.integers(0, 50, len(values))}, strict=False)
    described = {"a": {**({"kind": kind} if kind else {}), **attribute}}
    policy = Policy(quasi_identifiers=["a", "other"], attributes=described, models=[{"name": "k-anonymity", "k": 4}])
    release = anonymize(table, policy)
    return release.original["a"], release.masked.columns["a"]


def drawn(count: int, n: int = N, seed: int = 1) -> list[int]:
    return np.random.default_rng(seed).integers(0, count, n).tolist()


def bars(coded: Coded, column: MaskedColumn) -> SimpleNamespace:
    """The labels of the bars, and their shares before and after."""
    chart = distribution(coded, column).chart
    assert isinstance(chart, Bars)
    before, after = (np.asarray(series.values) for series in chart.series)
    return SimpleNamespace(labels=chart.labels, before=before, after=after)


def test_sets_count_evenly_for_their_categories() -> None:
    coded, column = column_of([f"c{i}" for i in drawn(12)], "nominal")
    found = bars(coded, column)
    assert any("{" in text for text in column.text)
    expected = spread(column.values().to_list(), coded.values.to_list())
    assert found.after == pytest.approx([expected[label] for label in found.labels])
    assert found.before == pytest.approx(coded.counts / N)


def test_missing_values_have_a_bar_and_wildcards_count_for_all() -> None:
    values = [None if i in (5, 300) else f"c{c}" for i, c in enumerate(drawn(6))]
    coded, column = column_of(values, "nominal")
    found = bars(coded, column)
    assert "*" in column.text.to_list()
    assert found.labels[-1] == "(missing)"
    expected = spread(column.values().to_list(), coded.values.to_list())
    assert found.after == pytest.approx([*(expected[label] for label in found.labels[:-1]), expected[None]])
    assert found.before.sum() == pytest.approx(1)


def test_rare_categories_share_one_bar() -> None:
    coded, column = column_of([f"c{min(i, 40)}" for i in np.random.default_rng(0).geometric(0.06, N)], "nominal")
    found = bars(coded, column)
    assert len(found.labels) == BARS + 1
    assert found.labels[-1] == f"{len(coded.values) - BARS} others"
    assert found.before.sum() == pytest.approx(1)
    assert found.after.sum() == pytest.approx(1)
    assert (np.diff(found.before[:-1]) <= 0).all()


def test_many_categories_of_a_hierarchy_are_shown_by_their_finest_level_of_few_nodes() -> None:
    rows = tuple((f"c{i:02}", f"of {i // 4}", f"half {i // 20}", "*") for i in range(40))
    coded, column = column_of([f"c{i:02}" for i in drawn(40)], "nominal", hierarchy=rows)
    found = bars(coded, column)
    assert found.labels == tuple(f"of {i}" for i in range(10))
    assert found.before == pytest.approx(coded.counts.reshape(10, 4).sum(axis=1) / N)
    assert found.after.sum() == pytest.approx(1)


def test_intervals_of_whole_numbers_count_evenly_for_each_number() -> None:
    coded, column = column_of(drawn(36))
    found = distribution(coded, column).chart
    assert isinstance(found, Histogram)
    domain = [str(i) for i in range(36)]
    assert coded.values.cast(pl.String).to_list() == domain
    expected = spread(column.values().to_list(), domain)
    assert len(found.after) == 36
    assert found.after == pytest.approx([expected[value] for value in domain])
    assert found.before == pytest.approx(coded.counts / N)


def test_points_and_intervals_of_decimals_lie_in_their_bins() -> None:
    values = np.random.default_rng(2).normal(0, 1, N)
    coded, column = column_of(values.tolist())
    found = distribution(coded, column).chart
    assert isinstance(found, Histogram)
    assert found.before.sum() == pytest.approx(1)
    assert found.after.sum() == pytest.approx(1)
    low, high = column.low[column.index], column.high[column.index]
    edge = found.edges[10]
    below = np.where(high > low, np.clip((edge - low) / np.maximum(high - low, 1e-12), 0, 1), low < edge)
    assert found.after[:10].sum() == pytest.approx(below.mean())
    assert found.before[:10].sum() == pytest.approx((values < edge).mean())


def test_a_far_tail_lies_in_the_last_bin() -> None:
    values = [*drawn(100), 10_000_000]
    coded, column = column_of(values)
    found = distribution(coded, column).chart
    assert isinstance(found, Histogram)
    assert found.edges[-1] < 200
    assert found.before.sum() == pytest.approx(1)
    assert found.after.sum() == pytest.approx(1)


@pytest.mark.parametrize(("days", "form", "least"), [(365, "%Y-%m", 3), (9_000, "%Y", 3), (40, "%Y-%m-%d", 3)])
def test_days_are_labelled_by_month_or_year_where_there_are_many(days: int, form: str, least: int) -> None:
    start = dt.date(2009, 1, 10)
    found = distribution(*column_of([start + dt.timedelta(d) for d in drawn(days)])).chart
    assert isinstance(found, Histogram)
    labelled = {place: dt.datetime.strptime(label, form).date() for place, label in found.ticks}
    assert least <= len(labelled) <= 7
    assert all((day - dt.date(1970, 1, 1)).days == place for place, day in labelled.items())


def test_ordered_categories_keep_their_order() -> None:
    domain = [f"grade {i:02}" for i in range(20)]
    coded, column = column_of([domain[i] for i in drawn(20)], "ordinal", domain=domain)
    found = distribution(coded, column).chart
    assert isinstance(found, Histogram)
    expected = spread(column.values().to_list(), domain)
    assert found.after == pytest.approx([expected[value] for value in domain])
    assert found.ticks[0][1] == "grade 00"


def test_a_column_without_values_has_one_bar() -> None:
    coded, column = column_of([None] * 40, "nominal")
    found = bars(coded, column)
    assert found.labels == ("(missing)",)
    assert found.before == pytest.approx([1.0])
    assert found.after == pytest.approx([1.0])


def test_precision_counts_records_not_cells() -> None:
    table = pl.DataFrame({"a": [1] * 6 + [2, 3, 4, 4]})
    policy = Policy(quasi_identifiers=["a"], models=(), method=Coarsen(2))
    release = anonymize(table, policy)
    found = precision(release.masked.columns["a"])
    assert release.masked.columns["a"].text.drop_nulls().to_list() == ["[1;2]", "[3;4]"]
    assert (found.exact, found.whole, found.width) == (0.0, 0.0, 1.0)
    exact = precision(anonymize(table, Policy(**dict(policy) | {"method": Coarsen(9)})).masked.columns["a"])
    assert (exact.exact, exact.width) == (1.0, 0.0)
