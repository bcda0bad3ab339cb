"""Every message Shoal has for its users: where each is raised, which of them tests provoked, and whether they help.

A site is a call of `InputError`, `PromiseError` or `require` in the source. `tests/conftest.py` has `listen` note the
site and the words whenever one is raised; after a run of all tests `missing` and `unhelpful` must find nothing.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import FrameType

from scripts.sources import tree

import shoal
import shoal_studies
from shoal.errors import ShoalError, require

ROOTS = {Path(package.__file__).parent: prefix for package, prefix in ((shoal, ""), (shoal_studies, "shoal_studies/"))}
RAISED_BY = {"InputError", "PromiseError", "require"}
EXEMPT = {  # function -> why no test provokes what it raises
    "errors.py require": "it words what its callers ask for",
    "measure.py evaluate": "a reason that stands beside the name of a measure left out",
}

heard: dict[str, str] = {}  # site -> the last message raised there


def listen() -> None:
    """From now on every message is noted."""

    def note(error: ShoalError, *words: object) -> None:
        Exception.__init__(error, *words)
        frame: FrameType | None = sys._getframe(1)
        if frame is not None and frame.f_code is require.__code__:
            frame = frame.f_back
        if frame is not None and (name := _named(Path(frame.f_code.co_filename))) is not None:
            heard[f"{name}:{frame.f_lineno}"] = str(words[0])

    ShoalError.__init__ = note  # type: ignore[method-assign]


@cache
def sites() -> tuple[tuple[str, str], ...]:
    """Every site, with the file and function it stands in."""
    paths = sorted(path for root in ROOTS for path in root.rglob("*.py"))
    raising = [path for path in paths if any(word in path.read_text(encoding="utf-8") for word in RAISED_BY)]
    return tuple(site for path in raising for site in _below(tree(path), _named(path) or "", ""))


def _named(path: Path) -> str | None:
    """A file of ours, from its package's folder on."""
    return next(
        (f"{prefix}{path.relative_to(root)}" for root, prefix in ROOTS.items() if path.is_relative_to(root)), None
    )


def _below(node: ast.AST, file: str, function: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef):
        function = node.name
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED_BY:
        yield f"{file}:{node.lineno}", f"{file} {function}"
    for child in ast.iter_child_nodes(node):
        yield from _below(child, file, function)


def missing(provoked: Mapping[str, str]) -> list[str]:
    """Sites that no test provoked."""
    return [f"{site} ({within})" for site, within in sites() if site not in provoked and within not in EXEMPT]


def unhelpful(provoked: Mapping[str, str]) -> list[str]:
    exempt = {site for site, within in sites() if within in EXEMPT}
    poor = (site for site, message in sorted(provoked.items()) if not helps(message))
    return [f"{site}: {provoked[site]}" for site in poor if site not in exempt]


# A name, a number, an option, a file; or at least what of it is meant. Then: after a colon or in a second sentence,
# as what must or needs to be, or as the form that was expected.
_NAMED = re.compile(
    r"'|\d|--\w|/|\w\.\w|\b(table|column|file|policy|record|release|ledger|method|measure|value|attribute|population|epsilon|model|quasi)",
    re.I,
)
_WAY_OUT = re.compile(r": \S|[.?] [A-Z]|\b(must|needs?|such as|as in|one of)\b|;|\(--|\b[A-Z]+[=:][A-Z]+")


def helps(message: str) -> bool:
    """Does it name the thing, and a way out?"""
    return bool("\n" not in message and _NAMED.search(message) and _WAY_OUT.search(message))
