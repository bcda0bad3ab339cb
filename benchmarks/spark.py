"""On Spark: what a row costs as tables grow, what is shuffled, and whether the work is spread (Spark's own status)."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Claim
from benchmarks.release import _policy
from shoal.chunked_release import anonymize_to
from shoal.data.discharges import discharges
from shoal.engines.spark import Spark

FILE = 1_000_000  # records
SPREAD = 0.01  # of the input: what a stage's only task may read


@dataclass(frozen=True)
class Stage:
    tasks: int
    read: int  # bytes, from disks and other stages
    records: int  # from files: of these Spark counts no bytes where they are local
    shuffled: int  # bytes


@dataclass(frozen=True)
class Run:
    rows: int
    seconds: float
    size: int  # bytes of the input's files
    stages: list[Stage]

    @property
    def shuffled(self) -> float:
        """Over the input."""
        return sum(stage.shuffled for stage in self.stages) / self.size

    @property
    def alone(self) -> float:
        """The largest share of the input that was read by the only task of a stage."""
        only = [stage for stage in self.stages if stage.tasks == 1]
        return max((max(stage.read / self.size, stage.records / self.rows) for stage in only), default=0)


def spark(rows: int) -> list[Claim]:
    """Folder to folder, judged as it stands there, on two cores: the default method at k = 5."""
    with tempfile.TemporaryDirectory() as folder, Spark(master="local[2]") as engine:
        _run(engine, Path(folder, "first"), max(rows // 16, 1000))  # starts workers, compiles
        runs = [_run(engine, Path(folder, str(n)), n) for n in (rows // 4, rows, 4 * rows)]
    small, middle, large = runs
    claims = [
        Claim(
            f"{run.rows / 1e6:g} million rows, {run.size / run.rows:.0f} bytes a row",
            f"{run.seconds:.1f} s, {run.rows / run.seconds / 1e6:.2f} million rows/s",
        )
        for run in runs
    ]
    early, late = _each(small, middle), _each(middle, large)
    fixed = middle.seconds - middle.rows * late
    shuffled, alone = max(run.shuffled for run in runs), max(run.alone for run in runs)
    return [
        *claims,
        Claim(
            "a further million rows, after a start of " + f"{fixed:.1f} s",
            f"{early * 1e6:.2f} s, then {late * 1e6:.2f} s",
            "within 30 %",
            max(early, late) <= 1.3 * min(early, late),
        ),
        Claim("shuffled over the input's files", f"{shuffled:.2f} x", "within 3", shuffled <= 3),
        Claim("read by the only task of a stage", f"{alone:.2%} of the input", "within 1 %", alone <= SPREAD),
    ]


def _each(one: Run, other: Run) -> float:
    """Seconds for each further row."""
    return (other.seconds - one.seconds) / (other.rows - one.rows)


def _run(engine: Spark, folder: Path, rows: int) -> Run:
    source = folder / "source"
    source.mkdir(parents=True)
    for number, start in enumerate(range(0, rows, FILE)):
        part = discharges(min(FILE, rows - start), seed=number)
        part.write_parquet(source / f"part-{number:05d}.parquet", row_group_size=100_000)
    size = sum(path.stat().st_size for path in source.iterdir())
    before = len(_stages(engine))
    start_time = time.perf_counter()
    anonymize_to(engine.read(str(source), "parquet"), _policy(), str(folder / "release"), seed=1)
    taken = time.perf_counter() - start_time
    return Run(rows, taken, size, _stages(engine)[before:])


def _stages(engine: Spark) -> list[Stage]:
    """In the order they were run; those that Spark skipped, because their shuffle was there, read nothing."""
    context: Any = engine.session.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    nothing = context._gateway.new_array(context._jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(None, False, False, nothing, None)
    stages = [found.apply(i) for i in range(found.size())]
    done = sorted((s for s in stages if s.status().toString() == "COMPLETE"), key=lambda s: s.stageId())
    return [
        Stage(s.numTasks(), s.inputBytes() + s.shuffleReadBytes(), s.inputRecords(), s.shuffleWriteBytes())
        for s in done
    ]
