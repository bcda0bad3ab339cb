"""`shoal risk` and `shoal utility`: what an intruder could do, what an analyst still can."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import engines as opt_engines
from shoal.cli import options as opt


def register(app: typer.Typer) -> None:
    """Adds `shoal risk` and `shoal utility`."""
    app.command(epilog=_RISK_EXAMPLES)(risk)
    app.command(epilog=_UTILITY_EXAMPLES)(utility)


_RISK_EXAMPLES = """Examples:

shoal risk d.csv --quasi age,sex,zip

shoal risk r.csv --quasi age,sex,zip --confidential charge --when "charge > 100000" --json

shoal risk stays.csv --quasi age,sex,zip --person patient

shoal risk r.csv --original d.csv --quasi age,income --measures rank_linkage,correct_links

shoal risk r.csv --quasi age,sex,zip --engine disk"""

_Measures = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Measures over both tables: names, all, or your own as module:function."),
]
_Paired = Annotated[
    bool, typer.Option("--paired", help="Row i of both tables is the same person, though values were changed.")
]


def risk(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="An original or a released table.")],
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    person: opt.Person = None,
    when: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help='What must not be learnt, as "charge > 100000". May be repeated.'),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=A,B", help="Attributes an intruder knows together. May be repeated."),
    ] = None,
    fraction: opt.Fraction = None,
    population: opt.Population = None,
    weights: opt.Weights = None,
    threshold: Annotated[float, typer.Option(help="Risk that is still acceptable.")] = 0.2,
    original: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table before masking, for --measures.")
    ] = None,
    measures: _Measures = None,
    paired: _Paired = False,
    kind: opt.Kinds = None,
    read: opt.Read = None,
    engine: opt_engines.Engine = None,
    as_json: opt.Json = False,
) -> None:
    """Measure how exposed the people in a table are."""
    from shoal.cli.console import show, stages
    from shoal.jobs.measure import Risk

    used, master = opt_engines.engine_and_master(engine, [source, population])
    opt_engines.refuse_options(context, used, [source, original, population])
    groups = _groups(group)
    chosen = opt.make_policy(
        policy, quasi, confidential, kinds=kind, groups=groups or None, weights=weights, person=person
    )
    job = Risk(
        source, chosen, tuple(when or ()), population, fraction, threshold, original, tuple(opt.split(measures)),
        paired, used, master, opt.layout(read), weights is not None, person is not None,
    )  # fmt: skip
    with stages("risk", 4 + (original is not None)):
        measured = job.run()
    show(measured, as_json)


def _groups(choices: list[str] | None) -> dict[str, list[str]]:
    from shoal.errors import InputError

    groups: dict[str, list[str]] = {}
    for choice in choices or []:
        name, _, columns = choice.partition("=")
        if not columns:
            raise InputError(f"--group {choice!r} is not NAME=COLUMN,COLUMN: name the group, then its columns.")
        groups[name] = opt.split([columns])
    return groups


_UTILITY_EXAMPLES = """Examples:

shoal utility d.csv r.csv --quasi age,sex,zip

shoal utility d.csv r.csv --policy shoal.toml --json

shoal utility d.csv r.csv --quasi age,income --measures earth_movers_distance,pmse

shoal utility d.csv r.csv --quasi age,sex,zip --engine disk"""


def utility(
    context: typer.Context,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table before masking.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The table as released.")],
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    kind: opt.Kinds = None,
    hierarchies: opt.Hierarchies = None,
    measures: _Measures = None,
    paired: _Paired = False,
    read: opt.Read = None,
    engine: opt_engines.Engine = None,
    as_json: opt.Json = False,
) -> None:
    """Measure what a masked table kept of the original."""
    from shoal.cli.console import show, stages
    from shoal.jobs.measure import Utility

    used, master = opt_engines.engine_and_master(engine, [original, masked])
    opt_engines.refuse_options(context, used, [original, masked])
    chosen = opt.make_policy(policy, quasi, confidential, kinds=kind, hierarchies=hierarchies)
    layout = opt.layout(read)
    with stages("utility", 3 + (measures is not None)):
        job = Utility(original, masked, chosen, tuple(opt.split(measures)), paired, used, master, layout)
        measured = job.run()
    show(measured, as_json)
