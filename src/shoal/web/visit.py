"""What a screen sees of the project when it is asked for: the policy, the table, the workers, what went wrong."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content
from shoal.web.project import Policy, Project
from shoal.web.security import Gate
from shoal.web.workers import Task, Worker, WorkingError, answered

ROLES = ("identifiers", "quasi_identifiers", "confidential", "insensitive")
DEFAULT = {"name": "k-anonymity", "k": 5}


@dataclass
class Desk:
    """What one server works with: the project, its workers, and who may come in.

    The seed undoes the shuffle of a release: it is in memory alone.
    """

    project: Project
    reader: Worker
    maker: Worker
    gate: Gate
    seed: int = field(default_factory=lambda: secrets.randbits(63), repr=False)
    releasing: Task | None = None  # the latest release


@dataclass(frozen=True)
class Problem:
    """What was wrong, in a sentence, and at which control."""

    where: str
    sentence: str


@dataclass(frozen=True)
class Go:
    """Where an action leads, if not to the screen that it was asked on."""

    address: str


@dataclass
class Visit:
    """One request for a screen."""

    desk: Desk
    policy: Policy
    query: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None

    @property
    def project(self) -> Project:
        """The folder that is worked on."""
        return self.desk.project

    # ---- the table

    def table(self) -> dict[str, Any]:
        """The table as tasks ask for it: its name, how it is read, and when it was last changed."""
        source = self.policy.source
        if source is None:
            raise InputError("No table is chosen yet: choose one on the first screen.")
        making = self.desk.maker.known("demo")
        if making is not None and not making.answer.done():
            raise WorkingError(making)
        about = self.project.file(source).stat()
        stamp = f"{about.st_mtime_ns}-{about.st_size}"
        return {"source": source, "read": self.policy.table("read"), "stamp": stamp}

    async def look(self) -> dict[str, Any]:
        """The first records and the columns."""
        answer: dict[str, Any] = await answered(self.desk.reader.ask("look", **self.table()))
        return answer

    async def profile(self) -> dict[str, Any]:
        """What each column is."""
        answer: dict[str, Any] = await answered(self.desk.reader.ask("profile", **self.table()))
        return answer

    # ---- the result

    def made(self) -> dict[str, Any]:
        """What a result is asked by: the policy, the table and the seed; what people answered changes no result."""
        import tomli_w

        table = self.table()
        text = tomli_w.dumps({**self.policy.content, "project": {"source": table["source"]}})
        return {"text": text, "source": table["source"], "stamp": table["stamp"], "seed": self.desk.seed}

    def result_task(self) -> Task | None:
        """The result of this policy, if it was ever asked for."""
        try:
            return self.desk.maker.known("result", **self.made())
        except (InputError, WorkingError):
            return None

    async def result(self) -> dict[str, Any]:
        """The result of this policy; one of an earlier policy that is still under way is given up for it."""
        asked = self.made()
        current = self.desk.maker.current
        if self.desk.maker.known("result", **asked) is None and current is not None:
            if current.name != "result":
                raise WorkingError(current)
            await self.desk.maker.stop()
        answer: dict[str, Any] = await answered(self.desk.maker.ask("result", **asked))
        if not (self.project.work / f"result-{answer['key']}.arrow").is_file():  # somebody emptied the folder
            self.desk.maker.forget("result")
            answer = await answered(self.desk.maker.ask("result", **asked))
        return answer

    # ---- changes

    async def save(self, since: str, change: Callable[[Content], None]) -> None:
        """Changes the policy if it is still the one that was looked at, and if what comes out is one."""
        wanted = copy.deepcopy(self.policy.content)
        change(wanted)
        await self.save_text(self.project.prepared(wanted, since))

    async def save_text(self, text: str) -> None:
        """Makes the text the policy if it is one."""
        if text == self.policy.text:
            return
        policy = Policy.of(text)
        table: dict[str, Any] = {"source": None, "read": {}, "stamp": ""}
        if policy.source is not None and (self.project.folder / policy.source).is_file():
            table = Visit(self.desk, policy).table()
        await self.desk.reader.ask("judge", text=text, **table).answer
        self.project.history.record(text)
        self.policy = policy

    @property
    def has_roles(self) -> bool:
        """Whether any column has a role."""
        return any(self.policy.names(role) for role in ROLES)

    @property
    def models(self) -> list[Content]:
        """What is promised."""
        models = self.policy.content.get("models")
        return [dict(model) for model in models] if isinstance(models, list) else [dict(DEFAULT)]


def text_of(form: Mapping[str, Any], key: str, longest: int = 1000) -> str:
    """A text of a form."""
    value = form.get(key, "")
    if not isinstance(value, str) or len(value) > longest or "\0" in value:
        raise InputError(f"What stands in {key.replace('_', ' ')!r} must be a text of at most {longest:,} characters.")
    return value.strip()


def number_of(form: Mapping[str, Any], key: str, words: str) -> float:
    """A number of a form; `words` name it in a sentence."""
    value = form.get(key)
    try:
        number = float(value) if isinstance(value, (str, int, float)) else float("nan")
    except ValueError:
        number = float("nan")
    if number != number or abs(number) > 1e12:
        raise InputError(f"{words} must be a number. Got {str(value)[:40]!r} instead.")
    return number


def relative(path: Path, folder: Path) -> str:
    """A path as seen from the folder."""
    return str(path.relative_to(folder))
