"""`shoal risk` and `shoal utility`: what an intruder could do, what an analyst still can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import engines as opt_engines
from shoal.cli import options as opt

if TYPE_CHECKING:
    from shoal.measure import Measured
    from shoal.policy import Policy
    from shoal.utility.measure import Utility


def register(app: typer.Typer) -> None:
    app.command(epilog=_RISK_EXAMPLES)(risk)
    app.command(epilog=_UTILITY_EXAMPLES)(utility)


_RISK_EXAMPLES = """Examples:

shoal risk d.csv --quasi age,sex,zip

shoal risk r.csv --quasi age,sex,zip --confidential charge --when "charge > 100000" --json

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
    order: opt.Orders = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    engine: opt_engines.Engine = None,
    master: opt_engines.Master = None,
    as_json: opt.Json = False,
) -> None:
    """Measure how exposed the people in a table are."""
    from shoal.assess import measured
    from shoal.assess import risk as assess
    from shoal.cli.console import say, show, stages
    from shoal.engines.opening import engine_for
    from shoal.errors import InputError
    from shoal.risk.scenarios import scenarios

    used = engine_for([path for path in (source, population) if path], engine)
    opt_engines.refuse_options(context, used, [source, original, population])
    if paired and original is None:
        raise InputError("--paired is about the original: give --original and --measures as well.")
    if (original is None) != (measures is None):
        raise InputError("--measures compare a released table with its original: give both --original and --measures.")
    groups = _groups(group)
    chosen = opt.make_policy(policy, quasi, confidential, kinds=kind, orders=order, groups=groups or None)
    if used != "memory":
        _risk_in_parts(
            source, chosen, used, master, when or [], population, fraction=fraction, threshold=threshold,
            as_json=as_json,
        )  # fmt: skip
        return
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
        for note in intruders.remarks():
            say(note)
        more = asked.to_dict() if asked else {}
        show(result.to_dict() | {"scenarios": intruders.to_dict()} | more, as_json)
    else:
        for part in (result, intruders, asked):
            if part:
                show(part, as_json)


def _risk_in_parts(
    source: str,
    chosen: Policy,
    engine: str,
    master: str | None,
    when: list[str],
    population: str | None,
    *,
    fraction: float | None,
    threshold: float,
    as_json: bool,
) -> None:
    from shoal.assess import may_be_masked, released_schema
    from shoal.cli.console import say, show, stages
    from shoal.engines.opening import open_table
    from shoal.risk.measure import assess_risk
    from shoal.risk.scenarios import scenarios

    with stages("risk", 4) as step:
        step("opening")
        table = open_table(source, engine, master=master, text=may_be_masked(chosen, when))
        people = open_table(population, engine, master=master) if population else None
        step("counting who is unique")
        schema = released_schema(table, chosen)
        result = assess_risk(table, schema, when=when, groups=chosen.groups)
        step("thinking as an intruder")
        three = scenarios(table, schema, population=people, fraction=fraction, threshold=threshold)
        step("done")
    if as_json:
        for note in three.remarks():
            say(note)
        show(result.to_dict() | {"scenarios": three.to_dict()}, as_json)
    else:
        show(result, as_json)
        show(three, as_json)


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
    order: opt.Orders = None,
    hierarchies: opt.Hierarchies = None,
    measures: _Measures = None,
    paired: _Paired = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    decimal: opt.Decimal = None,
    text: opt.Text = None,
    engine: opt_engines.Engine = None,
    master: opt_engines.Master = None,
    as_json: opt.Json = False,
) -> None:
    """Measure what a masked table kept of the original."""
    from shoal.assess import measured
    from shoal.assess import utility as assess
    from shoal.cli.console import stages
    from shoal.engines.opening import engine_for

    used = engine_for((original, masked), engine)
    opt_engines.refuse_options(context, used, [original, masked])
    chosen = opt.make_policy(policy, quasi, confidential, kinds=kind, orders=order, hierarchies=hierarchies)
    if used != "memory":
        _utility_in_parts(original, masked, chosen, used, master, opt.split(measures), paired=paired, as_json=as_json)
        return
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
    _show_both(result, asked, as_json=as_json)


def _utility_in_parts(
    original: str,
    masked: str,
    chosen: Policy,
    engine: str,
    master: str | None,
    measures: list[str],
    *,
    paired: bool,
    as_json: bool,
) -> None:
    from shoal.assess import known_of
    from shoal.cli.console import stages
    from shoal.engines.opening import open_table
    from shoal.utility.tables import compare_tables, measured_tables

    with stages("utility", 3 + bool(measures)) as step:
        step("opening")
        before = known_of(open_table(original, engine, master=master), chosen)
        after = open_table(masked, engine, master=master, text=chosen.quasi_identifiers)
        step("measuring")
        result = compare_tables(before, after, paired=paired)
        asked = None
        if measures:
            step("taking the measures named")
            asked = measured_tables(before, after, measures, paired=paired)
        step("done")
    _show_both(result, asked, as_json=as_json)


def _show_both(result: Utility, asked: Measured | None, *, as_json: bool) -> None:
    from shoal.cli.console import show

    if as_json and asked:
        more = asked.to_dict()
        show(result.to_dict() | more | {"left_out": dict(result.left_out) | more["left_out"]}, as_json)
    else:
        for part in (result, asked):
            if part:
                show(part, as_json)
