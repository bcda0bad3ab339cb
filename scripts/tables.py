"""The guides' tables of what there is, from the catalogues: `python -m scripts.tables` writes them anew.

A table stands between `<!-- table: SORT -->` and `<!-- end of table -->`; a test fails where one is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.capabilities import capabilities
from shoal.catalogue import Catalogue, Registry
from shoal.data.files import FORMATS
from shoal.data.generators import GENERATORS
from shoal.masking import METHODS
from shoal.measure import MEASURES
from shoal.privacy import MODELS
from shoal.risk.attack import ATTACKS

DOCS = Path(__file__).parents[1] / "docs"
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n\n).*?(\n<!-- end of table -->)", re.DOTALL)


def table(sort: str) -> str:
    """The table of a sort, in Markdown."""
    if sort.startswith("api_"):
        return _reference(sort.removeprefix("api_"))
    if sort == "methods":
        return _rows(("method", "choose it when"), [(f"`{kind.name}`", kind.choose) for kind in METHODS])
    if sort == "engines":
        strange = {each.name for known in (MEASURES, ATTACKS) for each in known.listed() if not _is_ours(each)}
        known = [each for each in capabilities() if each.name not in strange]
        return _rows(("sort", "", "disk and spark"), [(c.sort, c.name, str(c.in_chunks)) for c in known])
    catalogues: dict[str, Catalogue[Any]] = {"models": MODELS, "generators": GENERATORS}
    if sort in catalogues:
        catalogue = catalogues[sort]
        return _rows(
            (sort.removesuffix("s"), "what it does"), [(f"`{kind.name}`", kind.sentence()) for kind in catalogue]
        )
    if sort == "measures":
        listed = sorted(_ours(MEASURES), key=lambda each: each.about)
        rows = [(f"`{each.name}`", each.about, each.higher_is, each.meaning) for each in listed]
        return _rows(("measure", "about", "higher is", "what it is"), rows)
    if sort == "attacks":
        return _rows(("attack", "what it asks"), [(f"`{each.name}`", each.meaning) for each in _ours(ATTACKS)])
    formats = FORMATS.loaded().values()
    rows = [
        (f"`{each.name}`", each.sentence, ", ".join(each.suffixes), "yes" if each.write else "no") for each in formats
    ]
    return _rows(("format", "what it is", "names end in", "written too"), rows)


def _reference(part: str) -> str:
    """Entries of the Python reference: the models, or the methods of a folder; those of no other folder perturb."""
    rooms = {name: home.split(".")[2] for name, home in METHODS.homes.items()}
    parts = {name: room if room in ("grouping", "recoding") else "perturbing" for name, room in rooms.items()}
    names = MODELS.homes if part == "models" else [name for name in parts if parts[name] == part]
    return "```{eval-rst}\n" + "\n\n".join(f".. autoclass:: shoal.{name}" for name in names) + "\n```\n"


def _ours(registry: Registry[Any]) -> list[Any]:
    """Those of the library, by name: whoever runs this may have added some, and imported ours in any order."""
    return [each for each in registry.listed() if _is_ours(each)]


def _is_ours(each: Any) -> bool:
    return bool(each.function.__module__.startswith("shoal."))


def renewed(page: str) -> str:
    """The text of a page with its tables as they are now."""
    return _TABLE.sub(lambda match: f"{match[1]}{table(match[2])}{match[3]}", page)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    for path in sorted(DOCS.glob("*.md")):
        if (text := path.read_text(encoding="utf-8")) != (anew := renewed(text)):
            path.write_text(anew, encoding="utf-8")
            print(f"{path.name} was written anew.")
