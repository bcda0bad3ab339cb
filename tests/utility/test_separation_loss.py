"""Separation loss, against counting pairs one by one; and that kinds can be compared by it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from tests.oracles.released import admits


def people(records: int = 60) -> pl.DataFrame:
    dice = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": dice.integers(20, 60, records),
            "hospital_id": dice.integers(100, 115, records),
            "zip": dice.integers(92_000, 92_060, records),
            "ill": dice.integers(0, 9, records),
        }
    )


def policy(**choices: Any) -> shoal.Policy:
    return shoal.Policy(**{"quasi_identifiers": ["age", "hospital_id", "zip"], "confidential": ["ill"], **choices})


def shown_alike(values: list[str], cells: list[str]) -> float:
    """Of the pairs that differ, how many the first one's cell does not tell from the second."""
    pairs = [(cell, other) for cell, own in zip(cells, values, strict=True) for other in values if other != own]
    return sum(admits(cell, other) for cell, other in pairs) / len(pairs)


@pytest.mark.parametrize("method", [shoal.Hilbert(), shoal.Kd(), shoal.Recode()])
def test_pairs_that_are_no_longer_told_apart_are_counted(method: Any) -> None:
    table = people()
    chosen = policy(method=method, suppression=0.5)
    release = shoal.anonymize(table, chosen, seed=1)
    cells = {name: ["*"] * table.height for name in chosen.quasi_identifiers}
    kept = range(table.height) if release.masked.kept is None else release.masked.kept
    for place, record in enumerate(kept):
        for name, column in release.masked.columns.items():
            cells[name][record] = str(column.text[int(column.index[place])])
    for name, lost in release.separation_losses.items():
        assert lost == pytest.approx(shown_alike([str(value) for value in table[name]], cells[name]))
    mean = sum(filter(None, release.separation_losses.values())) / 3
    assert release.separation_loss == pytest.approx(mean)


def test_birth_dates_lose_about_the_same_as_text_and_as_dates() -> None:
    dice = np.random.default_rng(3)
    method = shoal.Kd()  # its ranges do not overlap: no date costs more because of how records were grouped
    days = [dt.date(1930, 1, 1) + dt.timedelta(days=int(day)) for day in dice.choice(30_000, 3_000, replace=False)]
    losses = []
    for born in (pl.Series(days), pl.Series([day.strftime("%Y/%m/%d") for day in days])):
        release = shoal.anonymize(pl.DataFrame({"born": born}), shoal.Policy(quasi_identifiers=["born"], method=method))
        losses.append((release.information_loss, release.separation_loss))
    (as_dates, dates_apart), (as_text, text_apart) = losses
    assert as_dates > 2 * as_text  # Eq. 3 rewards the misreading
    assert text_apart == pytest.approx(dates_apart, rel=0.2)  # a set leaves out who lies between


def test_what_is_hidden_loses_all_and_what_is_shown_loses_nothing() -> None:
    table = pl.DataFrame({"age": [1, 2, 3, None, 3, None], "sex": ["a"] * 6, "town": [1, 2, 1, 2, 1, 2]})
    shown = table.with_columns(age=pl.lit("*"))
    utility = shoal.utility(table, shown, shoal.Policy(quasi_identifiers=table.columns), paired=True)
    assert utility.separation_losses == {"age": 1.0, "sex": 0.0, "town": 0.0}
    assert utility.separation_loss == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("shown", "lost"),
    [
        (["1", "2", "3", "4", "2"], 3 / 20),  # 2, 3 and 4, of all that 5 was told apart from
        (["[1;2]", "[1;2]", "[3;5]", "[3;5]", "[3;5]"], 8 / 20),
        (["1", "2", "3", "4", None], 4 / 20),  # nothing is known of the last
    ],
)
def test_small_tables_lose_what_can_be_counted_by_hand(shown: list[str | None], lost: float) -> None:
    table, masked = pl.DataFrame({"x": [1, 2, 3, 4, 5]}), pl.DataFrame({"x": shown})
    utility = shoal.utility(table, masked, shoal.Policy(quasi_identifiers=["x"]), paired=True)
    assert utility.separation_loss == pytest.approx(lost)
    assert utility.to_dict()["separation_loss_by_attribute"] == {"x": pytest.approx(lost)}


def test_without_pairs_it_is_left_out_with_a_reason() -> None:
    table = pl.DataFrame({"x": [1, 2, 3, 4, 5]})
    utility = shoal.utility(table, table.reverse(), shoal.Policy(quasi_identifiers=["x"]))
    assert utility.separation_loss is None
    assert "cannot be paired" in utility.left_out["separation_loss"]
