"""A promise that leaves one class or a handful says so, names the column that forced it, and advises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.privacy import KAnonymity, LDiversity, TCloseness


def people(n: int = 400) -> pl.DataFrame:
    dice = np.random.default_rng(3)
    age = dice.integers(18, 90, n)
    return pl.DataFrame(
        {
            "age": age,
            "ill": np.where(np.arange(n) % 3 == 0, "yes", "no"),
            "bound": np.where(age > 50, "old", "young"),  # goes with age: closeness merges all
            "case": [f"case {i}" for i in range(n)],
            "group": [f"group {i % 60}" for i in range(n)],
        }
    )


def policy(*models: object, confidential: list[str], **choices: object) -> shoal.Policy:
    return shoal.Policy(quasi_identifiers=["age"], confidential=confidential, models=models, **choices)  # type: ignore[arg-type]


BOUND = policy(
    KAnonymity(5), LDiversity(2, "ill"), TCloseness(0.02, "bound"), confidential=["ill", "bound"],
    method=shoal.Kd(),
)  # fmt: skip


def test_one_class_is_said_with_the_column_that_forced_it() -> None:
    release = shoal.anonymize(people(), BOUND)
    assert len(release.sizes) == 1
    note = release.notes[-1]
    assert note.startswith("One class is left: the promise holds, but")
    assert "t-closeness of 'bound' at 0.02 forces it" in note
    assert "--kind bound=ordinal" in note
    assert note in release.to_dict()["notes"]


@pytest.mark.slow
def test_so_it_is_in_the_report_and_on_disk(tmp_path: Path) -> None:
    release = shoal.anonymize(people(), BOUND)
    release.report(tmp_path / "r.html")
    assert "One class is left" in (tmp_path / "r.html").read_text(encoding="utf-8")
    on_disk = shoal.anonymize(people().lazy(), BOUND, engine="disk")
    assert any("t-closeness of 'bound' at 0.02 forces it" in note for note in on_disk.notes)


def test_a_handful_and_a_class_of_nearly_all_are_said_too() -> None:
    large = policy(KAnonymity(30), confidential=["ill"], method=shoal.Coarsen(2))
    assert "Only 2 classes are left" in shoal.anonymize(people(), large).notes[-1]
    assert "The class size of 30 or the method itself" in shoal.anonymize(people(), large).notes[-1]
    skewed = people().with_columns(age=pl.Series([*range(1000, 1370), *np.repeat(np.arange(1, 7) * 5000, 5)]))
    wide = policy(KAnonymity(5), confidential=["ill"], method=shoal.Coarsen(20, mode="width"))
    assert "One class holds 370 of 400 records" in shoal.anonymize(skewed, wide).notes[-1]


def test_a_table_that_tells_nobody_apart_is_not_blamed_on_a_promise() -> None:
    alike = people().with_columns(age=pl.lit(40))
    assert not any(
        "class" in note for note in shoal.anonymize(alike, policy(KAnonymity(5), confidential=["ill"])).notes
    )


def test_usual_releases_say_nothing_of_it() -> None:
    release = shoal.anonymize(people(), policy(KAnonymity(5), LDiversity(2), confidential=["ill"]))
    assert not any("left" in note and "class" in note for note in release.notes)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_closeness_of_a_column_of_nearly_as_many_values_as_records_is_refused(engine: str) -> None:
    asked = policy(KAnonymity(5), TCloseness(0.2), confidential=["case"])
    words = (
        r"t-closeness of 'case' at 0\.2 would leave one class: .* 400 values in 400 records, .* at least 320 records"
    )
    with pytest.raises(InputError, match=words):
        shoal.anonymize(people().lazy() if engine == "disk" else people(), asked, engine=engine)  # type: ignore[call-overload]


def test_the_least_class_is_the_fewest_records_that_can_be_close() -> None:
    assert TCloseness(0.2).least_class(Kind.NOMINAL, np.array([1] * 10)) == 8
    assert TCloseness(0.2).least_class(Kind.NOMINAL, np.array([80, 10, 10])) == 1
    assert TCloseness(0.0).least_class(Kind.NOMINAL, np.array([80, 10, 10])) == 3
    close = TCloseness(0.2, "case")
    table = people(10)
    coded = shoal.anonymize(table, policy(KAnonymity(5), confidential=["case"])).original["case"]
    for size in range(1, 11):  # the first records have as many values as they can
        level = close.levels(coded, np.arange(size), np.array([0, size]))[0]
        assert (level <= 0.2 + 1e-9) == (size >= 8)


def test_an_order_that_counts_is_not_refused() -> None:
    numbered = people().with_columns(case=pl.int_range(pl.len()))
    shoal.anonymize(numbered, policy(KAnonymity(5), TCloseness(0.3), confidential=["case"]))
