"""`shoal attack`: what an intruder who knows the method finds out from a release, beside baseline and control."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options as opt
from shoal.cli.method import PANEL, K, L, MethodWord, Promises, T, method_of, promises_of


def register(app: typer.Typer) -> None:
    """Adds `shoal attack`."""
    app.command(epilog=_EXAMPLES)(attack)


_EXAMPLES = """Examples:

shoal attack d.csv r.csv --quasi age,sex,zip --confidential charge --k 5 --l 2

shoal attack d.csv r.csv --quasi age,sex --confidential charge --k 5 --t 0.2 --method kd --attacks definetti

shoal attack d.csv r.csv --policy shoal.toml --attacks all --json

shoal attack d.csv r.csv --quasi age,income --paired --attacks linkage"""


def attack(
    context: typer.Context,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table before masking.")],
    released: Annotated[str, typer.Argument(metavar="RELEASE", help="The table as released.")],
    attacks: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Which attacks, by name, or your own module:function; all known otherwise."),
    ] = None,
    policy: opt.PolicyFile = None,
    quasi: opt.Quasi = None,
    confidential: opt.Confidential = None,
    kind: opt.Kinds = None,
    hierarchies: opt.Hierarchies = None,
    k: K = None,
    l: L = None,  # noqa: E741
    t: T = None,
    promise: Promises = None,
    method: MethodWord = None,
    suppress: Annotated[
        float | None, typer.Option(help="The share of records that could be left out.", rich_help_panel=PANEL)
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Row i of both is the same person: scores whose record was found.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of what the attacks draw at random.")] = 0,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Attack a release as somebody would who knows the method and everybody's quasi-identifiers."""
    from shoal.cli.console import show, stages
    from shoal.jobs.attack import Attack

    opt.refuse_of_text(context, [original, released])
    models = promises_of(promise, k=k, l=l, t=t)
    chosen = opt.make_policy(
        policy, quasi, confidential, kinds=kind, hierarchies=hierarchies, models=models,
        method=method_of(method, models), suppression=suppress,
    )  # fmt: skip
    layout = opt.layout(read)
    with stages("attack", 3):
        attacked = Attack(original, released, chosen, tuple(opt.split(attacks)) or ("all",), paired, seed, layout).run()
    show(attacked, as_json)
