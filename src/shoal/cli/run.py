"""`shoal run`: the release of a project, which is a folder with its policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as opt


def register(app: typer.Typer) -> None:
    """Adds `shoal run`."""
    app.command(epilog=_EXAMPLES)(run)


_EXAMPLES = """Examples:

shoal run hospital

shoal run hospital -o handed-over --source d.csv"""


def run(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with a shoal.toml.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="NEW", help="A new folder; otherwise below releases.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table, if not the one that the project names.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes a run repeatable; keep it secret.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Make the release that a project's shoal.toml asks for: table, certificate, report and answers in a folder."""
    from shoal.cli.console import show, stages
    from shoal.jobs.run import Run

    with stages("run", 8):
        ran = Run(folder, source, output, seed).run()
    show(ran, as_json)
