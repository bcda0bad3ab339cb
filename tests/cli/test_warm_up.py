"""`shoal warm-up`: after it the usual commands compile nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.kernels import heard
from tests.cli.conftest import ROLES, Shoal


@pytest.mark.slow  # compiles everything anew; `make test` itself begins with a warm-up
def test_after_it_usual_commands_compile_nothing_and_nothing_is_left(
    shoal: Shoal, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "h").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run = shoal("warm-up")
    assert (run.code, run.out, run.err) == (0, "Compiled for this machine: the next run finds it ready.\n", "")
    assert list(Path.cwd().iterdir()) == []
    compiled: list[int] = []
    heard.append(lambda: compiled.append(1))
    few = ("--quasi", "age_yrs,los", "--suppress", "1")
    try:
        for words in (
            ("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES),
            ("hierarchy", "build", discharges, "los", "-o", tmp_path / "h" / "los.csv", "--steps", "5,20"),
            ("hierarchy", "build", discharges, "age_yrs", "-o", tmp_path / "h" / "age_yrs.csv", "--steps", "5,20"),
            ("anonymize", discharges, "-o", "2.csv", *few, "--method", "recode", "--hierarchies", tmp_path / "h"),
            ("anonymize", discharges, "-o", "3.csv", *few, "--method", "cut-points"),
            ("compare", discharges, "--attributes", "age_yrs,los", "--methods", "mdav", "--at-risk", "1", "--no-cache"),
        ):
            assert shoal(*words).code == 0
    finally:
        heard.pop()
    assert not compiled
