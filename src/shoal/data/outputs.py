"""Whose names may be written to: what is there already is refused before any work, and what is read is never changed.

In which order a release and what goes with it then get their names is in `shoal.data.commit`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from shoal.errors import InputError

CERTIFICATE = "_certificate.json"  # the one that lies in the folder it is of
_OF_A_RELEASE = re.compile(r"(part-.*|_SUCCESS|_certificate\.json)|\.(part-.*|_SUCCESS|_certificate\.json)\.crc")


def refuse_existing(target: str | Path, *, overwrite: bool) -> None:
    """Refuses a target that is there already, unless it is to be replaced."""
    if not overwrite and os.path.exists(target):
        raise there_already(repr(str(target)))


def there_already(what: str) -> InputError:
    """The error of a target that would be replaced, and must not be."""
    return InputError(
        f"{what} is there already: name another, or have it replaced (--overwrite, in Python overwrite=True)."
    )


def refuse_folder(target: str | Path, names: Iterable[str], *, overwrite: bool, certified: bool) -> None:
    """Refuses to replace a folder that holds anything but a release: originals, or anybody else's files."""
    held = sorted(names)
    if not held:
        return
    if not overwrite:
        raise there_already(repr(str(target)))
    others = [name for name in held if not _OF_A_RELEASE.fullmatch(name)]
    if others or (certified and CERTIFICATE not in held):
        what = f"holds {others[0]!r}" if others else f"holds no {CERTIFICATE!r}"
        raise InputError(
            f"The folder {str(target)!r} {what}, so it is not just a release: nothing else is replaced. Name another."
        )


def refuse_within(target: str | Path, reads: Iterable[str | Path]) -> None:
    """Refuses a file or folder that is what is read, holds it, or lies in it: the input is never changed."""
    folder = Path(os.path.realpath(target))
    for source in reads:
        path = Path(os.path.realpath(source))
        same = folder == path or (folder.exists() and path.exists() and folder.samefile(path))
        if same or folder in path.parents or (path in folder.parents and path.is_dir()):
            raise InputError(
                f"The output {str(target)!r} and {str(source)!r}, which is read, lie in one another: name a place "
                "elsewhere, the input is never changed."
            )
