"""The ledger: what it holds and what it never holds, its key, two writers, releases that do not get their name."""

from __future__ import annotations

import datetime as dt
import sqlite3
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import shoal.releases.ledger as module
from shoal.anonymize import anonymize
from shoal.data import paths
from shoal.data.identity import identity_text
from shoal.draft import Draft, draft
from shoal.errors import InputError, PromiseError, ShoalError
from shoal.policy import Policy
from shoal.privacy import KAnonymity, MeasuredRisk
from shoal.release import write
from shoal.releases.ledger import Ledger, confirm, entries, ledger_key, set_limit, withdraw
from shoal.releases.pieces import InPieces
from shoal.releases.published import published, subjects_of
from shoal.releases.store import Promised
from shoal.split import split_draft

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
    assert entry.published.values.columns == ["age", "charge"]
    for name in ("age", "charge"):  # keyed with the subject as well: equal values cannot be seen
        assert set(entry.published.values[name].bin.size()) == {8}
        assert entry.published.values[name].n_unique() == 40
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

    monkeypatch.setattr(paths, "flush", full)
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

    monkeypatch.setattr(paths, "flush", fails_on_folders)
    with pytest.raises(InputError, match="cannot be written"):
        anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    assert (tmp_path / "r.csv").exists()
    assert len(entries(ledger.path)) == 1


def test_two_writers_are_judged_one_after_the_other(ledger: Ledger, tmp_path: Path) -> None:
    """Both are safe alone; whoever comes second is judged against the first."""
    by_age = draft(PEOPLE, POLICY)
    by_charge = draft(PEOPLE, Policy(identifiers=["id"], quasi_identifiers=["charge"], models=[KAnonymity(4)]))

    def write_to(made: Draft, name: str) -> str:
        try:
            write(made, tmp_path / name, ledger=ledger)
        except PromiseError:
            return ""
        return name

    with ThreadPoolExecutor(2) as pool:
        done = [name for name in pool.map(write_to, (by_age, by_charge), ("age.csv", "charge.csv")) if name]
    assert len(done) == 1
    assert [Path(entry.file).name for entry in entries(ledger.path)] == done
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == done


def test_who_waits_for_the_ledger_does_not_hold_up_whom_she_waits_for(ledger: Ledger, tmp_path: Path) -> None:
    made = anonymize(PEOPLE, POLICY)
    made.write(tmp_path / "r.csv", ledger=ledger)
    holder = sqlite3.connect(ledger.path, isolation_level=None, timeout=0)
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("UPDATE key_check SET digest = digest")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(made.write, tmp_path / "s.csv", ledger=ledger)
        time.sleep(0.5)  # for her to be there
        holder.execute("COMMIT")  # needs the file for itself
        holder.close()
        second.result()
    assert len(entries(ledger.path)) == 2


