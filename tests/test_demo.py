from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import polars as pl
import pytest
from rich.console import Console

import shoal
from shoal import events
from shoal.data.files import read_table
from shoal.errors import InputError, StoppedError
from shoal.jobs import Demo
from shoal.policy import Policy
from shoal.report.certificate import read_certificate
from shoal.show.terminal import for_terminal

ROWS = 1_500


@dataclass
class Late:
    """A stop that is asked for when a file of the job has its name."""

    file: Path

    def is_set(self) -> bool:
        return self.file.exists()


def shown(folder: Path, stages: list[str]) -> str:
    console = Console(width=400, file=io.StringIO(), record=True)
    shown = Demo(folder, ROWS).run(events.by_stage(stages.append), Late(folder / "release.csv"))
    console.print(for_terminal(shown.sheets()))
    return console.export_text()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """Its folder, the stages that were announced and what was shown."""
    folder, stages = tmp_path_factory.mktemp("new") / "folder" / "demo", list[str]()
    return folder, stages, shown(folder, stages)


def test_the_demo_tells_the_whole_story(demo: tuple[Path, list[str], str]) -> None:
    folder, stages, said = demo
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json", "discharges.csv", "release.csv", "report.html", "shoal.toml",
    ]  # fmt: skip
    assert stages[0] == "generating discharges"
    assert stages[-1] == "done"
    original, released = (read_table(folder / name) for name in ("discharges.csv", "release.csv"))
    assert (original.height, released.height) == (ROWS, ROWS)
    assert released.columns == original.columns
    smallest = released.group_by(released.columns[:9]).len()["len"].min()
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["smallest_class"] == smallest >= 5
    certificate = read_certificate(folder / "certificate.json", folder / "release.csv")
    verdicts = shoal.check(released, certificate.policy)
    certificate.verify(released, verdicts)
    assert [verdict.holds for verdict in verdicts] == [True]
    uniques = int((original.group_by(original.columns[:9]).len()["len"] == 1).sum())
    assert f"unique records {uniques:,} 0" in " ".join(said.split())
    assert f"shoal check {folder}/release.csv --certificate {folder}/certificate.json" in " ".join(said.split())


def test_the_demo_is_a_project(demo: tuple[Path, list[str], str]) -> None:
    """`shoal run` and the app find its table."""
    project = Policy.read(demo[0] / "shoal.toml", within=demo[0], own_code=False).project
    assert project.source == str(demo[0] / "discharges.csv")


def test_the_demo_can_be_run_again_and_gives_the_same(demo: tuple[Path, list[str], str]) -> None:
    folder, _, _ = demo
    first = (folder / "release.csv").read_bytes()
    (folder / "release.csv").unlink()
    shown(folder, [])
    assert (folder / "release.csv").read_bytes() == first


def test_a_demo_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    stop = Event()
    with pytest.raises(StoppedError):
        Demo(tmp_path / "demo", 60).run(lambda event: stop.set() if "measuring" in event.stage else None, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        Demo(tmp_path / "file", 10).run()


def test_the_table_has_the_nine_quasi_identifiers_of_the_policy(demo: tuple[Path, list[str], str]) -> None:
    folder, _, _ = demo
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["quasi_identifiers"] == pl.read_csv(folder / "discharges.csv", n_rows=1).columns[:9]
    assert certificate["confidential"] == ["charge", "diag_p"]
