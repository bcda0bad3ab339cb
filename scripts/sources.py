"""Our modules as syntax trees, each read once by whoever looks at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def modules() -> tuple[Path, ...]:
    """The modules that a reader of the project meets, those of tests aside."""
    return tuple(path for folder in ("src", "studies/src", "scripts") for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    """What the module says."""
    return ast.parse(path.read_text(encoding="utf-8"))
