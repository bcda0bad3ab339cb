"""`shoal profile`: what the columns are, and how identifying."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt


def register(app: typer.Typer) -> None:
    """Adds `shoal profile`."""
    app.command(epilog=_EXAMPLES)(profile)


_EXAMPLES = """Examples:

shoal profile d.csv

shoal profile d.csv --write-policy shoal.toml"""


def profile(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="The table to look at.")],
    write_policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a starting policy, to be looked through.")
    ] = None,
    overwrite: opt.Overwrite = False,
    read: opt.Read = None,
    as_json: opt.Json = False,
) -> None:
    """Show each column's kind, suggested role and how identifying it is."""
    from shoal.cli.console import say, show, stages
    from shoal.jobs.profile import Profile

    opt.refuse_of_text(context, [source])
    layout = opt.layout(read)
    with stages("profile", 3):
        profiled = Profile(source, write_policy, overwrite, layout).run()
    if write_policy is not None:
        say(f"A starting policy was written to {write_policy}: look it through before using it.")
    show(profiled, as_json)
