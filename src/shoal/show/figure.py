"""Charts as figures of matplotlib, which is an extra (`plot`): pages do without."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from functools import partial, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import InputError, extra_package
from shoal.show.charts import AFTER, BARS, BEFORE, COLOURS, LINES, Bars, Chart, HeatTable, Histogram, Lines, filled
from shoal.show.numbers import WRITTEN, brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 20  # rows of bars
_ACROSS = 4  # charts side by side
FORMATS = (".png", ".svg", ".pdf")
_INK, _SOFT, _GRID = COLOURS["ink"], "#52616f", "#dfe5ea"
_LABEL = 26  # characters of a line of a label
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = (0, (4, 3))


def as_figure(charts: Sequence[Chart]) -> Figure:
    """Charts side by side, and below each other where they are many; of bars that are too many the first.

    It leaves the caller's pyplot alone.
    """
    drawn = filled(charts)
    across = min(len(drawn), _ACROSS) or 1
    down = -(-len(drawn) // across) or 1
    rows = max((min(len(chart.labels), MOST) for chart in drawn if isinstance(chart, Bars)), default=0)
    wide = 7.5 if len(drawn) == 1 and isinstance(drawn[0], Lines) else 5.0
    tall = 4.5 if any(not isinstance(chart, Bars) for chart in drawn) else 0.0
    figure = _blank(wide * across, down * max(0.8 + 0.36 * rows, tall))
    for j, chart in enumerate(drawn):
        axes = figure.add_subplot(down, across, j + 1)
        axes.set_title(_plain(chart.title), loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        _draw(chart, axes)
        if isinstance(chart, Bars):
            axes.set_ylim(max(rows, 1), -0.6)  # bars of all charts are equally thick
    return figure


def as_files(name: str, charts: Sequence[Chart]) -> dict[str, bytes]:
    """The charts as PNG and SVG, by format; the same charts of the same name give the same files."""
    figure = as_figure(charts)
    import matplotlib

    files = {kind: io.BytesIO() for kind in ("png", "svg")}
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(files["png"], format="png", dpi=110)
        figure.savefig(files["svg"], format="svg", metadata={"Date": None})
    return {kind: file.getvalue() for kind, file in files.items()}


def need_matplotlib() -> None:
    """Refuses, before any work, what could not be drawn in the end."""
    extra_package("matplotlib", "Drawing a figure with matplotlib", "plot")


def check_format(path: str | Path) -> None:
    """Refuses, before any work, a file that no figure can be written to."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"The plot {str(path)!r} must end in one of {', '.join(FORMATS)}.")
    need_matplotlib()


def _blank(width: float, height: float) -> Figure:
    """In inches."""
    need_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=110)
    return written.getvalue()


def _plain(text: str) -> str:
    """No formula."""
    return text.replace("$", r"\$")


def _label(text: str) -> str:
    """On at most two lines."""
    return _plain("\n".join(textwrap.wrap(text, _LABEL, max_lines=2, placeholder=" …") or [text]))


@singledispatch
def _draw(chart: Chart, axes: Axes) -> None:
    raise TypeError(f"no way to draw {type(chart).__name__}")


@_draw.register(Bars)
def _bars(chart: Bars, axes: Axes) -> None:
    labels = [_label(label) for label in chart.labels[:MOST]]
    thick = 0.8 / len(chart.series)
    for j, series in enumerate(chart.series):
        places = [i - 0.4 + thick * (j + 0.5) for i in range(len(labels))]
        values = [float(value) for value in series.values[:MOST]]
        colour = COLOURS[series.colour or BARS[j % len(BARS)]]
        bars = axes.barh(places, values, thick * 0.92, color=colour, label=_plain(series.name))
        axes.bar_label(bars, [WRITTEN[chart.unit](value) for value in values], padding=3, color=_SOFT, fontsize=8)
    if chart.rule:
        axes.axvline(chart.rule[0], color=_SOFT, linewidth=1, linestyle=_DASHES, zorder=0)
    axes.set_yticks(range(len(labels)), labels, color=_INK, fontsize=9)
    axes.set_xticks([])
    axes.set_xmargin(0.16)  # room for the numbers
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if len(chart.labels) > MOST:
        axes.set_title(f"{_plain(chart.title)} (first {MOST} of {len(chart.labels):,})", loc="left", fontsize=10)
    if len(chart.series) > 1:
        axes.legend(frameon=False, fontsize=8, loc="lower right")


