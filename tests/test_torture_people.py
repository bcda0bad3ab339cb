"""The torture's judge where people have several records: it must see whatever tells fewer apart than promised."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import polars as pl
import pytest
from torture import crowds
from torture.cases import Case, draw_people_case
from torture.judge import Row
from torture.people import FORMS, People
from torture.tables import Column, Table
from torture.verdicts import broken_promise

# Twelve records of six people, two each; those of a person stand in both classes.
OWNER = (0, 1, 2, 3, 4, 5) * 2
IDS = pl.Series([f"patient-{who:012x}" for who in OWNER])
TABLE = Table(
    (Column("age", pl.Series("age", [20] * 6 + [40] * 6), ordered=True),),
    (Column("ill", pl.Series("ill", ["a", "a", "b", "b", "c", "c"] * 2), ordered=False),),
    pl.Series([f"record-{i:012x}-{i}" for i in range(12)]),
)
LOT = (3, 1, 6, 2, 5, 4)  # the number of each person


def case(promise: str, *, in_class: bool = False, form: str = "", **promises: float) -> Case:
    people = People(promise, "pid", OWNER, IDS, in_class=in_class, counted=promise != "pseudonym", form=form)
    return Case(3, TABLE, "hilbert", promises, "distinct", "", (), 0.0, ".csv", ".csv", "memory", 1, people=people)


def rows_of(**columns: list[object]) -> list[Row]:
    shown = {"age": ["[20;25]"] * 6 + ["[40;45]"] * 6, "ill": TABLE.confidential[0].values.to_list(), **columns}
    return [{"rid": rid, **{name: str(values[i]) for name, values in shown.items()}} for i, rid in enumerate(TABLE.rid)]


def numbered(**columns: list[object]) -> list[Row]:
    return rows_of(pid=[LOT[who] for who in OWNER], **columns)


def test_a_class_of_one_persons_records_is_noticed() -> None:
    asked = case("persons", k=6)
    assert broken_promise(asked, rows_of()) is None
    alone = replace(asked, people=replace(asked.people, owner=(0, 0, 2, 3, 4, 5) * 2))
    assert "a class of 5 people" in (broken_promise(alone, rows_of()) or "")


def test_values_of_one_person_count_once() -> None:
    three = case("persons", k=1, l=3)
    assert broken_promise(three, rows_of()) is None
    assert "2.0000 values" in (broken_promise(three, rows_of(ill=["a", "a", "b", "b", "b", "b"] * 2)) or "")
    owner = (0, 0, 0, 3, 4, 5, 0, 1, 2, 3, 4, 5)  # a class in which one person shows the same value three times
    ill = ["a", "a", "a", "b", "b", "b", "a", "a", "a", "b", "b", "b"]
    far = replace(case("persons", t=0.1), people=replace(three.people, owner=owner))
    assert "0.2500 away" in (broken_promise(far, rows_of(ill=ill)) or "")
    assert broken_promise(case("persons", t=0.1), rows_of(ill=ill)) is None


@pytest.mark.parametrize("promise", ["linked", "households"])
def test_a_history_of_its_own_is_noticed(promise: str) -> None:
    asked = case(promise, **{promise: 6})
    assert broken_promise(asked, numbered()) is None
    moved = [*["[20;25]"] * 6, *["[40;45]"] * 5, "[20;25]"]  # both records of the last person look alike
    assert "1 with the same records" in (broken_promise(asked, numbered(age=moved)) or "")


def test_a_household_without_a_member_is_noticed() -> None:
    assert crowds.wrong_numbers(case("households", households=2), numbered()) is None
    assert "without some" in (crowds.wrong_numbers(case("households", households=2), numbered()[1:]) or "")
    assert crowds.wrong_numbers(case("linked", linked=2), numbered()[1:]) is None


@pytest.mark.parametrize("promise", ["linked", "pseudonym"])
def test_numbers_that_are_no_persons_are_noticed(promise: str) -> None:
    asked = case(promise, form="code" if promise == "pseudonym" else "", k=2)
    assert crowds.wrong_numbers(asked, numbered()) is None
    twice = [LOT[who] for who in OWNER[:11]] + [7]
    assert "several numbers" in (crowds.wrong_numbers(asked, rows_of(pid=twice)) or "")
    shared = [LOT[who] if who else LOT[1] for who in OWNER]
    assert "of several people" in (crowds.wrong_numbers(asked, rows_of(pid=shared)) or "")


def test_people_of_a_class_who_are_miscounted_are_noticed() -> None:
    asked = case("persons", in_class=True, k=2)
    assert crowds.wrong_numbers(asked, rows_of(person_in_class=[*LOT, *LOT[::-1]])) is None
    assert crowds.wrong_numbers(asked, rows_of(person_in_class=[1, *LOT[1:], *LOT]))
    assert "numbered" in (crowds.wrong_numbers(asked, rows_of(person_in_class=[7, *LOT[1:], *LOT])) or "")


def test_numbers_in_the_order_of_the_table_are_noticed() -> None:
    ids = pl.Series([f"patient-{i:012x}" for i in range(12)])
    people = People("linked", "pid", tuple(range(12)), ids)
    ordered = rows_of(pid=list(range(12)))
    assert "follow the table" in (crowds.wrong_numbers(replace(case("linked"), people=people), ordered) or "")


def test_dates_that_are_not_moved_alike_are_noticed() -> None:
    days = [dt.date(2001, 1, 1) + dt.timedelta(days=i) for i in range(12)]
    place, owner = {rid: i for i, rid in enumerate(TABLE.rid)}, dict(zip(TABLE.rid, OWNER, strict=True))
    for moved, wrong in ((5, False), (0, True), (400, True)):
        rows = rows_of(seen=[day + dt.timedelta(days=moved) for day in days])
        assert (crowds.misdated(rows, {"seen": pl.Series(days)}, place, owner) is not None) is wrong
    rows = rows_of(seen=[day + dt.timedelta(days=1 + i % 5) for i, day in enumerate(days)])
    assert crowds.misdated(rows, {"seen": pl.Series(days)}, place, owner)


@pytest.mark.parametrize("value", ["patient-00000000000a", 100_000_000_123_456])
def test_an_identifier_in_the_bytes_is_noticed(value: object) -> None:
    ids = pl.Series([value])
    assert crowds.named(b"..." + str(value).encode() + b"...", ids)
    assert crowds.named(b"...", ids) is None
    if isinstance(value, int):
        assert crowds.named(b"..." + value.to_bytes(8, "little") + b"...", ids)


def test_cases_of_people_follow_from_their_seeds_and_are_of_every_sort() -> None:
    drawn = [draw_people_case(seed, ("memory",)) for seed in range(60)]
    assert draw_people_case(7, ("memory",)).table.frame().equals(drawn[7].table.frame())
    assert {case.people.promise for case in drawn if case.people} == {"persons", "linked", "households", "pseudonym"}
    assert {case.people.form for case in drawn if case.people} == {"", *FORMS}
