"""The order in which a release gets its name: whichever step fails, all is as it was, or all is there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from shoal import events
from shoal.data import commit as module
from shoal.data.commit import Output, commit, papers
from shoal.data.paths import atomic_write
from shoal.engines.disk import new_folder
from shoal.errors import InputError, PromiseError, StoppedError

OLD = {"a": "old a", "b": "old b", "a.json": "old paper", "a.html": "old page"}
NEW = {"a": "new a", "b": "new b", "a.json": "new a, judged", "a.html": "new a, judged"}
STEPS = ("write a", "judge a", "write b", "judge b", "paper a.json", "paper a.html", "record", "aside")
NAMES = ("name b", "name a", "name a.html", "name a.json")
PART = "part-0"  # the file of a folder

each_sort = pytest.mark.parametrize("folders", [False, True], ids=["files", "folders"])


class BrokenError(Exception):
    """A disk, a judge, a ledger: whatever does not work."""


class Run:
    """A commit of two tables with two papers and a ledger's entry, which breaks at one step."""

    def __init__(
        self, place: Path, breaks: str = "", fault: type[BaseException] = BrokenError, *, folders: bool = False
    ) -> None:
        self.place, self.breaks, self.fault, self.folders = place, breaks, fault, folders
        self.steps: list[str] = []
        self.recorded: bool | None = None

    def step(self, name: str) -> None:
        self.steps.append(name)
        if name == self.breaks:
            raise self.fault(name)

    def output(self, name: str, *, papers_too: bool = False) -> Output[Path, str]:
        target = self.place / name

        def write(before_name: Callable[[Path], str]) -> None:
            self.step(f"write {name}")
            folder = new_folder(target, overwrite=True, certified=False)
            with folder if self.folders else atomic_write(target, private=False, overwrite=True) as partial:
                (partial / PART if self.folders else partial).write_text(f"new {name}")
                before_name(partial)

        def judge(written: Path) -> str:
            assert written != target
            self.step(f"judge {name}")
            return f"{text_of(written)}, judged"

        def paper(partial: Path, written: Path, judgement: str) -> None:
            self.step(f"paper {partial.name}")
            partial.write_text(judgement)

        @contextmanager
        def record(written: Path, judgement: str) -> Iterator[None]:
            self.step("record")
            try:
                yield
            finally:
                self.recorded = text_of(target) == "new a" if target.exists() else False

        both = papers((target.with_suffix(".json"), paper, False), (target.with_suffix(".html"), paper, True))
        if not papers_too:
            return Output(target, write, judge, folder=self.folders)
        entry: Callable[[Path, str], AbstractContextManager[None]] = record
        return Output(target, write, judge, both, entry, folder=self.folders)

    def __call__(self, monkeypatch: pytest.MonkeyPatch, *, overwrite: bool = True) -> list[str]:
        make_way, replace = module._Names.make_way, os.replace

        def watched(names: module._Names) -> None:
            self.step("aside")
            make_way(names)

        def named(source: Path, target: Path) -> None:
            if Path(target).name in NEW and text_of(Path(source)) == NEW[Path(target).name]:
                self.step(f"name {Path(target).name}")
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(module._Names, "make_way", watched)
            patch.setattr(os, "replace", named)
            return commit([self.output("a", papers_too=True), self.output("b")], overwrite=overwrite)


def text_of(path: Path) -> str:
    """Of a file, or of the one in a folder."""
    return (path / PART if path.is_dir() else path).read_text()


def content(place: Path) -> dict[str, str]:
    """What is in a folder, hidden folders among it."""
    return {path.name: text_of(path) for path in place.iterdir()}


@pytest.fixture
def folders() -> bool:
    return False


@pytest.fixture
def replacing(tmp_path: Path, folders: bool) -> Path:
    for name, text in OLD.items():
        target = tmp_path / name
        if folders and not target.suffix:
            target.mkdir()
            target /= PART
        target.write_text(text)
    return tmp_path


