"""A result for people: as small tables, on a terminal of 80 columns and in a notebook, and as a figure of bars."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
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
    return Group(*(part for sheet in shown for part in (Text(printable(sheet.title), style="bold"), _table(sheet))))


def printable(text: str) -> str:
    """The text with what would steer a terminal (escape sequences, turned writing) spelt out: data may hold such."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def _table(sheet: Sheet) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, width=None, pad_edge=False)
    for j, name in enumerate(sheet.header):
        right = 1 <= j <= sheet.numbers
        table.add_column(
            Text(printable(name)),
            justify="right" if right else "left",
            no_wrap=right,
            overflow="fold",
            max_width=WIDTH // 2,
        )
    for row in sheet.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


# ---- in a notebook

_STYLE = """<style>
.shoal table { border-collapse: collapse; margin: 0 0 1em; }
.shoal th, .shoal td { padding: .25em .9em .25em 0; border: 0; text-align: left; vertical-align: baseline; }
.shoal tr + tr > * { border-top: 1px solid rgba(127, 127, 127, .3); }
.shoal tr > .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
</style>"""


def for_notebook(sheets: Sequence[Sheet], notes: Sequence[str] = ()) -> str:
    """Tables, and sentences below them; colours are the notebook's own, light or dark."""
    said = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f'<div class="shoal">{_STYLE}{"".join(_html(sheet) for sheet in sheets if sheet.rows)}{said}</div>'


def _html(sheet: Sheet) -> str:
    head, *rows = (_row(sheet, cells, "th" if j == 0 else "td") for j, cells in enumerate([sheet.header, *sheet.rows]))
    return f"<p><b>{html.escape(sheet.title)}</b></p><table>{head}{''.join(rows)}</table>"


def _row(sheet: Sheet, cells: Sequence[str], tag: str) -> str:
    number = [' class="number"' if 1 <= j <= sheet.numbers else "" for j in range(len(cells))]
    shown = (f"<{tag}{css}>{html.escape(cell)}</{tag}>" for css, cell in zip(number, cells, strict=True))
    return f"<tr>{''.join(shown)}</tr>"


# ---- as a figure

COLOURS = ("#0d857b", "#8796a8", "#d9622b")
MOST = 20  # rows of a chart
_INK, _SOFT = "#17232e", "#52616f"
_LINE = 26  # characters of a label


@dataclass(frozen=True)
class Chart:
    """Horizontal bars: a row a label, a colour a series. `shares` are written in percent."""

    title: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]
    shares: bool = True


def blank_figure(width: float, height: float) -> Figure:
    """In inches. It shows itself in a notebook, and leaves the caller's pyplot alone."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=110)
    return written.getvalue()


def as_figure(charts: Sequence[Chart]) -> Figure:
    """Side by side; of a chart that is too long the first rows."""
    drawn = [chart for chart in charts if chart.labels]
    rows = max((min(len(chart.labels), MOST) for chart in drawn), default=1)
    figure = blank_figure(5.0 * max(len(drawn), 1), 0.8 + 0.36 * rows)
    for j, chart in enumerate(drawn):
        axes = figure.add_subplot(1, len(drawn), j + 1)
        _bars(axes, chart)
        axes.set_ylim(rows, -0.6)  # bars of all charts are equally thick
    return figure


def _bars(axes: Axes, chart: Chart) -> None:
    labels = [_label(label) for label in chart.labels[:MOST]]
    thick = 0.8 / len(chart.series)
    for j, (name, values) in enumerate(chart.series.items()):
        places = [i - 0.4 + thick * (j + 0.5) for i in range(len(labels))]
        bars = axes.barh(places, values[:MOST], thick * 0.92, color=COLOURS[j], label=name)
        written = [f"{value:.3g}" if not chart.shares else f"{value:.1%}" for value in values[:MOST]]
        axes.bar_label(bars, written, padding=3, color=_SOFT, fontsize=8)
    axes.set_yticks(range(len(labels)), labels, color=_INK, fontsize=9)
    axes.set_xticks([])
    axes.set_xmargin(0.16)  # room for the numbers
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    hidden = len(chart.labels) - MOST
    axes.set_title(
        chart.title + (f" (first {MOST} of {len(chart.labels):,})" if hidden > 0 else ""), loc="left", fontsize=10
    )
    if len(chart.series) > 1:
        axes.legend(frameon=False, fontsize=8, loc="lower right")


def _label(text: str) -> str:
    """On at most two lines, and no formula."""
    lines = textwrap.wrap(text, _LINE, max_lines=2, placeholder=" …") or [text]
    return "\n".join(lines).replace("$", r"\$")
