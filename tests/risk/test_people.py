"""How exposed people are, where a column says whom each record is about."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.risk.measure import THRESHOLDS, assess_risk
from shoal.risk.scenarios import scenarios

STAYS = pl.DataFrame(
    {
        "pid": ["a", "a", "b", "c", "c", "d", "e", "f", "f"],
        "age": [30, 30, 30, 40, 50, 40, 50, 60, 60],
        "sex": ["f", "f", "f", "m", "m", "m", "m", "f", "f"],
        "w": [2.0] * 9,
    }
)


def policy(**choices: Any) -> shoal.Policy:
    return shoal.Policy(**{"quasi_identifiers": ["age", "sex"], "person": "pid", **choices})


def test_two_records_of_one_person_do_not_hide_her() -> None:
    risk = shoal.risk(STAYS, policy(groups={"sex": ["sex"], "age": ["age"]}))
    assert risk.people is not None
    assert (risk.uniques, risk.classes.highest_risk) == (0, 0.5)
    assert (risk.people.people, risk.people.fewest, risk.people.alone) == (6, 1, 1)
    assert risk.people.highest_risk == 1.0
    assert risk.people.average_risk == pytest.approx((5 / 2 + 1) / 6)
    assert {known.groups: known.people_alone for known in risk.attributes_known} == {
        ("sex",): 0, ("age",): 1, ("sex", "age"): 1
    }  # fmt: skip


def test_people_alike_by_each_record_are_told_apart_by_all_of_them() -> None:
    # a and b stand in the same class, a twice; c in the classes of d and of e.
    assert shoal.risk(STAYS, policy()).people.alone_by_history == 6  # type: ignore[union-attr]
    once = STAYS.unique(["pid"], keep="first", maintain_order=True)
    assert shoal.risk(once, policy()).people.alone_by_history == 2  # type: ignore[union-attr]


_tables = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=25)


@given(_tables)
def test_people_at_risk_are_those_of_a_slow_count(rows: list[tuple[int, int]]) -> None:
    frame = pl.DataFrame(rows, schema=["pid", "age"], orient="row")
    chosen = policy(quasi_identifiers=["age"])
    people = assess_risk(frame, chosen.schema(frame, released=True)).people
    assert people is not None
    among = {age: {pid for pid, other in rows if other == age} for _, age in rows}
    risk = {who: max(1 / len(among[age]) for pid, age in rows if pid == who) for who, _ in rows}
    history = {who: tuple(sorted(age for pid, age in rows if pid == who)) for who, _ in rows}
    shared = Counter(history.values())
    assert people.people == len(risk)
    assert people.highest_risk == pytest.approx(max(risk.values()))
    assert people.average_risk == pytest.approx(sum(risk.values()) / len(risk))
    assert people.alone == sum(value == 1 for value in risk.values())
    assert people.alone_by_history == sum(shared[history[who]] == 1 for who in risk)
    assert people.people_at_risk == {limit: sum(value > limit for value in risk.values()) for limit in THRESHOLDS}
    three = scenarios(frame, chosen.schema(frame, released=True)).people
    assert three is not None
    assert three.prosecutor.average == pytest.approx(people.average_risk)


def test_of_one_record_a_person_people_are_at_the_risk_of_their_records() -> None:
    once = STAYS.with_columns(pid=pl.int_range(9))
    risk = shoal.risk(once, policy())
    assert risk.people is not None
    assert (risk.people.highest_risk, risk.people.people_at_risk) == (risk.classes.highest_risk, risk.records_at_risk)
    assert risk.people.average_risk == pytest.approx(risk.classes.average_risk)
    for known in ({}, {"fraction": 0.3}, {"population": pl.concat([STAYS, STAYS]).drop("pid")}):
        three = scenarios(once, policy().schema(once, released=True), **known)  # type: ignore[arg-type]
        assert three.people is not None
        assert three.people.prosecutor.highest == pytest.approx(three.prosecutor.highest)
        assert three.people.marketer == pytest.approx(three.marketer)
        if known:
            assert three.people.journalist.highest == pytest.approx(three.journalist.highest)  # type: ignore[union-attr]


def test_what_is_shown_speaks_of_people_and_says_what_is_of_records() -> None:
    text = str(shoal.risk(STAYS, policy()))
    assert text.startswith("Risk of 6 people (9 records)")
    assert "people at risk > 0.2" in text
    assert "records at risk" not in text
    assert "Of 9 records" in text
    assert "6 people in 4 classes" in str(scenarios(STAYS, policy().schema(STAYS, released=True)))


def test_people_numbered_afresh_in_each_class_are_counted_once_in_each() -> None:
    release = shoal.anonymize(STAYS, policy(models=[shoal.KAnonymity(2)]), seed=1)
    numbered = release.table.with_columns(person_in_class=pl.Series([1, 1, 2, 1, 2, 1, 2, 3, 3]))
    people = shoal.risk(numbered, policy()).people
    assert people is not None
    assert (people.across, people.alone_by_history) == (False, None)
    assert "counted once in each class" in people.sheet().title


def test_a_table_that_does_not_show_whose_records_are_is_measured_by_records_and_says_so() -> None:
    risk = shoal.risk(STAYS.drop("pid"), policy())
    assert risk.people is None
    assert "neither 'pid' nor 'person_in_class'" in risk.left_out["people"]
    assert risk.to_dict()["left_out"] == dict(risk.left_out)


def test_weights_of_people_with_several_records_are_refused() -> None:
    schema = policy().schema(STAYS, released=True)
    with pytest.raises(InputError, match="people \\('pid'\\) may have several records"):
        scenarios(STAYS, schema, weights="w")
    with pytest.raises(InputError, match="may have several records"):
        scenarios(STAYS.drop("pid"), schema, weights="w")
    once = STAYS.with_columns(pid=pl.int_range(9))
    assert scenarios(once, schema, weights="w").individual is not None
