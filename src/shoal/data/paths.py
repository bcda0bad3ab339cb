"""Paths to read and to write: what may be read, what may be replaced, and how a file appears whole or not at all.

What is written grows in a hidden folder beside the target, is checked there, and takes the target's place in one step.
A process killed at any moment leaves at most such a folder behind, which nothing ever reads and which the next to
write there removes (`shoal.data.scratch`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal import events
from shoal.data.outputs import refuse_existing, there_already
from shoal.data.scratch import Unfinished, make_private
from shoal.errors import InputError, did_you_mean


@contextmanager
def atomic_write(target: str | Path, *, private: bool, overwrite: bool = False) -> Iterator[Path]:
    """A path to write to, of the target's name and on its disk; what is there at the end becomes it.

    What has the target's name already, or gets it meanwhile, is replaced only with `overwrite`.

    A `private` file, whatever is not for the public, is its owner's alone (0600) from the first byte.
    """
    path = Path(os.path.realpath(target))
    check_writable(target)
    refuse_existing(target, overwrite=overwrite)
    try:
        with Unfinished(path) as partial:
            if private:
                make_private(partial)
            yield partial
            flush(partial)
            if overwrite:
                os.replace(partial, path)
            else:
                _give_name(partial, path)
            events.named()
            flush(path.parent)
    except FileExistsError:
        raise there_already(repr(str(target))) from None
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}.") from error


def _give_name(partial: Path, path: Path) -> None:
    """Unless another file got it meanwhile."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:  # no file system for links
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.replace(partial, path)


def flush(path: Path) -> None:
    """Has the disk hold what was written, so that the new name never stands for an unfinished file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def reason(error: BaseException) -> str:
    """Why the system refused, in a few words; Polars passes its errors on as text."""
    number = getattr(error, "errno", None)
    if number == errno.ENOSPC or f"os error {errno.ENOSPC}" in str(error):
        return "no space is left on the device"
    return os.strerror(number).lower() if number else str(error).splitlines()[0].rstrip(".")


def same_path(a: str | Path, b: str | Path) -> bool:
    """Whether both names lead to the same file, by links or otherwise."""
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them does not exist
        return os.path.realpath(a) == os.path.realpath(b)


def is_sql(source: str | Path) -> bool:
    """Is it a connection string (`sqlite:///file.db#table`), and no path?"""
    return isinstance(source, str) and "://" in source


def check_writable(target: str | Path) -> None:
    """Refuses what no file can take the place of, and a name that no file can have."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}.") from None
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{target} cannot be written: it is {'a folder' if stat.S_ISDIR(mode) else 'not a plain file'}."
        )


def check_readable(path: Path) -> None:
    """Refuses a folder, a name that no file has, a pipe, and what may not be read."""
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder: name a file in it.")
    if not os.path.exists(path):  # nor can it, where the name is too long
        near = os.listdir(path.parent) if os.path.isdir(path.parent) else []
        hint = did_you_mean(path.name, near) or " Check its name and its folder."
        raise InputError(f"There is no file {str(path)!r}.{hint}")
    refuse_pipe(path)
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read: ask for permission.")


def refuse_pipe(path: str | Path) -> None:
    """A pipe would be waited for, perhaps for ever, and could not be read a second time; a device has no end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise InputError(f"{path} is not a plain file: write what it gives to one first.")
