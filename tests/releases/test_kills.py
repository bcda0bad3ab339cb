"""Kill -9 during a release, at any moment: the ledger and the file agree afterwards, always.

What a killed process leaves behind is what stood on the disk at that moment. A process that is stopped shows just that,
and can go on and be stopped again: so most moments are looked at in copies of its folder, and some by killing it.
`SHOAL_KILLS=100 pytest tests/releases/test_kills.py` kills more often.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from shoal.releases.atoms import Pool
from shoal.releases.ledger import entries
from tests.releases.keep_releasing import K

KILLS = int(os.environ.get("SHOAL_KILLS", "4"))
STOPS = 120
SCRIPT = Path(__file__).with_name("keep_releasing.py")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


@contextmanager
def releasing(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is in the midst of releasing."""
    releases = len(entries(folder / "ledger.db")) if (folder / "ledger.db").exists() else 0
    with subprocess.Popen([sys.executable, str(SCRIPT), str(folder)]) as child:
        try:
            started = (folder / "r.csv").stat().st_mtime_ns if releases else 0
            late = time.monotonic() + 60
            while not (folder / "r.csv").exists() or (folder / "r.csv").stat().st_mtime_ns == started:
                assert child.poll() is None
                assert time.monotonic() < late
                time.sleep(0.001)
            yield child
        finally:
            child.kill()


def agree(folder: Path) -> int:
    """How many releases the ledger holds; the last that is done is the one that stands there."""
    found = entries(folder / "ledger.db")
    done = [entry for entry in found if entry.state == "done"]
    assert hashlib.sha256((folder / "r.csv").read_bytes()).hexdigest() == done[-1].sha256
    assert all(entry.number > done[-1].number for entry in found[-1:] if entry.state == "pending")
    assert Pool.of([entry.published for entry in found[-3:]]).sizes.min() >= K
    return len(found)


def pending(folder: Path) -> bool:
    """Is a release recorded that nobody knows to be finished?"""
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        return bool(connection.execute("SELECT count(*) FROM release WHERE state = 'pending'").fetchone()[0])


@pytest.mark.slow
def test_ledger_and_file_agree_after_every_kill(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    before = 0
    for _ in range(KILLS):
        with releasing(tmp_path) as child:
            time.sleep(rng.uniform(0, 0.03))
            child.kill()
            assert child.wait() == -signal.SIGKILL
        now = agree(tmp_path)
        assert now > before
        before = now


def test_ledger_and_file_agree_at_every_moment(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    rng = np.random.default_rng(9)
    seen = set()
    wanted = {(True, True), (False, True)}  # recorded, and the file without its name yet; not yet recorded
    with releasing(folder) as child:
        for n in range(20 * STOPS):
            time.sleep(rng.uniform(0, 0.01))
            child.send_signal(signal.SIGSTOP)
            os.waitpid(child.pid, os.WUNTRACED)
            copy = tmp_path / str(n)
            shutil.copytree(folder, copy)
            seen.add((pending(copy), bool(list(folder.glob(".*.partial/r.csv")))))
            assert agree(copy) >= 1
            shutil.rmtree(copy)
            child.send_signal(signal.SIGCONT)
            if n >= STOPS and wanted <= seen:
                break
    assert wanted <= seen


def test_two_writers_side_by_side(tmp_path: Path) -> None:
    with releasing(tmp_path) as one, releasing(tmp_path) as other:
        time.sleep(0.5)
        for child in (one, other):
            child.kill()
            child.wait()
    agree(tmp_path)
