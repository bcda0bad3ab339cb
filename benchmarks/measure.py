"""How a claim is measured: the median of several runs, as a ratio to a bare operation of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Claim:
    """`measured` in words, and whether it keeps what is claimed; None where nothing is claimed."""

    what: str
    measured: str
    claimed: str = ""
    holds: bool | None = None

    def row(self, name: str) -> str:
        state = {True: "yes", False: "**no**", None: ""}[self.holds]
        return f"| {name}: {self.what} | {self.measured} | {self.claimed} | {state} |"


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Median wall time; the first run, which may compile, does not count."""
    work()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return median(taken)
