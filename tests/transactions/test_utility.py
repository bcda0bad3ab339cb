"""What released histories kept: cross tables, scores, sets and sales worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError
from shoal.transactions.histories import Histories, Roles, histories_of
from shoal.transactions.release import anonymize_transactions
from shoal.transactions.utility import (
    cmae,
    joint_purchases,
    owners,
    read_people,
    revenue_error,
    rfm_change,
    transaction_utility,
)

ROLES = Roles("who", "good", time="day", price="price", quantity="pieces")
PEOPLE = pl.DataFrame({"id": ["1", "2", "3"], "sex": ["f", "m", "f"]})
TRUTH = pl.DataFrame({"pseudonym": [7, 8, 9], "customer": [3, 1, 2]})


def sales(rows: list[tuple[int, str, str, float, int]]) -> Histories:
    return histories_of(pl.DataFrame(rows, schema=["who", "good", "day", "price", "pieces"], orient="row"), ROLES)


BEFORE = sales(
    [
        (1, "a", "2024-01-05", 2.0, 3),
        (1, "b", "2024-02-01", 1.0, 1),
        (2, "a", "2024-01-09", 2.0, 2),
        (3, "c", "2024-01-31", 5.0, 1),
    ]
)
AFTER = sales(
    [
        (8, "a", "2024-01-05", 2.0, 3),
        (8, "b", "2024-02-01", 1.0, 1),
        (9, "a", "2024-01-09", 2.0, 2),
        (9, "b", "2024-02-01", 1.0, 1),
        (7, "c", "2024-01-31", 5.0, 1),
    ]
)


def test_nothing_is_lost_by_the_original() -> None:
    found = transaction_utility(BEFORE, BEFORE, people=PEOPLE)
    assert found.left_out == {}
    assert found.values.pop("frequent_sets_kept") == 1  # type: ignore[attr-defined]
    assert set(found.values.values()) == {0.0}


def test_a_dummy_of_one_pound_for_customer_2() -> None:
    found = transaction_utility(BEFORE, AFTER, truth=TRUTH, people=PEOPLE)
    assert found.values["u1"] == 0.5  # spend: f 12, m 4 before; f 12, m 5 after
    assert found.values["u2"] == 0.5  # pieces: f 5, m 2; f 5, m 3
    assert found.values["revenue_by_good_error"] == pytest.approx(1 / 16)
    assert found.values["revenue_by_month_error"] == pytest.approx(1 / 16)


def test_without_a_customer_table_the_cells_are_goods() -> None:
    assert cmae(BEFORE, AFTER, "spend") == pytest.approx((0 + 1 + 0) / 3)
    assert cmae(BEFORE, AFTER, "records") == pytest.approx((0 + 1 + 0) / 3)


def test_means_of_means() -> None:
    whose = owners(BEFORE, AFTER, TRUTH)
    # mean price of 1 is 1.5 in both, of 3 is 5; of 2 it falls from 2 to 1.5: cells f (1.5 + 5) / 2 and m
    assert cmae(BEFORE, AFTER, "price", inner="mean", outer="mean", by=PEOPLE, whose=whose) == pytest.approx(0.25)


def test_who_cannot_be_told_leaves_measures_out() -> None:
    found = transaction_utility(BEFORE, AFTER, people=PEOPLE)
    assert set(found.left_out) == {"u1", "u2", "u3"}
    assert "--truth" in found.left_out["u3"]


def test_columns_that_are_not_named_leave_measures_out() -> None:
    bare = histories_of(BEFORE.table, Roles("who", "good"))
    found = transaction_utility(bare, bare)
    assert set(found.left_out) == {"u1", "u2", "u3", "revenue_by_good_error", "revenue_by_month_error"}
    assert "quantities" in found.left_out["u2"]
    with pytest.raises(InputError, match="no column of prices"):
        cmae(bare, bare, "spend")


def test_scores_by_the_original_s_quintiles() -> None:
    days = [(u, "a", f"2024-01-{u:02d}", 1.0, 1) for u in range(1, 11)]
    before = sales(days)
    # customer 1, longest away and as frugal as all, buys again on the last day
    after = sales([*days, (1, "b", "2024-01-10", 1.0, 1)])
    whose = owners(before, after, None)
    assert whose is not None
    # recency falls by 4 of 5 classes; frequency and spend rise beyond all cuts, by 4 each
    ranks = np.searchsorted(np.quantile(np.arange(10), [0.2, 0.4, 0.6, 0.8]), [9, 0])
    assert rfm_change(before, after, whose) == pytest.approx((abs(ranks[0] - ranks[1]) + 4 + 4) / 3 / 10)


def test_goods_bought_together() -> None:
    before, after = (
        histories_of(pl.DataFrame(rows, schema=["who", "good"], orient="row"), Roles("who", "good"))
        for rows in (
            [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "c"), (4, "c")],
            [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "c"), (4, "c"), (3, "a"), (4, "x")],
        )
    )
    found = joint_purchases(before, after)
    # frequent before: a, b, c, ab; after also ac
    assert found["frequent_sets_kept"] == 1
    assert found["frequent_sets_new"] == pytest.approx(1 / 5)
    assert found["support_error"] == pytest.approx(0.25 / 4)  # a: 0.5 -> 0.75
    phi = (0.5 - 0.75 * 0.5) / np.sqrt(0.75 * 0.25 * 0.25)
    assert found["correlation_error"] == pytest.approx((abs(1 - phi) + abs(-1 + phi) + 0) / 3)


def test_revenue_by_good_and_month() -> None:
    assert revenue_error(BEFORE, AFTER, ["good", "month"]) == pytest.approx(1 / 16)


def test_dummies_cost_utility_and_more_clusters_cost_less() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (u, f"g{rng.integers(40)}", f"2024-01-{rng.integers(1, 29):02d}", 2.0, int(rng.integers(1, 5)))
        for u in range(40)
        for _ in range(6)
    ]
    original = sales(rows)
    errors = []
    for clusters in (2, 5, 20):
        release = anonymize_transactions(
            original, clusters=clusters, show=["day", "price", "pieces"], dummies="records", seed=1
        )
        masked = histories_of(release.table, ROLES)
        errors.append(transaction_utility(original, masked, truth=release.secret_map).values)
    for name in ("u1", "u2", "u3", "support_error", "revenue_by_month_error"):
        assert errors[0][name] > errors[1][name] > errors[2][name] > 0


def test_a_customer_table_is_read_by_name_or_number(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("1,f,x\n2,m,y\n")
    assert read_people(path, ["3"], header=False).rows() == [(1, "x"), (2, "y")]
    assert read_people(path, header=False).width == 3
    with pytest.raises(InputError, match="no column 'sex'"):
        read_people(path, ["sex"], header=False)
    path.write_text("1,f\n1,m\n")
    with pytest.raises(InputError, match="each customer once"):
        read_people(path, header=False)


def test_a_secret_map_that_names_a_pseudonym_twice_is_refused() -> None:
    table = histories_of(pl.DataFrame({"c": ["1", "2"], "i": ["a", "b"]}), Roles("c", "i"))
    truth = pl.DataFrame({"pseudonym": ["1", "1"], "customer": ["1", "2"]})
    with pytest.raises(InputError, match="gives '1' more than one customer"):
        owners(table, table, truth)
    nameless = pl.DataFrame(
        {"pseudonym": [None, None], "customer": ["1", "2"]}, schema_overrides={"pseudonym": pl.String}
    )
    assert owners(table, table, nameless) is None
