"""`shoal attack`: the release of any method is attacked, beside baseline and control."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import QUASI, Shoal


@pytest.mark.parametrize("method", ["kd", "sorted"])
def test_a_release_is_attacked_by_the_method_that_made_it(
    shoal: Shoal, discharges: Path, tmp_path: Path, method: str
) -> None:
    released = tmp_path / "r.csv"
    asked = ("--quasi", ",".join(QUASI), "--confidential", "charge", "--k", "5", "--t", "0.4", "--method", method)
    shoal("anonymize", discharges, "-o", released, *asked)
    run = shoal("attack", discharges, released, *asked, "--attacks", "minimality,definetti", "--json")
    assert [each["attack"] for each in run.json["attacks"]] == ["minimality"] * 2 + ["definetti"] * 2
    assert run.json["left_out"] == {}
    other = shoal("attack", discharges, released, *asked[:-1], "mdav", "--attacks", "minimality", "--json")
    assert "not what the policy's method makes" in other.json["left_out"]["minimality"]


def test_a_quasi_identifier_that_the_release_lacks_is_named(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,born\n1,1950\n2,1960\n")
    (tmp_path / "r.csv").write_text("age\n[1;2]\n[1;2]\n")
    asked = (tmp_path / "d.csv", tmp_path / "r.csv", "--quasi", "age,born", "--k", "2", "--paired")
    run = shoal("attack", *asked, "--json")
    assert "The release does not show 'born'" in run.json["left_out"]["linkage"]