@each_sort
def test_all_is_judged_before_the_first_gets_its_name(
    replacing: Path, monkeypatch: pytest.MonkeyPatch, folders: bool
) -> None:
    run = Run(replacing, folders=folders)
    assert run(monkeypatch) == ["new a, judged", "new b, judged"]
    assert tuple(run.steps) == (*STEPS, *NAMES)
    assert content(replacing) == NEW
    assert run.recorded is True


@each_sort
@pytest.mark.parametrize("fault", [BrokenError, KeyboardInterrupt, PromiseError])
@pytest.mark.parametrize("step", [*STEPS, *NAMES])
def test_what_fails_leaves_the_old_release_as_it_was(
    replacing: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: type[BaseException], folders: bool
) -> None:
    run = Run(replacing, step, fault, folders=folders)
    with pytest.raises(fault):
        run(monkeypatch)
    assert content(replacing) == OLD


@each_sort
@pytest.mark.parametrize("step", [*STEPS, *NAMES])
def test_what_fails_leaves_nothing_where_nothing_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, folders: bool
) -> None:
    run = Run(tmp_path, step, folders=folders)
    with pytest.raises(BrokenError):
        run(monkeypatch)
    assert content(tmp_path) == {}


@each_sort
@pytest.mark.parametrize("step", [*STEPS, *NAMES])
def test_a_release_that_had_its_name_stays_in_the_ledger(
    replacing: Path, monkeypatch: pytest.MonkeyPatch, step: str, folders: bool
) -> None:
    run = Run(replacing, step, folders=folders)
    with pytest.raises(BrokenError):
        run(monkeypatch)
    had_its_name = step in ("name a.html", "name a.json")
    assert bool(run.recorded) is had_its_name


@pytest.mark.parametrize("taken", sorted(OLD))
def test_a_name_that_is_taken_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    (tmp_path / taken).write_text("somebody's")
    run = Run(tmp_path)
    with pytest.raises(InputError, match="is there already"):
        run(monkeypatch, overwrite=False)
    assert run.steps == []
    assert content(tmp_path) == {taken: "somebody's"}


def test_a_job_that_is_told_to_stop_does_so_at_any_stage_before_names_are_given(
    replacing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    with events.heard(lambda event: heard.append(event.stage)):
        Run(replacing)(monkeypatch)
    assert heard == [
        "writing the release", "judging the file", "writing the release", "judging the file", "writing a.json",
        "writing a.html", "giving names",
    ]  # fmt: skip
    for name, text in OLD.items():
        (replacing / name).write_text(text)
    for number in range(len(heard) - 1):
        stop, told = threading.Event(), []

        def listen(
            event: events.Event, number: int = number, told: list[str] = told, stop: threading.Event = stop
        ) -> None:
            told.append(event.stage)
            if len(told) > number:
                stop.set()

        with pytest.raises(StoppedError, match=f"while {heard[number]}"), events.heard(listen, stop):
            Run(replacing)(monkeypatch)
        assert content(replacing) == OLD


def test_what_cannot_be_taken_back_keeps_its_name(tmp_path: Path) -> None:
    """A folder by itself or a database: where a paper fails after it, it stays, without the old paper."""
    (tmp_path / "old.json").write_text("old paper")
    target = tmp_path / "released"

    def write(before_name: Callable[[Path], str]) -> None:
        before_name(tmp_path)
        target.mkdir()

    def paper(partial: Path, written: Path, judgement: str) -> None:
        partial.write_text("new")
        (partial.parent / "in the way").touch()

    def fails(path: Path) -> None:
        if target.exists():
            raise OSError(5, "Input/output error")

    output = Output(None, write, lambda written: "holds", papers((tmp_path / "old.json", paper, False)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.data.paths.flush", fails)
        with pytest.raises(InputError):
            commit([output], overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["released"]
