"""The import graph of Shoal's rooms: `python -m scripts.imports` prints it, and fails on what the rules forbid.

A room is a package or module directly below `shoal`. Imports point downwards only, from a room to the layers below its
own, so that there can be no circle; imports inside functions and for types alone count like all others.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.sources import tree

ROOT = Path(__file__).parents[1] / "src" / "shoal"
LAYERS = [
    {"__main__"},
    {"cli"},
    {"web"},
    {"testing"},
    {"jobs"},
    {"compare", "split", "tables"},
    {"anonymize", "assess"},
    {"chunked_split"},
    {"check", "chunked_release", "release", "split_tables"},
    {"chunked_draft"},
    {"survey"},
    {"capabilities", "draft", "profile"},
    {"report"},
    {"transactions"},
    {"releases"},
    {"pseudonymize"},
    {"policy"},
    {"policy_choices"},
    {"risk"},
    {"masking"},
    {"utility"},
    {"privacy"},
    {"measure"},
    {"engines"},
    {"data"},
    {"kernels", "show", "choices", "policy_files", "table_schemas"},
    {"catalogue"},
    {"parameters", "events"},
    {"errors"},
]
HEIGHT = {room: -depth for depth, layer in enumerate(LAYERS) for room in layer}


@dataclass(frozen=True)
class Import:
    """A module that imports from a room; `when` is at once, lazily (inside a function), or for types alone."""

    module: str
    room: str
    target: str
    when: str

    @property
    def upward(self) -> bool:
        """Whether it points to its own layer or to a higher one."""
        return HEIGHT[self.target] >= HEIGHT[self.room]


def imports(root: Path = ROOT) -> list[Import]:
    """Every import from one room of Shoal to another."""
    lines = []
    for path in sorted(root.rglob("*.py")):
        module = str(path.relative_to(root))
        room = path.relative_to(root).with_suffix("").parts[0]
        if path == root / "__init__.py":
            continue
        for name, when in _imported(tree(path), "at once"):
            package, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if package == "shoal" and target not in ("", "__version__", room):
                lines.append(Import(module, room, target, when))
    return lines


def _imported(node: ast.AST, when: str) -> Iterator[tuple[str, str]]:
    """Names imported anywhere below the node, and when."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        when = "for types"
    elif isinstance(node, ast.FunctionDef) and when == "at once":
        when = "lazily"
    if isinstance(node, ast.ImportFrom) and node.module:
        yield from ((f"{node.module}.{alias.name}", when) for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from ((alias.name, when) for alias in node.names)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):  # no expression imports
            yield from _imported(child, when)


def forbidden(lines: list[Import]) -> list[str]:
    """What breaks the rule, a sentence each."""
    upward = [line for line in lines if line.upward]
    return [f"{line.module} imports {line.target}, which does not lie below it ({line.when})" for line in upward]


def main() -> int:
    """Prints layer after layer, each room with those it imports; `~` marks what only types need."""
    lines = imports()
    for depth, layer in enumerate(LAYERS):
        print(f"{depth + 1}")
        for room in sorted(layer & {line.room for line in lines}):
            firm = {line.target for line in lines if line.room == room and line.when != "for types"}
            loose = {line.target for line in lines if line.room == room} - firm
            print(f"  {room}: {' '.join([*sorted(firm), *(f'~{target}' for target in sorted(loose))])}")
    problems = forbidden(lines)
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
