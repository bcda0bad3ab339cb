"""How the command line speaks: tables for people, JSON for machines, one sentence for errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from shoal import events
from shoal.kernels import heard
from shoal.show import Result, Sheet
from shoal.show.result import as_line
from shoal.show.terminal import for_terminal, printable

out = Console()
err = Console(stderr=True)
_LONGEST = 86_400.0  # seconds: the slowest stages count, too


def show(
    result: Result | dict[str, Any], as_json: bool, *, sheets: Sequence[Sheet] | None = None, said: Collection[str] = ()
) -> None:
    """A result as JSON on standard output, or as tables, its own unless others are given.

    What it remarks is said on standard error, but for what was said before.
    """
    if isinstance(result, dict):
        print(as_line(result))
        return
    for remark in result.remarks():
        if remark not in said:
            say(remark)
    if as_json:
        print(result.to_json())
    else:
        put(*(result.sheets() if sheets is None else sheets))


def put(*sheets: Sheet) -> None:
    """Tables on standard output."""
    out.print(for_terminal(sheets))


def say(sentence: str) -> None:
    """Something the user should know beside the result."""
    err.print(printable(sentence), style="dim", highlight=False, markup=False, soft_wrap=True)


@contextmanager
def stages(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar that moves as each named stage of long work begins, with the time left; silent when not on a terminal.

    The last stage named is the end. What is left is foretold from all stages so far, however long they took.
    """
    if not sys.stderr.isatty():
        yield events.stage
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[title]}"),
        BarColumn(30),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=err, transient=True, speed_estimate_period=_LONGEST) as progress:
        task = progress.add_task("starting", total=total, title=title)

        def step(event: events.Event) -> None:
            if event.done == 0:
                progress.update(task, advance=1, description=event.stage)

        def compiling() -> None:
            progress.update(task, description="compiling for this machine, once", refresh=True)

        heard.append(compiling)
        try:
            with events.heard(step):
                yield events.stage
        finally:
            heard.remove(compiling)
