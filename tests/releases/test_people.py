"""A ledger of people who come again: people are counted, and the visits that a later release adds are told apart."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from shoal import Households, InputError, KAnonymity, Linked, Policy, PromiseError, Release, anonymize
from shoal.jobs.audit import AuditLedger, RecordRelease
from shoal.jobs.ledger import LedgerFile
from shoal.releases.audit import Audit
from shoal.releases.ledger import Ledger, entries

KEY = b"a key that is long enough to be one, of people"
POLICY = Policy(quasi_identifiers=["age"], confidential=["charge"], person="pid", models=[KAnonymity(3)])
# Nine people with two visits each, in three age groups that a grouping keeps.
VISITS = pl.DataFrame(
    {
        "visit": [f"v{i}" for i in range(18)],
        "pid": [f"p{i % 9}" for i in range(18)],
        "age": [20 + 20 * (i % 9 // 3) for i in range(18)],
        "charge": [100 + i for i in range(18)],
    }
)


def more(*people: int) -> pl.DataFrame:
    """One further visit of each of these people."""
    ages = [20 + 20 * (who // 3) for who in people]
    return pl.DataFrame(
        {
            "visit": [f"w{who}" for who in people],
            "pid": [f"p{who}" for who in people],
            "age": ages,
            "charge": [900 + who for who in people],
        }
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", KEY, "pid", person="pid")


def release(table: pl.DataFrame, ledger: Ledger, name: str, policy: Policy = POLICY) -> Release:
    made = anonymize(table.drop("visit") if ledger.subject == "pid" else table, policy, seed=1)
    return made.write(ledger.path.parent / name, ledger=ledger, seed=1)


def audited(ledger: Ledger) -> Audit:
    return AuditLedger(ledger.path).run()


def new_charges(first: Path, second: Path) -> set[str]:
    """What an intruder reads off two files: the charges that only the second shows."""
    files = (pl.read_csv(path, infer_schema=False)["charge"] for path in (first, second))
    before, after = (set(charges) for charges in files)
    return after - before


@pytest.mark.parametrize("subject", ["pid", "visit"])
def test_visits_that_one_person_adds_are_refused(tmp_path: Path, subject: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db", KEY, subject, person="pid")
    release(VISITS, ledger, "a.csv")
    with pytest.raises(PromiseError, match=r"records of 1 person with fewer than 3 who cannot be told apart, 1 at"):
        release(pl.concat([VISITS, more(0)]), ledger, "b.csv")
    assert not (tmp_path / "b.csv").exists()
    assert len(entries(ledger.path)) == 1


def test_without_a_ledger_two_releases_give_away_whose_the_added_visit_is(tmp_path: Path) -> None:
    """What the refusal is for: each file keeps its promise, and who knows who came again reads the charge off."""
    for name, table in (("a.csv", VISITS), ("b.csv", pl.concat([VISITS, more(0)]))):
        anonymize(table.drop("visit"), POLICY, seed=1).write(tmp_path / name)
    assert new_charges(tmp_path / "a.csv", tmp_path / "b.csv") == {"900"}


def test_two_visits_of_one_person_are_no_two_people(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    twice = pl.concat([more(0), more(0).with_columns(visit=pl.lit("x"), charge=pl.lit(901, pl.Int64)), more(1)])
    with pytest.raises(PromiseError, match="records of up to 2 people") as refused:
        release(pl.concat([VISITS, twice]), ledger, "b.csv")
    assert "--incremental" not in str(refused.value)  # which is refused where people may have several records


def test_visits_that_k_people_of_a_class_add_are_released(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    release(pl.concat([VISITS, more(0, 1, 2)]), ledger, "b.csv")
    found = audited(ledger)
    assert (found.holds, found.counts, found.subjects, found.smallest_pooled_class) == (True, "people", 9, 3)
    assert [each["people"] for each in found.releases] == [9, 9]
    assert [each["records"] for each in found.releases] == [18, 21]
    assert [pair.common_subjects for pair in found.pairs] == [9]


def test_a_release_of_new_visits_alone_is_judged_by_people(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    release(more(*range(9)), ledger, "b.csv")
    assert audited(ledger).holds


def test_a_changed_value_is_another_record(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    changed = VISITS.with_columns(charge=pl.when(pl.col("visit") == "v4").then(7_000).otherwise("charge"))
    with pytest.raises(PromiseError, match="fewer than 3"):
        release(changed, ledger, "b.csv")


def test_other_columns_than_before_are_refused_where_records_are_known_by_them(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    with pytest.raises(PromiseError, match="differ in 'charge'"):
        release(VISITS, ledger, "b.csv", POLICY.changed(confidential=[]))


def test_a_ledger_knows_records_again_by_one_thing(tmp_path: Path, ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    others = [
        (Ledger(ledger.path, KEY, "visit", person="pid"), "by what is shown of them: leave out --subject"),
        (Ledger(ledger.path, KEY, "pid"), "counts people who may have several records: name their column"),
    ]
    for other, sentence in others:
        table = VISITS if other.person else VISITS.unique("pid", maintain_order=True)
        with pytest.raises(InputError, match=re.escape(sentence)):
            release(table, other, "b.csv")
    by_visit = Ledger(tmp_path / "visits.db", KEY, "visit", person="pid")
    release(VISITS, by_visit, "c.csv")
    with pytest.raises(InputError, match="by their own column: name it again"):
        release(VISITS, Ledger(by_visit.path, KEY, "pid", person="pid"), "d.csv")
    classic = Ledger(tmp_path / "classic.db", KEY, "pid")
    release(VISITS.unique("pid", maintain_order=True), classic, "e.csv")
    with pytest.raises(InputError, match="knows one record of each subject"):
        release(VISITS, Ledger(classic.path, KEY, "pid", person="pid"), "f.csv")


def test_a_ledger_that_counts_visits_does_not_take_a_release_of_people(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"counts people by 'pid', and the ledger subjects by 'visit'"):
        release(VISITS, Ledger(tmp_path / "ledger.db", KEY, "visit"), "a.csv")


def test_records_of_people_are_not_gone_on_from_class_by_class(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    with pytest.raises(InputError, match="leave out --incremental"):
        anonymize(VISITS.drop("visit"), POLICY, after=ledger, seed=1)


def test_the_ledger_tells_people_without_naming_them(ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    [entry] = entries(ledger.path)
    assert (entry.recorded.people, entry.recorded.records) == (9, 18)
    assert entry.to_dict()["people"] == 9
    assert b"p0" not in ledger.path.read_bytes()


def test_whole_histories_are_pooled_person_by_person(tmp_path: Path) -> None:
    linked = POLICY.changed(models=[Linked(3)])
    ledger = Ledger(tmp_path / "ledger.db", KEY, "pid")
    release(VISITS, ledger, "a.csv", linked)
    with pytest.raises(PromiseError, match="fewer than 3") as refused:
        release(VISITS.filter(pl.col("pid") != "p0"), ledger, "b.csv", linked)
    assert "--incremental" not in str(refused.value)
    found = audited(ledger)
    assert (found.subjects, found.smallest_pooled_class >= 3) == (9, True)
    with pytest.raises(InputError, match="Whole histories are judged over releases by 'pid'"):
        release(VISITS, Ledger(tmp_path / "other.db", KEY, "visit"), "c.csv", linked)


def test_households_are_pooled_household_by_household(tmp_path: Path) -> None:
    homes = pl.DataFrame({"hid": [i // 2 for i in range(24)], "sex": ["f", "m"] * 12, "income": range(24)})
    policy = Policy(quasi_identifiers=["sex"], confidential=["income"], models=[Households(4, column="hid")])
    ledger = Ledger(tmp_path / "ledger.db", KEY, "hid")
    anonymize(homes, policy, seed=1).write(tmp_path / "a.csv", ledger=ledger)
    with pytest.raises(PromiseError, match="fewer than 4"):
        anonymize(homes.slice(2), policy, seed=1).write(tmp_path / "b.csv", ledger=ledger)
    assert audited(ledger).subjects == 12


def test_a_release_made_elsewhere_is_not_recorded_where_people_are_counted(tmp_path: Path, ledger: Ledger) -> None:
    release(VISITS, ledger, "a.csv")
    (tmp_path / "key").write_bytes(KEY)
    VISITS.write_csv(tmp_path / "elsewhere.csv")
    book = LedgerFile(ledger.path, "visit", tmp_path / "key")
    with pytest.raises(InputError, match="record it in a ledger of its own"):
        RecordRelease(str(tmp_path / "elsewhere.csv"), book, ("age",), 3).run()
    several = LedgerFile(tmp_path / "new.db", "pid", tmp_path / "key")
    with pytest.raises(InputError, match="again in record 10: give one record a subject"):
        RecordRelease(str(tmp_path / "elsewhere.csv"), several, ("age",), 3).run()
    assert len(entries(ledger.path)) == 1
