"""How a release gets its name: this order is written here and nowhere else.

    1. names that are taken are refused, unless what has them is to be replaced
    2. each table of the release is written under another name
    3. what stands there is judged; a broken promise ends it all
    4. what goes with it (certificate, report, map, log) is written under other names
    5. the ledger records it as pending, and is locked until 9
    6. what went with an old release is put aside; of several tables the old ones, too
    7. each table takes its name in one step, over the old one
    8. what goes with it follows
    9. the ledger's entry is settled: it is done if the release got its name
   10. what was put aside goes

Whatever fails before 7 leaves all as it was. If 7 or 8 fails, new files go and old ones come back; a release that had
its name, if only for a moment, stays in the ledger. What fails later takes nothing back: an entry left pending is
settled by whoever opens the ledger next. So an old certificate never stands beside a new release. A process
killed within 7 and 8 leaves a release, the old one or the new one, without a certificate.

A table of a database, a folder of another machine's store, and a folder that is a release by itself have their own way
to take their name and cannot be taken back: once one has it, it keeps it, and what was put aside goes. What a killed
process had put aside of such a folder comes back with the next run in that place (`shoal.data.scratch`). Of several
folders of this machine each takes its name by one rename, and is taken back by another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from shoal import events
from shoal.data.outputs import refuse_existing
from shoal.data.paths import atomic_write
from shoal.data.scratch import Unfinished
from shoal.errors import InputError

W = TypeVar("W")  # what was written: a file, or the table of an engine
J = TypeVar("J")  # how it was judged


@dataclass(frozen=True)
class Paper(Generic[W, J]):
    """A file that goes with a release, and gets its name after it: certificate, report, map or log.

    `write` fills the path it is given, knowing what was written of the release and how that was judged.
    """

    target: Path
    write: Callable[[Path, W, J], object]
    private: bool  # for the custodian alone


@dataclass(frozen=True)
class Output(Generic[W, J]):
    """A table of a release.

    `write` writes it under another name, calls what it is given with what stands there, to learn how that was judged,
    and then lets it take its name. `judge` raises unless every promise holds. `record` makes the ledger's entry, as a
    context within which the name is given.
    """

    target: Path | None  # None: what cannot be taken back
    write: Callable[[Callable[[W], J]], object]
    judge: Callable[[W], J]
    papers: Sequence[Paper[W, J]] = ()
    record: Callable[[W, J], AbstractContextManager[None]] | None = None
    folder: bool = False  # which `write` itself refuses to replace unless it may


def papers(*named: tuple[str | Path | None, Callable[[Path, W, J], object], bool]) -> tuple[Paper[W, J], ...]:
    """Those of (target, write, private) that have a target."""
    return tuple(Paper(Path(target), write, private) for target, write, private in named if target is not None)


def commit(tables: Sequence[Output[W, J]], *, overwrite: bool) -> list[J]:
    """Writes the tables and what goes with them: all get their names, or none. Gives how each table was judged."""
    names = _Names(tables)
    for target in names.files:
        refuse_existing(target, overwrite=overwrite)
    judged: list[tuple[W, J]] = []
    with names, ExitStack() as entries:
        unfinished = ExitStack()

        def write_from(i: int) -> None:
            """The i-th table, and within it all that follow: the innermost gets its name first."""
            if i == len(tables):
                prepare_names()
                return
            table = tables[i]

            def judge(written: W) -> J:
                events.stage("judging the file")
                judged.append((written, table.judge(written)))
                write_from(i + 1)
                return judged[i][1]

            events.stage("writing the release")
            table.write(judge)
            names.given(table.target)

        def prepare_names() -> None:
            """All that is left to do before the first name is given."""
            for table, (written, judgement) in zip(tables, judged, strict=True):
                for paper in table.papers:
                    events.stage(f"writing {paper.target.name}")
                    unfinished.enter_context(_unfinished(paper, written, judgement, names, overwrite))
            events.stage("giving names")
            for table, (written, judgement) in zip(tables, judged, strict=True):
                if table.record is not None:
                    entries.enter_context(table.record(written, judgement))
            names.make_way()

        with unfinished:
            write_from(0)
        names.keep()
    return [judgement for _, judgement in judged]


@contextmanager
def _unfinished(paper: Paper[W, J], written: W, judgement: J, names: _Names, overwrite: bool) -> Iterator[None]:
    """The paper under another name; at the end of the context it gets its own."""
    with atomic_write(paper.target, private=paper.private, overwrite=overwrite) as partial:
        paper.write(partial, written, judgement)
        yield
    names.given(paper.target)


class _Names(AbstractContextManager["_Names"]):
    """Who has the names of a release and of what goes with it, now and before; all is put back if the context fails."""

    def __init__(self, tables: Sequence[Output[Any, Any]]) -> None:
        self._tables = [table.target for table in tables if table.target is not None]
        self._papers = [paper.target for table in tables for paper in table.papers]
        self._hidden = ExitStack()
        self._folders = [table.target for table in tables if table.folder and table.target is not None]
        self._aside: dict[Path, Path] = {}  # where it was -> where it is
        self._new: list[Path] = []
        self._back: dict[Path, Path] = {}  # a folder's name -> where it goes if it is taken back
        self._final = len(self._tables) < len(tables)  # the next name of a table that is given cannot be taken back

    @property
    def files(self) -> list[Path]:
        """All files that get their names."""
        return [target for target in (*self._tables, *self._papers) if target not in self._folders]

    def make_way(self) -> None:
        """The last step before the first of them gets its name."""
        several = len(self._tables) > 1  # an old table beside a new one would tell more than either
        for target in self._folders:
            path = Path(os.path.realpath(target))
            self._back[path] = self._hidden.enter_context(Unfinished(path))
        for target in [*self._tables, *self._papers] if several else self._papers:
            self._put_aside(target, os.rename)
        for target in [] if several else self._tables:
            try:
                self._put_aside(target, os.link)  # it stands there until the new one takes its place
            except InputError:  # no file system for links
                self._final = True

    def given(self, target: Path | None) -> None:
        """A file has its name."""
        events.named()
        if target is not None and not self._final:
            self._new.append(Path(os.path.realpath(target)))
        elif target is None or target in self._tables:
            self._final = True
            self.keep()

    def keep(self) -> None:
        """What has its name keeps it, whatever follows: what was put aside goes."""
        self._aside.clear()
        self._new.clear()

    def _put_aside(self, target: Path, put: Callable[[Path, Path], None]) -> None:
        if not os.path.exists(target):
            return
        path = Path(os.path.realpath(target))
        try:
            aside = self._hidden.enter_context(Unfinished(path))
            put(path, aside)
        except OSError as error:
            why = str(error.strerror).lower()
            raise InputError(f"{str(target)!r} cannot be replaced: {why}. Name another.") from None
        self._aside[path] = aside

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with self._hidden:
            if kind is None:
                return
            for path in self._new:
                if path in self._back:
                    os.rename(path, self._back[path])
                elif path not in self._aside:
                    path.unlink(missing_ok=True)
            for path, aside in self._aside.items():
                os.replace(aside, path)