def test_a_writer_that_waits_too_long_is_told(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = anonymize(PEOPLE, POLICY)
    made.write(tmp_path / "r.csv", ledger=ledger)
    monkeypatch.setattr("shoal.releases.store._PATIENCE", 0.05)
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


# ---- a process that was killed


class Killed(BaseException):
    """Nothing of what follows is done, as after kill -9."""


def killed_after_its_name(ledger: Ledger, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose process ends when the file has its name and the ledger does not know it yet."""

    def killed(connection: sqlite3.Connection) -> None:
        raise Killed

    anonymize(PEOPLE[:8], POLICY).write(target.with_name("first.csv"), ledger=ledger)
    made = draft(PEOPLE[8:], POLICY)
    monkeypatch.setattr(module, "settle", killed)
    with pytest.raises(Killed):
        write(made, target, ledger=ledger)
    monkeypatch.undo()
    assert target.exists()


def test_a_killed_release_whose_file_was_moved_counts_until_the_custodian_says_otherwise(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after_its_name(ledger, tmp_path / "r.csv", monkeypatch)
    (tmp_path / "r.csv").rename(tmp_path / "published.csv")
    assert [entry.state for entry in entries(ledger.path)] == ["done", "pending"]
    by_charge = Policy(identifiers=["id"], quasi_identifiers=["charge"], models=[KAnonymity(4)])
    with pytest.raises(PromiseError, match="fewer than 4"):
        write(draft(PEOPLE[8:], by_charge), tmp_path / "s.csv", ledger=ledger)
    withdraw(ledger.path, 2)
    assert len(entries(ledger.path)) == 1
    write(draft(PEOPLE[8:], by_charge), tmp_path / "s.csv", ledger=ledger)
    assert [entry.number for entry in entries(ledger.path)] == [1, 3]  # no number is given twice


def test_a_killed_release_is_known_by_its_file_or_confirmed(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after_its_name(ledger, tmp_path / "r.csv", monkeypatch)
    moved = (tmp_path / "r.csv").rename(tmp_path / "published.csv")
    assert entries(ledger.path)[1].state == "pending"
    confirm(ledger.path, 2)
    assert entries(ledger.path)[1].state == "done"
    moved.unlink()
    assert entries(ledger.path)[1].state == "done"
    with pytest.raises(InputError, match=r"Release 2 got its name: it is out"):
        withdraw(ledger.path, 2)
    with pytest.raises(InputError, match="holds no release 7"):
        confirm(ledger.path, 7)


def test_a_killed_release_whose_file_stands_there_is_done(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after_its_name(ledger, tmp_path / "r.csv", monkeypatch)
    assert [entry.state for entry in entries(ledger.path)] == ["done", "done"]


# ---- who is who


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series([200, 7]), pl.Series([200.0, 7.0])),
        (pl.Series([200, 7]), pl.Series(["200 ", "\u00a07"])),
        (pl.Series([200, 7]), pl.Series(["200.0", "7."])),
        (pl.Series([200, 7], dtype=pl.Int8, strict=False).fill_null(-56), pl.Series(["-56", "7.00"])),
        (pl.Series([2**62, 0]), pl.Series([str(2**62), "-0.0"])),
        (pl.Series(["Zoe\u0308"]), pl.Series(["\ufeffZo\u00eb"])),
        (pl.Series(["a", "b"], dtype=pl.Categorical), pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"]))),
        (pl.Series([dt.date(2020, 1, 2)]), pl.Series([dt.datetime(2020, 1, 2)])),
        (pl.Series([dt.date(2020, 1, 2)]), pl.Series(["2020-01-02T00:00:00"])),
    ],
)
def test_a_subject_is_known_however_the_identifier_is_written(ledger: Ledger, one: pl.Series, other: pl.Series) -> None:
    found = [ledger.digests(pl.DataFrame({"id": column})).to_list() for column in (one, other)]
    assert found[0] == found[1]


def test_leading_zeros_and_other_texts_tell_subjects_apart(ledger: Ledger) -> None:
    names = pl.Series("id", ["7", "007", "0070", "7.5", "7a", "7 a", "A", "a", "1e3", "1000"])
    assert subjects_of(names.to_frame(), "id").n_unique() == len(names)
    assert identity_text(pl.Series([1.5, float("nan"), None, 1e15])).to_list() == [
        "1.5",
        None,
        None,
        "1000000000000000",
    ]
    with pytest.raises(InputError, match="too long to be exact"):
        subjects_of(pl.DataFrame({"id": [1.0, 2.0**60]}), "id")
    with pytest.raises(InputError, match="names '7' in 'id' again in record 2"):
        subjects_of(pl.DataFrame({"id": ["7", "7.0"]}), "id")


def test_a_release_of_strangers_is_told_loudly(ledger: Ledger, tmp_path: Path) -> None:
    first = anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    assert not any("known to the ledger" in note for note in first.notes)
    other = PEOPLE.with_columns(id="X" + pl.col("id"))
    second = anonymize(other, POLICY).write(tmp_path / "s.csv", ledger=ledger)
    (note,) = (note for note in second.to_dict()["notes"] if "known to the ledger" in note)
    assert "Of the 40 people of this table only 0.0% are known to the ledger, which holds 40" in note
    again = anonymize(PEOPLE, POLICY).write(tmp_path / "t.csv", ledger=ledger)
    assert not any("known to the ledger" in note for note in again.notes)


# ---- masked one by one


def test_a_second_perturbed_release_of_the_same_people_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    policy = Policy(
        identifiers=["id"],
        quasi_identifiers=["age", "charge"],
        models=[MeasuredRisk(0.99)],
        method={"name": "noise", "gamma": 4.0},
    )
    anonymize(PEOPLE[:20], policy, seed=1).write(tmp_path / "a.csv", ledger=ledger)
    with pytest.raises(PromiseError, match=r"20 of its 40 people are in an earlier release already.*averaged"):
        anonymize(PEOPLE, policy, seed=2).write(tmp_path / "b.csv", ledger=ledger)
    anonymize(PEOPLE[20:], policy, seed=2).write(tmp_path / "b.csv", ledger=ledger)
    with pytest.raises(PromiseError, match="masks records one by one"):  # classes beside single records neither
        anonymize(PEOPLE, POLICY).write(tmp_path / "c.csv", ledger=ledger)
    assert len(entries(ledger.path)) == 2


# ---- damage, and keys that are none


def test_a_short_key_is_refused_wherever_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_LEDGER_KEY", "k")
    with pytest.raises(InputError, match="The key in SHOAL_LEDGER_KEY has 1 bytes"):
        ledger_key(None, tmp_path / "l.db")
    monkeypatch.setenv("SHOAL_LEDGER_KEY", " " * 20 + "k")
    with pytest.raises(InputError, match="has 1 bytes"):
        ledger_key(None, tmp_path / "l.db")
    with pytest.raises(InputError, match="The key of the ledger has 5 bytes"):
        Ledger(tmp_path / "l.db", b"short", "id")


def test_an_empty_ledger_is_damage_and_not_a_new_one(ledger: Ledger, tmp_path: Path) -> None:
    ledger.path.touch()
    with pytest.raises(InputError, match=r"is empty, which a ledger never is: it was damaged. Bring it back"):
        anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    assert not (tmp_path / "r.csv").exists()
    assert ledger.path.stat().st_size == 0


def test_a_damaged_ledger_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is damaged, and nothing can be judged"):
        ledger.releases()
    ledger.path.write_bytes(whole)
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("UPDATE release SET members = substr(members, 1, 100)")
    with pytest.raises(InputError, match="is damaged"):
        entries(ledger.path)


def test_a_ledger_of_another_version_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(InputError, match="made by another version of Shoal"):
        entries(ledger.path)


# ---- the budget


def test_private_means_beyond_the_limit_are_refused_before_the_file_gets_its_name(tmp_path: Path) -> None:
    def policy(epsilon: float) -> Policy:
        return POLICY.model_copy(
            update={
                "show": {"charge": "private-mean"},
                "epsilon": epsilon,
                "attributes": Policy(attributes={"charge": {"domain": [0, 2000]}}).attributes,
            }
        )

    ledger = Ledger(tmp_path / "l.db", b"k" * 32, "id", epsilon_limit=1.0)
    anonymize(PEOPLE[:20], policy(0.7)).write(tmp_path / "a.csv", ledger=ledger)
    anonymize(PEOPLE[20:], policy(0.7)).write(tmp_path / "b.csv", ledger=ledger)  # other people: nobody pays both
    found = module.budget(ledger.path)
    assert found.to_dict() == {"total": 1.4, "worst": 0.7, "subjects": 40, "limit": 1.0}
    with pytest.raises(
        PromiseError, match=r"epsilon of 0.7 private means would cost 20 people up to 1.4.*limit is 1\."
    ):
        anonymize(PEOPLE[:20], policy(0.7)).write(tmp_path / "c.csv", ledger=ledger)
    assert not (tmp_path / "c.csv").exists()
    anonymize(PEOPLE[:20], policy(0.3)).write(tmp_path / "c.csv", ledger=ledger)
    set_limit(ledger.path, 2.0)
    assert module.limit_of(ledger.path) == 2.0
    with pytest.raises(InputError, match="its limit of epsilon is set by"):
        anonymize(PEOPLE[:20], policy(0.3)).write(tmp_path / "d.csv", ledger=ledger)
    with pytest.raises(InputError, match="epsilon above 0"):
        set_limit(ledger.path, 0.0)
    with pytest.raises(InputError, match="epsilon above 0"):
        Ledger(tmp_path / "m.db", b"k" * 32, "id", -1.0).add(
            published("x", PEOPLE, "id", ["age"]), Promised(2), tmp_path / "a.csv"
        )


def test_a_ledger_in_no_folder_is_told(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "nowhere" / "l.db", b"k" * 32, "id")
    with pytest.raises(InputError, match="cannot be made: no such file"):
        anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    assert not (tmp_path / "r.csv").exists()


def test_what_changed_in_any_table_of_a_split_release_is_seen(ledger: Ledger, tmp_path: Path) -> None:
    people = PEOPLE.with_columns(days=pl.col("charge") % 17)
    policy = POLICY.model_copy(update={"confidential": ("charge", "days")})
    split_draft(people, policy).write(tmp_path / "a.csv", ledger=ledger)
    again = people.with_columns(days=pl.when(pl.col("id") == "person-3").then(99).otherwise("days"))
    with pytest.raises(PromiseError, match="values changed of fewer than 4"):
        split_draft(again, policy).write(tmp_path / "b.csv", ledger=ledger)
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["a.charge.csv", "a.days.csv"]
    other = people.with_columns(id="x" + pl.col("id"))
    (note,) = (each for each in split_draft(other, policy).noted(ledger).notes if "known to the ledger" in each)
    assert "only 0.0%" in note


def test_whatever_byte_of_a_ledger_is_changed_ends_in_a_sentence(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", bytes(range(32)), "id")
    made = draft(pl.DataFrame({"id": range(20), "age": [i // 5 for i in range(20)]}), Policy(
        identifiers=["id"], quasi_identifiers=["age"], models=[KAnonymity(3)]
    ))  # fmt: skip
    write(made, tmp_path / "r.csv", ledger=ledger)
    whole = (tmp_path / "ledger.db").read_bytes()
    told = 0
    for place in range(100, len(whole), 61):
        (tmp_path / "ledger.db").write_bytes(whole[:place] + bytes([whole[place] ^ 0xC3]) + whole[place + 1 :])
        try:
            ledger.releases()
        except ShoalError:
            told += 1
    assert told


# ---- releases in pieces


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.releases.published.PIECE", 5)


def test_a_release_in_pieces_is_the_same_release(ledger: Ledger, tmp_path: Path, in_pieces: None) -> None:
    whole = Ledger(tmp_path / "whole.db", ledger.key, ledger.subject)
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.releases.published.PIECE", 1000)
        anonymize(PEOPLE, POLICY).write(tmp_path / "s.csv", ledger=whole)
    (one,), (other,) = entries(ledger.path), entries(whole.path)
    assert [isinstance(entry.recorded, InPieces) for entry in (one, other)] == [True, False]
    assert one.to_dict()["records"] == other.to_dict()["records"] == 40
    cells = [
        entry.published.members.select(
            "subject", *(entry.published.shown[name].gather(entry.published.members["class"]) for name in ("age",))
        ).hstack(entry.published.values.rename(lambda name: f"own {name}"))
        for entry in (one, other)
    ]
    assert cells[0].sort("subject").equals(cells[1].sort("subject"))


def test_a_release_in_pieces_exposes_and_costs_as_one_that_is_not(
    ledger: Ledger, tmp_path: Path, in_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    by_charge = Policy(identifiers=["id"], quasi_identifiers=["charge"], models=[KAnonymity(4)])
    sentences = []
    for size in (5, 1000):
        monkeypatch.setattr("shoal.releases.published.PIECE", size)
        with pytest.raises(PromiseError, match="fewer than 4") as refused:
            write(draft(PEOPLE, by_charge), tmp_path / "s.csv", ledger=ledger)
        sentences.append(str(refused.value).partition(" (in the class")[0])
    assert sentences[0] == sentences[1]
    assert len(entries(ledger.path)) == 1
    with sqlite3.connect(ledger.path) as connection:  # nothing is left of what was refused
        assert connection.execute("SELECT count(*) FROM piece WHERE release > 1").fetchone() == (0,)


@pytest.mark.parametrize(
    "damage", ["DELETE FROM piece WHERE number = 3", "UPDATE piece SET own = substr(own, 1, 60) WHERE number = 3"]
)
def test_a_lost_or_damaged_piece_is_seen(ledger: Ledger, tmp_path: Path, in_pieces: None, damage: str) -> None:
    anonymize(PEOPLE, POLICY).write(tmp_path / "r.csv", ledger=ledger)
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(damage)
    with pytest.raises(InputError, match="is damaged"):
        entries(ledger.path)[0].published  # noqa: B018
