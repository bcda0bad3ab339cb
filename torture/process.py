"""Shoal's command line in a process of its own, asked again and again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


class Shoal:
    """Begun anew should it ever die, which is an answer too."""

    def __init__(self) -> None:
        self._process = self._begun()

    def _begun(self) -> subprocess.Popen[str]:
        environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "torture.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip

    def __call__(self, words: list[str]) -> Answer:
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
