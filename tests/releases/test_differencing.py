"""The differencing attack: the worked example, and bounds that always hold the victim's value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.releases.audit import audit
from shoal.releases.differencing import PUBLISHED, Aggregates
from shoal.releases.published import published


def aggregates(values: list[float]) -> Aggregates:
    array = np.array(values, np.float64)
    numbers = (len(array), array.min(), array.max(), array.mean(), np.median(array))
    return Aggregates(*(np.array([number], np.float64) for number in numbers))


def bounds(larger: list[float], victim: int, by: str) -> tuple[float, float]:
    smaller = [value for i, value in enumerate(larger) if i != victim]
    low, high = PUBLISHED[by](aggregates(larger), aggregates(smaller))
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("by", "known"), [("range", (50, 50)), ("mean", (50, 50)), ("median", (30, np.inf))])
def test_the_worked_example(by: str, known: tuple[float, float]) -> None:
    assert bounds([10, 20, 30, 40, 50], 4, by) == known


def test_who_is_not_at_an_end_is_hidden_by_a_range_but_not_by_a_mean() -> None:
    assert bounds([10, 20, 30, 40, 50], 2, "range") == (10, 50)
    assert bounds([10, 20, 30, 40, 50], 2, "mean") == (30, 30)


def test_a_median_of_even_many_tells_the_value_she_lies_beyond() -> None:
    assert bounds([10, 20, 30, 40], 3, "median") == (30, np.inf)
    assert bounds([10, 20, 30, 40], 0, "median") == (-np.inf, 20)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9), st.data(), st.sampled_from(list(PUBLISHED)))
def test_what_is_concluded_is_true(values: list[float], data: st.DataObject, by: str) -> None:
    victim = data.draw(st.integers(0, len(values) - 1))
    low, high = bounds(values, victim, by)
    assert low - 1e-9 <= values[victim] <= high + 1e-9


def two_releases(without: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A class of five; in the second release one of them stands elsewhere."""
    table = pl.DataFrame({"id": range(10), "age": ["young"] * 5 + ["old"] * 5, "charge": range(10, 110, 10)})
    moved = table.with_columns(age=pl.when(pl.col("id") == without).then(pl.lit("old")).otherwise("age"))
    return table, moved


def test_the_attack_between_two_releases() -> None:
    first, second = two_releases(4)
    releases = [published(name, table, "id", ["age"], ["charge"]) for name, table in (("A", first), ("B", second))]
    (pair,) = audit(releases, 3, ["charge"]).pairs
    found = {attack.published: (attack.victims, attack.revealed) for attack in pair.differencing}
    # She is missed in the class she left, and is one too many in the class she joined: at the end of both.
    assert found == {"range": (2, 2), "mean": (2, 2), "median": (2, 0)}
    open_left = {attack.published: attack.left_open for attack in pair.differencing}
    assert open_left["mean"] == 0
    assert 0 < open_left["median"] < 1


def test_text_is_not_attacked() -> None:
    first, second = (table.cast({"charge": pl.String}) for table in two_releases(4))
    releases = [published(name, table, "id", ["age"], ["charge"]) for name, table in (("A", first), ("B", second))]
    assert audit(releases, 3, ["charge"]).pairs[0].differencing == ()


def test_an_audit_can_be_written_as_json(tmp_path: Path) -> None:
    first, second = two_releases(1)
    releases = [published(name, table, "id", ["age"], ["charge"]) for name, table in (("A", first), ("B", second))]
    facts = json.loads(json.dumps(audit(releases, 3, ["charge"]).to_dict()))
    assert facts["subjects_below_k"] == 1
    assert facts["smallest_pooled_class"] == 1
