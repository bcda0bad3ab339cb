"""Folders that hold records and are not to stay: whose they are, how they are known, and who clears them away."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.data import scratch
from shoal.data.paths import atomic_write
from shoal.data.scratch import LOCK, Scratch, Unfinished, make_private, sweep

# Makes a folder of each kind, fills it, and is killed.
KILLED = """
import os, signal, sys
from pathlib import Path
from shoal.data.scratch import Scratch, Unfinished
place = Path(sys.argv[1])
scratch, unfinished = Scratch(place), Unfinished(place / "r.csv")
(scratch.folder() / "part").write_text("original")
unfinished.__enter__().write_text("unjudged")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A place where a killed process left two folders."""
    place = tmp_path / "place"
    place.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, place])
    assert len(list(place.iterdir())) == 2
    return place


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_folder_is_its_owners_alone_and_says_what_it_is(tmp_path: Path) -> None:
    with Scratch(tmp_path) as held, Unfinished(tmp_path / "r.csv") as partial:
        assert [mode(held.path), mode(partial.parent), mode(held.folder())] == [0o700] * 3
        assert held.path.name.startswith("shoal-")
        assert held.path.suffix == ".scratch"
        assert partial.parent.name.startswith(".shoal-")
        assert partial.parent.suffix == ".partial"
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_recognisable_and_swept(left: Path) -> None:
    assert {path.suffix for path in left.iterdir()} == {".scratch", ".partial"}
    sweep(left)
    assert list(left.iterdir()) == []


@pytest.mark.parametrize("how", ["scratch", "unfinished"])
def test_whoever_works_there_next_sweeps(left: Path, how: str) -> None:
    with Scratch(left) if how == "scratch" else Unfinished(left / "other.csv"):
        assert len(list(left.iterdir())) == 1  # its own
    assert list(left.iterdir()) == []


def test_what_a_living_process_works_in_stays(tmp_path: Path) -> None:
    with Scratch(tmp_path) as held:
        (held.folder() / "part").touch()
        sweep(tmp_path)
        subprocess.run(
            [sys.executable, "-c", f"from shoal.data.scratch import sweep; sweep({str(tmp_path)!r})"], check=True
        )
        assert len(list(held.path.iterdir())) == 2


def test_a_fork_neither_clears_nor_frees_what_its_parent_works_in(tmp_path: Path) -> None:
    with Scratch(tmp_path) as held:
        child = multiprocessing.get_context("fork").Process(target=held.close)
        child.start()
        child.join()
        sweep(tmp_path)
        assert held.path.exists()


def test_links_are_not_followed_and_others_folders_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: Path
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / LOCK).touch()
    (kept / "table.csv").write_text("mine")
    (left / "shoal-linked00.scratch").symlink_to(kept)
    inside = next(left.glob("shoal-*.scratch/*/part")).parent
    (inside / "link").symlink_to(kept)
    (left / "shoal-notours.scratch").mkdir()  # another pattern
    sweep(left)
    assert sorted(path.name for path in left.iterdir()) == ["shoal-linked00.scratch", "shoal-notours.scratch"]
    assert (kept / "table.csv").read_text() == "mine"
    foreign = left / "shoal-aaaaaaaa.scratch"
    foreign.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    sweep(left)
    assert foreign.exists()


def test_a_lock_that_is_a_link_is_not_opened(left: Path, tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    for folder in list(left.iterdir()):
        (folder / LOCK).unlink()
        (folder / LOCK).symlink_to(tmp_path / "target")
    sweep(left)
    assert len(list(left.iterdir())) == 2


def test_what_came_in_after_the_lock_was_gone_is_swept(left: Path) -> None:
    for folder in left.iterdir():
        (folder / LOCK).unlink()
    (left / "shoal-aaaaaaaa.scratch").mkdir()
    sweep(left)
    assert list(left.iterdir()) == []


def test_a_folder_swept_before_it_was_locked_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep comes at the worst moments: before the lock file is there, and before it is locked."""
    open_file, flock, swept = os.open, scratch.fcntl.flock, []

    def before_the_lock_is_made(path: Path, *given: int) -> int:
        if Path(path).name == LOCK and given[0] & os.O_CREAT and len(swept) < 1:
            swept.append(path)
            sweep(tmp_path)
        return open_file(path, *given)

    def before_it_is_locked(lock: int, how: int) -> None:
        if len(swept) == 1:
            swept.append(lock)
            sweep(tmp_path)
        flock(lock, how)

    monkeypatch.setattr(os, "open", before_the_lock_is_made)
    monkeypatch.setattr(scratch.fcntl, "flock", before_it_is_locked)
    with Scratch(tmp_path) as held:
        assert len(swept) == 2
        assert [path.name for path in tmp_path.iterdir()] == [held.path.name]
        sweep(tmp_path)
        assert (held.path / LOCK).exists()


def test_without_locks_nothing_is_swept(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(lock: int, how: int) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(scratch.fcntl, "flock", unknown)
    with Scratch(left) as held:
        sweep(left)
        assert held.path.exists()
        assert len(list(left.iterdir())) == 3


def test_a_thread_that_still_writes_when_all_is_cleared_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, refused = os.unlink, list[str]()

    def remove_and_write(path: str) -> None:
        remove(path)
        try:
            late.write_text("unjudged")  # what a thread would do that nobody waits for any more
        except FileNotFoundError:
            refused.append(path)

    monkeypatch.setattr(os, "unlink", remove_and_write)
    with Unfinished(tmp_path / "r.csv") as late:
        late.write_text("unjudged")
    assert len(refused) == 2  # the file and the lock
    assert list(tmp_path.iterdir()) == []


def test_a_private_file_is_its_owners_alone_from_the_first_byte(tmp_path: Path, umask: int) -> None:
    with atomic_write(tmp_path / "map.csv", private=True) as partial:
        assert mode(partial) == 0o600
        partial.write_text("x")
    assert mode(tmp_path / "map.csv") == 0o600
    with atomic_write(tmp_path / "release.csv", private=False) as partial:
        partial.write_text("x")
    assert mode(tmp_path / "release.csv") == 0o666 & ~umask


def test_a_private_file_replaces_an_open_one(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text("old")
    (tmp_path / "map.csv").chmod(0o666)
    with atomic_write(tmp_path / "map.csv", private=True, overwrite=True) as partial:
        partial.write_text("new")
    assert (mode(tmp_path / "map.csv"), (tmp_path / "map.csv").read_text()) == (0o600, "new")


def test_a_private_file_takes_nobodys_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
