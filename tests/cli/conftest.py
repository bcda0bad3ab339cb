"""The command line run inside the test's own process, and a table to run it on."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from shoal.cli.main import app, run

typer.main.get_command = cache(typer.main.get_command)  # built once, not for each of a thousand runs

QUASI = ("oshpd_id", "age_yrs", "sex", "ethncty", "race", "patzip", "patcnty", "los", "adm_qtr")
CODES = ("oshpd_id", "sex", "ethncty", "race", "patzip", "patcnty")  # written in digits
ROLES = ("--quasi", ",".join(QUASI), "--confidential", "charge")
ROWS = 3_000


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command, by the words that call it."""
    for word, found in getattr(group, "commands", {}).items():
        yield from commands(found, (*words, word))
    if not hasattr(group, "commands"):
        yield " ".join(words), group


COMMANDS = dict(commands(typer.main.get_command(app)))


@dataclass(frozen=True)
class Run:
    """What a command printed and how it ended."""

    code: int
    out: str
    all_err: str

    @property
    def err(self) -> str:
        """Standard error, but for how far the command was."""
        return "".join(line for line in self.all_err.splitlines(keepends=True) if line not in self.progress)

    @property
    def progress(self) -> list[str]:
        """How far the command was, line by line."""
        return [line for line in self.all_err.splitlines(keepends=True) if re.match(r"\[[a-z]+ \d+ s\] ", line)]

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)

    @property
    def sentence(self) -> str:
        """The one line that a command ends with when it cannot go on."""
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        assert "inside Shoal" not in self.err
        (line,) = self.err.splitlines()
        assert line.startswith("shoal: ")
        assert self.out == "" or self.json == {"error": self.json["error"]}
        return line.removeprefix("shoal: ")


Shoal = Callable[..., Run]


def run_command(*words: str | Path) -> int:
    """A command's exit code, what it prints left where it goes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["shoal", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            run()
    assert stop.value.code is None or isinstance(stop.value.code, int)
    return stop.value.code or 0


@pytest.fixture
def shoal(capsys: pytest.CaptureFixture[str]) -> Shoal:
    def command(*words: str | Path) -> Run:
        capsys.readouterr()
        code = run_command(*words)
        printed = capsys.readouterr()
        return Run(code, printed.out, printed.err)

    return command


@pytest.fixture(scope="session")
def discharges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of synthetic discharges; never written to."""
    from shoal.data.discharges import discharges as generate
    from shoal.data.files import write_table

    path = tmp_path_factory.mktemp("discharges") / "d.csv"
    write_table(generate(ROWS, 7), path)
    return path
