"""Run: the release of a project, which is a folder with its policy; all that goes with it lies in a folder of its own.

    shoal.toml              the policy; its [project] names the table
    releases/2026-11-16/    release.csv certificate.json report.html command.txt answers.toml

That folder is made under another name and takes its own in one step, once all of it is there: a process that is killed
leaves none.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal import events
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.show.result import Result
from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    from shoal.data.project_choice import ProjectChoice
    from shoal.policy import Policy

POLICY = "shoal.toml"
RELEASES = "releases"
COMMAND, ANSWERS = "command.txt", "answers.toml"
ANSWERED = ("title", "period", "recipient", "purpose", "known", "other_releases", "decided_by")


class Written(NamedTuple):
    """A file of a release: its name, its size in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, repr=False)
class Ran(Result):
    """A release of a project: its folder, the files in it, and what is known of the release."""

    folder: Path
    files: tuple[Written, ...]
    release: Result

    def sheets(self) -> list[Sheet]:
        """How the release was judged, and which files were written."""
        rows = [(each.name, f"{each.size:,}", _whose(each.name)) for each in self.files]
        written = Sheet(f"Written to {self.folder}", ("file", "bytes", "for"), rows, numbers=1)
        return [*self.release.sheets(), written]

    def remarks(self) -> tuple[str, ...]:
        """Those of the release."""
        return tuple(self.release.remarks())

    def to_dict(self) -> dict[str, Any]:
        """The folder, its files and the release, ready for JSON."""
        files = [each._asdict() for each in self.files]
        return {"folder": str(self.folder), "files": files, "release": self.release.to_dict()}


@dataclass(frozen=True)
class Run(Job[Ran]):
    """Makes the release that a project's policy asks for, in a new folder below `releases`, or in `output`.

    A project may come from somebody else: its policy names files of its own folder alone, and no code. The table may
    lie elsewhere if whoever runs it names it (`source`).
    """

    folder: Path
    source: str | None = None
    output: Path | None = None
    seed: int | None = field(default=None, repr=False)

    def work(self) -> Ran:
        """Anonymizes the project's table by its policy, and puts the folder in its place."""
        from shoal.data.outputs import refuse_existing
        from shoal.data.scratch import Unfinished, sweep

        policy = self._policy()
        source = self._source(policy.project)
        target = self.output or next_folder(self.folder)
        refuse_existing(target, overwrite=False)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            sweep(target.parent)
            with Unfinished(target) as unfinished:
                unfinished.mkdir()
                release = self._release(policy, source, unfinished)
                events.stage("giving the folder its name")
                self._add_papers(policy.project, source, unfinished)
                os.rename(unfinished, target)
        except OSError as error:
            raise InputError(f"The folder {str(target)!r} cannot be written: {error.strerror}.") from None
        return Ran(target, written_files(target), release)

    def _policy(self) -> Policy:
        from shoal.policy import Policy

        path = self.folder / POLICY
        if not path.is_file():
            raise InputError(
                f"The folder {str(self.folder)!r} is no project, for it holds no {POLICY!r}: make one by shoal profile "
                f"FILE --write-policy {POLICY}, or by shoal ui."
            )
        return Policy.read(path, within=self.folder, own_code=False)

    def _source(self, project: ProjectChoice) -> str:
        source = self.source or project.source
        if source is None:
            raise InputError(
                f"The policy {str(self.folder / POLICY)!r} does not say which table it is of: give it a table "
                '[project] with source = "FILE", or name the table (--source).'
            )
        return source

    def _release(self, policy: Policy, source: str, folder: Path) -> Result:
        from shoal.engines.opening import engine_of
        from shoal.jobs.anonymize import Anonymize
        from shoal.jobs.tables import Tables

        project = policy.project
        name = project.release if engine_of(source, None) == "memory" else Path(project.release).stem
        kind = Tables if policy.tables else Anonymize
        return kind(
            source, policy, folder / name, folder / project.certificate, folder / project.report, seed=self.seed,
            reads=(self.folder / POLICY,),
        ).run()  # fmt: skip

    def _add_papers(self, project: ProjectChoice, source: str, folder: Path) -> None:
        files = {each.name: each.sha256 for each in written_files(folder)}
        (folder / ANSWERS).write_text(answers(project, files), encoding="utf-8")
        seen = source if "://" in source else os.path.relpath(source, self.folder)
        (folder / COMMAND).write_text(commands(project, seen), encoding="utf-8")


def next_folder(project: Path) -> Path:
    """Where the next release of a project goes: a folder of today's date, numbered from the second on."""
    today = date.today().isoformat()
    names = (today if number == 1 else f"{today}-{number}" for number in count(1))
    return next(path for name in names if not (path := project / RELEASES / name).exists())


def written_files(folder: Path) -> tuple[Written, ...]:
    """What lies in a release's folder, by name."""
    from shoal.data.digests import digest

    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return tuple(Written(path.name, path.stat().st_size, digest(path)) for path in paths)


def _whose(name: str) -> str:
    """For whom a file is: what is no table and no certificate is the custodian's."""
    return "you alone" if name in (COMMAND, ANSWERS) or name.endswith((".html", ".htm")) else "whoever receives it"


def answers(project: ProjectChoice, files: Mapping[str, str]) -> str:
    """What people answered when the release was made, and the digests of its files, as TOML."""
    import tomli_w

    stated = {key: answer for key in ANSWERED if (answer := getattr(project, key))}
    return tomli_w.dumps({"released": date.today(), **stated, "sha256": dict(files)})


def commands(project: ProjectChoice, source: str) -> str:
    """How the release is made again, and how it is checked, as lines of a shell."""
    release, certificate, report = map(shell_word, (project.release, project.certificate, project.report))
    return (
        "# In the folder of the project this makes the release again; its records then come in another order:\n"
        f"shoal run . {'' if project.source is not None else f'--source {shell_word(source)}'}".rstrip()
        + "\n\n# The same, spelt out:\n"
        f"shoal anonymize {shell_word(source)} -o {release} --policy {POLICY} --certificate {certificate} "
        f"--report {report}\n\n"
        "# Whoever received the release and its certificate checks them so:\n"
        f"shoal check {release} --certificate {certificate}\n"
    )


def shell_word(text: str) -> str:
    """A file's name as a word of a shell, never an option."""
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
