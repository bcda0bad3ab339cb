"""Releases that show keyed pseudonyms and shifted dates: in every engine and format, judged beside the original."""

import datetime as dt
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.pseudonym_forms import Code, Sealed
from shoal.data.pseudonym_keys import KEY_VARIABLE, Key
from shoal.draft import draft
from shoal.errors import InputError, PromiseError
from shoal.jobs import Anonymize
from shoal.policy import Policy
from shoal.privacy.model import PrivacyModel
from shoal.release import judged

SECRET = bytes(range(32))
KEY = Key(1, SECRET)
START = dt.date(2020, 1, 1)


def visits(n: int = 240, people: int = 80, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    who = rng.choice(np.arange(1_000_000, 9_999_999), people, replace=False)
    days = rng.integers(0, 900, n)
    return pl.DataFrame(
        {
            "patient": who[rng.integers(0, people, n)],
            "age": rng.integers(20, 60, n),
            "admitted": [START + dt.timedelta(int(day)) for day in days],
            "discharged": [START + dt.timedelta(int(day) + 3) for day in days],
            "charge": np.arange(n) + 0.5,
        }
    )


def policy(form: str = "code", **choices: Any) -> Policy:
    given: dict[str, Any] = {
        "quasi_identifiers": ["age"],
        "confidential": ["charge"],
        "insensitive": ["admitted", "discharged"],
        "identifiers": ["patient"],
        "pseudonyms": {"patient": {"domain": "person", "form": form}},
        "shift": {"columns": ["admitted", "discharged"]},
    }
    return Policy(**given | choices).keyed(SECRET)


def beside(original: pl.DataFrame, released: pl.DataFrame) -> pl.DataFrame:
    """Both by record, which the charge tells apart."""
    return original.join(released.drop("age"), on="charge", suffix=" shown", validate="1:1").sort("charge")


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.xlsx", "r.arrow", "sqlite"])
def test_in_every_format(name: str, tmp_path: Path) -> None:
    original = visits()
    target = f"sqlite:///{tmp_path / 'r.db'}#visits" if name == "sqlite" else str(tmp_path / name)
    source = tmp_path / "d.csv"
    original.write_csv(source)
    key = tmp_path / "k.txt"
    Anonymize(source, policy(), target, key=key).run()
    from shoal.data.files import read_table

    both = beside(original, read_table(target).with_columns(pl.col("charge").cast(pl.Float64)))
    made = Code().made(both["patient"].cast(pl.String).to_list(), _key(key), "person")
    assert both["patient shown"].to_list() == made
    assert not set(original["patient"].cast(pl.String)) & set(both["patient shown"])
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def _key(path: Path) -> Key:
    from shoal.data.pseudonym_keys import read_keys

    return read_keys(path).current


def test_three_tables_join_after_as_before() -> None:
    patients = visits(160, 80).unique("patient", maintain_order=True).select("patient", "age", "charge")
    stays, labs = visits(200, 80), visits(180, 80, seed=1).sample(fraction=1, shuffle=True, seed=3)
    released = []
    for table, dated in ((patients, []), (stays, ["admitted", "discharged"]), (labs, ["admitted"])):
        names = {"insensitive": dated, "shift": {"columns": dated} if dated else None}
        released.append(shoal.anonymize(table, policy(**names)).table)
    tables = [patients, stays, labs]
    for left, right in [(0, 1), (0, 2), (1, 2)]:
        count = tables[left].join(tables[right], on="patient").height
        assert released[left].join(released[right], on="patient").height == count > 0
    gaps_before = stays.join(labs, on="patient").select(pl.col("admitted") - pl.col("admitted_right"))
    gaps_after = released[1].join(released[2], on="patient").select(pl.col("admitted") - pl.col("admitted_right"))
    assert gaps_before["admitted"].sort().equals(gaps_after["admitted"].sort())


# ---- judged


@pytest.mark.parametrize("how", ["the value itself", "two people with one", "one person with two", "another's value"])
def test_what_is_not_a_pseudonym_is_refused_beside_the_original(how: str) -> None:
    original = visits()
    made = draft(original, policy())
    shown = made.table["patient"]
    place = pl.Series(range(len(shown)))
    wrong = {
        "the value itself": original["patient"].cast(pl.String),
        "two people with one": shown.replace({shown[0]: next(each for each in shown if each != shown[0])}),
        "one person with two": pl.Series("patient", ["a" * 16, *shown[1:]]),
        "another's value": shown.zip_with(place > 0, pl.Series([None, *shown[1:]], dtype=pl.String)),
    }[how]
    with pytest.raises((PromiseError, InputError), match="Nothing was released"):
        judged(replace(made, table=made.table.with_columns(wrong.alias("patient"))))


@pytest.mark.parametrize("by", [0, 1])
def test_dates_that_are_not_shifted_alike_are_refused(by: int) -> None:
    original = visits()
    made = draft(original, policy())
    dates = original["admitted"] if by == 0 else made.table["admitted"].dt.offset_by("1d")
    with pytest.raises(PromiseError, match="Nothing was released"):
        judged(replace(made, table=made.table.with_columns(dates.alias("admitted"))))


# ---- what is said


def test_certificate_report_and_check(tmp_path: Path) -> None:
    original = visits()
    original.write_csv(tmp_path / "d.csv")
    key, certificate, report = (tmp_path / name for name in ("k.txt", "r.json", "report.html"))
    Anonymize(tmp_path / "d.csv", policy(), tmp_path / "r.csv", certificate, report, key=key).run()
    stated = json.loads(certificate.read_text())
    assert stated["pseudonyms"] == {"patient": {"domain": "person", "form": "code"}}
    assert "personal data still" in stated["pseudonymous"]
    assert stated["shifted_dates"] == ["admitted", "discharged"]
    assert "patient" not in stated["insensitive"]
    from shoal.jobs import Check

    assert Check(tmp_path / "r.csv", certificate=certificate).run().holds
    assert Check(tmp_path / "r.csv", policy(), strict=True).run().holds
    page = report.read_text()
    assert "Pseudonyms are not anonymity" in page
    assert "Shifted dates still tell" in page
    secret = key.read_text().split()[1]
    for path in tmp_path.iterdir():
        if path != key:
            content = path.read_bytes()
            assert secret.encode() not in content
            assert bytes.fromhex(secret) not in content
    values = set(original["patient"].cast(pl.String))
    assert not any(value in (tmp_path / "r.csv").read_text() for value in values)
    assert not any(value in certificate.read_text() for value in values)


def test_a_policy_is_written_and_read_without_its_key(tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text(policy().to_toml())
    again = Policy.read(tmp_path / "shoal.toml")
    assert SECRET.hex() not in policy().to_toml() + repr(policy())
    assert again.pseudonyms == policy().pseudonyms
    assert again.shift == policy().shift


def test_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    unkeyed = Policy.model_validate(policy().model_dump())
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(InputError, match="Pseudonyms need a secret key"):
        shoal.anonymize(visits(), unkeyed)
    monkeypatch.setenv(KEY_VARIABLE, SECRET.hex())
    released = shoal.anonymize(visits(), unkeyed).table
    assert set(released["patient"]) == set(shoal.anonymize(visits(), policy()).table["patient"])


def test_people_are_counted_by_their_pseudonyms() -> None:
    release = shoal.anonymize(visits(), policy(person="patient"))
    assert next(verdict.model for verdict in release.verdicts) == "persons"
    classes = release.table.group_by("age").agg(pl.col("patient").n_unique())
    assert classes["patient"].min() >= 5


def test_quasi_identifying_dates_are_shifted_before_they_are_masked() -> None:
    given = {"quasi_identifiers": ["age", "admitted"], "insensitive": [], "shift": {"columns": ["admitted"]}}
    release = shoal.anonymize(visits(), policy(**given))
    assert release.draft.original.frame["admitted"].equals(visits()["admitted"]) is False
    assert "[" in release.table["admitted"][0]


def test_a_missing_person_has_no_pseudonym_and_no_date() -> None:
    original = visits().with_columns(patient=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("patient"))
    table = shoal.anonymize(original, policy()).table.sort("charge")
    assert table.row(3, named=True)["patient"] is None
    assert table.row(3, named=True)["admitted"] is None


# ---- refused


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"pseudonyms": {"patien": {"domain": "person"}}, "shift": None}, "no column 'patien', named with a pseudonym"),
        ({"pseudonyms": {"age": {"domain": "person"}}}, "'age' is named as pseudonym and quasi_identifier"),
        ({"pseudonyms": {"patient": {"domain": "person", "form": "seal"}}}, "no form of pseudonyms 'seal'"),
        ({"pseudonyms": {"patient": {"domain": "person", "key": "x"}}}, "The policy has no 'pseudonyms.patient.key'"),
        ({"pseudonyms": {"charge": {"domain": "x"}}, "confidential": []}, "'charge' holds decimal numbers"),
        ({"shift": {"columns": ["age"]}}, "'age' holds Int64, not dates"),
        ({"insensitive": ["admitted"]}, "'discharged' are shifted, but no role releases them"),
        ({"shift": {"columns": ["admitted"], "days": 0}}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        shoal.anonymize(visits(), policy(**choices))


def test_a_split_with_pseudonyms_is_refused() -> None:
    with pytest.raises(InputError, match="can be put together by anybody"):
        shoal.split(visits(), policy(insensitive=[], shift=None))


def test_nothing_is_left_of_a_release_that_is_refused(tmp_path: Path) -> None:
    visits(12_000, 12_000).write_csv(tmp_path / "d.csv")
    short = policy(pseudonyms={"patient": {"domain": "person", "length": 4}}, shift=None)
    job = Anonymize(tmp_path / "d.csv", short, tmp_path / "r.csv", key=tmp_path / "k.txt")
    with pytest.raises(InputError, match="length=6"):
        job.run()
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("abcd", "line 1 is not a version and a key"),
        ("1 abcd", "2 bytes, which could be guessed"),
        (f"2 {SECRET.hex()}\n1 {SECRET.hex()}\n", "does not follow the one before"),
    ],
)
def test_a_damaged_key_is_refused(content: str, sentence: str, tmp_path: Path) -> None:
    visits().write_csv(tmp_path / "d.csv")
    (tmp_path / "k.txt").write_text(content)
    with pytest.raises(InputError, match=sentence) as error:
        Anonymize(tmp_path / "d.csv", policy(), tmp_path / "r.csv", key=tmp_path / "k.txt").run()
    assert SECRET.hex() not in str(error.value)
    assert not (tmp_path / "r.csv").exists()


