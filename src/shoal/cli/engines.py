"""`shoal engines`, the options of engines, and what `disk` and `spark` make of `anonymize` and `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from shoal.catalogue import Entry, parameter
from shoal.cli import options as opt

Engine = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="memory, disk (also for folders), spark or spark:master=local[2].",
        rich_help_panel=opt.FILES,
    ),
]


class _Spark(Entry):
    """What is chosen of the engine `spark`."""

    name: ClassVar[str] = "--engine spark"

    master: str | None = parameter("where it runs: local[2], spark://..., yarn, k8s://...", default=None)


def engine_and_master(engine: str | None, sources: Sequence[str | Path | None]) -> tuple[str, str | None]:
    """`spark:master=local[2]` as the engine's word, by the files where none is given, and where Spark runs."""
    from shoal.choices import word_with_settings
    from shoal.engines.opening import engine_for
    from shoal.errors import InputError

    word, chosen = word_with_settings(engine, _Spark) if engine is not None else (None, _Spark())
    used = engine_for(sources, word)
    if chosen.master is not None and used != "spark":
        raise InputError(f"master says where Spark runs, but the engine is {used!r}: give --engine spark:master=...")
    return used, chosen.master


def register(app: typer.Typer) -> None:
    """Adds `shoal engines`."""
    app.command(epilog=_EXAMPLES)(engines)


_EXAMPLES = """Examples:

shoal engines

shoal engines --json"""


def engines(as_json: opt.Json = False) -> None:
    """What each engine can do: methods, models, measures, attacks, formats."""
    from shoal.capabilities import capabilities
    from shoal.cli.console import put, show
    from shoal.show import Sheet

    known = capabilities()
    if as_json:
        rows = [{"sort": entry.sort, "name": entry.name, "in_parts": entry.in_chunks.how or None} for entry in known]
        show({"engines": ["memory", "disk", "spark"], "capabilities": rows}, as_json)
        return
    sheets = [
        Sheet(
            f"{sort.capitalize()}s",
            ("", "memory", "disk and spark"),
            [(entry.name, "yes", str(entry.in_chunks)) for entry in known if entry.sort == sort],
        )
        for sort in dict.fromkeys(entry.sort for entry in known)
    ]
    put(*sheets)


_ROLES = ("policy", "quasi", "confidential", "kind")
_PROMISES = ("k", "t", "l", "k_map", "promise")  # a model that it cannot judge is refused by name
_METHOD = ("method", "suppress")
_ALWAYS = ("engine", "as_json")

# Command -> the parameters that the engines `disk` and `spark` carry out. What is not named here they refuse; of
# `--read` they carry out some keys (`shoal.data.reading.IN_PARTS`).
IN_PARTS: Mapping[str, frozenset[str]] = {
    "anonymize": frozenset(
        (
            *("source", "output", *_ROLES, "person", "identifiers", "insensitive", "rest", "hierarchies", "weights"),
            *("release_text", "mask_text"),
            *(*_PROMISES, *_METHOD, "seed", "certificate", "overwrite", "write", "report", *_ALWAYS),
            *("ledger", "subject", "incremental", "shown", "split", "pseudonym"),
        )
    ),
    "check": frozenset(
        (
            *("source", "certificate", "original", "paired", *_ROLES, "person", "identifiers"),
            *(*_PROMISES, "population", "cells_fixed", *_ALWAYS),
        )
    ),
    "risk": frozenset(
        (
            *("source", *_ROLES, "when", "group", "fraction", "population", "weights", "threshold"),
            *("original", "measures", "paired", *_ALWAYS),
        )
    ),
    "utility": frozenset(("original", "masked", *_ROLES, "hierarchies", "measures", "paired", *_ALWAYS)),
    "audit": frozenset(("files", "key", "policy", "quasi", "confidential", "k", *_ALWAYS)),
}


def refuse_options(context: typer.Context, engine: str, files: Sequence[str | Path | None]) -> None:
    """Refuses by name what was given and would be ignored: by the engine, or by files that are not text."""
    from shoal.errors import needs_memory

    if engine == "memory":
        opt.refuse_of_text(context, files)
        return
    given = opt.given(context)
    keys = [f"--read {key}" for key in opt.layout(context.params.get("read")).for_memory_alone]
    others = [option for name, option in given.items() if name not in {"read", *IN_PARTS[context.command.name or ""]}]
    for refused in (*keys, *others):
        raise needs_memory(refused, engine)


_STATED = (*_ROLES, "identifiers", *_PROMISES, "cells_fixed")


def refuse_beside_certificate(context: typer.Context) -> None:
    """A certificate states roles and models itself; the reader's own is the population alone."""
    from shoal.errors import InputError

    for name, option in opt.given(context).items():
        if name in _STATED:
            raise InputError(f"Give {option} or --certificate: a certificate says itself what was promised.")
