"""What fits in the head: no module over 400 lines, no function over 60, a command's signature aside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.sources import ROOT, modules, tree

pytestmark = pytest.mark.xdist_group("sources")
MODULE, FUNCTION = 400, 60


def too_large(path: Path) -> Iterator[str]:
    """The module, and those of its functions, that are over their limit."""
    text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    if text.count("\n") > MODULE:
        yield name
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            start = node.body[0].lineno if "cli" in path.parts else node.lineno
            if (node.end_lineno or start) - start + 1 > FUNCTION:
                yield f"{name} {node.name}"


def test_modules_and_functions_are_small() -> None:
    assert len(modules()) > 300
    assert [large for path in modules() for large in too_large(path)] == []