def test_sealed_in_a_release_is_revealed_by_the_key_holder() -> None:
    original = visits()
    table = shoal.anonymize(original, policy("sealed")).table.sort("charge")
    assert Sealed().revealed(table["patient"].to_list(), KEY, "person") == original["patient"].cast(pl.String).to_list()


# ---- rows that can be put together


def fewest_alike(table: pl.DataFrame, quasi: str, who: str) -> int:
    """A slow twin: the people with the same multiset of shown rows, counted by hand."""
    rows: dict[str, list[str]] = {}
    for shown, owner in table.select(pl.col(quasi).cast(pl.String), who).iter_rows():
        rows.setdefault(owner, []).append(shown)
    histories = [tuple(sorted(each)) for each in rows.values()]
    return min(histories.count(each) for each in histories)


def test_linked_is_judged_and_certified_though_nobody_asked(tmp_path: Path) -> None:
    visits().write_csv(tmp_path / "d.csv")
    certificate = tmp_path / "r.json"
    for person in (None, "patient"):
        chosen = policy(person=person)
        job = Anonymize(tmp_path / "d.csv", chosen, tmp_path / "r.csv", certificate, key=tmp_path / "k", overwrite=True)
        release = job.run()
        least = fewest_alike(pl.read_csv(tmp_path / "r.csv"), "age", "patient")
        assert json.loads(certificate.read_text())["linked"] == {"patient": least}
        assert any(f"linked holds at {least:,}, below k = 5" in note for note in release.notes)
        from shoal.jobs import Check

        judgement = Check(tmp_path / "r.csv", certificate=certificate).run()
        assert judgement.holds
        assert any(f"linked holds at {least:,}, below k = 5" in note for note in judgement.notes)
        stated = json.loads(certificate.read_text())
        certificate.write_text(json.dumps(stated | {"linked": {"patient": least + 1}}))
        with pytest.raises(PromiseError, match="states linked by 'patient'"):
            Check(tmp_path / "r.csv", certificate=certificate).run()
        certificate.write_text(json.dumps({name: stated[name] for name in stated if name != "linked"}))
        with pytest.raises(PromiseError, match="states linked by 'patient'"):
            Check(tmp_path / "r.csv", certificate=certificate).run()


