"""The risk of people on every engine is that in memory, whatever a table shows of whose its records are."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import shoal
from shoal.data.person import IN_CLASS
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.risk.measure import assess_risk
from shoal.risk.scenarios import scenarios
from tests.engines.test_people import VISITS, policy

Engine = Callable[[pl.DataFrame], Table]

GROUPS = {"birth": ("age",), "body": ("sex",)}
SHOWN = VISITS.with_columns(age=pl.col("age") // 2)

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 150)


@pytest.mark.parametrize("shown", ["people", "people of each class", "some are not named"])
def test_people_are_counted_as_in_memory(engine: Engine, shown: str) -> None:
    chosen, frame = policy(groups=GROUPS), SHOWN
    if shown == "people of each class":
        number = pl.col("pid").rank("dense").over("age", "sex").cast(pl.Int64).alias(IN_CLASS)
        frame = frame.with_columns(number).drop("pid")
    elif shown == "some are not named":
        chosen = policy(groups=GROUPS, missing_person="one-each")
        frame = frame.with_columns(pid=pl.when(pl.col("row") % 9 > 0).then("pid"))
    schema = chosen.schema(frame, released=True)
    ours, theirs = assess_risk(engine(frame), schema, groups=GROUPS), shoal.risk(frame, chosen)
    assert ours.people is not None
    assert theirs.people is not None
    assert _flat(ours.people.to_dict()) == pytest.approx(_flat(theirs.people.to_dict()))
    assert ours.to_dict()["attributes_known"] == theirs.to_dict()["attributes_known"]
    assert "people" not in ours.left_out
    for known in ({}, {"fraction": 0.3}):
        found, expected = scenarios(engine(frame), schema, **known), scenarios(frame, schema, **known)
        assert found.people is not None
        assert expected.people is not None
        assert _flat(found.people.to_dict()) == pytest.approx(_flat(expected.people.to_dict()))


def _flat(numbers: dict[str, object]) -> dict[str, object]:
    """Without tables within a table."""
    inner = {name: each for name, each in numbers.items() if isinstance(each, dict)}
    outer = {name: each for name, each in numbers.items() if name not in inner}
    return outer | {f"{outside} {name}": number for outside, each in inner.items() for name, number in each.items()}


def test_whoever_is_not_named_is_refused_and_a_table_that_shows_nobody_says_so(engine: Engine) -> None:
    schema = policy().schema(SHOWN, released=True)
    with pytest.raises(InputError, match="says whom a record is about and is empty in record"):
        assess_risk(engine(SHOWN.with_columns(pid=pl.when(pl.col("row") != 9).then("pid"))), schema)
    risk = assess_risk(engine(SHOWN.drop("pid")), schema)
    assert risk.people is None
    assert "neither 'pid' nor 'person_in_class'" in risk.left_out["people"]


def test_weights_are_of_people_with_one_record(engine: Engine) -> None:
    frame, schema = SHOWN.with_columns(w=pl.lit(2.0)), policy().schema(SHOWN, released=True)
    with pytest.raises(InputError, match="may have several records"):
        scenarios(engine(frame), schema, weights="w")
    once = frame.with_columns(pid=pl.col("row").cast(pl.String))
    assert scenarios(engine(once), schema, weights="w").individual is not None


def test_a_population_bounds_what_it_does_not_tell_of_people(engine: Engine) -> None:
    schema = policy().schema(SHOWN, released=True)
    found = scenarios(engine(SHOWN), schema, population=SHOWN.select("age", "sex"))
    assert found.people is not None
    assert found.people.prosecutor.highest == scenarios(SHOWN, schema).people.prosecutor.highest  # type: ignore[union-attr]
    assert (found.people.journalist is None) is ("at most as often" in found.note)
