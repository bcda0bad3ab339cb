"""Tables on a terminal of 80 columns. What data says is shown as it is: it steers no terminal and marks up no text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.table import Table

WIDTH = 80
_WORD = 20  # characters: a column of such words (a role, a kind) is not broken
_NARROW = 12  # characters: a first column of less room is left for Rich to fold


def for_terminal(sheets: Iterable[Sheet], notes: Sequence[str] = ()) -> Group:
    """Tables with their titles and legends, and sentences below them, for Rich to print."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for sheet in sheets:
        if sheet.rows:
            parts += [Text(printable(sheet.title), style="bold"), _Fitted(sheet)]
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


@dataclass(frozen=True)
class _Fitted:
    """A table that knows the width of the terminal when it is printed."""

    sheet: Sheet

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield _table(self.sheet, options.max_width)


def _table(sheet: Sheet, width: int) -> Table:
    """Numbers and single words stay whole; else lines break at blanks, and in the first column after `_` and `-`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(cell) for cell in row] for row in sheet.rows]
    whole = [j > 0 and (sheet.is_number(j) or _single_words(row[j] for row in cells)) for j in range(len(sheet.header))]
    widest = WIDTH // 2 if len(whole) > 1 else None
    first = widest
    if all(whole[1:]):
        room = width - sum(_width(sheet, cells, j) + 2 for j in range(1, len(whole))) - 2
        cells = [[_broken(row[0], room), *row[1:]] for row in cells]
        first = max(room, _NARROW)
    table = Table(box=box.SIMPLE_HEAD, width=None, pad_edge=False, collapse_padding=True)
    for j, name in enumerate(sheet.header):
        table.add_column(
            Text(printable(name)),
            justify="right" if sheet.is_number(j) else "left",
            no_wrap=whole[j],
            overflow="fold",
            max_width=widest if j else first,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _single_words(cells: Iterable[str]) -> bool:
    return all(len(cell) <= _WORD and " " not in cell for cell in cells)


def _width(sheet: Sheet, cells: Sequence[Sequence[str]], column: int) -> int:
    from rich.cells import cell_len

    return max(cell_len(text) for text in (sheet.header[column], *(row[column] for row in cells)))


def _broken(text: str, room: int) -> str:
    """A text whose words fit the room: `discharge_disposition_id` breaks after `_`; Rich breaks at blanks."""
    if len(text) <= room or room < _NARROW:
        return text
    return " ".join(_in_parts(word, room) for word in text.split(" "))


def _in_parts(word: str, room: int) -> str:
    lines = [""]
    for part in re.findall(r"[^_.-]*[_.-]?", word):
        lines = [*lines, part] if lines[-1] and len(lines[-1]) + len(part) > room else [*lines[:-1], lines[-1] + part]
    return "\n".join(lines)
