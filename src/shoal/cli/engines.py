"""`shoal engines`, the options of engines, and what `disk` and `spark` make of `anonymize` and `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    pass

PANEL = "Engine"

Engine = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="memory, disk or spark; a folder is read from disk, part by part.", rich_help_panel=PANEL
    ),
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Of spark: local[2], spark://..., yarn, k8s://...", rich_help_panel=PANEL),
]


def register(app: typer.Typer) -> None:
    app.command(epilog=_EXAMPLES)(engines)


_EXAMPLES = """Examples:

shoal engines

shoal engines --json"""


def engines(as_json: opt.Json = False) -> None:
    """What each engine can do: methods, models and measures."""
    from shoal.cli.console import put, show
    from shoal.parted.capabilities import capabilities
    from shoal.show import Sheet

    known = capabilities()
    if as_json:
        rows = [{"sort": one.sort, "name": one.name, "in_parts": one.in_parts or None} for one in known]
        show({"engines": ["memory", "disk", "spark"], "capabilities": rows}, as_json)
        return
    sheets = [
        Sheet(
            f"{sort.capitalize()}s",
            ("", "memory", "disk and spark"),
            [(one.name, "yes", one.in_parts or "no") for one in known if one.sort == sort],
        )
        for sort in dict.fromkeys(one.sort for one in known)
    ]
    put(*sheets)


_ROLES = ("policy", "quasi", "confidential", "kind", "order")
_PROMISES = ("k", "t", "l", "k_map", "promise")  # a model that it cannot judge is refused by name
_METHOD = ("method", "suppress")
_ALWAYS = ("engine", "as_json")

# Command -> the parameters that the engines `disk` and `spark` carry out. What is not named here they refuse.
IN_PARTS: Mapping[str, frozenset[str]] = {
    "anonymize": frozenset(
        (
            *("source", "output", *_ROLES, "identifiers", "insensitive", "rest", "hierarchies"),
            *(*_PROMISES, *_METHOD, "seed", "certificate", "overwrite", "keep_order", "report", *_ALWAYS),
            *("ledger", "subject", "ledger_key", "epsilon_limit"),
        )
    ),
    "check": frozenset(
        (
            *("source", "certificate", "original", "paired", *_ROLES, "identifiers"),
            *(*_PROMISES, "population", "cells_fixed", *_ALWAYS),
        )
    ),
    "risk": frozenset(("source", *_ROLES, "when", "group", "fraction", "population", "threshold", *_ALWAYS)),
    "utility": frozenset(("original", "masked", *_ROLES, "hierarchies", "measures", "paired", *_ALWAYS)),
    "audit": frozenset(("files", "key", "policy", "quasi", "confidential", "k", *_ALWAYS)),
}


def refuse_options(context: typer.Context, engine: str, files: Sequence[str | Path | None]) -> None:
    """Refuses by name what was given and would be ignored: by the engine, or by files that are not text."""
    from shoal.errors import InputError

    for name, option in opt.given(context).items():
        if name == "master":
            if engine != "spark":
                raise InputError(f"{option} says where Spark runs, but the engine is {engine!r}: use --engine spark.")
        elif engine != "memory" and name not in IN_PARTS[context.command.name or ""]:
            raise InputError(
                f"{option} needs the whole table in memory, which the engine {engine!r} never has: leave it out, or "
                "use --engine memory."
            )
    opt.refuse_of_text(context, files)


_STATED = (*_ROLES, "identifiers", *_PROMISES, "cells_fixed")


def refuse_beside_certificate(context: typer.Context) -> None:
    """A certificate states roles and models itself; the reader's own is the population alone."""
    from shoal.errors import InputError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in _STATED and source is not None and source.name != "DEFAULT":
            raise InputError(
                f"Give {max(parameter.opts, key=len)} or --certificate: a certificate says itself what was promised."
            )
