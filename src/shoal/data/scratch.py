"""Whatever holds records and is not to stay: scratch folders, and unfinished outputs beside their target.

Both are folders of their owner alone (0700) whose names say what they are, `shoal-XXXXXXXX.scratch` among temporary
files and `.shoal-XXXXXXXX.partial` beside a target. They go when the work ends, whichever way it ends. A process that
is killed cannot clear up: so each folder holds a file on which its process keeps a lock (flock) as long as it lives,
and whoever next works in the same place as the same user removes the folders whose lock is free.

    1. make the folder; make the lock file in it; lock it. Was it swept meanwhile? Begin anew.
    2. work
    3. give the folder another name
    4. what was put aside to be replaced, and has not been, goes back to its place
    5. remove all but the lock file, then the lock file, then the folder

Nothing is ever written before the lock is held, so a folder without one is either empty or abandoned. A thread of a job
that was stopped may still be about to write: under the old name it finds no folder. Links are never followed, and
nobody else's folders are touched.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import tempfile
import weakref
from contextlib import AbstractContextManager, suppress
from pathlib import Path

LOCK = ".shoal-lock"
ASIDE = ".aside"  # within an unfinished folder: what is to go when the new one has its name
_OURS = re.compile(r"shoal-[a-z0-9_]{8}\.scratch|\.shoal-[a-z0-9_]{8}\.partial")


class Scratch(AbstractContextManager["Scratch"]):
    """A folder for what is between, among temporary files unless another place is named; it goes with the process."""

    def __init__(self, place: str | Path | None = None) -> None:
        self._folder = _Held(Path(place or tempfile.gettempdir()), "shoal-", ".scratch")
        self.path = self._folder.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def folder(self) -> Path:
        """Makes a new folder within the scratch folder."""
        return Path(tempfile.mkdtemp(dir=self.path))

    def close(self) -> None:
        """Removes the folder and all in it."""
        self._folder.clear()


class Unfinished(AbstractContextManager[Path]):
    """A path of the target's name in a hidden folder beside it, to be written to; what is not taken from there goes."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __enter__(self) -> Path:
        self._folder = _Held(self._target.parent, ".shoal-", ".partial")
        return self._folder.path / self._target.name

    def put_aside(self) -> None:
        """Puts aside what has the target's name: it goes at the end, or back to its place if that is free then."""
        (self._folder.path / ASIDE).mkdir()
        os.rename(self._target, self._folder.path / ASIDE / self._target.name)

    def __exit__(self, *_: object) -> None:
        self._folder.clear()


def make_private(path: Path) -> None:
    """Makes a new and empty file that only its owner may read, whatever the umask: writers then fill it."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def sweep(place: str | Path | None = None) -> None:
    """Removes what killed processes of this user left there; among temporary files unless another place is named."""
    with suppress(OSError), os.scandir(place or tempfile.gettempdir()) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):  # gone meanwhile, or not to be changed
                    _sweep(Path(entry.path))


class _Held:
    """A folder and the lock on it, until it is cleared; at the latest when the process ends."""

    def __init__(self, parent: Path, prefix: str, suffix: str) -> None:
        sweep(parent)
        self.path, lock = _made(parent, prefix, suffix)
        away = self.path.with_name(f"{prefix}{secrets.token_hex(4)}{suffix}")
        self.clear = weakref.finalize(self, _let_go, self.path, away, lock, os.getpid())


def _made(parent: Path, prefix: str, suffix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:  # swept while it was empty
            continue
        if _free(lock, unless_known=True) and (folder / LOCK).exists():
            return folder, lock
        os.close(lock)


def _let_go(folder: Path, away: Path, lock: int, maker: int) -> None:
    if os.getpid() == maker:  # not in a forked process, which inherits the lock
        with suppress(OSError):
            os.rename(folder, away)
        _clear(away if away.exists() else folder)
        os.close(lock)


def _sweep(folder: Path) -> None:
    if folder.lstat().st_uid != os.geteuid():
        return
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        _sweep_without_lock(folder)
        return
    try:
        if _free(lock, unless_known=False):
            _clear(folder)
    finally:
        os.close(lock)


def _sweep_without_lock(folder: Path) -> None:
    """Empty, and perhaps about to be locked, which its maker notices; or what came in after its process was gone."""
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno == errno.ENOTEMPTY and not os.path.lexists(folder / LOCK):
            shutil.rmtree(folder, ignore_errors=True)


def _free(lock: int, *, unless_known: bool) -> bool:
    """Takes the lock unless somebody holds it; where the file system knows no locks, as the caller says."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unless_known
    return True


def _clear(folder: Path) -> None:
    """The lock file goes last: what cannot be removed or put back now is found again by the next sweep."""
    with suppress(OSError):
        _put_back(folder)
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != LOCK:
                os.unlink(entry.path)
        if os.listdir(folder) == [LOCK]:
            os.unlink(folder / LOCK)
            os.rmdir(folder)


def _put_back(folder: Path) -> None:
    """What was put aside and not replaced."""
    if (folder / ASIDE).is_dir():
        for entry in list(os.scandir(folder / ASIDE)):
            if not os.path.lexists(folder.parent / entry.name):
                os.rename(entry.path, folder.parent / entry.name)