def test_one_row_a_person_is_linked_as_classes_are() -> None:
    release = shoal.anonymize(visits().unique("patient"), policy())
    assert release.certificate["linked"] == {"patient": release.certificate["smallest_class"]}


def test_without_pseudonyms_nothing_is_put_together() -> None:
    release = shoal.anonymize(visits(), policy(pseudonyms={}, shift=None))
    assert "linked" not in release.certificate


def _released_with_a_ledger(folder: Path, name: str, key: str, table: pl.DataFrame, **choices: Any) -> Any:
    from shoal.jobs import LedgerFile

    table.write_csv(folder / "d.csv")
    book = LedgerFile(folder / "l.db", "patient", folder / "l.key")
    chosen = policy(insensitive=[], shift=None, **choices)
    return Anonymize(folder / "d.csv", chosen, folder / name, ledger=book, key=folder / key, seed=1).run()


def test_a_ledger_says_which_releases_join_and_holds_no_key(tmp_path: Path) -> None:
    from shoal.data.pseudonym_keys import read_keys
    from shoal.releases.ledger import entries

    people = visits().unique("patient", maintain_order=True)
    for name, key in (("a.csv", "k1"), ("b.csv", "k1"), ("c.csv", "k2")):
        release = _released_with_a_ledger(tmp_path, name, key, people)
    assert [note.partition(":")[2].split(".")[0] for note in release.notes if note.startswith("Release ")] == [
        " they do not join", " they do not join"
    ]  # fmt: skip
    ids = [read_keys(tmp_path / key).current.id for key in ("k1", "k1", "k2")]
    assert [entry.to_dict()["pseudonyms"] for entry in entries(tmp_path / "l.db")] == [
        [{"column": "patient", "domain": "person", "form": "code", "key_id": each}] for each in ids
    ]
    again = _released_with_a_ledger(tmp_path, "d2.csv", "k1", people)
    assert sum("anybody can join it with this one by 'patient'" in note for note in again.notes) == 2
    content = (tmp_path / "l.db").read_bytes()
    for key in ("k1", "k2"):
        secret = read_keys(tmp_path / key).current.secret
        assert secret not in content
        assert secret.hex().encode() not in content


