"""Kernels are compiled once on a machine, and whoever waits for it is told."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from shoal.cli import console
from shoal.kernels import heard


@pytest.fixture
def own_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a kernel that nobody has compiled yet."""
    (tmp_path / "own_kernel.py").write_text(
        "from shoal.kernels.compiled import kernel\n\n@kernel\ndef doubled(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def doubled(x: float) -> float:
    sys.modules.pop("own_kernel", None)  # as a program that begins anew
    from own_kernel import doubled  # type: ignore[import-not-found]

    found: float = doubled(x)
    return found


def test_whoever_listens_hears_of_what_is_compiled_and_not_of_what_is_loaded(own_kernel: Path) -> None:
    times: list[int] = []
    heard.append(lambda: times.append(1))
    try:
        assert doubled(2) == 4
        assert times
        times.clear()
        assert doubled(3) == 6
        assert not times
    finally:
        heard.pop()


def test_the_bar_says_so_and_is_told_no_more_when_it_has_ended(
    own_kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = StringIO()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(console, "err", Console(file=shown, force_terminal=True, width=120, _environ={"TERM": "xterm"}))
    with console.stages("anonymize", 2) as step:
        step("grouping")
        assert doubled(2) == 4
    assert "compiling for this machine, once" in shown.getvalue()
    assert heard == []


def test_where_no_bar_is_shown_one_line_says_so(own_kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with console.stages("anonymize", 2) as step:
        step("grouping")
        assert doubled(2) == 4
        assert doubled(2.5) == 5
    assert capsys.readouterr().err.count("compiling for this machine, once") == 1
    assert heard == []
