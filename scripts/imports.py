"""The import graph of Shoal's rooms: `python -m scripts.imports` prints it, and fails on what the rules forbid.

A room is a package or module directly below `shoal`. Imports point downwards only: from a room to its own layer and to
those below; imports inside functions and for types alone count like all others. No rooms may import each other in a
circle. What does not hold yet is listed here, and this list only gets shorter.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "shoal"
LAYERS = [
    {"cli", "web", "demo", "testing", "__main__"},
    {"jobs"},
    {"compare", "split", "anonymize", "check", "release", "draft", "parted", "assess", "profile"},
    {"report"},
    {"policy"},
    {"masking", "privacy", "risk", "utility", "measure", "transactions", "releases"},
    {"data", "kernels", "engines"},
    {"show", "catalogue", "choices", "events", "errors"},
]
HEIGHT = {room: -depth for depth, layer in enumerate(LAYERS) for room in layer}

# Not yet as they should be.
UPWARD_FOR_TYPES = {("report", "release")}  # what the report knows of a release it is given
IN_A_CIRCLE = {
    frozenset({"check", "parted", "release", "report"}),
    frozenset({"masking", "releases", "risk", "utility"}),
}


@dataclass(frozen=True)
class Import:
    """A module that imports from a room; `when` is at once, lazily (inside a function), or for types alone."""

    module: str
    room: str
    target: str
    when: str

    @property
    def upward(self) -> bool:
        """Whether it points to a higher layer."""
        return HEIGHT[self.target] > HEIGHT[self.room]


def imports(root: Path = ROOT) -> list[Import]:
    """Every import from one room of Shoal to another."""
    found = []
    for path in sorted(root.rglob("*.py")):
        module = str(path.relative_to(root))
        room = path.relative_to(root).with_suffix("").parts[0]
        if path == root / "__init__.py":
            continue
        for name, when in _imported(ast.parse(path.read_text(encoding="utf-8")), "at once"):
            package, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if package == "shoal" and target not in ("", "__version__", room):
                found.append(Import(module, room, target, when))
    return found


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
        yield from _imported(child, when)


def circles(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """Rooms that reach each other, a set for each circle of them."""
    reached = {room: _reached(graph, room) for room in graph}
    found = {frozenset({room, *(r for r in rooms if room in reached.get(r, ()))}) for room, rooms in reached.items()}
    return sorted((rooms for rooms in found if len(rooms) > 1), key=sorted)


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph.get(ahead.pop(), set()) - seen
        seen |= new
        ahead += new
    return seen


def graph_of(found: list[Import]) -> dict[str, set[str]]:
    """Room -> the rooms that it imports from."""
    graph: dict[str, set[str]] = defaultdict(set)
    for one in found:
        graph[one.room].add(one.target)
    return dict(graph)


def forbidden(found: list[Import]) -> list[str]:
    """What breaks a rule and is not listed above, a sentence each."""
    upward = [
        f"{one.module} imports {one.target}, which lies above it ({one.when})"
        for one in found
        if one.upward and not (one.when == "for types" and (one.room, one.target) in UPWARD_FOR_TYPES)
    ]
    rounds = [rooms for rooms in circles(graph_of(found)) if not any(rooms <= known for known in IN_A_CIRCLE)]
    return [*dict.fromkeys(upward), *(f"{', '.join(sorted(rooms))} import each other" for rooms in rounds)]


def main() -> int:
    """Prints layer after layer, each room with those it imports; `~` marks what only types need."""
    found = imports()
    for depth, layer in enumerate(LAYERS):
        print(f"{depth + 1}")
        for room in sorted(layer & {one.room for one in found}):
            firm = {one.target for one in found if one.room == room and one.when != "for types"}
            loose = {one.target for one in found if one.room == room} - firm
            print(f"  {room}: {' '.join([*sorted(firm), *(f'~{target}' for target in sorted(loose))])}")
    problems = forbidden(found)
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
