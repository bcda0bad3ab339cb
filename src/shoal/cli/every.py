"""What every command has, declared once and no command's own business: `--quiet`, and a help without `--help`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.models import CommandInfo

NAME = "quiet"
SHORT = ("--sheet", "--date-format")  # for keys of `--read`
Quiet = Annotated[bool, typer.Option("--quiet", help="The result or the error alone.")]


def every_command(app: typer.Typer) -> Iterator[CommandInfo]:
    """The commands of an app and of all groups in it."""
    yield from app.registered_commands
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from every_command(group.typer_instance)


class _Command(TyperCommand):
    """A command whose help does not list the option that shows it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--sheet NAME` is a short word for `--read sheet=NAME`, wherever that is known; and so with the others."""
        if any("--read" in option.opts for option in self.params):
            args = list(_spelled_out(args))
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: Any) -> Any:
        """`--help`, hidden."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.hidden = True
        return option


def _spelled_out(args: list[str]) -> Iterator[str]:
    from shoal.choices import quoted_item

    rest = iter(args)
    for word in rest:
        option, sign, value = word.partition("=")
        if word == "--":
            yield from (word, *rest)
        elif option not in SHORT:
            yield word
        else:
            value = value if sign else next(rest, "")
            yield from ("--read", quoted_item(f"{option.removeprefix('--')}={value}"))


def completed(command: CommandInfo) -> CommandInfo:
    """The command with what every command has."""
    command.cls = _Command
    if command.callback is not None:
        command.callback = _with_quiet(command.callback)
    return command


def _with_quiet(command: Callable[..., Any]) -> Callable[..., Any]:
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
