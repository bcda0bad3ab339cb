"""Shoal's command line in a process of its own, asked again and again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


class Shoal:
    """Begun anew should it ever die, which is an answer too."""

    _has_spark = False

    def __init__(self, temporary: Path, threads: int = 1) -> None:
        temporary.mkdir(parents=True, exist_ok=True)
        self._temporary = temporary
        self._here = temporary.with_name("here")  # where files go whose names are odd words
        self._here.mkdir(exist_ok=True)
        found = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self._environment = os.environ | {
            "COLUMNS": "200", "NO_COLOR": "1", "TMPDIR": str(temporary), "POLARS_MAX_THREADS": str(threads),
            "NUMBA_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(found).rstrip(os.pathsep),
        }  # fmt: skip
        self._process = self._begun()

    def _begun(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "torture.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=self._environment, cwd=self._here,
        )  # fmt: skip

    def apart(self, words: list[str]) -> Answer:
        """As a user runs it: a process for this command alone."""
        ended = subprocess.run(
            [sys.executable, "-m", "shoal", *words], capture_output=True, text=True, env=self._environment
        )
        return Answer(ended.returncode, ended.stdout, ended.stderr)

    def leftovers(self) -> list[str]:
        """What stands among temporary files, except for Java's as long as a session lasts."""
        return [one.name for one in self._temporary.iterdir()] if not self._has_spark else []

    def __call__(self, words: list[str]) -> Answer:
        self._has_spark |= "spark" in words
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._process = self._begun()
            return Answer(code, "", f"Something went wrong inside: the process ended with {code}.")
        return Answer(**json.loads(line))

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
