"""`shoal ui`: the app in the browser, for one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds `shoal ui`."""
    app.command(epilog=_EXAMPLES)(ui)


_EXAMPLES = """Examples:

shoal ui hospital

shoal ui demo"""


def ui(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="Where the table is; if not given, the current one.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of this machine; 0: any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the link.")] = False,
    forget_history: Annotated[
        bool, typer.Option("--forget-history", help="Remove the folder's earlier policies, and end.")
    ] = False,
) -> None:
    """Open the app: from a table to a checked release in the browser, on this machine alone."""
    from shoal.cli.console import say
    from shoal.web.project import Project
    from shoal.web.serve import folder_of, serve

    chosen = folder_of(folder)
    if forget_history:
        Project(chosen).history.forget()
        say(f"The earlier policies of {chosen} are gone; the one of now stays.")
        return
    serve(chosen, port, browser=not no_browser, say=typer.echo)
