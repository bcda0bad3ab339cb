"""`shoal methods`, `models`, `measures`, `attacks` and `formats`: all that the catalogues know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.catalogue import Catalogue, Entry, Registry


def register(app: typer.Typer) -> None:
    """Adds the commands, one a sort."""
    app.command(epilog=_METHODS_EXAMPLES)(methods)
    app.command(epilog=_MODELS_EXAMPLES)(models)
    for command, word in ((measures, "rank_linkage"), (attacks, "minimality"), (formats, "parquet")):
        sort = command.__name__
        app.command(epilog=f"Examples:\n\nshoal {sort}\n\nshoal {sort} {word}\n\nshoal {sort} --json")(command)


_METHODS_EXAMPLES = """Examples:

shoal methods

shoal methods noise

shoal methods --json"""

_Word = Annotated[str | None, typer.Argument(metavar="[WORD]", help="One of them, with its parameters.")]


def methods(word: _Word = None, as_json: opt.Json = False) -> None:
    """List the masking methods, for --method; of one, its parameters."""
    from shoal.masking import METHODS

    _list(METHODS, word, as_json=as_json)


_MODELS_EXAMPLES = """Examples:

shoal models

shoal models k-map

shoal models --json"""


def models(word: _Word = None, as_json: opt.Json = False) -> None:
    """List the privacy models, for --promise; of one, its parameters."""
    from shoal.privacy import MODELS

    _list(MODELS, word, as_json=as_json)


def measures(word: _Word = None, as_json: opt.Json = False) -> None:
    """List the measures over original and released table, for --measures and compare."""
    from shoal.measure import MEASURES

    _list_registered(MEASURES, word, as_json=as_json)


def attacks(word: _Word = None, as_json: opt.Json = False) -> None:
    """List the attacks, for --attacks."""
    from shoal.risk.attack import ATTACKS

    _list_registered(ATTACKS, word, as_json=as_json)


def formats(word: _Word = None, as_json: opt.Json = False) -> None:
    """List the file formats, known by how names end."""
    from shoal.data.files import FORMATS

    _list_registered(FORMATS, word, as_json=as_json)


def _list_registered(registry: Registry[Any], word: str | None, *, as_json: bool) -> None:
    """What each says of itself: a row each, or all of one."""
    from shoal.cli.console import put, show
    from shoal.show import Sheet

    known = registry.loaded().values() if word is None else [registry.find(word)]
    listed = [each.facts() for each in known]
    if as_json:
        show({f"{registry.sort}s": listed}, as_json)
        return
    if word is None:
        third = [name.replace("_", " ") for name in list(listed[0])[2:3]]  # the others are shown of one alone
        rows = [tuple(_shown(fact) for fact in list(facts.values())[:3]) for facts in listed]
        put(Sheet(f"{registry.sort.capitalize()}s", ("", "what it is", *third), rows, numbers=0))
    else:
        put(
            Sheet(
                word, ("", ""), [(name.replace("_", " "), _shown(fact)) for name, fact in listed[0].items()], numbers=0
            )
        )


def _shown(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return ", ".join(fact) if isinstance(fact, list) else str(fact)


def _list(catalogue: Catalogue[Any], word: str | None, *, as_json: bool) -> None:
    from shoal.cli.console import put, show
    from shoal.show import Sheet

    listed = list(catalogue) if word is None else [catalogue.find(word)]
    if as_json:
        show({f"{catalogue.sort}s": [_facts(kind, catalogue) for kind in listed]}, as_json)
    elif word is None:
        put(
            Sheet(
                f"{catalogue.sort.capitalize()}s",
                ("", "what it does"),
                [(k.name, k.sentence()) for k in listed],
                numbers=0,
            )
        )
    else:
        (kind,) = listed
        facts = _facts(kind, catalogue)
        about = [
            (name.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value))
            for name, value in facts.items()
            if name not in ("name", "parameters") and value not in (None, [], "")
        ]
        rows = [(each.name, each.expected, _default(each), each.help) for each in kind.parameters()]
        put(
            Sheet(kind.name, ("", ""), about, numbers=0),
            Sheet("Parameters", ("", "is", "if not given", "what for"), rows, numbers=0),
        )


def _default(each: Any) -> str:
    if each.required:
        return "must be given"
    return "" if each.default in (None, ()) else str(each.default).lower()


def _facts(kind: type[Entry], catalogue: Catalogue[Any]) -> dict[str, Any]:
    """All that an entry says of itself, for machines."""
    return {
        "name": kind.name,
        "sentence": kind.sentence(),
        "needs": list(kind.needs),
        **kind.abilities(),
        "in_chunks": kind.in_chunks.how or None,
        "parameters": [each.to_dict() for each in kind.parameters()],
    }
