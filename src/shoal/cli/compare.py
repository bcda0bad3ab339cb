"""`shoal compare`: which method keeps most of the data's value at the risk one can accept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt

_QUESTION, _CACHE = "Question", "Cache"


def register(app: typer.Typer) -> None:
    """Adds `shoal compare`."""
    app.command(epilog=_EXAMPLES)(compare)


_EXAMPLES = """Examples:

shoal compare d.csv --attributes age,income,tax --at-risk 0.45

shoal compare d.csv --attributes age,tax --methods noise,mymodule:mymethod --frontier --plot frontier.svg

shoal compare d.csv --attributes age,income,tax --risk found_again --at-risk 0.05 --best -o release.csv"""


def compare(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="The original table.")],
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attributes", metavar="A,B", help="Columns to mask; all, if none are named."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--methods",
            metavar="A,B:KEY=VALUE",
            help="hilbert, kd, kd-median, mdav, mdav+, sorted, individual-ranking, multiplicative-noise, noise, pram, "
            "resample, shuffle, swap, coarsen, or one's own as module:function. If not given: mdav, noise, swap and "
            "multiplicative-noise. With its strength given (mdav:k=5,swap:p=0.1) a method is measured there.",
        ),
    ] = None,
    at_risk: Annotated[
        float | None, typer.Option(help="Bring all to this risk, rank by utility.", rich_help_panel=_QUESTION)
    ] = None,
    at_utility: Annotated[
        float | None, typer.Option(help="Bring all to this utility, rank by risk.", rich_help_panel=_QUESTION)
    ] = None,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Trace the whole curve of each method.", rich_help_panel=_QUESTION)
    ] = False,
    risk: Annotated[
        str, typer.Option(metavar="NAME", help="The measure of risk.", rich_help_panel=_QUESTION)
    ] = "rank_linkage",
    utility: Annotated[
        str, typer.Option(metavar="NAME", help="The measure of utility.", rich_help_panel=_QUESTION)
    ] = "earth_movers_distance",
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,NAME", help="Measures to show beside.", rich_help_panel=_QUESTION),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Random methods are averaged over so many.", rich_help_panel=_QUESTION)
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the runs.", rich_help_panel=_QUESTION)] = 0,
    best: Annotated[
        bool, typer.Option("--best", help="Release by the best method, held to the share found again.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where the release of --best goes.")
    ] = None,
    overwrite: opt.Overwrite = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw risk against utility (PNG, SVG or PDF).")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where numbers measured are kept; otherwise your cache folder.", rich_help_panel=_CACHE
        ),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Keep nothing, measure anew.", rich_help_panel=_CACHE)
    ] = False,
    policy: opt.PolicyFile = None,
    kind: opt.Kinds = None,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Compare masking methods at equal risk or equal utility, best first."""
    from shoal.choices import grouped_items
    from shoal.cli.console import say, show, stages
    from shoal.compare.cache import user_cache
    from shoal.errors import InputError, StoppedError
    from shoal.jobs.compare import Compare

    if cache is not None and no_cache:
        raise InputError("--cache keeps what --no-cache forgets: give one of them.")
    if best != (output is not None) or (best and at_risk is None):
        raise InputError("--best writes a release held to a risk: give it together with --at-risk and -o FILE.")
    opt.refuse_of_text(context, [source])
    chosen = opt.make_policy(policy, attributes, kinds=kind)
    kept = None if no_cache else cache or user_cache()
    job = Compare(
        source, chosen, tuple(grouped_items(opt.split(methods))), at_risk, at_utility, risk, utility,
        tuple(opt.split(also)), frontier,
        runs, seed, output, plot, overwrite, kept, opt.layout(read), (policy,),
    )  # fmt: skip
    job.refuse()
    try:
        with stages("compare", 3 + job.stages):
            compared = job.run()
    except (KeyboardInterrupt, StoppedError):
        if kept is not None:
            say(f"What was measured is kept in {kept}: ask again to go on.")
        raise
    show(compared, as_json)
