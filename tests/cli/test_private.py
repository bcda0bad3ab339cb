"""What only the custodian may see is made for its owner alone; what is for the public as the user's umask has it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.cli.conftest import run_command

ROLES = "--quasi age,zip --confidential charge --k 2"
PEOPLE = "name,age,zip,charge\n" + "".join(f"p{i},{20 + i % 7},{93700 + i % 5},{1000 * i}\n" for i in range(60))
GOODS = "customer,good\n" + "".join(f"c{i % 10},g{i % 7}\n" for i in range(60))
RUNS = {
    f"anonymize d.csv -o r.csv {ROLES} --report p.html --certificate c.json": ({"r.csv", "c.json"}, {"p.html"}),
    f"anonymize d.csv -o r.xlsx {ROLES} --identifiers name --ledger l.db,key=l.key --subject name": (
        {"r.xlsx"},
        {"l.db", "l.key"},
    ),
    f"anonymize d.csv -o r.parquet {ROLES} --method recode --hierarchies h --write explain=.": (
        {"r.parquet"},
        {"frontier.csv", "frontier.png"},
    ),
    "profile d.csv --write-policy shoal.toml": (set(), {"shoal.toml"}),
    "compare d.csv --attributes age,charge --methods kd --frontier --plot p.png --cache cache": (
        set(),
        {"p.png", "cache/measured.sqlite", "cache/measured.key"},
    ),
    "transactions anonymize t.csv -o r.csv --customer customer --item good --min-size 2 --map m.csv --log l.csv": (
        {"r.csv"},
        {"m.csv", "l.csv"},
    ),
}


@pytest.mark.parametrize("words", RUNS, ids=lambda words: " ".join(words.split()[:2]))
def test_only_a_release_and_its_certificate_can_be_read_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    (tmp_path / "d.csv").write_text(PEOPLE)
    (tmp_path / "t.csv").write_text(GOODS)
    (tmp_path / "h").mkdir()
    for name, values in (("age", range(20, 27)), ("zip", range(93700, 93705))):
        (tmp_path / "h" / f"{name}.csv").write_text("".join(f"{value};{value // 4};*\n" for value in values))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mask = os.umask(0)
    try:
        assert run_command(*words.split()) == 0
    finally:
        os.umask(mask)
    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in made}
    public, private = RUNS[words]
    assert modes == dict.fromkeys(public, 0o666) | dict.fromkeys(private, 0o600)
