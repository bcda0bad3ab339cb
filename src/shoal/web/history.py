"""Undo without limit: each policy that the project ever had is a file, and which of them it has now is a number.

    history/0001.toml 0002.toml ...   every text of shoal.toml, byte by byte
    history/at                        the number of the one that shoal.toml is

What was written by hand in between is kept as a step of its own. A change after an undo drops what could be redone.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from shoal.data.paths import atomic_write

HISTORY = "history"
LOOKED = 200  # earlier policies that are looked through


class History:
    """The policies of a project in their order, and the file that is the one of now."""

    def __init__(self, folder: Path, policy: Path) -> None:
        self._folder, self._policy = folder / HISTORY, policy

    def text(self) -> str:
        """The policy as it is now; empty where there is none."""
        try:
            return self._policy.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return ""

    def record(self, text: str) -> None:
        """This is the policy from now on."""
        at = self._noted()
        for number in [number for number in self._numbers() if number > at]:
            self._file(number).unlink()
        self._keep(at + 1, text)
        self._write(self._policy, text)

    def step(self, by: int) -> bool:
        """Goes a step back (-1) or on again (1); whether there was one."""
        at = self._noted() + by
        if at not in self._numbers():
            return False
        self._write(self._policy, self._file(at).read_bytes().decode())
        self._write(self._at, str(at))
        return True

    def steps(self) -> tuple[int, int]:
        """How many steps can be undone, and how many redone."""
        numbers, at = self._numbers(), self._number()
        if numbers and at in numbers and self._file(at).read_bytes().decode() != self.text():
            return len([number for number in numbers if number <= at]), 0
        return len([number for number in numbers if number < at]), len([number for number in numbers if number > at])

    def text_of(self, digest: str) -> str | None:
        """An earlier policy by the beginning of its digest; None where none of the last has it."""
        texts = (self._file(number).read_bytes().decode() for number in reversed(self._numbers()[-LOOKED:]))
        return next((text for text in texts if hashlib.sha256(text.encode()).hexdigest()[:16] == digest), None)

    def forget(self) -> None:
        """Removes all earlier policies."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _at(self) -> Path:
        return self._folder / "at"

    def _number(self) -> int:
        try:
            return int(self._at.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return max(self._numbers(), default=0)

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(path.stem) for path in self._folder.glob("*.toml") if path.stem.isdecimal())

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:04}.toml"

    def _noted(self) -> int:
        """The number of the present policy, once it is sure to be kept: it may have been changed by hand."""
        at, text = self._number(), self.text()
        if at in self._numbers() and self._file(at).read_bytes().decode() == text:
            return at
        for number in [number for number in self._numbers() if number > at]:
            self._file(number).unlink()
        if not text and not self._numbers():  # a new project: undo leads back to nothing
            self._keep(1, "")
            return 1
        self._keep(at + 1, text)
        return at + 1

    def _keep(self, number: int, text: str) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._write(self._file(number), text)
        self._write(self._at, str(number))

    def _write(self, path: Path, text: str) -> None:
        with atomic_write(path, private=path != self._policy, overwrite=True) as partial:
            partial.write_bytes(text.encode())
