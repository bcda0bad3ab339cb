"""`--mask-text` and `--release-text`: every engine, every file, and nothing of the text but what is meant."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Shoal

ROLES = ("--identifiers", "name", "--quasi", "age", "--k", "5")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    monkeypatch.chdir(tmp_path)
    notes = [
        None if i % 7 == 0 else f"SECRETNAME told us on 0{1 + i % 9}.03.2021 a story of {i} words" for i in range(80)
    ]
    frame = pl.DataFrame({"name": ["Jo Secretname"] * 80, "age": [20 + i % 4 for i in range(80)], "note": notes})
    frame.write_csv("d.csv")
    frame.write_parquet("d.parquet")
    return frame


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("output", ["r.csv", "r.parquet", "r.xlsx", "r.sav"])
@pytest.mark.parametrize("source", ["d.csv", "d.parquet"])
def test_masked_text_leaves_nothing_in_any_file(shoal: Shoal, source: str, output: str) -> None:
    run = shoal("anonymize", source, "-o", output, *ROLES, "--mask-text", "note", "--certificate", "c.json")
    assert run.code == 0, run.err
    content = Path(output).read_bytes()
    assert b"SECRETNAME" not in content.upper()
    assert json.loads(Path("c.json").read_text())["text"] == {"note": "text, masked by patterns, no promise"}
    checked = shoal("check", output, "--certificate", "c.json")
    assert checked.code == 0, checked.err


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_engine_disk_masks_alike(shoal: Shoal, kind: str) -> None:
    run = shoal("anonymize", f"d.{kind}", "-o", "out", *ROLES, "--mask-text", "note", "--engine", "disk")
    assert run.code == 0, run.err
    parts = [path for path in Path("out").iterdir() if path.name.startswith("part")]
    assert all(b"SECRETNAME" not in part.read_bytes().upper() for part in parts)
    read = pl.concat([pl.read_csv(part) if kind == "csv" else pl.read_parquet(part) for part in parts])
    assert set(read["note"].drop_nulls().str.replace(r"\d+ words", "")) == {"<NAME> told us on <DATE> a story of "}
    assert json.loads(Path("out/_certificate.json").read_text())["text"]
    left = shoal("anonymize", f"d.{kind}", "-o", "out2", *ROLES, "--rest", "insensitive", "--engine", "disk")
    assert "Free text is left out: 'note'" in left.err
    refused = shoal("anonymize", f"d.{kind}", "-o", "out3", *ROLES, "--insensitive", "note", "--engine", "disk")
    assert refused.code == 2
    assert "is free text" in refused.sentence


@pytest.mark.usefixtures("table")
def test_the_options_stand_in_the_place_of_the_policys(shoal: Shoal) -> None:
    Path("p.toml").write_text('[text]\nrelease = ["note"]\n')
    run = shoal("anonymize", "d.csv", "-o", "r.csv", *ROLES, "--policy", "p.toml", "--report", "r.html")
    assert run.code == 0, run.err
    assert "SECRETNAME" in Path("r.csv").read_text()
    assert "released as it is: nothing is promised" in Path("r.html").read_text()
    refused = shoal("anonymize", "d.csv", "-o", "r2.csv", *ROLES, "--policy", "p.toml", "--mask-text", "note")
    assert "choose one" in refused.sentence
    Path("p.toml").write_text('[text]\nmask = ["note"]\nmasker = "os:system"\n')
    refused = shoal("anonymize", "d.csv", "-o", "r2.csv", *ROLES, "--policy", "p.toml")
    assert refused.code == 2
    assert "code to be imported" in refused.sentence
    Path("p.toml").write_text('[text]\nmasks = ["note"]\n')
    refused = shoal("anonymize", "d.csv", "-o", "r2.csv", *ROLES, "--policy", "p.toml")
    assert refused.code == 2
    assert "text.masks" in refused.sentence


@pytest.mark.usefixtures("table")
def test_profile_marks_text_and_says_what_has_a_form(shoal: Shoal) -> None:
    run = shoal("profile", "d.csv", "--json", "--write-policy", "p.toml")
    [note] = [a for a in json.loads(run.out)["attributes"] if a["name"] == "note"]
    assert (note["kind"], note["role"], note["patterns"]) == ("text", None, {"dates": 68})
    assert '# "note" is left out. Free text' in Path("p.toml").read_text()
    released = shoal("anonymize", "d.csv", "-o", "r.csv", "--policy", "p.toml")
    assert released.code == 0, released.err
    assert "note" not in Path("r.csv").read_text().splitlines()[0]
