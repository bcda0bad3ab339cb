"""Every code block in the README and the guides runs, every link leads somewhere, every place that is named exists."""

from __future__ import annotations

import ast
import configparser
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from scripts.tables import renewed
from typer.main import get_command

import shoal
from shoal.cli.main import app
from shoal.data.discharges import discharges
from tests.cli.conftest import run_command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    skip: str | None  # why it is not run


def blocks(page: str) -> list[Block]:
    """The page's blocks of code: what a fence says first is the language, `skip="..."` the reason not to run it."""
    found = []
    for info, code in BLOCK.findall(page):
        language, _, rest = info.partition(" ")
        reason = re.fullmatch(r'skip="(.+)"', rest)
        assert not rest or reason, f"A fence can say a language and a reason to skip it. Got {info!r} instead."
        found.append(Block(language, code, reason[1] if reason else None))
    return found


# A `shoal` for a shell: it asks the test's own process, which has everything loaded, through named pipes.
ASKING = """#!/bin/sh
printf '%s\\0' "$PWD" "$@" > "$ASKED"
cat "$PRINTED"
exit "$(cat "$CODE")"
"""


def shell(code: str, folder: Path) -> None:
    with TemporaryDirectory() as name:
        asked, printed, exit_code = pipes = [Path(name) / word for word in ("asked", "printed", "code")]
        for pipe in pipes:
            os.mkfifo(pipe)
        (Path(name) / "shoal").write_text(ASKING)
        (Path(name) / "shoal").chmod(0o700)
        path = os.pathsep.join([name, str(Path(sys.executable).parent), os.environ["PATH"]])
        settings = {"PATH": path, "ASKED": str(asked), "PRINTED": str(printed), "CODE": str(exit_code)}
        script = "trap ': > \"$ASKED\"' EXIT\n" + code  # at the end it asks for nothing
        with open(Path(name) / "output", "w+", encoding="utf-8") as output:
            bash = subprocess.Popen(["bash", "-ec", script], cwd=folder, env=os.environ | settings, stdout=output)
            while words := asked.read_text(encoding="utf-8").split("\0")[:-1]:
                code_of, text = in_process(words[1:], Path(words[0]))
                printed.write_text(text, encoding="utf-8")
                exit_code.write_text(str(code_of), encoding="utf-8")
            assert bash.wait() == 0, f"{code}\n{(Path(name) / 'output').read_text(encoding='utf-8')}"


def in_process(words: list[str], folder: Path) -> tuple[int, str]:
    """How a command ends, and what it prints."""
    with chdir(folder), redirect_stdout(StringIO()) as out:
        return run_command(*words), out.getvalue()


def python(code: str, folder: Path) -> None:
    with chdir(folder):
        exec(compile(code, "block", "exec"), {"__name__": "__main__"})


def policy(code: str, folder: Path) -> None:
    shoal.Policy(**tomllib.loads(code))


def unit(code: str, folder: Path) -> None:
    read = configparser.ConfigParser()
    read.read_string(code)
    assert read.sections()


def dockerfile(code: str, folder: Path) -> None:
    """No image is built: its Python is one that Shoal runs on, and what it runs of Shoal is a command."""
    steps = [line.split(maxsplit=1) for line in code.splitlines()]
    assert {word for word, _ in steps} <= {"FROM", "COPY", "RUN", "ENTRYPOINT"}
    (base,) = (rest for word, rest in steps if word == "FROM")
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    version = re.fullmatch(r"python:3\.(\d+)-slim", base)
    assert version
    assert int(version[1]) >= int(least.removeprefix(">=3."))
    asked = [tuple(rest.split()[1:]) for word, rest in steps if word == "RUN" and rest.startswith("shoal ")]
    assert asked
    assert set(asked) <= COMMANDS.keys()


RUNNERS: dict[str, Callable[[str, Path], None]] = {
    "bash": shell,
    "sh": shell,
    "python": python,
    "toml": policy,
    "ini": unit,
    "dockerfile": dockerfile,
    "text": lambda code, folder: None,  # what a command prints
}


def run_blocks(page: str, folder: Path) -> None:
    for block in blocks(page):
        if block.skip is None and not block.language.startswith("{"):  # those are the site's own directives
            assert block.language in RUNNERS, f"Nobody knows how to run a block of {block.language!r}."
            RUNNERS[block.language](block.code, folder)


LONG = ("compare.md", "purchases.md")  # their blocks take half a minute each


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.name in LONG else []) for page in PAGES],
    ids=lambda page: page.name,
)
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    run_blocks(page.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        "```bash\nfalse\ntrue\n```",
        "```python\nassert False\n```",
        "```toml\nno = 'such choice'\n```",
        "```ini\nno section\n```",
        "```\nmake test\n```",
        "```ruby\nputs 1\n```",
        "```bash skip\nfalse\n```",
    ],
)
def test_a_block_that_fails_or_is_skipped_without_a_reason_is_found(wrong: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, shoal.InputError, configparser.Error)):
        run_blocks(wrong, tmp_path)


