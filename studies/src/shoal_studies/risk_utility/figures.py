"""How paper 5's numbers are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from shoal.compare.result import LINKS
from shoal_studies import charts
from shoal_studies.charts import Panel
from shoal_studies.driver import DATA, Draw, Frames
from shoal_studies.result import percent, three
from shoal_studies.risk_utility.claims import SYMBOL, Measured, measured, setting_of
from shoal_studies.risk_utility.experiment import EMD, MICRO, MULTIPLIED, NOISE, SWAP, UTILITIES, R

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STROKES = {
    MICRO: (charts.BLUE, "o"),
    NOISE: (charts.ORANGE, "s"),
    SWAP: (charts.GREEN, "^"),
    MULTIPLIED: ("#CC79A7", "D"),
}

_RING = "the paper's parameters"


def figure_1(title: str, frames: Frames) -> Figure:
    """A panel a table, as in the paper; all parameters share a logarithmic scale."""
    found = measured(frames)
    rows = ceil(len(found) / 2)
    figure, lines = charts.sheet(title, 0.9 + 4.2 * rows, rows, min(2, len(found)))
    panels = [axes for line in lines for axes in line]
    for axes, each in zip(panels, found, strict=False):
        _draw(axes, each)
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    panels[0].legend(loc="lower right", frameon=False, fontsize=9.5, labelcolor=charts.INK)
    return figure


def _draw(axes: Axes, each: Measured) -> None:
    for method, (colour, mark) in _STROKES.items():
        curve = each.curves.filter(pl.col("method") == method)
        name = f"{method}, {SYMBOL[method]}"
        axes.plot(curve["parameter"], curve[R], color=colour, marker=mark, markersize=4.5, linewidth=1.8, label=name)
    if each.reported:
        at = each.matched
        axes.plot(at["parameter"], at[R], "o", color=charts.INK, markersize=11, fillstyle="none", label=_RING)
    axes.axhline(each.target, color=charts.SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axes.annotate(
        f"{each.target:.2f}",
        (1, each.target),
        (4, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=9,
        color=charts.SOFT,
    )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_title(each.name, loc="left", fontsize=10.5, color=charts.INK)
    axes.set_xlabel("parameter of the method", color=charts.SOFT, fontsize=9.5)


def _bars(title: str, frames: Frames, panels: Sequence[Panel]) -> Figure:
    """A family of bars for each table, a bar a method at the parameter that it was brought to."""
    data = frames["equal"]
    settings = [f"{method}, {setting_of(method, value)}" for method, value in data[["method", "parameter"]].rows()]
    shades = (charts.BLUE, charts.GREEN, charts.ORANGE, charts.GREY)
    colours = {name: shades[j % len(shades)] for j, name in enumerate(frames[DATA]["name"])}
    labelled = data.with_columns(family="table", setting=pl.Series(settings))
    return charts.bar_table(title, labelled, panels, colours)


def equal_risk(title: str, frames: Frames) -> Figure:
    panels = (
        Panel("Risk R (higher: safer)", R, three),
        Panel("Earth mover's distance", EMD, three),
        Panel("Found by ranks\n(correct links)", LINKS[1], percent, 1.0),
        Panel("Found by standardised\ndistance", LINKS[0], percent, 1.0),
    )
    return _bars(title, frames, panels)


def other_measures(title: str, frames: Frames) -> Figure:
    panels = [Panel(words, name, lambda value: f"{value:#.2g}") for name, words in UTILITIES.items()]
    return _bars(title, frames, panels)


FIGURES: dict[str, Draw] = {"Figure 1": figure_1, "Equal risk": equal_risk, "Other measures": other_measures}
