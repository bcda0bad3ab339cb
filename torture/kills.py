"""Runs that are killed, and runs that write to one place at once: a release is whole or not there, and nothing is left.

`kill -9` gives a run no chance to clear away; the next run of the same owner does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

ROWS = 8_000
KILLS = 3  # before each run that is let through
MOMENTS = {"memory": (0.3, 2.0), "disk": (0.3, 2.5), "spark": (2.0, 14.0)}  # seconds after the start
QUASI = ["--quasi", "age,town", "--confidential", "charge", "--k", "5"]


def kill_some(seed: int, folder: Path, engine: str) -> tuple[int, str | None]:
    """Kills runs at random moments, one after the other, makes a whole one, and says what is wrong afterwards.

    Every other time a release is there already, which the runs are to replace.
    """
    rng = np.random.default_rng(seed)
    source, temporary, output = _prepared(rng, folder, engine)
    kills = 1 if engine == "spark" else KILLS
    more = ["--overwrite"] if seed // 2 % 2 else []
    if more and _begin(source, output, temporary, engine).wait() != 0:
        return 0, f"the first run: {(folder / 'err').read_text()[-300:]}"
    for _ in range(kills):
        run = _begin(source, output, temporary, engine, more)
        time.sleep(float(rng.uniform(*MOMENTS[engine])))
        _kill(run)
        if output.exists() and (wrong := _unfinished(output, folder)):
            return kills, f"after a kill: {wrong}"
        if not more:
            _clear(output)
            (folder / "certificate.json").unlink(missing_ok=True)
    again = _begin(source, output, temporary, engine, more)
    if again.wait() != 0:
        return kills, f"the next run ends with {again.returncode}: {(folder / 'err').read_text()[-300:]}"
    if wrong := _unfinished(output, folder):
        return kills, f"the next run: {wrong}"
    if left := [one.name for place in (folder, temporary) for one in leftovers(place)]:
        return kills, f"left behind: {left[:5]}"
    return kills, None


def _kill(run: subprocess.Popen[bytes]) -> None:
    """The process and those it started, as when a machine runs out of memory or its power is cut."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def write_at_once(seed: int, folder: Path, engine: str) -> str | None:
    """Two runs write the same release and certificate; one of them, whole, must stand there at the end."""
    source, temporary, output = _prepared(np.random.default_rng(seed), folder, engine)
    runs = [_begin(source, output, temporary, engine, more=["--seed", str(seed + i)]) for i in range(2)]
    for run in runs:
        run.wait()
    if not output.exists():
        return "nothing stands there" if any(run.returncode == 0 for run in runs) else _said(folder)
    if left := [one.name for place in (folder, temporary) for one in leftovers(place)]:
        return f"left behind: {left[:5]}"
    return _unfinished(output, folder)


def _said(folder: Path) -> str:
    return f"both fail: {(folder / 'err').read_text()[-300:]}"


def _prepared(rng: np.random.Generator, folder: Path, engine: str) -> tuple[Path, Path, Path]:
    shutil.rmtree(folder, ignore_errors=True)
    temporary = folder / "temporary"
    temporary.mkdir(parents=True)
    towns = [f"town-{i:05d}-{rng.integers(16**8):08x}" for i in range(2000)]
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, ROWS), "town": rng.choice(towns, ROWS), "charge": rng.integers(0, 10**6, ROWS)}
    )
    if engine == "memory":
        source, output = folder / "in.parquet", folder / "out.csv"
        frame.write_parquet(source)
        return source, temporary, output
    source = folder / "in"
    source.mkdir()
    for i, part in enumerate(frame.iter_slices(ROWS // 4)):
        part.write_parquet(source / f"{i}.parquet")
    return source, temporary, folder / "out"


def _begin(
    source: Path, output: Path, temporary: Path, engine: str, more: list[str] | None = None
) -> subprocess.Popen[bytes]:
    words = ["anonymize", str(source), "-o", str(output), *QUASI, *(more or [])]
    if engine == "memory":
        words += ["--certificate", str(output.parent / "certificate.json")]
    else:
        words += ["--engine", "spark:master=local[2]" if engine == "spark" else engine]
    with (output.parent / "err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "shoal", *words], stdout=subprocess.DEVNULL, stderr=err,
            env=os.environ | {"TMPDIR": str(temporary)}, start_new_session=True,
        )  # fmt: skip


def _unfinished(output: Path, folder: Path) -> str | None:
    """What is wrong with a release that has its name."""
    if output.is_dir():
        if not (output / "_SUCCESS").exists():
            return "a folder without its mark"
        shown = pl.concat([pl.read_parquet(part, glob=False) for part in output.glob("*.parquet")])
    else:
        shown = pl.read_csv(output, infer_schema=False)
    smallest = shown.group_by("age", "town").len()["len"].min()
    if shown.height != ROWS or smallest < 5:  # type: ignore[operator]
        return f"{shown.height} records, a class of {smallest}"
    certificate = folder / "certificate.json"
    if certificate.exists():
        said = json.loads(certificate.read_text())["sha256"]
        if said != hashlib.sha256(output.read_bytes()).hexdigest():
            return "the certificate is that of another file"
    return None


def _clear(output: Path) -> None:
    if output.is_dir():
        shutil.rmtree(output)
    output.unlink(missing_ok=True)


def leftovers(place: Path) -> list[Path]:
    known = {"in", "in.parquet", "out", "out.csv", "certificate.json", "temporary", "err"}
    return [entry for entry in place.iterdir() if entry.name not in known and not _pythons_own(entry)]


def _pythons_own(entry: Path) -> bool:
    """By a file that holds "blat" Python tries whether a temporary folder can be written to, and removes it at once."""
    if len(entry.name) != 8 or not entry.is_file() or entry.stat().st_size > 4:
        return False
    return entry.read_bytes() in (b"", b"blat")
