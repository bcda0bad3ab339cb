"""What a label such as `MX, CU and 40 more` stands for: the certificate lists it, but for values that few have."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InputError, PromiseError
from shoal.jobs.anonymize import Anonymize
from shoal.jobs.check import Check

K = 5
COMMON = [
    f"{sea}{land}"
    for sea in ("North", "South", "Upper", "Lower", "New")
    for land in ["Jersey", "Wales", "Mark", "Rhine", "Guinea", "York", "Castle", "Borough"]
]
RARE = ["Malta", "Nauru", "Palau", "Tuvalu", "Niue", "Samoa"]


def people() -> pl.DataFrame:
    """Of each land sixteen records, of the first isle four, of all others one."""
    country = [*COMMON * 16, RARE[0], RARE[0], RARE[0], *RARE]
    return pl.DataFrame({"country": country, "sex": ["m", "f"] * (len(country) // 2) + ["m"] * (len(country) % 2)})


def policy(level: int = 3, **choices: Any) -> shoal.Policy:
    return shoal.Policy(
        quasi_identifiers=["country", "sex"],
        method=shoal.Recode(levels={"country": level, "sex": 0}),
        models=[shoal.KAnonymity(K)],
        suppression=0.05,
        attributes={"sex": {"hierarchy": [["m", "*"], ["f", "*"]]}},
        **choices,
    )


def labels_of(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    labels: dict[str, dict[str, dict[str, Any]]] = json.loads(path.read_text())["labels"]
    return labels


@pytest.mark.parametrize("level", [2, 3])
def test_the_list_of_each_shown_label_has_all_values_that_k_records_have_and_no_rarer(level: int) -> None:
    release = shoal.anonymize(people(), policy(level))
    tree = release.schema["country"].hierarchy
    assert tree is not None
    listed = release.certificate.get("labels", {}).get("country", {})
    shortened = {label for label in release.table["country"] if label.endswith((" more", " values"))}
    assert set(listed) == shortened
    assert shortened
    for label, stood in listed.items():
        admitted = set(tree.leaf_values.gather(tree.leaves(label)))
        assert stood == {"values": sorted(admitted & set(COMMON)), "rarer": len(admitted & set(RARE))}
    assert sum(stood["rarer"] for stood in listed.values()) == len(RARE)
    assert not any(name in json.dumps(release.certificate) for name in RARE)


def test_what_is_shown_in_full_is_not_listed() -> None:
    release = shoal.anonymize(people().filter(pl.col("country").is_in(COMMON[:9])), policy(1))
    assert "labels" not in release.certificate
    assert not any("stands for" in note for note in release.notes)


def written(folder: Path, engine: str, **choices: Any) -> tuple[Path, Path]:
    """A release of the people and its certificate, of that engine."""
    if not (folder / "d.csv").exists():
        people().write_csv(folder / "d.csv")
    output = folder / ("r.csv" if engine == "memory" else "parts")
    Anonymize(folder / "d.csv", policy(**choices), output, certificate=folder / f"{engine}.json", engine=engine).run()
    return output, folder / f"{engine}.json"


def test_engines_list_alike_and_whoever_checks_a_release_takes_the_list(tmp_path: Path) -> None:
    memory, disk = written(tmp_path, "memory"), written(tmp_path, "disk")
    assert labels_of(memory[1]) == labels_of(disk[1]) == labels_of(disk[0] / "_certificate.json")
    for output, certificate in (memory, disk):
        assert Check(output, certificate=certificate).run().holds


def test_a_hierarchy_that_was_kept_gives_the_same_list(tmp_path: Path) -> None:
    _, certificate = written(tmp_path, "memory")
    Anonymize(tmp_path / "d.csv", policy(), tmp_path / "a.csv", hierarchies=tmp_path / "kept").run()
    again = policy().changed(
        attributes={**policy().attributes, "country": {"hierarchy": str(tmp_path / "kept" / "country.csv")}}
    )
    Anonymize(tmp_path / "d.csv", again, tmp_path / "b.csv", certificate=tmp_path / "b.json").run()
    assert labels_of(tmp_path / "b.json") == labels_of(certificate)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_value_that_many_records_of_few_people_have_is_not_listed(tmp_path: Path, engine: str) -> None:
    of_whom = [f"p{i}" if country != COMMON[20] else "p" for i, country in enumerate(people()["country"])]
    people().with_columns(who=pl.Series(of_whom)).write_csv(tmp_path / "d.csv")
    _, certificate = written(tmp_path, engine, person="who", identifiers=["who"])
    values = [value for listed in labels_of(certificate)["country"].values() for value in listed["values"]]
    assert COMMON[20] not in values
    assert COMMON[21] in values
    assert sum(listed["rarer"] for listed in labels_of(certificate)["country"].values()) == len(RARE) + 1


def test_the_release_says_where_the_list_is(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "d.csv")
    without = Anonymize(tmp_path / "d.csv", policy(), tmp_path / "r.csv").run()
    listing = Anonymize(tmp_path / "d.csv", policy(), tmp_path / "s.csv", certificate=tmp_path / "s.json").run()
    label = "LowerBorough, LowerCastle and 9 more"
    assert f"What {label!r} and 3 more labels stand for is in the certificate." in listing.notes
    assert any(note.startswith(f"What {label!r}") and "--certificate FILE" in note for note in without.notes)
    assert listing.to_dict()["labels"] == labels_of(tmp_path / "s.json")


def test_a_label_that_a_spreadsheet_would_take_for_a_formula_is_found_in_the_file(tmp_path: Path) -> None:
    people().with_columns(country=pl.format("={}", "country")).write_csv(tmp_path / "d.csv")
    output, certificate = tmp_path / "r.csv", tmp_path / "c.json"
    Anonymize(tmp_path / "d.csv", policy(), output, certificate=certificate, disarm=True).run()
    assert "'=LowerBorough, =LowerCastle and 9 more" in output.read_text()
    assert "'=LowerBorough, =LowerCastle and 9 more" in labels_of(certificate)["country"]
    assert Check(output, certificate=certificate).run().holds


def forge(certificate: Path, labels: object) -> None:
    certificate.write_text(json.dumps(json.loads(certificate.read_text()) | {"labels": labels}))


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_certificate_with_labels_that_nothing_shows_or_of_another_shape_is_refused(
    tmp_path: Path, engine: str
) -> None:
    output, certificate = written(tmp_path, engine)
    label, stood = next(iter(labels_of(certificate)["country"].items()))
    for wrong in (
        {"country": {label: "all"}},
        {"country": {label: {"values": ["x"]}}},
        {"country": {label: {"values": [1], "rarer": 0}}},
        {"country": {label: {**stood, "rarer": -1}}},
        {"country": {label: {**stood, "more": []}}},
        {"nobody": {label: stood}},
        None,
    ):
        forge(certificate, wrong)
        with pytest.raises(InputError, match="not a certificate that Shoal wrote"):
            Check(output, certificate=certificate).run()
    forge(certificate, {"country": {"x and 3 more": stood}})
    with pytest.raises(PromiseError, match="states a label of 'country' as 'x and 3 more'"):
        Check(output, certificate=certificate).run()
