"""`shoal engines`, the options of engines, and what `disk` and `spark` make of `anonymize` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.releases.ledger import Ledger
    from shoal.report.certificate import Checked

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


def anonymize_parts(
    source: str,
    chosen: Policy,
    output: str,
    engine: str,
    *,
    master: str | None,
    seed: int | None,
    certificate: Path | None,
    as_json: bool,
    overwrite: bool,
    keep_order: bool,
    report: Path | None,
    ledger: Callable[[], Ledger | None],
    reads: Sequence[str | Path | None],
) -> None:
    from shoal.cli.console import show, stages
    from shoal.cli.kernels import load_kernels
    from shoal.cli.ledger import without_subject
    from shoal.data.outputs import refuse_within
    from shoal.engines.disk import refuse_used
    from shoal.engines.opening import KINDS, files_of, kind_of_folder, open_table
    from shoal.parted.capabilities import refuse_what_cannot
    from shoal.parted.release import anonymize_to
    from shoal.report.certificate import refuse_uncertified

    refuse_what_cannot(chosen, engine)
    opt.check_paths([*reads, output], None, [certificate, report], overwrite=overwrite)
    refuse_used(Path(output), overwrite=overwrite)
    inputs = files_of(Path(source)) if Path(source).is_dir() else []
    read = [path for path in (*reads, *inputs) if path is not None]
    beside = [paper for paper in (certificate, report) if paper is not None]
    refuse_within(output, [*read, *beside])
    for paper in beside:
        refuse_within(paper, read)
    refuse_uncertified(output, [certificate], overwrite=overwrite)
    book = ledger()
    if book is not None:
        chosen = without_subject(chosen, book.subject)
    kinds = (KINDS.get(Path(name).suffix.lower()) for name in (output, source))
    kind = next((kind for kind in (*kinds, kind_of_folder(Path(source))) if kind in ("csv", "parquet")), "parquet")
    with stages("anonymize", 5 if book is None else 6) as step:
        step("opening")
        load_kernels()
        # Beside a ledger values are told apart, not spellings; and its subject is known by what stands there.
        text = [] if book is None else [book.subject]
        table = open_table(source, engine, master=master, text=text, spelled=kind == "csv" and book is None)
        release = anonymize_to(
            table, chosen, output, kind, seed=seed, certificate=certificate, overwrite=overwrite, keep_order=keep_order,
            ledger=book, report=report,
        )  # fmt: skip
        step("done")
    show(release, as_json, sheets=release.sheets(f"Released: {output}"))


def check_parts(
    source: str,
    chosen: Policy,
    engine: str,
    *,
    master: str | None,
    stated: Any,
    original: str | None = None,
    paired: bool = False,
) -> Checked:
    """`stated` is the certificate that the folder must match, or None."""
    from shoal.check import check_table
    from shoal.cli.console import stages
    from shoal.engines.opening import open_table

    with stages("check", 3) as step:
        step("opening")
        table = open_table(source, engine, master=master, as_written=chosen.quasi_identifiers)
        beside = open_table(original, engine, master=master) if original else None
        step("judging")
        found = check_table(table, None, chosen, original=beside, paired=paired)
        if stated is not None:
            stated.verify_shown(found.shown, found.verdicts)
        step("done")
    return found


def tell_judged(found: Checked, chosen: Policy, *, by_policy: bool, as_json: bool) -> NoReturn:
    """Shows how a release was judged and ends with its code; columns that nothing was promised of are told."""
    from shoal.check import refuse_unnamed
    from shoal.cli.console import say, show
    from shoal.data.schema import Role

    columns = list(found.shown.columns)
    roles = chosen.roles(columns, released=True)
    if by_policy:
        refuse_unnamed(columns, chosen)
    if unnamed := ", ".join(repr(name) for name in columns if name not in roles):
        say(f"No role names {unnamed}: nobody protects this. A release made by these options would not show it.")
    if as_they_are := ", ".join(repr(name) for name in columns if Role.INSENSITIVE in roles.get(name, ())):
        say(f"Released as they are, as insensitive: {as_they_are}.")
    show(found, as_json)
    raise typer.Exit(0 if found.holds else 1)
