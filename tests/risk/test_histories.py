"""People looked for by all of their rows together."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.data.people import COUNTED
from tests.privacy.test_linked import VISITS, linked

DATA = Path(os.environ.get("SHOAL_DATA", ""))


def test_histories_single_people_out_where_rows_alone_are_safe_and_not_where_they_are_linked() -> None:
    rows = shoal.anonymize(VISITS, linked(models=[shoal.Persons(4)]), seed=1)
    kept = rows.table.with_columns(pid=VISITS["pid"])
    [broken] = shoal.attack(VISITS, kept, linked(models=[shoal.Persons(4)]), ["histories"]).outcomes
    release = shoal.anonymize(VISITS, linked(), seed=1)
    [safe] = shoal.attack(VISITS, release.table, linked(), ["histories"]).outcomes
    assert broken.rate > 0.5 > 2 * broken.baseline
    assert broken.control is not None
    assert broken.control < 0.1
    assert safe.rate <= 1 / 4
    assert "0 have a history that nobody else has" in safe.notes[0]


def test_without_a_pseudonym_there_is_nothing_to_put_together() -> None:
    rows = shoal.anonymize(VISITS, linked(models=[shoal.Persons(4)]), seed=1)
    attacked = shoal.attack(VISITS, rows.table, linked(models=[shoal.Persons(4)]), ["histories"])
    assert "does not show whose rows" in attacked.left_out["histories"]


def test_attacks_and_comparisons_say_that_they_count_records_where_people_have_several() -> None:
    visits = pl.DataFrame(
        {
            "pid": [i // 2 for i in range(80)],
            "age": [20 + i // 2 % 9 for i in range(80)],
            "charge": [7 * i % 11 for i in range(80)],
        }
    )
    policy = shoal.Policy(quasi_identifiers=["age"], confidential=["charge"], person="pid", models=[shoal.Linked(3)])
    released = shoal.anonymize(visits, policy, seed=1).table
    found = shoal.attack(visits, released, policy, ["histories", "definetti"])
    counted = {each.attack: any(COUNTED in note for note in each.notes) for each in found.outcomes}
    assert counted == {"histories": False, "definetti": True}
    assert [note for note in found.remarks() if COUNTED in note] == [f"Counted are {COUNTED}."]
    nobody = shoal.Policy(quasi_identifiers=["age"], confidential=["charge"])
    alone = shoal.attack(visits, released.drop("pid"), nobody, ["definetti"])
    assert not any(COUNTED in note for note in alone.remarks())
    of_people = shoal.Policy(quasi_identifiers=["age", "charge"], person="pid")
    compared = shoal.compare(visits, of_people, methods=["mdav"], at_risk=0.2, runs=1)
    assert f"Counted are {COUNTED}." in compared.notes


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "encounters").is_dir(), reason="needs the encounters")
def test_of_encounters_most_people_with_several_stand_out_by_their_history() -> None:
    table = pl.read_parquet(DATA / "encounters" / "diabetes130.parquet")
    quasi = ["race", "gender", "age", "admission_type_id", "time_in_hospital", "medical_specialty"]
    policy = shoal.Policy(quasi_identifiers=quasi, person="patient_nbr", models=[shoal.Persons(5)])
    release = shoal.anonymize(table, policy, seed=1)
    kept = release.table.with_columns(patient_nbr=table["patient_nbr"])
    [broken] = shoal.attack(table, kept, policy, ["histories"]).outcomes
    assert "Of 16,773 people with several rows, 1" in broken.notes[0]
    assert broken.rate > 2 * broken.baseline
