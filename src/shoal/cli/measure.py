"""`shoal risk` and `shoal utility`: what an intruder could do, what an analyst still can."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt


def register(app: typer.Typer) -> None:
    app.command(epilog=_RISK_EXAMPLES)(risk)
    app.command(epilog=_UTILITY_EXAMPLES)(utility)


_RISK_EXAMPLES = """Examples:

shoal risk d.csv --quasi age,sex,zip

shoal risk r.csv --quasi age,sex,zip --confidential charge --when "charge > 100000" --json

shoal risk r.csv --original d.csv --quasi age,income --measures rank_linkage,correct_links"""

_Measures = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Measures over both tables: names, all, or your own as module:function."),
]
_Paired = Annotated[
    bool, typer.Option("--paired", help="Row i of both tables is the same person, though values were changed.")
]


def risk(
    source: Annotated[str, typer.Argument(metavar="FILE", help="An original or a released table.")],
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
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
    threshold: Annotated[float, typer.Option(help="Risk that is still acceptable.")] = 0.2,
    original: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table before masking, for --measures.")
    ] = None,
    measures: _Measures = None,
    paired: _Paired = False,
    kind: opt.Kinds = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    as_json: opt.Json = False,
) -> None:
    """Measure how exposed the people in a table are."""
    from shoal.assess import measured
    from shoal.assess import risk as assess
    from shoal.cli.console import show, stages
    from shoal.errors import InputError
    from shoal.risk.scenarios import scenarios

    if (original is None) != (measures is None):
        raise InputError("--measures compare a released table with its original: give both --original and --measures.")
    groups = _groups(group)
    chosen = opt.make_policy(policy, quasi, confidential, kinds=kind, groups=groups or None)
    with stages("risk", 4 + (original is not None)) as step:
        step("reading")
        table = opt.read(source, delimiter, encoding, decimal, text)
        step("counting who is unique")
        result = assess(table, chosen, when=when or ())
        schema = chosen.schema(table, released=True)
        step("thinking as an intruder")
        intruders = scenarios(table, schema, population=population, fraction=fraction, threshold=threshold)
        asked = None
        if original is not None:
            step("measuring beside the original")
            before = opt.read(original, delimiter, encoding, decimal, text)
            asked = measured(before, table, chosen, "risk", opt.split(measures), paired=paired or None)
        step("done")
    if as_json:
        more = asked.to_dict() if asked else {}
        show(result.to_dict() | {"scenarios": intruders.to_dict()} | more, as_json)
    else:
        for part in (result, intruders, asked):
            if part:
                show(part, as_json)


def _groups(choices: list[str] | None) -> dict[str, list[str]]:
    from shoal.errors import InputError

    found: dict[str, list[str]] = {}
    for choice in choices or []:
        name, _, columns = choice.partition("=")
        if not columns:
            raise InputError(f"--group {choice!r} is not NAME=COLUMN,COLUMN: name the group, then its columns.")
        found[name] = opt.split([columns])
    return found


_UTILITY_EXAMPLES = """Examples:

shoal utility d.csv r.csv --quasi age,sex,zip

shoal utility d.csv r.csv --policy shoal.toml --json

shoal utility d.csv r.csv --quasi age,income --measures earth_movers_distance,pmse"""


def utility(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table before masking.")],
    masked: Annotated[str, typer.Argument(metavar="MASKED", help="The table as released.")],
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    kind: opt.Kinds = None,
    hierarchies: opt.Hierarchies = None,
    measures: _Measures = None,
    paired: _Paired = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    as_json: opt.Json = False,
) -> None:
    """Measure what a masked table kept of the original."""
    from shoal.assess import measured
    from shoal.assess import utility as assess
    from shoal.cli.console import show, stages

    chosen = opt.make_policy(policy, quasi, confidential, kinds=kind, hierarchies=hierarchies)
    with stages("utility", 3 + (measures is not None)) as step:
        step("reading")
        before = opt.read(original, delimiter, encoding, decimal, text)
        after = opt.read(masked, delimiter, encoding, decimal, text)
        step("measuring")
        result = assess(before, after, chosen, paired=paired or None)
        asked = None
        if measures is not None:
            step("taking the measures named")
            asked = measured(before, after, chosen, "utility", opt.split(measures), paired=paired or None)
        step("done")
    if as_json and asked:
        more = asked.to_dict()
        show(result.to_dict() | more | {"left_out": dict(result.left_out) | more["left_out"]}, as_json)
    else:
        for part in (result, asked):
            if part:
                show(part, as_json)
