"""A bar on a terminal, nothing elsewhere; and Ctrl-C, at the worst moment, on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Shoal

# Stands still, for as long as a test may take, where the first argument says.
STANDS_STILL = """
import importlib, sys, time
module, name = sys.argv[1].rsplit(".", 1)
setattr(importlib.import_module(module), name, lambda *given, **more: time.sleep(60))
sys.argv[1:2] = []
from shoal.cli.main import run
run()
"""
PEOPLE = "age,zip,charge\n" + "".join(f"{20 + i % 7},{93700 + i % 5},{1000 * i}\n" for i in range(40))
GOODS = "customer,good\n" + "".join(f"c{i % 10},g{i % 7}\n" for i in range(60))
UNFINISHED = "shoal.data.paths.flush"  # all is written, nothing has its name yet


def interrupted(folder: Path, still: str, stage: str, words: str) -> tuple[int, str]:
    """How the command ends, and what its terminal showed, where Ctrl-C comes in that stage."""
    (folder / "d.csv").write_text(PEOPLE)
    (folder / "t.csv").write_text(GOODS)
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", STANDS_STILL, still, *words.split()],
        cwd=folder, stdout=subprocess.PIPE, stderr=theirs,
        env=plain | {"TERM": "xterm", "COLUMNS": "100", "XDG_CACHE_HOME": str(folder / "cache")},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while stage.encode() not in shown and (more := _read(ours)):
            shown += more
        process.send_signal(signal.SIGINT)
        while more := _read(ours):
            shown += more
        assert process.communicate()[0] == b""
    finally:
        process.kill()
        os.close(ours)
    return process.returncode, re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown.decode())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes to it any more
        return b""


@pytest.mark.parametrize(
    ("still", "stage", "words"),
    [
        (UNFINISHED, "giving names", "anonymize d.csv -o r.csv --quasi age,zip --certificate c"),
        (UNFINISHED, "giving names", "transactions anonymize t.csv -o r.csv --customer customer --item good "
                                         "--min-size 2 --map m.csv --log l.csv"),
        ("shoal.compare.comparison._side_by_side", "reading",
         "compare d.csv --methods noise --risk found_again --at-risk 0.1 --best -o r.csv --no-cache"),
    ],
    ids=["anonymize", "transactions anonymize", "compare"],
)  # fmt: skip
def test_ctrl_c_leaves_no_file_and_says_so(tmp_path: Path, still: str, stage: str, words: str) -> None:
    code, shown = interrupted(tmp_path, still, stage, words)
    assert code == 130
    assert shown.splitlines()[-1] == "shoal: Interrupted before it was done: no unfinished file was left."
    assert "Traceback" not in shown
    assert re.search(
        r"\d:\d\d:\d\d left [-\d]:[-\d]{2}:[-\d]{2} ", shown
    )  # the bar, with the time taken and the time left
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["d.csv", "t.csv"]


def test_no_bar_where_nobody_looks(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(PEOPLE)
    run = shoal(
        "anonymize",
        tmp_path / "d.csv",
        "-o",
        tmp_path / "r.csv",
        "--quasi",
        "age,zip",
        "--rest",
        "insensitive",
        "--kind",
        "zip=nominal",
    )
    assert (run.code, run.err) == (0, "")


def test_a_signal_to_end_while_all_is_cleared_up_is_not_complained_of() -> None:
    script = (
        "import atexit, os, signal, sys\n"
        "from shoal.cli.main import run\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGTERM)\n"
        "sys.argv[1:] = ['--version']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
