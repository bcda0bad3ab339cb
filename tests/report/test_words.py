"""What stays open, in words: each way of showing confidential values, and grouping by them."""

from __future__ import annotations

from typing import Any

import polars as pl

import shoal
from shoal.masking.publishing.confidential import LEAVES_OPEN
from shoal.report.words import limits

TABLE = pl.DataFrame({"age": [30] * 5 + [70] * 5, "charge": range(10), "days": range(10)})


def said(quasi: list[str], **choices: Any) -> dict[str, str]:
    policy = shoal.Policy(quasi_identifiers=quasi, confidential=["charge", "days"], **choices)
    return {limit.title: limit.text for limit in limits(shoal.anonymize(TABLE, policy), {})}


def test_each_way_of_showing_says_what_it_leaves_open() -> None:
    found = said(["age"], show={"charge": "mean", "days": "range"})
    assert found["charge by mean"] == LEAVES_OPEN["mean"]
    assert found["days by range"] == LEAVES_OPEN["range"]
    assert not any("coarser" in title for title in found)
    assert not any(" by " in title for title in said(["age"]))


def test_grouping_by_confidential_attributes_is_pointed_out() -> None:
    assert "charge" in said(["age", "charge"])["The more columns, the coarser the groups"]
    assert not any("coarser" in title for title in said(["age", "charge"], show={"charge": "median"}))
