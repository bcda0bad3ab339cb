"""`--weights`: what the commands say by sampling weights, on every engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shoal
from tests.risk.test_individual import HIERARCHY, survey

QUASI = ("--quasi", "age,sex")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey().write_csv("d.csv")
    survey().write_parquet("d.parquet")
    Path("h").mkdir()
    Path("h/age.csv").write_text("".join(";".join(line) + "\n" for line in HIERARCHY))
    Path("h/sex.csv").write_text("f;*\nm;*\n")


@pytest.mark.usefixtures("table")
def test_risk_and_engine_disk_give_the_same_expected_reidentifications(shoal: Shoal) -> None:
    memory = json.loads(shoal("risk", "d.parquet", *QUASI, "--weights", "w", "--json").out)["scenarios"]
    disk = json.loads(shoal("risk", "d.parquet", *QUASI, "--weights", "w", "--engine", "disk", "--json").out)[
        "scenarios"
    ]
    assert memory["basis"] == "sampling weights"
    assert memory["individual_risk"]["expected_reidentifications"] > 1
    assert disk["individual_risk"] == pytest.approx(memory["individual_risk"])
    Path("p.toml").write_text('weights = "w"\nquasi_identifiers = ["age", "sex"]\n')
    by_policy = json.loads(shoal("risk", "d.csv", "--policy", "p.toml", "--json").out)["scenarios"]
    assert by_policy["individual_risk"] == pytest.approx(memory["individual_risk"])  # sums in any order
    plain = json.loads(shoal("risk", "d.csv", "--policy", "p.toml", "--fraction", "0.1", "--json").out)["scenarios"]
    assert plain["basis"] == "sampling fraction"


@pytest.mark.usefixtures("table")
def test_k_map_takes_its_people_from_the_weights(shoal: Shoal) -> None:
    asked = (
        "anonymize",
        "d.csv",
        *QUASI,
        "--weights",
        "w",
        "--k-map",
        "20",
        "--method",
        "recode",
        "--hierarchies",
        "h",
    )
    made = shoal(*asked, "-o", "r.csv", "--certificate", "c.json", "--report", "r.html", "--json")
    assert made.code == 0, made.err
    on_disk = shoal(*asked, "-o", "out", "--engine", "disk", "--json")
    assert json.loads(on_disk.out)["models"] == json.loads(made.out)["models"]
    assert json.loads(made.out)["models"][0]["name"] == "k-map-by-weights"
    assert "w" not in Path("r.csv").read_text().splitlines()[0].split(",")
    assert "expected re-identifications" in Path("r.html").read_text()
    assert json.loads(Path("c.json").read_text())["models"][0]["weights"] == "w"


@pytest.mark.usefixtures("table")
def test_what_cannot_be_is_refused_in_a_sentence(shoal: Shoal) -> None:
    both = shoal("risk", "d.csv", *QUASI, "--weights", "w", "--fraction", "0.1")
    assert both.code == 2
    assert "only one of them" in both.sentence
    lines = Path("d.csv").read_text().splitlines()
    lines[6] = lines[6].rpartition(",")[0] + ",-2"
    Path("bad.csv").write_text("\n".join(lines) + "\n")
    for command in (("risk", "bad.csv"), ("anonymize", "bad.csv", "-o", "r.csv")):
        run = shoal(*command, *QUASI, "--weights", "w")
        assert run.code == 2
        assert "line 7" in run.sentence
    assert not Path("r.csv").exists()