def test_releases_that_join_are_safe_together_or_refused(tmp_path: Path) -> None:
    people = visits().unique("patient", maintain_order=True).with_columns(size=pl.int_range(pl.len()) % 16 * 3)
    first = _released_with_a_ledger(tmp_path, "a.csv", "k", people)
    with pytest.raises(PromiseError, match="Nothing was released"):  # by another attribute others stand together
        _released_with_a_ledger(tmp_path, "b.csv", "k", people, quasi_identifiers=["size"])
    alone = shoal.anonymize(people, policy(quasi_identifiers=["size"], insensitive=[], shift=None).keyed(SECRET))
    first_alone = shoal.anonymize(people, policy(insensitive=[], shift=None))
    joined = first_alone.table.join(alone.table, on="patient").group_by("age", "size").len()
    assert joined["len"].min() < 5  # what anybody would have seen
    assert first.records == people.height


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_second_spelling_of_somebody_is_given_no_pseudonym_of_its_own(engine: Any) -> None:
    spelled = visits().with_columns(pl.format("p{}{}", "patient", pl.Series(["", *[" "] * 239])).alias("patient"))
    chosen = policy(person="patient", models=[shoal.KAnonymity(5)], identifiers=[], shift=None)
    with pytest.raises(InputError, match=r"says whose a record is, and 'p\d+ ' is counted as 'p\d+'"):
        shoal.anonymize(spelled, chosen, engine=engine)


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("model", [shoal.KAnonymity(4), shoal.Linked(4)], ids=["persons", "linked"])
def test_whoever_has_no_pseudonym_is_counted_as_the_policy_and_the_certificate_say(
    model: PrivacyModel, engine: str, tmp_path: Path
) -> None:
    table = visits().with_columns(patient=pl.when(pl.int_range(240) % 9 > 0).then("patient"))
    table.write_csv(tmp_path / "d.csv")
    chosen = policy(person="patient", missing_person="one-each", models=[model], shift=None)
    target, certificate = tmp_path / f"r-{engine}.csv", tmp_path / "r.json"
    Anonymize(tmp_path / "d.csv", chosen, target, certificate, key=tmp_path / "k", engine=engine).run()
    assert json.loads(certificate.read_text())["missing_person"] == "one-each"
    from shoal.jobs import Check

    assert Check(target, certificate=certificate, engine=engine).run().holds
    assert Check(target, chosen, engine=engine).run().holds
    with pytest.raises(InputError, match=r"is empty in record \d+ .* and in \d+ more"):
        Check(target, chosen.changed(missing_person="refuse"), engine=engine).run()
