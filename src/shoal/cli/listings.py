"""`shoal methods`, `models`, `measures`, `attacks`, `formats` and `generators`: all that the catalogues know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.parameters import Parameter
    from shoal.show import Sheet


class _Listing(NamedTuple):
    home: str  # of the catalogue
    example: str
    help: str


_LISTINGS = {
    "methods": _Listing(
        "shoal.masking:METHODS", "noise", "List the masking methods, for --method; of one, its parameters."
    ),
    "models": _Listing(
        "shoal.privacy:MODELS", "k-map", "List the privacy models, for --promise; of one, its parameters."
    ),
    "measures": _Listing(
        "shoal.measure:MEASURES",
        "rank_linkage",
        "List the measures over original and released table, for --measures and compare.",
    ),
    "attacks": _Listing("shoal.risk.attack:ATTACKS", "minimality", "List the attacks, for --attacks."),
    "formats": _Listing("shoal.data.files:FORMATS", "parquet", "List the file formats, known by how names end."),
    "generators": _Listing(
        "shoal.data.generators:GENERATORS",
        "purchases",
        "List the generators of tables to try things on, for shoal sample.",
    ),
}


def register(app: typer.Typer) -> None:
    """Adds the commands, one a sort."""
    for sort, (home, example, sentence) in _LISTINGS.items():
        epilog = f"Examples:\n\nshoal {sort}\n\nshoal {sort} {example}\n\nshoal {sort} --json"
        app.command(name=sort, help=sentence, epilog=epilog)(_command(home))


def _command(home: str) -> Callable[..., None]:
    def command(
        word: Annotated[str | None, typer.Argument(metavar="[WORD]", help="One of them, with all of it.")] = None,
        as_json: opt.Json = False,
    ) -> None:
        from importlib import import_module

        from shoal.cli.console import put, show

        module, _, name = home.partition(":")
        catalogue = getattr(import_module(module), name)
        listed = catalogue.listed() if word is None else [catalogue.find(word)]
        facts = [each.listing() for each in listed]
        if as_json:
            show({f"{catalogue.sort}s": facts}, as_json)
        elif word is None:
            put(_all(f"{catalogue.sort.capitalize()}s", facts))
        else:
            put(*_one(facts[0], listed[0].parameters() if "parameters" in facts[0] else None))

    return command


_OF_ONE_ALONE = ("needs", "in_chunks")


def _all(title: str, facts: Sequence[dict[str, Any]]) -> Sheet:
    """A row each: its word, its sentence, and what its sort is told apart by."""
    from shoal.show import Sheet

    third = [name for name in list(facts[0])[2:3] if name not in _OF_ONE_ALONE]
    ordered = sorted(facts, key=lambda each: str(each.get("about", "")))
    rows = [tuple(_shown(each[name]) for name in ("name", "sentence", *third)) for each in ordered]
    return Sheet(title, ("", "what it is", *third), rows, numbers=0)


def _one(facts: dict[str, Any], parameters: Sequence[Parameter] | None) -> list[Sheet]:
    """All that it says of itself."""
    from shoal.show import Sheet

    about = [
        (name.replace("_", " "), _shown(fact))
        for name, fact in facts.items()
        if name not in ("name", "parameters") and fact not in (None, [], "")
    ]
    sheets = [Sheet(facts["name"], ("", ""), about, numbers=0)]
    if parameters is not None:
        rows = [(each.name, each.expected, _default(each), each.help) for each in parameters]
        sheets.append(Sheet("Parameters", ("", "is", "if not given", "what for"), rows, numbers=0))
    return sheets


def _shown(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return ", ".join(fact) if isinstance(fact, list) else str(fact)


def _default(each: Parameter) -> str:
    if each.required:
        return "must be given"
    return "" if each.default in (None, ()) else str(each.default).lower()
