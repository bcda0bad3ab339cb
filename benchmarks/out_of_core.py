"""Tables larger than memory, by the engine `disk`: made in chunks, anonymized file to file, judged; and the peak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Claim

MILLIONS = (1, 10, 100)
QUASI = "oshpd_id,age_yrs,sex,ethncty,race,patzip,patcnty,los,adm_qtr"
GIB = 1 << 30


def out_of_core(rows: int) -> list[Claim]:
    """The sizes are its own: `rows` is for what is held in memory."""
    claims, rates = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for millions in MILLIONS:
            source, target = (str(Path(scratch) / f"{name}-{millions}") for name in ("in", "out"))
            made = _run("sample", "discharges", "--rows", f"{millions}000000", "--seed", "1", "-o", source)
            taken = _run(
                "anonymize", source, "-o", target, "--engine", "disk", "--quasi", QUASI, "--confidential", "charge",
                "--k", "5", "--json",
            )  # fmt: skip
            release = json.loads(taken.output)
            again = _run("check", target, "--certificate", f"{target}/_certificate.json", "--json")
            verified = json.loads(again.output)["holds"] and release["smallest_class"] >= 5
            rates.append(millions / taken.seconds)
            claims += [
                Claim(f"generate {millions} million", f"{made.seconds / millions:.1f} s a million"),
                Claim(
                    f"anonymize and judge {millions} million",
                    f"{taken.seconds:.0f} s, {rates[-1]:.2f} million rows/s, loss {release['information_loss']:.4f}",
                ),
                Claim(f"peak memory of {millions} million", *_peak(taken.peak)),
                Claim(f"checked again, {millions} million", f"{again.seconds:.0f} s", "holds", verified),
            ]
    apart = max(rates) / min(rates) - 1
    return [*claims, Claim("rows a second at the three sizes", f"{apart:.0%} apart", "within 30 %", apart <= 0.30)]


def _peak(peak: int) -> tuple[str, str, bool]:
    return f"{peak / GIB:.2f} GiB", "under 8 GiB", peak < 8 * GIB


class _Ran(NamedTuple):
    seconds: float
    peak: int  # bytes
    output: bytes


def _run(*command: str) -> _Ran:
    """A command in a process of its own."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "shoal", *command], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"shoal {' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        return _Ran(seconds, usage.ru_maxrss * 1024, output.read())
