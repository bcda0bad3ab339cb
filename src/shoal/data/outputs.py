"""What a run writes, and what stood under these names before: refused before any work, or replaced as a whole.

    1. all is written and judged under other names
    2. what goes with the release (its certificate, a map, a log) is put aside
    3. the release takes its name in one step; what goes with it follows
    4. what was put aside goes; if 3 failed, it comes back

So an old certificate never stands beside a new release. A process killed within 3 leaves a release, the old one or the
new one, without a certificate. A folder cannot be replaced in one step: its old content is put aside as well, and what
a killed process had put aside comes back with the next run in that place (`shoal.data.scratch`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from types import TracebackType

from shoal.data.scratch import Unfinished
from shoal.errors import InputError

CERTIFICATE = "_certificate.json"  # the one that lies in the folder it is of
_OF_A_RELEASE = re.compile(r"(part-.*|_SUCCESS|_certificate\.json)|\.(part-.*|_SUCCESS|_certificate\.json)\.crc")


class Outputs(AbstractContextManager["Outputs"]):
    """A released file and what goes with it, all of which get their names inside the context, or none."""

    def __init__(self, release: Path | None, with_it: Iterable[str | Path | None], *, overwrite: bool) -> None:
        self._release = release
        self._with_it = [Path(target) for target in with_it if target is not None]
        for target in (release, *self._with_it):
            if target is not None:
                refuse_existing(target, overwrite=overwrite)
        self._hidden = ExitStack()
        self._aside: list[tuple[Path, Path]] = []  # where it was, where it is

    def make_way(self) -> None:
        """The last step before the first of them gets its name."""
        for target in self._with_it:
            if os.path.exists(target):
                self._put_aside(target, os.rename)
        if self._release is not None and os.path.exists(self._release):
            with suppress(InputError):  # no file system for links: if what goes with it fails, the new one stays
                self._put_aside(self._release, os.link)  # it stands there until the new one takes its place

    def forget(self) -> None:
        """The release has its name and keeps it, whatever follows: what was put aside is of another, and goes."""
        self._aside.clear()

    def _put_aside(self, target: Path, put: Callable[[Path, Path], None]) -> None:
        path = Path(os.path.realpath(target))
        try:
            aside = self._hidden.enter_context(Unfinished(path))
            put(path, aside)
        except OSError as error:
            why = str(error.strerror).lower()
            raise InputError(f"{str(target)!r} cannot be replaced: {why}. Name another.") from None
        self._aside.append((path, aside))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with self._hidden:
            if kind is not None:
                for path, aside in self._aside:
                    os.replace(aside, path)


def refuse_existing(target: str | Path, *, overwrite: bool) -> None:
    """Nothing is replaced unless the user says so."""
    if not overwrite and os.path.exists(target):
        raise there_already(repr(str(target)))


def there_already(what: str) -> InputError:
    return InputError(
        f"{what} is there already: name another, or have it replaced (--overwrite, in Python overwrite=True)."
    )


def refuse_folder(target: str | Path, names: Iterable[str], *, overwrite: bool, certified: bool) -> None:
    """Of a folder that holds these names, only a release is ever replaced: no originals, and nobody's other files."""
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
