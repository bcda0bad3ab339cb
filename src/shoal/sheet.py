"""A result as small tables for people: on a terminal of 80 columns, and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

WIDTH = 80


@dataclass(frozen=True)
class Sheet:
    """A titled table; the `numbers` columns after the first stand to the right."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int = 1


def for_terminal(sheets: Sequence[Sheet]) -> Group:
    from rich.console import Group
    from rich.text import Text

    shown = [sheet for sheet in sheets if sheet.rows]
    return Group(*(part for sheet in shown for part in (Text(sheet.title, style="bold"), _table(sheet))))


def _table(sheet: Sheet) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, width=None, pad_edge=False)
    for j, name in enumerate(sheet.header):
        right = 1 <= j <= sheet.numbers
        table.add_column(
            Text(name),
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
            max_width=WIDTH // 2,
        )
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    return table


def for_notebook(sheets: Sequence[Sheet]) -> str:
    return "".join(_html(sheet) for sheet in sheets if sheet.rows)


def _html(sheet: Sheet) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in sheet.header)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in sheet.rows)
    return f"<p><b>{html.escape(sheet.title)}</b></p><table><tr>{head}</tr>{rows}</table>"
