"""People on the command line: from a file of visits to a release in which anybody can count five people a class."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Shoal

VISITS = pl.DataFrame(
    {
        "pid": [f"p{i % 45}" for i in range(120)],
        "age": [20 + i % 40 for i in range(120)],
        "charge": [100 * (i % 7) for i in range(120)],
    }
)
ROLES = ("--quasi", "age", "--confidential", "charge", "--person", "pid")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    VISITS.write_csv(path)
    return path


def people(released: Path, *, who: str) -> list[int]:
    classes: dict[str, set[str]] = {}
    for shown, number in pl.read_csv(released, infer_schema=False).select("age", who).rows():
        classes.setdefault(shown, set()).add(number)
    return [len(numbers) for numbers in classes.values()]


@pytest.mark.parametrize("asked", [("--write", "person-in-class"), ("--show-person-in-class",)])
def test_anybody_can_count_people_whom_a_file_numbers(shoal: Shoal, visits: Path, asked: tuple[str, ...]) -> None:
    released, certificate = visits.with_name("r.csv"), visits.with_name("r.json")
    run = shoal(
        "anonymize", visits, "-o", released, *ROLES, "--k", 5, *asked, "--certificate", certificate, "--seed", 1
    )
    assert run.code == 0, run.err
    assert min(people(released, who="person_in_class")) >= 5
    assert "p1" not in released.read_text()
    stated = json.loads(certificate.read_text())
    assert stated["counts"].startswith("people: ")
    assert (stated["person"], stated["models"][0]["name"]) == ("person_in_class", "persons")
    assert shoal("check", released, "--certificate", certificate).code == 0
    assert shoal("check", released, "--quasi", "age", "--person", "person_in_class", "--k", 5).code == 0
    assert shoal("check", released, "--quasi", "age", "--person", "pid", "--k", 5).code == 0
    more = max(people(released, who="person_in_class")) + 1
    assert shoal("check", released, "--quasi", "age", "--person", "pid", "--k", more).code == 1


def test_a_folder_made_on_disk_shows_its_people_as_well(shoal: Shoal, visits: Path) -> None:
    released, asked = visits.with_name("r"), ("--write", "person-in-class", "--write", "keep-order", "--engine", "disk")
    run = shoal("anonymize", visits, "-o", released, *ROLES, "--k", 5, *asked)
    assert run.code == 0, run.err
    (file,) = released.glob("part-*.csv")
    assert min(people(file, who="person_in_class")) >= 5
    assert pl.read_csv(file)["charge"].to_list() == VISITS["charge"].to_list()
    assert shoal("check", released, "--certificate", released / "_certificate.json").code == 0


def test_a_certificate_that_words_a_promise_otherwise_is_refused(shoal: Shoal, visits: Path) -> None:
    released, certificate = visits.with_name("r.csv"), visits.with_name("r.json")
    done = (*ROLES, "--k", 5, "--write", "person-in-class", "--certificate", certificate)
    assert shoal("anonymize", visits, "-o", released, *done).code == 0
    certificate.write_text(certificate.read_text().replace("by at least 5 people", "by at least 50 people"))
    run = shoal("check", released, "--certificate", certificate)
    assert (run.code, "states the meaning of persons as Each released record is shared by at least 50" in run.err) == (
        1,
        True,
    )


def test_nobody_can_count_the_people_of_a_shuffled_file_again_and_the_sentence_says_what_helps(
    shoal: Shoal, visits: Path
) -> None:
    released, certificate = visits.with_name("r.csv"), visits.with_name("r.json")
    assert shoal("anonymize", visits, "-o", released, *ROLES, "--k", 5, "--certificate", certificate).code == 0
    for beside in ((), ("--original", visits, "--paired", "--person", "pid")):
        run = shoal("check", released, "--certificate", certificate, *beside)
        assert (run.code, "release with --write person-in-class" in run.sentence) == (2, True)


def test_the_custodian_judges_what_a_file_does_not_show(shoal: Shoal, visits: Path) -> None:
    released, certificate = visits.with_name("r.csv"), visits.with_name("r.json")
    done = ("-o", released, *ROLES, "--k", 5, "--write", "keep-order", "--certificate", certificate, "--seed", 1)
    assert shoal("anonymize", visits, *done).code == 0
    stated = json.loads(certificate.read_text())
    assert "judged by the custodian" in stated["counts"]
    assert "achieved" not in stated["models"][0]
    assert "pid" not in certificate.read_text()
    run = shoal("check", released, "--certificate", certificate)
    assert (run.code, "people were counted by the custodian" in run.sentence) == (2, True)
    beside = ("--original", visits, "--paired", "--person", "pid")
    assert shoal("check", released, "--certificate", certificate, *beside).code == 0
    assert shoal("check", released, "--quasi", "age", "--k", 5, *beside).code == 0
    assert shoal("check", released, "--quasi", "age", "--k", 40, *beside).code == 1
    run = shoal("check", released, "--quasi", "age", "--k", 5, "--person", "pid")
    assert (run.code, "can only be judged beside the original" in run.sentence) == (2, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--person", "pidd"), "The table has no column 'pidd', named as person. Did you mean 'pid'?"),
        (("--person", "age"), "Column 'age' says whom a record is about (person) and is named as quasi-identifier"),
        (("--write", "person-in-class"), "--write person-in-class numbers the people of each class: name their column"),
        (("--promise", "persons:k=3"), "persons counts people: name the column that tells them apart"),
        (
            ("--person", "pid", "--k", "46"),
            "persons at 46 cannot be reached: the whole table in one class reaches only 45",
        ),
        (("--person", "pid", "--method", "noise"), "The result does not keep persons: 5 was asked for"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(
    shoal: Shoal, visits: Path, options: tuple[str, ...], sentence: str
) -> None:
    run = shoal("anonymize", visits, "-o", visits.with_name("r.csv"), "--quasi", "age", *options)
    assert run.code != 0
    assert run.sentence.startswith(sentence)
    assert [path.name for path in visits.parent.iterdir()] == ["visits.csv"]


def test_a_gap_is_refused_with_its_line(shoal: Shoal, visits: Path) -> None:
    lines = visits.read_text().splitlines()
    visits.write_text("\n".join([*lines[:6], "," + lines[6].partition(",")[2], *lines[7:]]))
    run = shoal("anonymize", visits, "-o", visits.with_name("r.csv"), *ROLES, "--k", 5)
    assert (run.code, "(line 7 of a text file)" in run.sentence) == (2, True)
    policy = visits.with_name("shoal.toml")
    policy.write_text('quasi_identifiers = ["age"]\nperson = "pid"\nmissing_person = "one-each"\n')
    assert shoal("anonymize", visits, "-o", visits.with_name("r.csv"), "--policy", policy).code == 0


def test_risk_speaks_of_people(shoal: Shoal, visits: Path) -> None:
    run = shoal("risk", visits, "--quasi", "age", "--person", "pid", "--json")
    measured = json.loads(run.out)
    assert (measured["people"]["people"], measured["scenarios"]["people"]["people"]) == (45, 45)
    assert measured["people"]["alone_by_history"] is not None
    run = shoal("risk", visits, "--quasi", "age", "--person", "pidd")
    assert (run.code, run.sentence.startswith("The table has neither the column 'pidd', named as person")) == (2, True)
    run = shoal("risk", visits, "--quasi", "age", "--person", "pid", "--engine", "disk")
    assert (run.code, run.sentence.startswith("--person needs the whole table in memory")) == (2, True)


def test_a_ledger_counts_people_by_default(shoal: Shoal, visits: Path) -> None:
    kept = ("--ledger", f"{visits.with_name('ledger.db')},key={visits.with_name('key')}")
    assert shoal("anonymize", visits, "-o", visits.with_name("a.csv"), *ROLES, "--k", 5, *kept).code == 0
    one = pl.DataFrame({"pid": ["p3"], "age": [30], "charge": [9_999]})
    pl.concat([VISITS, one]).write_csv(visits)
    run = shoal("anonymize", visits, "-o", visits.with_name("b.csv"), *ROLES, "--k", 5, *kept)
    assert (run.code, "records of" in run.err, visits.with_name("b.csv").exists()) == (1, True, False)
    listed = shoal("releases", "list", "--ledger", visits.with_name("ledger.db"), "--json")
    assert [(each["records"], each["people"]) for each in listed.json["releases"]] == [(120, 45)]
    audited = shoal("releases", "audit", "--ledger", visits.with_name("ledger.db"), "--json")
    assert (audited.json["counts"], audited.json["subjects"], audited.json["holds"]) == ("people", 45, True)
    printed = shoal("releases", "audit", "--ledger", visits.with_name("ledger.db")).out
    assert "people below k = 5" in printed
