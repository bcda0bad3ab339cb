"""How the command line speaks: tables for people, JSON for machines, one sentence for errors.

A result, or an error for machines, goes to standard output; all else to standard error: notes, and how far a long
command is. On a terminal that is a bar. Elsewhere (a log, a pipe) it is a line for each stage, and a line a minute
within a long one; with `--json` there is none. `--quiet` leaves the result or the error alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
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
_A_LINE = 60.0  # seconds between two lines within a stage
_state = {"quiet": False}


def be_quiet(quiet: bool) -> None:
    """Whether to leave out everything but the result, from now on."""
    _state["quiet"] = quiet


def for_machines() -> bool:
    """Whether the command line asks for JSON, be it understood otherwise or not."""
    return "--json" in sys.argv[1:]


def show(
    result: Result | dict[str, Any], as_json: bool, *, sheets: Sequence[Sheet] | None = None, seen: Collection[str] = ()
) -> None:
    """A result as JSON on standard output, or as tables, its own unless others are given.

    What it remarks is said on standard error, but for what was said before.
    """
    if isinstance(result, dict):
        print(as_line(result))
        return
    for remark in result.remarks():
        if remark not in seen:
            say(remark)
    if as_json:
        print(result.to_json())
    else:
        put(*(result.sheets() if sheets is None else sheets))


def put(*sheets: Sheet) -> None:
    """Tables on standard output."""
    out.print(for_terminal(sheets))


def show_error(kind: str, sentence: str) -> None:
    """An error for machines on standard output, where they asked for JSON; for people on standard error."""
    plain = printable(" ".join(sentence.split()))
    if for_machines():
        print(as_line({"error": {"kind": kind, "message": plain}}))
    print(f"shoal: {plain}", file=sys.stderr)


def say(sentence: str) -> None:
    """Something the user should know beside the result."""
    if not _state["quiet"]:
        err.print(printable(sentence), style="dim", highlight=False, markup=False, soft_wrap=True)


@contextmanager
def stages(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Shows how far long work is, of about so many stages; gives what is called with the name of each as it begins.

    The last stage named is the end.
    """
    if _state["quiet"]:
        yield events.stage
    elif sys.stderr.isatty():
        with _bar(title, total) as listen, events.heard(listen):
            yield events.stage
    elif for_machines():
        yield events.stage
    else:
        with _lines(title) as listen, events.heard(listen):
            yield events.stage


_COMPILING = "compiling for this machine, once"


@contextmanager
def _compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Within it, `tell` is called whenever a kernel is compiled."""
    heard.append(tell)
    try:
        yield
    finally:
        heard.remove(tell)


@contextmanager
def _lines(title: str) -> Iterator[events.Listener]:
    """A line a stage; within a long one a line a minute, with what is done of it. One line if anything is compiled."""
    began = time.monotonic()
    last = "", began

    def listen(event: events.Event) -> None:
        nonlocal last
        now = time.monotonic()
        stage, at = last
        if event.stage == "done" or (event.stage == stage and now - at < _A_LINE):
            return
        last = event.stage, now
        line(printable(event.stage) + (f", {event.done:,} of {event.total:,}" if event.total else ""))

    @cache
    def compiling() -> None:
        line(_COMPILING)

    def line(words: str) -> None:
        print(f"[{title} {time.monotonic() - began:.0f} s] {words}", file=sys.stderr, flush=True)

    with _compiling(compiling):
        yield listen


@contextmanager
def _bar(title: str, total: int) -> Iterator[events.Listener]:
    """A bar that moves as each named stage begins, and within it where its size is known, with the time left.

    What is left is foretold from all stages so far, however long they took.
    """
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
        begun: list[str] = []

        def listen(event: events.Event) -> None:
            if event.done == 0 and begun[-1:] != [event.stage]:
                begun.append(event.stage)
            share = event.done / event.total if event.total else 0.0
            completed = len(begun) - (event.stage != "done") + share
            progress.update(task, completed=completed, total=max(total, len(begun)), description=event.stage)

        def compiling() -> None:
            progress.update(task, description=_COMPILING, refresh=True)

        with _compiling(compiling):
            yield listen
