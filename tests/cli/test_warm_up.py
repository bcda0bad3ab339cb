"""`shoal warm-up`: after it the usual commands compile nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.kernels import heard
from tests.cli.conftest import ROLES, Shoal


def test_after_it_a_release_compiles_nothing_and_nothing_is_left(
    shoal: Shoal, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    run = shoal("warm-up")
    assert (run.code, run.out, run.err) == (0, "Compiled for this machine: the next run finds it ready.\n", "")
    assert list(Path.cwd().iterdir()) == []
    compiled: list[int] = []
    heard.append(lambda: compiled.append(1))
    try:
        assert shoal("anonymize", discharges, "-o", tmp_path / "r.csv", *ROLES).code == 0
    finally:
        heard.pop()
    assert not compiled
