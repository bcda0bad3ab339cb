"""`--quiet`, an option of every command: declared once, and no command's own business."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any

import typer
from typer.models import CommandInfo

NAME = "quiet"
Quiet = Annotated[bool, typer.Option("--quiet", help="The result or the error alone.")]


def every_command(app: typer.Typer) -> Iterator[CommandInfo]:
    """The commands of an app and of all groups in it."""
    yield from app.registered_commands
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from every_command(group.typer_instance)


def with_quiet(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option."""
    own = inspect.signature(command, eval_str=True)
    option = inspect.Parameter(NAME, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)

    @wraps(command)
    def quietly(*args: Any, quiet: bool = False, **options: Any) -> Any:
        from shoal.cli.console import be_quiet

        be_quiet(quiet)
        return command(*args, **options)

    quietly.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
    quietly.__annotations__ = {name: each.annotation for name, each in own.parameters.items()} | {NAME: Quiet}
    return quietly
