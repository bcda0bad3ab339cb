"""`shoal pseudonym`: opened by the right key alone, led over to a new one; and nothing is written otherwise."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shoal.data.files import read_table
from shoal.data.pseudonym_forms import FORMS, form_of
from shoal.data.pseudonym_keys import KEY_VARIABLE, Key, read_keys
from tests.cli.conftest import Shoal

SECRET, LATER = bytes(range(32)), bytes(range(1, 33))
PEOPLE = pl.DataFrame(
    {
        "id": [f"00{1_000_000 + 37 * i}" for i in range(60)],
        "age": [20 + i % 4 for i in range(60)],
        "charge": [f"{i}.50" for i in range(60)],
    }
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, a key of two versions, and releases by its first: NAME.csv shows pseudonyms of that form."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    PEOPLE.write_csv("d.csv")
    write_key("k.txt", f"1 {SECRET.hex()}\n2 {LATER.hex()}\n")
    for form in FORMS:
        shown = form_of(form).made(PEOPLE["id"].to_list(), Key(1, SECRET), "person")
        PEOPLE.with_columns(id=pl.Series(shown)).write_csv(f"{form}.csv")
    return tmp_path


def write_key(name: str, text: str, mode: int = 0o600) -> None:
    Path(name).write_text(text)
    Path(name).chmod(mode)


def reveal(shoal: Shoal, source: str, *words: str, output: str = "o.csv", key: str = "k.txt", version: str = "1"):  # type: ignore[no-untyped-def]
    options = ("--column", "id", "--domain", "person", "--key-file", key, "--version", version, *words)
    return shoal("pseudonym", "reveal", source, "-o", output, *options)


@pytest.mark.parametrize("form", ["sealed", "like"])
def test_the_key_holder_gets_the_table_back(shoal: Shoal, place: Path, form: str) -> None:
    run = reveal(shoal, f"{form}.csv", "--form", form, "--json")
    assert run.code == 0, run.err
    assert Path("o.csv").read_text() == Path("d.csv").read_text()  # 0.50 and 001000000 as they were written
    assert run.json == {
        "output": "o.csv", "records": 60, "pseudonyms": 60, "keys": [{"version": 1, "id": Key(1, SECRET).id}],
    }  # fmt: skip
    assert stat.S_IMODE(Path("o.csv").stat().st_mode) == 0o600
    assert ("cannot be seen from the file" in run.err) == (form == "like")


@pytest.mark.parametrize("name", ["o.parquet", "o.xlsx", "o.sav", "sqlite:///o.db#t"])
def test_into_every_format(shoal: Shoal, place: Path, name: str) -> None:
    assert reveal(shoal, "sealed.csv", output=name).code == 0
    assert sorted(read_table(name)["id"]) == sorted(PEOPLE["id"])


def test_missing_stays_missing(shoal: Shoal, place: Path) -> None:
    sealed = pl.read_csv("sealed.csv", infer_schema=False)
    sealed.with_columns(id=pl.when(pl.int_range(pl.len()) != 3).then("id")).write_csv("gap.csv")
    assert reveal(shoal, "gap.csv").code == 0
    assert read_table("o.csv", text=["id"])["id"].to_list() == [*PEOPLE["id"][:3], None, *PEOPLE["id"][4:]]


def test_a_release_of_the_command_is_opened_by_the_key_that_it_made(shoal: Shoal, place: Path) -> None:
    roles = ("--quasi", "age", "--confidential", "charge", "--k", "5", "--read", "text=id")
    run = shoal("anonymize", "d.csv", "-o", "r.csv", *roles, "--pseudonym", "id=person:sealed,key=new.txt")
    assert run.code == 0, run.err
    assert shoal("pseudonym", "reveal", "r.csv", "--column", "id", "--key-file", "new.txt", "-o", "o.csv").code == 0
    assert sorted(read_table("o.csv", text=["id"])["id"]) == sorted(PEOPLE["id"])


def test_pseudonyms_that_look_like_days_that_never_were_are_words(shoal: Shoal, place: Path) -> None:
    days = [f"19{40 + i % 60}-0{1 + i % 9}-{10 + i % 19}" for i in range(60)]
    born = PEOPLE.select("age", id=pl.Series(days))
    born.write_csv("born.csv")
    words = ("--quasi", "age", "--k", "3", "--pseudonym", "id=person:like,key=k.txt", "--certificate", "c.json")
    assert shoal("anonymize", "born.csv", "-o", "r.csv", *words, "--write", "keep-order", "--quiet").code == 0
    Path("parts").mkdir()
    Path("parts/r.csv").write_bytes(Path("r.csv").read_bytes())
    Path("p.toml").write_text(
        'quasi_identifiers = ["age"]\nmodels = [{name = "k-anonymity", k = 3}]\n'
        'pseudonyms = {id = {domain = "person", form = "like"}}\n'
    )
    for check in (("r.csv", "--certificate", "c.json"), ("parts", "--policy", "p.toml", "--engine", "disk")):
        run = shoal("check", *check)
        assert run.code == 0, run.err
    assert reveal(shoal, "r.csv", "--form", "like", version="2").code == 0
    assert pl.read_csv("o.csv", infer_schema=False)["id"].to_list() == born["id"].to_list()


@pytest.mark.parametrize(("form", "source"), [("sealed", "sealed.csv"), ("like", "like.csv"), ("code", "d.csv")])
def test_old_pseudonyms_beside_new_ones(shoal: Shoal, place: Path, form: str, source: str) -> None:
    options = ("--column", "id", "--form", form, "--key-file", "k.txt", "--read", "text=id")
    run = shoal("pseudonym", "map", source, "--from", "1", "--to", "2", "-o", "o.csv", *options, "--json")
    assert run.code == 0, run.err
    assert [key["id"] for key in run.json["keys"]] == [Key(1, SECRET).id, Key(2, LATER).id]
    pairs = read_table("o.csv", text=["old", "new"])
    assert pairs.columns == ["old", "new"]
    values, made = PEOPLE["id"].to_list(), form_of(form).made
    expected = zip(made(values, Key(1, SECRET), "person"), made(values, Key(2, LATER), "person"), strict=True)
    assert dict(pairs.iter_rows()) == dict(expected)
    assert pairs["old"].is_sorted()  # the order of the file says nothing of people
    assert stat.S_IMODE(Path("o.csv").stat().st_mode) == 0o600


def test_codes_of_another_length_are_mapped(shoal: Shoal, place: Path) -> None:
    options = ("--column", "id", "--form", "code", "--length", "20", "--key-file", "k.txt", "--read", "text=id")
    assert shoal("pseudonym", "map", "d.csv", "--from", "1", "--to", "2", "-o", "o.csv", *options).code == 0
    assert set(read_table("o.csv")["new"].str.len_chars()) == {20}


def test_a_key_is_renewed_and_what_it_made_before_still_opened(shoal: Shoal, place: Path) -> None:
    before = Path("k.txt").read_text()
    run = shoal("pseudonym", "rotate", "k.txt", "--json")
    assert run.code == 0
    keys = read_keys("k.txt")
    assert Path("k.txt").read_text().startswith(before)
    assert [key.version for key in keys.versions] == [1, 2, 3]
    assert run.json["in_use"] == 3
    assert [each["id"] for each in run.json["versions"]] == [key.id for key in keys.versions]
    assert stat.S_IMODE(Path("k.txt").stat().st_mode) == 0o600
    assert sorted(os.listdir()) == sorted(["d.csv", "k.txt", *(f"{form}.csv" for form in FORMS)])
    assert reveal(shoal, "sealed.csv").code == 0


def test_no_key_is_shown(shoal: Shoal, place: Path) -> None:
    runs = [
        shoal("pseudonym", "rotate", "k.txt"),
        reveal(shoal, "sealed.csv"),
        reveal(shoal, "sealed.csv", version="2", output="p.csv"),
        reveal(shoal, "like.csv", "--form", "like", output="q.csv"),
    ]
    secrets = [key.secret.hex() for key in read_keys("k.txt").versions]
    shown = "".join(run.out + run.all_err for run in runs) + Path("o.csv").read_text()
    assert not any(secret in shown for secret in secrets)


# ---- refused, and nothing written


def _altered(source: str) -> None:
    table = pl.read_csv(source, infer_schema=False)
    first = table["id"][0]
    shown = table["id"].replace(first, ("a" if first[0] != "a" else "b") + first[1:])
    table.with_columns(shown).write_csv(source)


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "a wrong key": (
        lambda: write_key("k.txt", f"1 {LATER.hex()}\n"),
        "cannot be opened: it was altered, or sealed with another key or in another domain than 'person'",
    ),
    "a lost key": (lambda: Path("k.txt").unlink(), "There is no key 'k.txt'"),
    "an altered code": (lambda: _altered("sealed.csv"), "(value 1) cannot be opened: it was altered"),
    "a key that all can read": (lambda: Path("k.txt").chmod(0o644), "take it from them (chmod 600 k.txt)"),
    "a key that a group can read": (lambda: Path("k.txt").chmod(0o640), "can be read by others than its owner"),
    "a key cut short": (lambda: write_key("k.txt", f"1 {SECRET.hex()[:20]}\n"), "has 10 bytes, which could be guessed"),
    "a key cut within a byte": (
        lambda: write_key("k.txt", f"1 {SECRET.hex()[:33]}"),
        "line 1 is not a version and a key",
    ),
    "an empty key": (lambda: write_key("k.txt", ""), "is empty"),
    "a version that is not there": (lambda: write_key("k.txt", f"3 {SECRET.hex()}\n"), "has no version 1: it has 3"),
    "a key that is no text": (lambda: Path("k.txt").write_bytes(b"1 \xff\xfe"), "is damaged: it holds more than"),
}


@pytest.mark.parametrize("what", BAD)
def test_one_sentence_and_nothing_written(shoal: Shoal, place: Path, what: str) -> None:
    prepare, sentence = BAD[what]
    prepare()
    before = sorted(os.listdir())
    for run in (
        reveal(shoal, "sealed.csv"),
        shoal(
            "pseudonym", "map", "sealed.csv", "--column", "id", "--form", "sealed", "--from", "1", "--to", "2",
            "--key-file", "k.txt", "-o", "o.csv",
        ),
    ):  # fmt: skip
        assert run.code == 2
        assert sentence in run.sentence or (what == "a wrong key" and "has no version 2" in run.sentence)
        assert SECRET.hex() not in run.sentence
        assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("reveal code.csv --form code", "not undone by the key alone: make pseudonyms of the identifiers"),
        ("reveal number.csv --form number", "numbers belong to one file"),
        ("reveal sealed.csv --form seal", "Did you mean 'sealed'?"),
        ("reveal sealed.csv --column ids", "no column 'ids'. Did you mean 'id'?"),
        ("reveal sealed.csv --domain provider", "in another domain than 'provider'"),
        ("map number.csv --form number --from 1 --to 2", "belong to one file"),
        ("map code.csv --form code --from 1 --to 2", "shows pseudonyms of the form 'code' already"),
        ("map sealed.csv --form sealed --from 1 --to 1", "name the same version 1"),
        ("map sealed.csv --form sealed --from 1 --to 9", "has no version 9: it has 1, 2"),
        ("map sealed.csv --form sealed --length 20 --from 1 --to 2", "'sealed' has no parameter 'length'"),
    ],
)
def test_what_cannot_be_meant_is_refused(shoal: Shoal, place: Path, words: str, sentence: str) -> None:
    command, source, *others = words.split()
    given = ["--column", "id", "--key-file", "k.txt", *(["--version", "1"] if command == "reveal" else [])]
    run = shoal("pseudonym", command, source, "-o", "o.csv", *given, *others)
    assert run.code == 2
    assert sentence in run.sentence
    assert not Path("o.csv").exists()


def test_neither_the_key_nor_the_source_is_written_over(shoal: Shoal, place: Path) -> None:
    Path("k.txt").rename("k.csv")
    for target in ("k.csv", "sealed.csv"):
        before = Path(target).read_bytes()
        run = reveal(shoal, "sealed.csv", "--overwrite", output=target, key="k.csv")
        assert run.code == 2
        assert "which this command reads or writes too" in run.sentence
        assert Path(target).read_bytes() == before


def test_the_key_of_the_environment(shoal: Shoal, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("pseudonym", "reveal", "sealed.csv", "--column", "id", "-o", "o.csv", "--json")
    run = shoal(*words)
    assert run.code == 2
    assert json.loads(run.out)["error"]["kind"] == "input"
    monkeypatch.setenv(KEY_VARIABLE, SECRET.hex())
    assert shoal(*words).code == 0
