"""Dependencies point downwards only, lazy imports inside functions included; imports for types alone are free.

A module may import from its own layer and from those below it. `report` lies below `release`, whose methods call
it: what it knows of a release it is given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal

ROOT = Path(shoal.__file__).parent
LAYERS = [
    {"cli", "web", "demo", "testing", "__main__"},
    {"compare", "split", "anonymize", "check", "release", "draft", "parted", "assess", "profile"},
    {"report"},
    {"policy"},
    {"masking", "privacy", "risk", "utility", "measure", "transactions", "releases"},
    {"data", "kernels", "engines"},
    {"show", "catalogue", "choices", "events", "errors"},
]
HEIGHT = {part: -height for height, layer in enumerate(LAYERS) for part in layer}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported(node: ast.AST) -> Iterator[str]:
    """What is imported from Shoal anywhere below the node, except for types."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def parts_used(path: Path) -> set[str]:
    names = (name.split(".") for name in imported(ast.parse(path.read_text(encoding="utf-8"))))
    return {name[1] for name in names if name[0] == "shoal" and len(name) > 1 and name[1] != "__version__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_layer_and_below(path: Path) -> None:
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    assert own in HEIGHT, f"give {own!r} its layer"
    assert [part for part in parts_used(path) if HEIGHT[part] > HEIGHT[own]] == []


def test_shoal_knows_the_studies_by_one_door_only() -> None:
    """They are a package of their own, which need not be installed."""
    users = [path for path in ROOT.rglob("*.py") if "shoal_studies" in path.read_text(encoding="utf-8")]
    assert users == [ROOT / "cli" / "study.py"]


def test_kernels_know_arrays_only() -> None:
    for path in (ROOT / "kernels").glob("*.py"):
        assert parts_used(path) <= {"kernels"}
