"""How soon a job stops: asked at several moments, and the longest it ever went without looking whether it should.

Told in processor seconds, of all threads together: on an idle machine nobody waits longer, and on a busy one the figure
is about the same. Where the variable SHOAL_GAPS is set, the lines of code before and after the longest wait are told.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Claim
from shoal import KAnonymity, Policy, jobs
from shoal.data.discharges import discharges
from shoal.errors import StoppedError

QUASI = ["oshpd_id", "age_yrs", "sex", "ethncty", "race", "patzip", "patcnty", "los", "adm_qtr"]
FEW = ["age_yrs", "sex", "race"]
METHODS = {"hilbert": QUASI, "kd": QUASI, "mdav": QUASI, "recode": FEW, "cut-points": FEW, "shuffle": FEW}
LIMIT = 1.0  # seconds
MOMENTS = (0.25, 0.5, 0.75)  # of all looks


@dataclass
class Looks:
    """A stop that notes when it is looked at, and asks to stop at the look of a given number."""

    at: float = float("inf")
    count: int = 0
    longest: float = 0.0
    where: str = ""
    last: float = field(default_factory=time.process_time)
    before: str = ""

    def is_set(self) -> bool:
        now = time.process_time()
        if now - self.last > self.longest:
            self.longest, self.where = now - self.last, f"{self.before} -> {_caller()}"
        self.last, self.before = now, _caller()
        self.count += 1
        return self.count > self.at


def _caller() -> str:
    """Who looked: the innermost lines that are not of `events` or of this file."""
    frames = [f for f in traceback.extract_stack(sys._getframe(2)) if "/shoal/" in f.filename]
    own = [f for f in frames if not f.filename.endswith("events.py")]
    return " < ".join(f"{Path(f.filename).stem}:{f.lineno}" for f in reversed(own[-4:]))


def stopping(rows: int) -> list[Claim]:
    """Each long operation, from a file in memory."""
    claims = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in _operations(Path(folder), rows):
            looks = Looks()
            make().run(stop=looks)
            delays = [_delay(make(), int(share * looks.count)) for share in MOMENTS]
            worst = max(looks.longest, *delays)
            measured = f"{looks.count:,} looks, at most {looks.longest:.2f} s apart; stopped after {max(delays):.2f} s"
            claims.append(Claim(name, measured, "within 1 s", worst <= LIMIT))
            if "SHOAL_GAPS" in os.environ:
                print(f"    {name}: {looks.where}", file=sys.stderr)
    return claims


def _delay(job: jobs.Job[Any], at: int) -> float:
    """Seconds from the look that says stop until the job has ended."""
    looks = Looks(at)
    try:
        job.run(stop=looks)
    except StoppedError:
        return time.process_time() - looks.last
    raise AssertionError("a job that was told to stop went on to its end")


def _operations(folder: Path, rows: int) -> Iterator[tuple[str, Callable[[], jobs.Job[Any]]]]:
    source, released = str(folder / "d.parquet"), str(folder / "r.parquet")
    discharges(rows, seed=7).write_parquet(source)
    policy = _policy("hilbert", QUASI)

    def anonymize(method: str, quasi: list[str]) -> Callable[[], jobs.Job[Any]]:
        return lambda: jobs.Anonymize(source, _policy(method, quasi), released, overwrite=True)

    yield "profile", lambda: jobs.Profile(source)
    for method, quasi in METHODS.items():
        yield f"anonymize, {method}", anonymize(method, quasi)
    jobs.Anonymize(source, policy, released, overwrite=True).run()
    yield "check", lambda: jobs.Check(released, policy)
    yield "risk", lambda: jobs.Risk(source, policy)
    yield "utility", lambda: jobs.Utility(source, released, policy)
    methods = ("hilbert", "noise", "swap")
    yield "compare", lambda: jobs.Compare(source, _policy("hilbert", FEW), methods, at_risk=0.1, runs=1)


def _policy(method: str, quasi: list[str]) -> Policy:
    choices = {"quasi_identifiers": quasi, "confidential": ["charge"], "models": [KAnonymity(5)]}
    said = {"hierarchy": {"type": "auto"}} if method == "recode" else {"kind": "numeric"}
    return Policy.model_validate({**choices, "method": {"name": method}, "attributes": dict.fromkeys(quasi, said)})
