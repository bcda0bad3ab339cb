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
    claims, rates, raw = [], [], []
    with tempfile.TemporaryDirectory() as scratch:
        start = min(_anonymize(Path(scratch), 1_000 + i)[1].seconds for i in range(3))  # the first may compile
        claims.append(Claim("anonymize and judge a thousand", f"{start:.1f} s: the start"))
        for millions in MILLIONS:
            made, taken, target = _anonymize(Path(scratch), millions * 1_000_000)
            release = json.loads(taken.output)
            again = _run("check", target, "--certificate", f"{target}/_certificate.json", "--json")
            verified = json.loads(again.output)["holds"] and release["smallest_class"] >= 5
            raw.append(millions / taken.seconds)
            rates.append(millions / (taken.seconds - start))
            claims += [
                Claim(f"generate {millions} million", f"{made.seconds / millions:.1f} s a million"),
                Claim(
                    f"anonymize and judge {millions} million",
                    f"{taken.seconds:.0f} s, {raw[-1]:.2f} million rows/s, loss {release['information_loss']:.4f}",
                ),
                Claim(f"peak memory of {millions} million", *_peak(taken.peak)),
                Claim(f"checked again, {millions} million", f"{again.seconds:.0f} s", "holds", verified),
            ]
    whole, apart = (max(found) / min(found) - 1 for found in (raw, rates))
    return [
        *claims,
        Claim("rows a second at the three sizes, start and all", f"{whole:.0%} apart"),
        Claim("the same after the start", f"{apart:.0%} apart", "within 30 %", apart <= 0.30),
    ]


def _anonymize(scratch: Path, rows: int) -> tuple[_Ran, _Ran, str]:
    """Generated and anonymized, file to file."""
    source, target = (str(scratch / f"{name}-{rows}") for name in ("in", "out"))
    made = _run("sample", "discharges", "--rows", str(rows), "--seed", "1", "-o", source)
    taken = _run(
        "anonymize", source, "-o", target, "--engine", "disk", "--quasi", QUASI, "--confidential", "charge", "--k", "5",
        "--json", *(f"--kind={name}=numeric" for name in QUASI.split(",")),
    )  # fmt: skip
    return made, taken, target


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
