"""The command line: `shoal --help`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

import typer

from shoal.cli import (
    anonymize,
    attack,
    compare,
    engines,
    hierarchy,
    listings,
    measure,
    profile,
    pseudonym,
    releases,
    sample,
    scenario,
    schema,
    study,
    transactions,
    ui,
    warm_up,
)
from shoal.cli import run as project_run
from shoal.cli.every import completed, every_command

app = typer.Typer(
    name="shoal",
    help="Turns personal data into data that is safe to release, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit code 0: the promise holds. 1: it does not. 2: the input cannot be used.",
)


INTERRUPTED = 128 + signal.SIGINT  # what Typer makes of Ctrl-C


def _version(asked: bool) -> None:
    if asked:
        from shoal import __version__

        typer.echo(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    from shoal.data.scratch import sweep

    sweep()  # what a run that was killed left among temporary files


for group in (
    sample, profile, scenario, hierarchy, anonymize, project_run, measure, attack, compare, transactions, releases,
    pseudonym, study, listings, engines, schema, ui, warm_up,
):  # fmt: skip
    group.register(app)
for command in every_command(app):
    completed(command)


def run() -> None:
    """The entry point: whatever goes wrong ends in one sentence and an exit code."""
    from shoal.errors import ShoalError

    atexit.register(_end_quickly)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # unfinished files are cleared away
    try:
        code = app(prog_name="shoal", standalone_mode=False)
        if code == INTERRUPTED:
            _stop("Interrupted before it was done: no unfinished file was left.", code, "stopped")
        sys.exit(code)
    except ShoalError as error:
        _stop(str(error), error.exit_code, error.kind)
    except MemoryError:
        _stop("There is not enough memory for this table: use a machine with more, or fewer columns.", 2, "input")
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # Polars' panics are no Exception
        if hasattr(error, "format_message"):  # a wrong option, as Click words it
            _stop(_hint(error) or error.format_message(), 2, "input")
        if os.environ.get("SHOAL_DEBUG"):
            raise
        _stop(
            f"Something went wrong inside Shoal ({type(error).__name__}: {error}). Nothing was released. "
            "Set SHOAL_DEBUG=1 to see where, and please report it.",
            2,
            "internal",
        )
    finally:
        atexit.register(_let_end)  # the last to be registered is the first to be called


def _hint(error: BaseException) -> str:
    """Where an option went that is no longer there."""
    from shoal.cli.method import moved

    option = getattr(error, "option_name", None)  # of Click's NoSuchOption
    if not isinstance(option, str) or type(error).__name__ != "NoSuchOption":
        return ""
    context = getattr(error, "ctx", None)
    there = moved(option, [] if context is None else [word for each in context.command.params for word in each.opts])
    return f"No such option: {option}.{there}" if there else ""


def _let_end() -> None:
    """Only clearing up is left: a signal to end would interrupt that, and be complained of."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end_quickly() -> None:
    """What is left at the end need not be searched for cycles: a quarter of a second. DuckDB complains if it is not."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def _stop(sentence: str, code: int, kind: str) -> None:
    from shoal.cli.console import show_error

    if sentence:  # none where Click has shown the help instead
        show_error(kind, sentence)
    sys.exit(code)
