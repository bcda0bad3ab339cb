"""`shoal releases` and `shoal anonymize --ledger`, as typed."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run, Shoal

QUASI = ("--quasi", "age_yrs,sex,los")
ROLES = (*QUASI, "--confidential", "charge", "--k", "4")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two tables of discharges that share 60 % of their people."""
    from shoal.data.discharges import discharges

    folder = tmp_path_factory.mktemp("people")
    everyone = discharges(840, 5).with_row_index("id")
    for name, table in (("a", everyone[:600]), ("b", everyone[240:])):
        table.write_csv(folder / f"{name}.csv")
    return folder / "a.csv", folder / "b.csv"


def nightly(shoal: Shoal, source: Path, target: Path, *more: str) -> Run:
    folder = target.parent
    ledger = ("--ledger", f"{folder / 'ledger.db'},key={folder / 'key'}", "--subject", "id")
    return shoal("anonymize", source, "-o", target, *ROLES, *ledger, *more)


@pytest.fixture
def keyed(shoal: Shoal, people: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Each released by itself, with the subjects' key left in."""
    targets = tmp_path / "A.csv", tmp_path / "B.csv"
    for source, target in zip(people, targets, strict=True):
        assert shoal("anonymize", source, "-o", target, *ROLES, "--insensitive", "id").code == 0
    return targets


def test_the_audit_finds_what_independent_releases_lose(shoal: Shoal, keyed: tuple[Path, Path]) -> None:
    found = shoal("releases", "audit", *keyed, "--key", "id", *ROLES, "--json")
    assert found.code == 1
    facts = found.json
    assert facts["view"] == "custodian"
    assert [one["smallest_class"] >= 4 for one in facts["releases"]] == [True, True]
    assert facts["subjects"] == 840
    assert facts["smallest_pooled_class"] < 4
    assert facts["subjects_below_k"] > 0
    assert sum(facts["histogram"].values()) == 840
    (pair,) = facts["pairs"]
    assert pair["common_subjects"] == 360
    assert {attack["published"] for attack in pair["differencing"]} == {"range", "mean", "median"}
    table = shoal("releases", "audit", *keyed, "--key", "id", *ROLES)
    assert table.code == 1
    assert "subjects below k = 4" in table.out


def test_the_intruder_links_by_what_is_shown(shoal: Shoal, keyed: tuple[Path, Path]) -> None:
    found = shoal("releases", "audit", *keyed, *ROLES, "--json")
    assert found.code == 1
    facts = found.json
    assert facts["view"] == "intruder"
    assert facts["subjects"] == 1_200
    assert len(facts["pairs"]) == 2  # there and back
    assert facts["smallest_pooled_class"] == 1
    there = facts["pairs"][0]
    assert there["linked_uniquely"] > 0  # equal charges give them away
    assert 0 < there["left_open"]["age_yrs"] < 1
    assert {"releases", "smallest_pooled_class", "subjects_below_k", "histogram"} <= set(facts)
    quasi_only = shoal("releases", "audit", *keyed, *QUASI, "--k", "4", "--json").json
    assert quasi_only["pairs"][0]["linked_uniquely"] < there["linked_uniquely"]
    assert "What remains of a range" in shoal("releases", "audit", *keyed, *ROLES).out


def test_a_column_that_is_known_and_confidential_is_linked_by_once(shoal: Shoal, keyed: tuple[Path, Path]) -> None:
    once = shoal("releases", "audit", *keyed, *QUASI, "--k", "4", "--json").json
    both = shoal("releases", "audit", *keyed, *QUASI, "--confidential", "age_yrs", "--k", "4", "--json").json
    assert both["pairs"] == once["pairs"]


def test_a_ledger_refuses_and_goes_on_incrementally(shoal: Shoal, people: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = people
    assert nightly(shoal, a, tmp_path / "a.csv").code == 0
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    refused = nightly(shoal, b, tmp_path / "b.csv")
    assert refused.code == 1
    assert "with fewer than 4" in refused.sentence
    assert "The least change that would do" in refused.sentence
    assert not (tmp_path / "b.csv").exists()
    second = nightly(shoal, b, tmp_path / "b.csv", "--incremental", "--json")
    assert second.code == 0
    assert second.json["classes_new"] > 0
    assert second.json["withheld"] == second.json["suppressed"]
    assert "id" not in pl.read_csv(tmp_path / "b.csv", infer_schema=False).columns
    audit = shoal("releases", "audit", "--ledger", tmp_path / "ledger.db", "--json")
    assert audit.code == 0
    assert audit.json["k"] == 4
    assert audit.json["subjects_below_k"] == 0
    assert audit.json["smallest_pooled_class"] >= 4
    assert audit.json["subjects"] > 600
    listed = shoal("releases", "list", "--ledger", tmp_path / "ledger.db", "--json").json["releases"]
    assert [Path(one["file"]).name for one in listed] == ["a.csv", "b.csv"]
    assert all(isinstance(one["seed"], int) for one in listed)
    assert "2 b.csv" in shoal("releases", "list", "--ledger", tmp_path / "ledger.db").out


def test_a_ledger_goes_on_on_an_engine(shoal: Shoal, people: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = people
    assert nightly(shoal, a, tmp_path / "a.csv").code == 0
    on_disk = nightly(shoal, b, tmp_path / "b", "--engine", "disk", "--incremental", "--json")
    assert on_disk.code == 0
    memory = nightly(shoal, b, tmp_path / "b.csv", "--incremental", "--json")  # nobody came or went since
    names = ("records", "suppressed", "withheld")
    assert [on_disk.json[name] for name in names] == [memory.json[name] for name in names]
    assert shoal("releases", "audit", "--ledger", tmp_path / "ledger.db", "--json").json["smallest_pooled_class"] >= 4
    roles = (*ROLES, "--engine", "disk", "--incremental")
    assert "name their --ledger" in shoal("anonymize", a, "-o", tmp_path / "c", *roles).sentence


def test_a_release_made_elsewhere_is_recorded(
    shoal: Shoal, keyed: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_LEDGER_KEY", "0123456789abcdef")
    ledger = ("--ledger", tmp_path / "ledger.db", "--subject", "id")
    first = shoal("releases", "add", keyed[0], *ledger, *QUASI, "--k", "4", "--json")
    assert first.code == 0
    assert first.json["subjects_pushed_below_k"] == 0
    second = shoal("releases", "add", keyed[1], *ledger, *QUASI, "--k", "4")
    assert second.code == 1
    assert "with fewer than 4 over the pool" in second.err
    audit = shoal("releases", "audit", "--ledger", tmp_path / "ledger.db", "--json")
    assert audit.code == 1
    assert len(audit.json["releases"]) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("releases", "audit"), "Say what to audit"),
        (("releases", "audit", "A"), "name at least two files"),
        (("releases", "audit", "A", "B", "--key", "id"), "No quasi-identifier is named"),
        (("releases", "audit", "A", "B", "--key", "id", "--quasi", "agee"), "no column 'agee'"),
        (("releases", "audit", "A", "B", "--quasi", "agee"), "no column 'agee'"),
        (("releases", "audit", "A", "B", "--key", "idd", *QUASI), "'idd'"),
        (("releases", "audit", "--ledger", "none.db"), "There is no ledger 'none.db'"),
        (("releases", "add", "A", "--ledger", "l.db", "--subject", "id", *QUASI), "needs its key"),
        (("anonymize", "A", "-o", "x.csv", *ROLES, "--subject", "id"), "give --ledger"),
        (("anonymize", "A", "-o", "x.csv", *ROLES, "--ledger", "l.db"), "--subject COLUMN"),
        (("anonymize", "A", "-o", "x.csv", *ROLES, "--incremental"), "--ledger"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    shoal: Shoal, people: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    words: tuple[str, ...], sentence: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOAL_LEDGER_KEY", raising=False)
    files = dict(zip("AB", people, strict=True))
    ended = shoal(*(files.get(word, word) for word in words))
    assert ended.code == 2
    assert sentence in ended.sentence


def test_the_budget_of_private_means_adds_up_over_releases(shoal: Shoal, tmp_path: Path) -> None:
    rows = "".join(f"{i},{20 + i % 40},{i * 37 % 1000}\n" for i in range(60))
    (tmp_path / "d.csv").write_text("id,age,charge\n" + rows)
    (tmp_path / "shoal.toml").write_text("[attributes.charge]\ndomain = [0, 1000]\n")
    roles = ("--policy", tmp_path / "shoal.toml", "--quasi", "age", "--confidential", "charge", "--k", "5", "--subject",
             "id", "--ledger", f"{tmp_path / 'l.db'},key={tmp_path / 'key'}")  # fmt: skip

    def shown(epsilon: str) -> tuple[str, str]:
        return "--show", f"charge=private-mean:epsilon={epsilon}"

    for month, epsilon in (("may", "0.5"), ("june", "0.75")):
        run = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / f"{month}.csv", *roles, *shown(epsilon))
        assert run.code == 0, run.err
    listed = json.loads(shoal("releases", "list", "--ledger", tmp_path / "l.db", "--json").out)
    assert [release["epsilon"] for release in listed["releases"]] == [0.5, 0.75]
    assert listed["epsilon_spent"] == 1.25
    assert "epsilon 1.25 together" in shoal("releases", "list", "--ledger", tmp_path / "l.db").out
    audit = shoal("releases", "audit", "--ledger", tmp_path / "l.db", "--json").json
    assert audit["epsilon"] == {"total": 1.25, "worst": 1.25, "subjects": 60, "limit": None}
    assert "epsilon of all releases" in shoal("releases", "audit", "--ledger", tmp_path / "l.db").out
    assert "1.25 is spent" in shoal("releases", "limit", "1", "--ledger", tmp_path / "l.db").err
    assert shoal("releases", "audit", "--ledger", tmp_path / "l.db").code == 1  # more was spent than may be
    again = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "july.csv", *roles, *shown("0.1"))
    assert again.code == 1
    assert "the ledger's limit is 1" in again.err
    assert not (tmp_path / "july.csv").exists()
    other = shoal("anonymize", tmp_path / "d.csv", "-o", tmp_path / "x.csv", *roles[:-1], f"{roles[-1]},limit=3",
                  *shown("0.1"))  # fmt: skip
    assert "exists: its limit of epsilon is set by" in other.err


def test_a_release_of_strangers_is_told_in_the_output_and_in_the_report(
    shoal: Shoal, people: tuple[Path, Path], tmp_path: Path
) -> None:
    assert nightly(shoal, people[0], tmp_path / "a.csv").code == 0
    renamed = pl.read_csv(people[0], infer_schema=False).with_columns(id="P-" + pl.col("id"))
    renamed.write_csv(tmp_path / "renamed.csv")
    again = nightly(shoal, tmp_path / "renamed.csv", tmp_path / "b.csv", "--report", str(tmp_path / "r.html"), "--json")
    assert again.code == 0
    assert "only 0.0% are known to the ledger" in again.err
    assert any("known to the ledger" in note for note in again.json["notes"])
    assert "known to the ledger" in (tmp_path / "r.html").read_text()


def test_a_pending_release_is_listed_and_settled(shoal: Shoal, people: tuple[Path, Path], tmp_path: Path) -> None:
    assert nightly(shoal, people[0], tmp_path / "a.csv").code == 0
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE release SET state = 'pending'")
    (tmp_path / "a.csv").rename(tmp_path / "moved.csv")
    listed = shoal("releases", "list", "--ledger", tmp_path / "ledger.db", "--json")
    assert [one["state"] for one in listed.json["releases"]] == ["pending"]
    assert "Release 1 is pending" in listed.err
    told = shoal("releases", "settle", "1", "--ledger", tmp_path / "ledger.db", "--released")
    assert (told.code, told.err) == (0, "Release 1 is done: it was released.\n")
    never = shoal("releases", "settle", "1", "--ledger", tmp_path / "ledger.db", "--never-released")
    assert "what is out cannot be taken back" in never.sentence


@pytest.mark.parametrize(
    ("column", "before", "after"), [("c", "2", "2.0"), ("day", "2020-01-02 10:00:00", "2020-01-02T10:00:00")]
)
def test_a_spelling_that_changed_is_not_shown(
    shoal: Shoal, tmp_path: Path, column: str, before: str, after: str
) -> None:
    """Or whoever knows that one person came again would read her value off."""
    rows = [
        {"id": f"P{i}", "q": str(20 + i // 4), "c": str(i % 4 + 1), "day": "2020-01-02 10:00:00"} for i in range(24)
    ]
    assert rows[5][column] == before
    ledger = ("--ledger", f"{tmp_path / 'l.db'},key={tmp_path / 'key'}", "--subject", "id", "--method", "kd")
    shown = []
    for night in ("1", "2"):
        (tmp_path / f"d{night}.csv").write_text("id,q,c,day\n" + "".join(",".join(row.values()) + "\n" for row in rows))
        target = tmp_path / f"r{night}.csv"
        roles = ("--quasi", "q", "--confidential", "c", "--insensitive", "day", "--k", "4")
        assert shoal("anonymize", tmp_path / f"d{night}.csv", "-o", target, *roles, *ledger).code == 0
        shown.append(sorted({tuple(line.split(",")) for line in target.read_text().splitlines()[1:]}))
        rows[5][column] = after
    assert len({row[1:] for row in shown[1]}) == len({row[1:] for row in shown[0]})  # nobody stands out


def test_a_blank_more_in_a_text_is_a_change(shoal: Shoal, tmp_path: Path) -> None:
    rows = [f"P{i},{20 + i // 4},{'hiv' if i % 2 else 'flu'}" for i in range(24)]
    ledger = ("--ledger", f"{tmp_path / 'l.db'},key={tmp_path / 'key'}", "--subject", "id", "--method", "kd")
    roles = ("--quasi", "q", "--confidential", "c", "--k", "4")
    codes = []
    for night, changed in (("1", rows[5]), ("2", rows[5] + " ")):
        table = [*rows[:5], changed, *rows[6:]]
        (tmp_path / f"d{night}.csv").write_text("id,q,c\n" + "".join(f"{row}\n" for row in table))
        run = shoal("anonymize", tmp_path / f"d{night}.csv", "-o", tmp_path / f"r{night}.csv", *roles, *ledger)
        codes.append(run.code)
    assert codes == [0, 1]
    assert not (tmp_path / "r2.csv").exists()
