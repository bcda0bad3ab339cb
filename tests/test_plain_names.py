"""A value is called what it is: a chunk, a class, an outcome. These words say only that something was come by."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from scripts.sources import ROOT, modules, tree

pytestmark = pytest.mark.xdist_group("sources")
EMPTY = {"found", "told", "said", "beside", "one", "other"}


def names_of_values(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """What a module calls its variables, parameters, attributes and fields, and on which line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node.lineno


def test_values_are_called_what_they_are() -> None:
    assert len(modules()) > 300
    empty = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules()
        for name, line in names_of_values(tree(path))
        if name in EMPTY
    ]
    assert empty == []


def test_a_name_is_seen_wherever_it_is_given() -> None:
    text = "def f(one): self.other = [said for said in beside]\nclass A:\n    told: int\nwith g() as found: ..."
    assert {name for name, _ in names_of_values(ast.parse(text))} == EMPTY - {"beside"}
