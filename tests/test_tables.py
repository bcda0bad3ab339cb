"""Several tables of the same people: released together with their key, judged together, all of them or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import InputError, PromiseError
from shoal.tables import policies_of
from tests.oracles.histories import least_alike

dice = np.random.default_rng(5)
STAYS = dice.integers(0, 4, 300)
PATIENTS = pl.DataFrame(
    {
        "pid": [f"{i:04}" for i in range(300)],
        "sex": dice.choice(["f", "m"], 300),
        "age": dice.integers(20, 60, 300),
        "stays": STAYS,
    }
)
VISITS = pl.DataFrame(
    {
        "patient": np.repeat([f"{i:04}" for i in range(300)], STAYS),
        "ward": dice.choice(["a", "b"], STAYS.sum()),
        "charge": dice.integers(100, 9_000, STAYS.sum()),
    }
)
TABLES: dict[str, Any] = {
    "visits": {"file": "visits.csv", "key": "patient", "quasi_identifiers": ["ward"], "confidential": ["charge"]}
}


def policy(**choices: Any) -> shoal.Policy:
    chosen: dict[str, Any] = {
        "quasi_identifiers": ["sex", "age", "stays"],
        "person": "pid",
        "models": [shoal.Linked(4)],
        "tables": TABLES,
        "consistent": {"stays": "count(visits)"},
    }
    return shoal.Policy(**{**chosen, **choices})


def released(**choices: Any) -> shoal.TablesRelease:
    return shoal.anonymize_tables({"": PATIENTS, "visits": VISITS}, policy(**choices), seed=1)


def test_tables_keep_their_key_and_whole_histories_are_alike() -> None:
    release = released()
    people, visits = release.tables[""].table, release.tables["visits"].table
    rows = [
        zip(people["pid"], people.select("sex", "age", "stays").rows(), strict=True),
        zip(visits["patient"], visits["ward"], strict=True),
    ]
    assert least_alike(rows) == release.verdict.achieved >= 4
    assert people.height == 300
    kept = PATIENTS.with_columns(number=people["pid"]).join(
        VISITS.with_columns(number=visits["patient"]), left_on="pid", right_on="patient", how="inner"
    )
    assert (kept["number"] == kept["number_right"]).all()
    assert visits.height == VISITS.height
    assert release.tables["visits"].table["charge"].to_list() == VISITS["charge"].to_list()


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"person": None}, "Tables of the same people (visits) keep their key"),
        ({"models": [shoal.Persons(4)]}, "Tables of the same people (visits) keep their key"),
        ({"method": shoal.Noise(0.1)}, "linked puts all rows of one person side by side"),
    ],
)
def test_what_tables_cannot_do_is_refused_in_a_sentence(choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        released(**choices)
    assert str(refused.value).startswith(sentence)


def test_one_table_of_several_is_not_released_alone() -> None:
    with pytest.raises(InputError, match="names further tables"):
        shoal.anonymize(PATIENTS, policy())


def test_a_rule_that_masking_breaks_refuses_all_tables() -> None:
    many = pl.concat([VISITS, VISITS.head(1).select(pl.all().repeat_by(40).explode())])
    counted = PATIENTS.drop("stays").join(
        many.group_by("patient").agg(stays=pl.len()), left_on="pid", right_on="patient", how="left"
    )
    frames = {"": counted.with_columns(pl.col("stays").fill_null(0)), "visits": many}
    with pytest.raises(PromiseError, match=r"'stays' \(stays = count\(visits\)\) is broken by what would be released"):
        shoal.anonymize_tables(frames, policy(), seed=1)
    assert shoal.anonymize_tables(frames, policy(consistent={}), seed=1).verdict.holds


def test_the_policy_of_each_table_is_its_own() -> None:
    each = policies_of(policy(models=[shoal.Linked(4, time="age"), shoal.LDiversity(2)]))
    assert [model.name for model in each[""].models] == ["linked"]
    assert [model.name for model in each["visits"].models] == ["linked", "l-diversity"]
    assert each["visits"].person == "patient"
    read = shoal.Policy(**policy().model_dump())
    assert read.tables["visits"].key == "patient"


def test_files_are_found_beside_the_policy_and_come_together(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(policy().to_toml())
    assert shoal.Policy.read(tmp_path / "p.toml").files == [str(tmp_path / "visits.csv")]


def test_a_key_is_known_again_however_it_is_written() -> None:
    patients = PATIENTS.with_columns(pl.col("pid").cast(pl.Int64))
    visits = VISITS.with_columns(pl.col("patient").cast(pl.Float64).cast(pl.String))  # 7.0
    release = shoal.anonymize_tables({"": patients, "visits": visits}, policy(), seed=1)
    assert release.tables["visits"].table.height == VISITS.height