def test_a_block_is_skipped_for_a_reason(tmp_path: Path) -> None:
    run_blocks('```bash skip="there is no such machine"\nfalse\n```', tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_that_are_named_exist(page: Path) -> None:
    text = re.sub(r"(?m)^spark-submit .*", "", page.read_text(encoding="utf-8"))  # whose options are Spark's
    options = set().union(*COMMANDS.values())
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) <= options
    for command in re.findall(r"`shoal ([a-z-]+(?: [a-z-]+)?)", text):
        assert {command, command.split()[0]} & {" ".join(path) for path in COMMANDS}, command


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Each command of the command line, and its options."""
    yield (
        path,
        {
            "--help",
            *(option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)),
        },
    )
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))


COMMANDS = dict(_commands(get_command(app)))


def test_examples_of_ones_own_are_short() -> None:
    examples = [ast.parse(block.code) for block in blocks((ROOT / "docs/extend.md").read_text(encoding="utf-8"))]
    own = [part for code in examples for part in code.body if isinstance(part, ast.ClassDef | ast.FunctionDef)]
    assert [part.name for part in own] == ["InOrder", "median_shift", "LargestShare"]
    for part in own:
        assert len([line for line in ast.unparse(part).splitlines() if line.strip()]) < 20, part.name


def test_the_first_page_shows_what_comes_out() -> None:
    page = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (before|released) \| (.+) \|$", page, re.MULTILINE)
    names = ["age_yrs", "sex", "patzip", "charge"]
    table = discharges(2_000, seed=7)
    release = shoal.anonymize(table, shoal.Policy(quasi_identifiers=names[:3], confidential=names[3:]))
    lines = [_lines(frame.select(names)) for frame in (table, release.table)]
    assert len(rows) == 6
    for (_, before), (_, after) in zip(rows[::2], rows[1::2], strict=True):
        assert (before, after) in list(zip(*lines, strict=True))


def test_every_section_of_the_report_is_explained(tmp_path: Path) -> None:
    policy = shoal.Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge"])
    shoal.anonymize(discharges(200, seed=7), policy).report(tmp_path / "report.html")
    navigation = re.search(r"<nav.*?</nav>", (tmp_path / "report.html").read_text(encoding="utf-8"), re.DOTALL)
    assert navigation
    sections = re.findall(r'<a href="#[^"]+">([^<]+)</a>', navigation[0])
    headings = re.findall(r"^## (.+)$", (ROOT / "docs/report.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(sections) <= set(headings)
    assert len(sections) > 4


def _lines(frame: pl.DataFrame) -> list[str]:
    return [" | ".join(map(str, row)) for row in frame.rows()]


# ---- the map of where each algorithm lives

MAPPED = re.compile(r"`([\w/]+\.py|[\w/]+/)`(?: \(([^)]*)\))?")


def test_every_place_that_the_map_names_exists() -> None:
    found = MAPPED.findall((ROOT / "docs/how-it-works.md").read_text(encoding="utf-8"))
    assert len(found) > 90
    for path, listed in found:
        place = ROOT / ("studies/src" if path.startswith("shoal_studies/") else "src/shoal") / path
        assert place.exists(), path
        if place.suffix == ".py":
            known = defined(place.read_text(encoding="utf-8"))
            for symbol in re.findall(r"`([\w.]+)`", listed):
                assert symbol in known, f"{path} has no {symbol}."


def test_every_algorithm_is_on_the_map() -> None:
    """Each file of an idea; not those that read, write, print or lead through the papers."""
    text = (ROOT / "docs/how-it-works.md").read_text(encoding="utf-8")
    homes = (
        "masking/grouping",
        "masking/recoding",
        "privacy",
        "risk",
        "utility",
        "releases",
        "transactions",
        "kernels",
    )
    shared = {
        *("privacy/model.py", "privacy/check.py", "privacy/measured_risk.py", "risk/measure.py", "utility/measure.py"),
        *(
            "releases/published.py",
            "transactions/release.py",
            "transactions/similarity.py",
        ),
        *("kernels/threads.py", "kernels/sorting.py", "kernels/segments.py"),
    }
    files = {f"{home}/{file.name}" for home in homes for file in (ROOT / "src/shoal" / home).glob("*.py")}
    lacking = {file for file in files - shared if not file.endswith("__init__.py") and f"`{file}`" not in text}
    assert not lacking


def defined(source: str) -> set[str]:
    """Names that a module defines, and those of its classes as `Class.name`."""
    found: set[str] = set()
    for part in ast.parse(source).body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            found.add(part.name)
        if isinstance(part, ast.ClassDef):
            found |= {f"{part.name}.{inner.name}" for inner in part.body if isinstance(inner, ast.FunctionDef)}
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_the_map_knows_what_a_file_defines() -> None:
    source = "A = 1\nB: int = 2\nclass C:\n    def d(self): ...\ndef e(): ..."
    assert defined(source) == {"A", "B", "C", "C.d", "e"}


def test_tables_of_what_there_is_come_from_the_catalogues() -> None:
    sorts = set()
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert renewed(text) == text, f"{page.name} is out of date: run `make tables`"
        sorts |= set(re.findall(r"<!-- table: (\w+) -->", text))
    assert sorts == {
        *("engines", "methods", "measures", "attacks", "formats", "generators"),
        *(f"api_{part}" for part in ("models", "grouping", "recoding", "perturbing")),
    }
    assert renewed("<!-- table: models -->\n\nold\n<!-- end of table -->").count("`k-map`") == 1
