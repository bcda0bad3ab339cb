"""Records are not people: where an identifier repeats, this is said, with the people of each class counted."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.data.people import COUNTED, likely_identifiers
from shoal.profile import profile

VISITS = pl.DataFrame(
    {
        "patient_id": [f"p{i // 2}" for i in range(40)],
        "age": [20 + i // 4 for i in range(40)],
        "charge": [100 * (i % 7) for i in range(40)],
    }
)
REPEATS = "The identifier 'patient_id' repeats: 40 records of 20 people. k counts records"


def policy(**choices: object) -> shoal.Policy:
    return shoal.Policy(**{"quasi_identifiers": ["age"], "confidential": ["charge"], **choices})  # type: ignore[arg-type]


def test_a_declared_identifier_that_repeats_is_told_and_the_people_of_classes_counted() -> None:
    release = shoal.anonymize(VISITS, policy(identifiers=["patient_id"], models=[shoal.KAnonymity(4)]), seed=1)
    said = " ".join(release.to_dict()["notes"])
    assert REPEATS in said
    people = VISITS.with_columns(shown=release.table["age"]).group_by("shown").agg(pl.col("patient_id").n_unique())
    below = people.filter(pl.col("patient_id") < 4).height
    assert below > 0
    assert (
        f"{below} of {people.height} classes hold fewer than 4 people, the least {people['patient_id'].min()}" in said
    )
    assert not any(who in said for who in VISITS["patient_id"].unique())
    assert release.certificate["counts"] == COUNTED


def test_a_column_that_looks_like_an_identifier_is_counted_too() -> None:
    assert REPEATS in " ".join(shoal.anonymize(VISITS, policy(), seed=1).notes)
    assert likely_identifiers(VISITS, VISITS.columns) == ["patient_id"]


def test_where_everybody_has_one_record_nothing_is_said() -> None:
    once = VISITS.with_columns(patient_id=pl.int_range(40).cast(pl.String))
    release = shoal.anonymize(once, policy(identifiers=["patient_id"]), seed=1)
    assert not any("repeats" in note or "fewer than" in note for note in release.notes)
    assert profile(once).notes == ()


def test_an_engine_says_it_and_what_it_did_not_count() -> None:
    release = shoal.anonymize(VISITS.lazy(), policy(identifiers=["patient_id"]), seed=1, engine="disk")
    said = " ".join(release.notes)
    assert REPEATS in said
    assert "How many people each class holds was not counted" in said


def test_a_profile_says_it() -> None:
    assert REPEATS in profile(VISITS).notes[0]
    assert "--promise linked:k=5" in profile(VISITS).notes[1]
    assert len(profile(VISITS).notes) == 2
    assert profile(VISITS).to_dict()["notes"] == list(profile(VISITS).notes)


def test_a_profile_proposes_the_person_and_the_policy_counts_people(tmp_path: Path) -> None:
    path = tmp_path / "shoal.toml"
    path.write_text(profile(VISITS).policy_toml())
    proposed = shoal.Policy.read(path)
    assert proposed.person == "patient_id"
    assert shoal.anonymize(VISITS, proposed, seed=1).verdicts[0].model == "persons"
    once = VISITS.with_columns(patient_id=pl.int_range(40).cast(pl.String))
    assert "person =" not in profile(once).policy_toml()


MEMBERS = pl.DataFrame(
    {
        "household_id": [i // 3 for i in range(90)],
        "age": [20 + i % 3 * 20 for i in range(90)],
        "income": [100 * (i % 7) for i in range(90)],
    }
)


def _instead(text: str) -> str:
    """The policy with the promise that it proposes as a remark in the place of the one it makes."""
    stated, _, remark = text.partition("[[models]]")
    _, _, remark = remark.partition("# [[models]]")
    lines = ("[[models]]" + remark).splitlines()
    return stated + "\n".join(line.removeprefix("# ") if i < 3 else line for i, line in enumerate(lines))


def test_a_profile_proposes_linked_where_records_are_to_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "shoal.toml"
    path.write_text(_instead(profile(VISITS).policy_toml()))
    release = shoal.anonymize(VISITS, shoal.Policy.read(path), seed=1)
    assert [verdict.model for verdict in release.verdicts] == ["linked"]
    assert release.table["patient_id"].n_unique() == 20


def test_a_profile_proposes_households_and_its_policy_keeps_them(tmp_path: Path) -> None:
    proposed, path = profile(MEMBERS), tmp_path / "shoal.toml"
    assert len(proposed.notes) == 1
    assert "'household_id' says who lives together: 90 records of 30 households" in proposed.notes[0]
    assert "--promise households:k=5,column=household_id" in proposed.notes[0]
    assert proposed.people is None
    path.write_text(proposed.policy_toml())
    release = shoal.anonymize(MEMBERS, shoal.Policy.read(path), seed=1)
    assert [verdict.model for verdict in release.verdicts] == ["households"]
    path.write_text(_instead(proposed.policy_toml()))
    less = shoal.anonymize(MEMBERS, shoal.Policy.read(path), seed=1)
    assert [verdict.model for verdict in less.verdicts] == ["k-anonymity"]
    assert "household_id" not in less.table.columns


def test_who_has_several_records_is_counted_before_who_lives_together() -> None:
    both = MEMBERS.with_columns(patient_id=pl.int_range(90) // 2 * 7 + 1_000_000)
    stated = shoal.Policy.model_validate(tomllib.loads(profile(both).policy_toml()))
    assert (stated.person, stated.household) == ("patient_id", None)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_number_of_households_is_not_called_one_of_people(engine: str) -> None:
    chosen = policy(confidential=["income"], identifiers=["household_id"])
    release = shoal.anonymize(MEMBERS if engine == "memory" else MEMBERS.lazy(), chosen, seed=1, engine=engine)
    said = " ".join(release.notes)
    assert "90 records of 30 households" in said
    assert "people" not in said
    invoices = MEMBERS.rename({"household_id": "invoice_no"})
    chosen = policy(confidential=["income"], identifiers=["invoice_no"])
    release = shoal.anonymize(invoices if engine == "memory" else invoices.lazy(), chosen, seed=1, engine=engine)
    assert not any("invoice_no" in note for note in release.notes)


def test_where_nobody_is_named_in_some_records_the_policy_says_how_to_count_them(tmp_path: Path) -> None:
    gaps = VISITS.with_columns(patient_id=pl.when(pl.int_range(40) > 2).then("patient_id"))
    text, path = profile(gaps).policy_toml(), tmp_path / "shoal.toml"
    path.write_text(text.replace('# missing_person = "one-each"', 'missing_person = "one-each"'))
    assert shoal.anonymize(gaps, shoal.Policy.read(path), seed=1).verdicts[0].model == "persons"


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="needs the data sets (SHOAL_DATA)")
def test_encounters_are_not_patients() -> None:
    table = pl.read_parquet(Path(os.environ["SHOAL_DATA"], "encounters", "diabetes130.parquet"))
    quasi = ["age", "gender", "race"]
    chosen = policy(identifiers=["patient_nbr"], quasi_identifiers=quasi, confidential=["time_in_hospital"])
    said = " ".join(shoal.anonymize(table.select("patient_nbr", *quasi, "time_in_hospital"), chosen, seed=1).notes)
    assert "The identifier 'patient_nbr' repeats: 101,766 records of 71,518 people." in said
    assert "classes hold fewer than 5 people" in said
