"""Runs killed (kill -9) at random points: the release is whole or not there, and the next run of the same owner leaves
nothing of them, anywhere.

A run is killed when it touches its folders for the n-th time, as Python tells its auditors, from the first temporary
folder on; n is drawn at random among all times of a whole run. What it may have left lies among temporary files, beside
its target or in the current folder.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from shoal.data.discharges import discharges as generate
from shoal.data.files import read_table
from tests.cli.conftest import QUASI
from tests.engines.sessions import ON_SPARK
from tests.processes import run_script

# Runs the command line and kills itself, with all that it started, at the n-th touch; it writes the number of touches
# to a file if it comes to its end.
COUNTING = """
import atexit, os, signal, sys
from itertools import count
from pathlib import Path
last, told, folder, number, working = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], count(1), False
del sys.argv[1:4]
def watch(name, arguments):
    global working
    working = working or name == "tempfile.mkdtemp"
    if working and any(folder in os.fspath(a) for a in arguments if isinstance(a, str | Path)) and next(number) == last:
        os.killpg(0, signal.SIGKILL)
atexit.register(lambda: told.write_text(str(next(number))))
sys.addaudithook(watch)
from shoal.cli.main import run
run()
"""
RECORDS = 400
ROLES = ["--quasi", ",".join(QUASI), "--confidential", "charge", "--k", "4"]


class Place:
    """A current folder with a table in it, and a folder for temporary files of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary, self.told = folder / "work", folder / "tmp", folder / "told"
        self.folder.mkdir()
        self.temporary.mkdir()
        (self.folder / "d").mkdir()
        (folder / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 2\nspark.default.parallelism 2\n")
        self.settings = {"TMPDIR": str(self.temporary), "SPARK_CONF_DIR": str(folder)}
        table = generate(RECORDS, seed=3)
        table.write_csv(self.folder / "d.csv")
        table.write_parquet(self.folder / "d" / "part.parquet")

    def run(self, *words: str, killed_at: int = 0) -> int:
        """How it ended; `killed_at` is the call at which it is killed, 0 for never."""
        counted = (str(killed_at), self.told, self.folder.parent)
        return run_script(COUNTING, *counted, "anonymize", *words, cwd=self.folder, env=self.settings)

    def left(self) -> list[Path]:
        """What is there beside the table and whole releases, which are called r..."""
        beside = [path for path in self.folder.iterdir() if path.name[0] not in "dr"]
        return [*self.temporary.iterdir(), *beside]

    def released(self, name: str) -> int:
        """How many records the release of this name has; 0 where there is none."""
        release = self.folder / name
        parts = release.glob("part-*") if release.is_dir() else [release] if release.exists() else []
        return sum(map(len, map(read_table, parts)))


def drawn(kills: int, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.random() for _ in range(kills)]


def killed_again_and_again(place: Place, command: list[str], kills: int, *, suffix: str = "", seed: int = 5) -> None:
    assert place.run(*command, "-o", f"r0{suffix}") == 0
    assert place.left() == []
    assert place.released(f"r0{suffix}") == RECORDS
    touches, left = int(place.told.read_text()), 0
    for number, share in enumerate(drawn(kills, seed), start=1):
        at = 1 + int(share * (touches - 2))
        assert place.run(*command, "-o", f"r{number}{suffix}", killed_at=at) == -signal.SIGKILL
        assert place.released(f"r{number}{suffix}") in (0, RECORDS)
        found = place.left()
        left += len(found)
        assert all(path.suffix in (".scratch", ".partial") and "shoal-" in path.name for path in found), found
        assert all(path.stat().st_mode & 0o777 == 0o700 for path in found)
    assert left  # or nothing was shown
    assert place.run("d.csv", "-o", "r.csv", *ROLES) == 0  # whichever engine it uses
    assert place.left() == []


def test_in_memory(tmp_path: Path) -> None:
    command = ["d.csv", *ROLES, "--report", "r.html", "--certificate", "r.json", "--overwrite"]
    killed_again_and_again(Place(tmp_path), command, 3, suffix=".csv")


def test_on_disk(tmp_path: Path) -> None:
    killed_again_and_again(Place(tmp_path), ["d", *ROLES, "--engine", "disk"], 3)


@pytest.mark.slow
@pytest.mark.parametrize("master", [pytest.param("local[2]", marks=ON_SPARK)])
def test_on_spark(tmp_path: Path, master: str) -> None:
    killed_again_and_again(Place(tmp_path), ["d", *ROLES, "--engine", f"spark:master={master}"], 1)
