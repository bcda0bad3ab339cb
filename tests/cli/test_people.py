"""People and households on the command line: what is written, what is refused, and what `shoal check` says of it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Shoal
from tests.privacy.test_linked import PEOPLE, VISITS
from tests.test_tables import PATIENTS
from tests.test_tables import VISITS as STAYS
from tests.test_tables import policy as two_tables

LINKED = ("--quasi", "sex,age,ward", "--person", "pid", "--promise", "linked:k=4")
HOUSEHOLDS = ("--quasi", "region,hsize,age,sex", "--promise", "households:k=4,column=hid")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    # Numbers whose zeros a reader would lose: what is copied as text must not be the identifier.
    VISITS.with_columns(pid=pl.format("00{}", pl.col("pid").str.slice(1))).write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


def test_a_file_is_judged_by_its_pseudonyms_and_shows_no_identifier(shoal: Shoal, visits: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.csv"
    run = shoal(
        "anonymize", visits, "-o", target, *LINKED, "--confidential", "charge", "--certificate", tmp_path / "r.json"
    )
    assert run.code == 0, run.err
    shown = pl.read_csv(target, infer_schema=False)
    assert set(shown["pid"]) == {str(number) for number in range(1, 401)}
    assert shoal("check", target, *LINKED).code == 0
    assert shoal("check", target, "--certificate", tmp_path / "r.json").code == 0
    fewer = tmp_path / "fewer.csv"
    histories = shown.group_by("pid").agg(
        history=pl.concat_str("sex", "age", "ward", separator="|").sort().str.join("&")
    )
    alike = histories.filter(pl.col("history") == histories["history"][0])["pid"]
    shown.filter(~pl.col("pid").is_in(alike[3:].implode())).write_csv(fewer)
    assert shoal("check", fewer, *LINKED).code == 1
    assert shoal("check", target, *LINKED[:2], *LINKED[4:]).code == 2


def test_households_ride_with_their_promise(shoal: Shoal, tmp_path: Path) -> None:
    PEOPLE.write_csv(tmp_path / "people.csv")
    target, certificate = tmp_path / "r.csv", tmp_path / "r.json"
    run = shoal("anonymize", tmp_path / "people.csv", "-o", target, *HOUSEHOLDS, "--certificate", certificate)
    assert run.code == 0, run.err
    assert shoal("check", target, *HOUSEHOLDS).code == 0
    assert shoal("check", target, "--certificate", certificate).code == 0
    stated = json.loads(certificate.read_text())["models"]
    assert [(model["name"], model["column"]) for model in stated] == [("households", "hid")]


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """A folder with a policy of two tables, and these."""
    PATIENTS.write_csv(tmp_path / "patients.csv")
    STAYS.write_csv(tmp_path / "visits.csv")
    (tmp_path / "p.toml").write_text(two_tables().to_toml())
    return tmp_path


def test_tables_are_written_and_judged_together(shoal: Shoal, hospital: Path) -> None:
    target, policy = hospital / "r.csv", hospital / "p.toml"
    run = shoal(
        "anonymize", hospital / "patients.csv", "-o", target, "--policy", policy, "--certificate", hospital / "r.json"
    )
    assert run.code == 0, run.err
    people, visits = (pl.read_csv(hospital / name) for name in ("r.csv", "r.visits.csv"))
    assert set(visits["patient"]) <= set(people["pid"]) == set(range(1, 301))
    assert shoal("check", target, "--policy", policy).code == 0
    for name in ("r", "r.visits"):
        assert shoal("check", hospital / f"{name}.csv", "--certificate", hospital / f"{name}.json").code == 0
    visits.with_columns(ward=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("z")).otherwise("ward")).write_csv(
        hospital / "r.visits.csv"
    )
    assert shoal("check", target, "--policy", policy).code == 1


def _gap(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == 4).then(None).otherwise(column).alias(column))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"visits.csv": pl.concat([STAYS, STAYS.head(1).with_columns(patient=pl.lit("9999"))])},
            f"The table 'visits' has a row of '9999' in 'patient' (record {STAYS.height + 1:,}, line",
        ),
        (
            {"visits.csv": _gap(STAYS, "patient")},
            "Column 'patient' says whom a record is about and is empty in record 5",
        ),
        ({"patients.csv": _gap(PATIENTS, "pid")}, "Column 'pid' says whom a record is about and is empty in record 5"),
        (
            {"patients.csv": PATIENTS.with_columns(stays=1)},
            "The rule 'stays' (stays = count(visits)) is broken by the input",
        ),
    ],
)
def test_bad_tables_are_one_sentence_and_nothing_is_written(
    shoal: Shoal, hospital: Path, changed: dict[str, pl.DataFrame], sentence: str
) -> None:
    for name, frame in changed.items():
        frame.write_csv(hospital / name)
    before = set(hospital.iterdir())
    run = shoal("anonymize", hospital / "patients.csv", "-o", hospital / "r.csv", "--policy", hospital / "p.toml")
    assert run.code == 2
    assert run.sentence.startswith(sentence)
    assert set(hospital.iterdir()) == before


@pytest.mark.parametrize("options", [("--split", "confidential"), ("--ledger", "l.db"), ("--engine", "disk")])
def test_what_is_of_one_table_is_refused(shoal: Shoal, hospital: Path, options: tuple[str, str]) -> None:
    files = (hospital / "patients.csv", "-o", hospital / "r.csv", "--policy", hospital / "p.toml")
    run = (
        shoal("anonymize", *files, *options, "--subject", "pid")
        if "--ledger" in options
        else shoal("anonymize", *files, *options)
    )
    assert run.code == 2
    assert "several" in run.sentence or "cannot" in run.sentence
