"""One driver for every study: it makes an experiment's frames step by step, keeps each, and goes on where it stopped.

An experiment is pure: its fields are its settings, and settings, code and data give its frames. So each step's frame is
kept as Parquet below the study's folder, under a digest of all three, and a run cut short or repeated takes what is
there. Claims and figures are made of the frames alone: a change of words measures nothing again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from inspect import getfile
from pathlib import Path
from typing import Any, ClassVar, Protocol

import polars as pl

from shoal.compare.cache import key
from shoal.show import Chart
from shoal_studies.papers import Paper
from shoal_studies.result import Part, StudyResult, check_folder, data_files, write_whole

Frames = Mapping[str, pl.DataFrame]
Progress = Callable[[str], None]
Draw = Callable[[Frames], Sequence[Chart]]
DATA = "data"  # the frame that says what was studied: a table in words and its number of records, a row each
KEPT = "measured"


@dataclass(frozen=True)
class Step:
    """A stage of an experiment: its rows go into the frame of that name, after those of earlier stages."""

    frame: str
    stage: str
    make: Callable[[], pl.DataFrame]


class Experiment(Protocol):
    """A paper's experiment. It is a frozen dataclass whose fields are its settings, each with a default."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def manner(self) -> str:
        """How often or how strongly, in words; empty if there is nothing to say."""
        ...

    def steps(self) -> Sequence[Step]:
        """All stages in their order; one of them makes the frame `data`."""
        ...


@dataclass(frozen=True)
class Study:
    """A paper, its experiment, what it says of each frame, and how the frames are drawn."""

    name: str
    title: str
    paper: Paper
    experiment: Callable[..., Experiment]  # by its settings
    parts: Callable[[Frames], Sequence[Part]]  # its figures and tables, with the paper's claims and ours
    figures: Mapping[str, Draw]  # by the part's name
    seconds: float  # about, on two cores
    asked: Mapping[str, object] = field(default_factory=dict)  # settings that are not the defaults

    @property
    def settings(self) -> dict[str, Any]:
        return settings_of(self.experiment(**self.asked))

    @property
    def stages(self) -> int:
        """How often a run reports progress."""
        return len(self.experiment(**self.asked).steps()) + 1

    def run(self, output: Path, progress: Progress = lambda stage: None, **asked: object) -> StudyResult:
        """Makes what is not there yet, and writes frames, claims and figures into the folder."""
        experiment = self.experiment(**(dict(self.asked) | asked))
        frames = measured(experiment, output, progress)
        progress("drawing")
        parts = tuple(
            replace(part, charts=self.figures[part.name](frames)) if part.name in self.figures else part
            for part in self.parts(frames)
        )
        table = "; ".join(filter(None, (", ".join(frames[DATA]["table"]), experiment.manner)))
        records = int(frames[DATA]["records"].sum())
        result = StudyResult(self.title, table, records, parts, output, settings_of(experiment))
        result.write()
        return result


def settings_of(experiment: Experiment) -> dict[str, Any]:
    values = {setting.name: getattr(experiment, setting.name) for setting in fields(experiment)}
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def measured(experiment: Experiment, output: Path, progress: Progress = lambda stage: None) -> Frames:
    """The experiment's frames: each step's as it is kept in the folder, or made and kept now."""
    check_folder(output / KEPT)  # better said now than after minutes of work
    rows: dict[str, list[pl.DataFrame]] = {}
    run = _run_of(experiment)
    for step in experiment.steps():
        progress(step.stage)
        path = output / KEPT / f"{key(run, step.frame, step.stage)[:32]}.parquet"
        rows.setdefault(step.frame, []).append(_kept(path, step.make))
    return {name: pl.concat(parts, how="vertical_relaxed") for name, parts in rows.items()}


def _run_of(experiment: Experiment) -> str:
    """A digest of the settings, of the code that measures and of the data it may read."""
    settings = settings_of(experiment)
    folder = Path(getfile(type(experiment))).parent
    code = [path.read_bytes() for path in sorted(folder.glob("*.py")) if path.stem not in ("claims", "figures")]
    asked = json.dumps([type(experiment).__module__, settings], sort_keys=True, default=str)
    return key(asked, sha256(b"".join(code)).hexdigest(), *data_files(settings.get("data")))


def _kept(path: Path, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):  # none, or not whole
        frame = make()
    content = io.BytesIO()
    frame.write_parquet(content)
    write_whole(path, content.getvalue())
    return frame
