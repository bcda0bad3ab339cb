"""The project that the app works on: a folder with its policy, which is the only truth, and nothing outside of it.

shoal.toml        the policy
history/          each earlier policy
releases/DATE/    what was released, with all that goes with it
work/             what is between: personal data, for the owner alone (0700), gone when the app ends
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

from shoal.errors import InputError
from shoal.web.edits import Content, edited
from shoal.web.history import HISTORY, History

POLICY, WORK, RELEASES = "shoal.toml", "work", "releases"
OWN = (POLICY, WORK, HISTORY)  # what is no table of the user's
TABLES = (
    ".csv", ".tsv", ".txt", ".parquet", ".feather", ".arrow", ".ipc", ".xlsx", ".xls", ".ods", ".sav", ".zsav", ".por",
    ".dta", ".sas7bdat", ".xpt",
)  # fmt: skip
LISTED = 200  # files of a folder that are shown


class StaleError(InputError):
    """What is to be changed was changed meanwhile, in another tab or by hand."""


@dataclass(frozen=True)
class Policy:
    """The text of the policy at one moment, and what it says."""

    text: str
    digest: str
    content: Content

    @classmethod
    def of(cls, text: str) -> Policy:
        """What the text says; refused where it is no TOML."""
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{POLICY} is not valid TOML: {error}. Mend it in an editor, or undo.") from None
        return cls(text, hashlib.sha256(text.encode()).hexdigest()[:16], content)

    def table(self, key: str) -> Content:
        """A table of it, empty where it has none."""
        table = self.content.get(key)
        return table if isinstance(table, dict) else {}

    def names(self, key: str) -> list[str]:
        """A list of names of it, empty where it has none."""
        names = self.content.get(key)
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    @property
    def source(self) -> str | None:
        """The table that it is of."""
        source = self.table("project").get("source")
        return source if isinstance(source, str) else None


class Project:
    """The folder: its policy, its files, and the place for what is between."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.history = History(self.folder, self.folder / POLICY)
        self.work = self.folder / WORK

    def open(self) -> None:
        """Makes the place for what is between; a folder that somebody else has put there is refused."""
        if self.work.is_symlink() or (self.work.exists() and self.work.stat().st_uid != os.getuid()):
            raise InputError(f"{str(self.work)!r} is a link, or somebody else's: remove it, it is to hold your data.")
        try:
            self.work.mkdir(mode=0o700, exist_ok=True)
            self.work.chmod(0o700)
            (self.work / ".gitignore").write_text("*\n", encoding="ascii")
        except OSError as error:
            raise InputError(f"The folder {str(self.folder)!r} cannot be written to: {error.strerror}.") from None

    def close(self) -> None:
        """Removes what is between."""
        shutil.rmtree(self.work, ignore_errors=True)

    def policy(self) -> Policy:
        """The policy as it is now."""
        return Policy.of(self.history.text())

    def prepared(self, wanted: Content, since: str) -> str:
        """The text of the policy that says what is wanted, if it is still the one that was looked at."""
        now = self.policy()
        if now.digest != since:
            raise StaleError("The policy was changed meanwhile, in another tab or by hand: nothing was saved.")
        return edited(now.text, wanted)

    def tables(self) -> list[dict[str, Any]]:
        """The files of the folder that may be tables, the newest first."""
        return self._listed(self.folder, TABLES)

    def releases(self) -> list[dict[str, Any]]:
        """The folders of releases, the newest first, each with its files."""
        place = self.folder / RELEASES
        folders = [path for path in place.iterdir() if path.is_dir()] if place.is_dir() else []
        folders = sorted((path for path in folders if path.name[0] != "."), key=lambda path: path.stat().st_mtime)
        return [{"name": path.name, "files": self._listed(path, ())} for path in reversed(folders)][:LISTED]

    def _listed(self, folder: Path, suffixes: tuple[str, ...]) -> list[dict[str, Any]]:
        files = [
            path
            for path in folder.iterdir()
            if path.name[0] != "." and path.name not in OWN and (not suffixes or path.suffix.lower() in suffixes)
        ]
        plain = [path for path in files if path.is_file() and self._lies_inside(path)]
        plain.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        named = ((str(path.relative_to(self.folder)), path.stat()) for path in plain[:LISTED])
        return [{"name": name, "size": about.st_size, "changed": about.st_mtime} for name, about in named]

    def _lies_inside(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self.folder)

    def file(self, name: object) -> Path:
        """A file of the folder by its name as seen from there; refused where it is none, or lies elsewhere."""
        path = self.path(name)
        if not path.is_file():
            raise InputError(f"There is no file {str(name)!r} in the folder: choose one that is listed.")
        return path

    def path(self, name: object) -> Path:
        """A place in the folder, links followed; names of the app's own files, and of what is no path, are refused."""
        if not isinstance(name, str) or not name or len(name) > 1000:
            raise InputError("A file is named by a text of at most 1,000 characters.")
        parts = PurePath(name).parts
        if any(mark in name for mark in "\0\n\r") or "://" in name or PureWindowsPath(name).drive:
            raise InputError(f"{name!r} is no name of a file in the folder.")
        if PurePath(name).is_absolute() or ".." in parts or name.startswith(("~", "\\")):
            raise InputError(f"{name!r} does not lie in the folder: name a file as it is called there.")
        path = Path(os.path.realpath(self.folder / name))
        if not path.is_relative_to(self.folder):
            raise InputError(f"{name!r} leads out of the folder: put a copy of the file there.")
        if path == self.folder or path.relative_to(self.folder).parts[0] in OWN:
            raise InputError(f"{name!r} is the app's own: choose another.")
        return path

    def new_file(self, name: object) -> Path:
        """A place for a file that is handed in, beside the policy; nothing that is there is replaced."""
        path = self.path(name)
        if path.parent != self.folder or path.name.startswith(".") or path.suffix.lower() not in (*TABLES, ".json"):
            raise InputError(f"{name!r} is no name of a table: such as discharges.csv.")
        if os.path.lexists(self.folder / str(name)):
            raise InputError(f"{name!r} is in the folder already: choose it there, or give the file another name.")
        return path
