"""Tables on a terminal of 80 columns. What data says is shown as it is: it steers no terminal and marks up no text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

WIDTH = 80


def for_terminal(sheets: Iterable[Sheet], notes: Sequence[str] = ()) -> Group:
    """Tables with their titles and legends, and sentences below them, for Rich to print."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for sheet in sheets:
        if sheet.rows:
            parts += [Text(printable(sheet.title), style="bold"), _table(sheet)]
            parts += [Text(printable(sentence), style="dim") for sentence in sheet.legend]
    return Group(*parts, *(Text(printable(note), style="dim") for note in notes))


def as_text(sheets: Iterable[Sheet], notes: Sequence[str] = ()) -> str:
    """The same as plain text of at most 80 columns."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(for_terminal(sheets, notes))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def printable(text: str) -> str:
    """The text with what would steer a terminal (escape sequences, turned writing) spelt out: data may hold such."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def _table(sheet: Sheet) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, width=None, pad_edge=False)
    for j, name in enumerate(sheet.header):
        number = sheet.is_number(j)
        table.add_column(
            Text(printable(name)),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
            max_width=WIDTH // 2 if len(sheet.header) > 1 else None,
        )
    for row in sheet.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