@_draw.register(Histogram)
def _histogram(chart: Histogram, axes: Axes) -> None:
    axes.stairs(chart.before, chart.edges, fill=True, alpha=0.42, color=COLOURS["before"], label=BEFORE)
    axes.stairs(chart.after, chart.edges, linewidth=2, color=COLOURS["after"], label=AFTER)
    axes.set_xticks([place for place, _ in chart.ticks], [_label(name) for _, name in chart.ticks], fontsize=8)
    axes.yaxis.set_major_formatter(lambda value, _: WRITTEN["share"](value))
    axes.legend(frameon=False, fontsize=8)


@_draw.register(HeatTable)
def _heat_table(chart: HeatTable, axes: Axes) -> None:
    depth = chart.cells / chart.most
    cmap, least = ("BrBG", -1.4) if chart.unit == "correlation" else ("GnBu", 0.0)
    axes.imshow(depth, cmap=cmap, aspect="auto", vmin=least, vmax=1.4)
    for (i, j), value in np.ndenumerate(chart.cells):
        if not np.isnan(value):
            axes.text(j, i, brief(float(value), chart.unit), ha="center", va="center", fontsize=8, color=_INK)
    axes.set_yticks(range(len(chart.rows)), [_label(name) for name in chart.rows], fontsize=8)
    axes.set_xticks(range(len(chart.columns)), [_label(name) for name in chart.columns], fontsize=8, rotation=45)
    axes.set_xlabel(_plain(chart.across))
    axes.set_ylabel(_plain(chart.upwards))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


@_draw.register(Lines)
def _lines(chart: Lines, axes: Axes) -> None:
    for j, line in enumerate(chart.lines):
        colour, mark, name = COLOURS[line.colour or LINES[j % len(LINES)]], _MARKS[j % len(_MARKS)], _plain(line.name)
        if line.points:
            style: dict[str, Any] = {
                "marker": mark if line.dots is None else "",
                "linewidth": line.width,
                "linestyle": _DASHES if line.dashed else "solid",
                "drawstyle": "steps-post" if line.steps else "default",
            }
            axes.plot(*zip(*line.points, strict=True), color=colour, markersize=4, label=name, **style)
        if line.dots:
            axes.plot(*zip(*line.dots, strict=True), "o", color=colour, markersize=2.5 + line.width, mec="none")
        if line.marked:
            label = None if line.points else name
            axes.plot(*zip(*line.marked, strict=True), mark, color=colour, markersize=9, mec="white", label=label)
    for which, place, name in chart.rules:
        rule = axes.axvline if which == "across" else axes.axhline
        rule(place, color=_SOFT, linewidth=1, linestyle=_DASHES, zorder=0, label=_plain(name) if name else None)
    for logarithmic, scale in zip(chart.logarithmic, (axes.set_xscale, axes.set_yscale), strict=True):
        if logarithmic:
            scale("log")
    if chart.unit == "share":
        axes.yaxis.set_major_formatter(lambda value, _: WRITTEN["share"](value))
    if chart.top is not None:
        axes.set_ylim(0, chart.top)
    axes.set_xlabel(_plain(chart.across))
    axes.set_ylabel(_plain(chart.upwards))
    axes.grid(color=_GRID)
    axes.set_axisbelow(True)
    if len(chart.lines) > 1:
        axes.legend(frameon=False)
