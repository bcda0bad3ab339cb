"""The ledger: what it holds and what it never holds, its key, two writers, releases that do not get their name."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import shoal.releases.ledger as module
from shoal.data import files
from shoal.errors import InputError, PromiseError
from shoal.policy import Policy
from shoal.privacy import KAnonymity
from shoal.release import Draft, anonymize, draft
from shoal.releases.ledger import Ledger, Promised, entries, ledger_key
from shoal.releases.published import published

PEOPLE = pl.DataFrame(
    {
        "id": [f"person-{i}" for i in range(40)],
        "age": [20 + i * 7 % 40 for i in range(40)],
        "charge": [1000 + 13 * i for i in range(40)],
    }
)
POLICY = Policy(identifiers=["id"], quasi_identifiers=["age"], confidential=["charge"], models=[KAnonymity(4)])


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", b"k" * 32, "id")


def test_a_release_is_recorded_with_what_it_showed_and_promised(ledger: Ledger, tmp_path: Path) -> None:
    release = anonymize(PEOPLE, POLICY, seed=5).write(tmp_path / "r.csv", ledger=ledger, seed=5)
    (entry,) = entries(ledger.path)
    facts = entry.to_dict()
    assert facts["records"] == 40
    assert facts["classes"] == len(release.sizes)
    assert facts["k"] == 4
    assert facts["seed"] == 5
    assert facts["promises"] == [verdict.to_dict() for verdict in release.verdicts]
    assert Path(facts["file"]).read_bytes() == (tmp_path / "r.csv").read_bytes()
    shown = release.table["age"].unique().sort().to_list()
    assert entry.published.shown["age"].sort().to_list() == shown
    assert sorted(entry.published.sizes) == sorted(release.sizes)


def test_each_subject_stands_in_the_class_that_shows_her(ledger: Ledger, tmp_path: Path) -> None:
    release = anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    (entry,) = entries(ledger.path)
    found = pl.DataFrame({"subject": ledger.digests(PEOPLE), "age": release.table["age"]}).join(
        entry.published.members, on="subject"
    )
    assert found.height == 40
    assert entry.published.shown["age"].gather(found["class"]).to_list() == found["age"].to_list()


def test_neither_identifiers_nor_values_stand_in_it(ledger: Ledger, tmp_path: Path) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    (entry,) = entries(ledger.path)
    assert entry.published.members.columns == ["subject", "class"]
    assert entry.published.shown.columns == ["age"]
    assert set(entry.published.members["subject"].bin.size()) == {16}
    content = ledger.path.read_bytes()
    assert not any(name.encode() in content for name in PEOPLE["id"])
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_subjects_cannot_be_tried_without_the_key(ledger: Ledger) -> None:
    other = Ledger(ledger.path, b"x" * 32, "id")
    assert set(ledger.digests(PEOPLE)).isdisjoint(other.digests(PEOPLE))
    assert ledger.digests(PEOPLE).to_list() == ledger.digests(PEOPLE).to_list()


def test_another_key_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    other = Ledger(ledger.path, b"x" * 32, "id")
    with pytest.raises(InputError, match="key is not that of the ledger"):
        anonymize(PEOPLE, POLICY).write(tmp_path / "s.csv", ledger=other)
    assert not (tmp_path / "s.csv").exists()


def test_a_key_is_made_for_a_new_ledger_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, path = tmp_path / "key", tmp_path / "ledger.db"
    made = ledger_key(key, path)
    assert len(made) >= 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert ledger_key(key, path) == made
    path.touch()
    with pytest.raises(InputError, match="no file"):
        ledger_key(tmp_path / "other", path)
    monkeypatch.delenv("SHOAL_LEDGER_KEY", raising=False)
    with pytest.raises(InputError, match="SHOAL_LEDGER_KEY"):
        ledger_key(None, path)
    monkeypatch.setenv("SHOAL_LEDGER_KEY", "secret from the environment")
    assert ledger_key(None, path) == b"secret from the environment"


def test_what_does_not_get_its_name_is_not_recorded(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(InputError, match="no space"):
        anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    monkeypatch.undo()
    assert entries(ledger.path) == []
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    assert len(entries(ledger.path)) == 1


def test_what_got_its_name_is_recorded_even_if_what_follows_fails(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_on_folders(path: Path) -> None:
        if path.is_dir():  # after the file got its name
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "flush", fails_on_folders)
    with pytest.raises(InputError, match="cannot be written"):
        anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    assert (tmp_path / "r.csv").exists()
    assert len(entries(ledger.path)) == 1


def test_two_writers_are_judged_one_after_the_other(ledger: Ledger, tmp_path: Path) -> None:
    """Both are safe alone; whoever comes second is judged against the first."""
    by_age = draft(PEOPLE, POLICY)
    by_charge = draft(PEOPLE, Policy(identifiers=["id"], quasi_identifiers=["charge"], models=[KAnonymity(4)]))

    def write(made: Draft, name: str) -> str:
        try:
            made.write(tmp_path / name, ledger=ledger)
        except PromiseError:
            return ""
        return name

    with ThreadPoolExecutor(2) as pool:
        done = [name for name in pool.map(write, (by_age, by_charge), ("age.csv", "charge.csv")) if name]
    assert len(done) == 1
    assert [Path(entry.file).name for entry in entries(ledger.path)] == done
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == done


def test_a_writer_that_waits_too_long_is_told(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = anonymize(PEOPLE, POLICY)
    made.write(tmp_path / "r.csv", ledger=ledger)
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="locked"):
        made.write(tmp_path / "s.csv", ledger=ledger)
    holder.close()
    assert not (tmp_path / "s.csv").exists()


def test_what_is_no_ledger_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ledger"):
        entries(ledger.path)
    ledger.path.write_text("id,age\n" * 200)
    with pytest.raises(InputError, match="is not a ledger"):
        entries(ledger.path)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE people (id INTEGER)")
    with pytest.raises(InputError, match="not a ledger"):
        entries(other)


def test_a_database_table_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="digest"):
        anonymize(PEOPLE, POLICY).write(f"sqlite:///{tmp_path}/x.db#t", ledger=ledger)


def test_a_release_made_elsewhere_is_added_and_what_it_did_is_said(ledger: Ledger, tmp_path: Path) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    file = tmp_path / "elsewhere.csv"
    other = PEOPLE.select("id", age=pl.Series(["young", "old"] * 20))
    other.write_csv(file)
    release = published("elsewhere", other, "id", ["age"])
    release = type(release)("elsewhere", release.members.with_columns(ledger.digests(other)), release.shown)
    found = ledger.add(release, Promised(4), file)
    assert found is not None
    assert found.subjects > 0
    assert len(entries(ledger.path)) == 2


def test_the_same_subject_twice_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    twice = pl.concat([PEOPLE, PEOPLE.head(1)])
    with pytest.raises(InputError, match="'person-0' in 'id' again in record 41"):
        anonymize(twice, POLICY).write(tmp_path / "r.csv", ledger=ledger)
