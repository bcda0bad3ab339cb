"""Real processes that have all imported already: each is forked from one process that does nothing else.

To be killed, or to be told to stop, takes a process of its own; two seconds of imports for each do not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

# Polars starts its threads when it is first asked to work: until then a process that imported it can be forked.
MODULES = (
    *("shoal.cli.main", "shoal.cli.console", "shoal.release", "shoal.engines.disk", "shoal.report.page"),
    *("shoal.risk.measure", "shoal.utility.measure", "scipy.special", "sklearn.linear_model"),
    *("shoal.kernels.hilbert", "shoal.kernels.resplit", "shoal.kernels.segments", "shoal.kernels.sorting"),
)


def run_script(script: str, *words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> int:
    """How a Python script ends, run in a session of its own with these words as arguments; a signal is negative."""
    asked = {"script": script, "words": [*map(str, words)], "cwd": str(cwd or Path.cwd()), "env": env or {}}
    parent = _parent()
    assert parent.stdin
    assert parent.stdout
    parent.stdin.write(json.dumps(asked) + "\n")
    parent.stdin.flush()
    return int(parent.stdout.readline())


@cache
def _parent() -> subprocess.Popen[str]:
    """The process that the others are forked from; it ends when its input does, with the tests."""
    return subprocess.Popen(
        [sys.executable, __file__], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def _asked() -> dict[str, Any] | None:
    """What this process, a fork, has to run; None where all is done."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            asked: dict[str, Any] = json.loads(line)
            return asked
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


if __name__ == "__main__":
    for module in MODULES:
        __import__(module)
    if asked := _asked():
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os.setsid()
        os.chdir(asked["cwd"])
        os.environ.update(asked["env"])
        sys.argv = ["-c", *asked["words"]]
        exec(asked["script"], {"__name__": "__main__"})
