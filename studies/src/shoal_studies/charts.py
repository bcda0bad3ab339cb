"""The studies' figures: bars beside each other, bars in a table, heat maps.

Every mark carries its number, so that no figure needs gridlines or a legend to be looked up. Colours are Okabe
and Ito's, which people with any colour vision can tell apart, and lighter shades of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal_studies.result import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY, ORANGE = "#6d7f95", "#D55E00"
BLUE, LIGHT_BLUE, GREEN, LIGHT_GREEN = "#0072B2", "#56B4E9", "#009E73", "#7FCFB4"
INK, SOFT, LINE, PAPER = "#17232e", "#52616f", "#dfe5ea", "#ffffff"
ON_LIGHT, ON_DARK = "#17232f", "#fefefe"  # text in coloured cells, which are the same in the dark
NAVY, RUST, SEA = "#00466e", "#b34e00", "#1a79b2"  # names of curves: darker than the curves
IN_THE_DARK = {  # what a page in the dark shows for each of these
    INK: "#e4ebf1",
    SOFT: "#9fb0bf",
    LINE: "#2a3743",
    PAPER: "#161f28",
    NAVY: "#e3f1fb",
    RUST: "#ff9a4d",
    SEA: "#56b4e9",
}
WIDTH = 10.0  # inches

Show = Callable[[float], str]


def grouped_bars(title: str, labels: Sequence[str], series: Mapping[str, tuple[str, Sequence[float]]]) -> Figure:
    """For each label one bar a series, a share of 1; a series is its name, its colour and its values."""
    figure, (axes,) = _labelled_sheet(title, 1, 0.9 + len(labels) * (0.22 + 0.18 * len(series)))
    thick = 0.8 / len(series)
    places = -np.arange(len(labels), dtype=np.float64)
    for j, (name, (colour, values)) in enumerate(series.items()):
        at = places + (0.4 - thick / 2) - j * thick
        axes.barh(at, values, thick * 0.86, color=colour, label=name)
        _numbers(axes, at, values, percent, 1.0)
    axes.set_yticks(places, labels)
    axes.set(xlim=(0, 1.1), ylim=(places[-1] - 0.55, 0.55))
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=1,
        frameon=False,
        borderaxespad=0,
        handlelength=1.2,
        labelcolor=INK,
    )
    return figure


@dataclass(frozen=True)
class Panel:
    """One column of bars: its title, the column of the data and how a value is written."""

    title: str
    column: str
    show: Show
    longest: float | None = None  # what a full bar stands for; the greatest value if not given
    mark: tuple[float, str] | None = None  # a value to hold the bars against, and its name


def bar_table(title: str, data: pl.DataFrame, panels: Sequence[Panel], colours: Mapping[str, str]) -> Figure:
    """A row for each record of the data (family, setting, values); families stand apart, each in its colour."""
    heads, rows = _places(data["family"])
    bottom = rows[-1] - 0.6
    figure, all_axes = _labelled_sheet(title, len(panels), 1.0 - 0.225 * bottom)
    for axes, panel in zip(all_axes, panels, strict=True):
        values = data[panel.column].to_list()
        longest = panel.longest or max([*values, panel.mark[0] if panel.mark else 0.0]) or 1.0
        axes.barh(rows, values, 0.78, color=[colours[family] for family in data["family"]])
        _numbers(axes, rows, values, panel.show, longest)
        axes.set(xlim=(0, longest * 1.34), ylim=(bottom, 0.6))
        axes.set_title(panel.title, loc="left", fontsize=10.5, color=INK)
        if panel.mark:
            _mark(axes, *panel.mark)
    first = all_axes[0]
    first.set_yticks([*rows, *heads.values()], [*data["setting"], *heads])
    for label in first.get_yticklabels()[len(rows) :]:
        label.set_fontweight("bold")
    return figure


def _places(families: pl.Series) -> tuple[dict[str, float], npt.NDArray[np.float64]]:
    """How far down each family's name and each row stand."""
    heads: dict[str, float] = {}
    rows: list[float] = []
    y = 1.5
    for family in families:
        if family not in heads:
            heads[family] = y = y - 1.5
        rows.append(y := y - 1)
    return heads, np.array(rows)


def heat_map(
    title: str,
    values: npt.NDArray[np.float64],
    labels: Sequence[Sequence[str]],
    ticks: Sequence[str],
    across: str,
    upwards: str,
    colours: str,
) -> Figure:
    """A square of labelled cells, the darker the greater."""
    figure, (axes,) = _labelled_sheet(title, 1, 5.8)
    top = float(values.max()) or 1.0
    edges = np.arange(len(ticks) + 1) - 0.5
    axes.pcolormesh(edges, edges, values, cmap=colours, vmin=0, vmax=1.15 * top, edgecolors=PAPER, linewidth=2)
    for (i, j), value in np.ndenumerate(values):
        ink = ON_DARK if value > 0.75 * top else ON_LIGHT
        axes.text(j, i, labels[i][j], ha="center", va="center", color=ink, fontsize=11)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_yticks(range(len(ticks)), ticks)
    axes.set_xlabel(across, color=SOFT, labelpad=6)
    axes.set_ylabel(upwards, color=SOFT, labelpad=6)
    axes.tick_params(labelbottom=True)
    axes.spines["left"].set_visible(False)
    return figure


# ---- what all share


def sheet(
    title: str, height: float, rows: int = 1, columns: int = 1, *, sharex: bool = False, sharey: bool = False
) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure with a title and rows of panels that have no frame but their two axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)
    figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=13, color=INK)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
    for axes in panels.flat:
        axes.set_facecolor(PAPER)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(LINE)
        axes.tick_params(which="both", length=0, colors=SOFT, labelsize=9)
    return figure, panels.tolist()


def _labelled_sheet(title: str, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """Panels side by side whose marks carry their numbers, so that no scale is needed."""
    figure, (found,) = sheet(title, height, 1, columns, sharey=True)
    for axes in found:
        axes.tick_params(labelbottom=False, colors=INK, labelsize=10.5)
        axes.spines["bottom"].set_visible(False)
    return figure, found


def _numbers(axes: Axes, at: npt.NDArray[np.float64], values: Sequence[float], show: Show, longest: float) -> None:
    """Each bar's number at its end."""
    behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}
    for y, value in zip(at, values, strict=True):
        axes.text(value + 0.015 * longest, y, show(value), va="center", fontsize=9, color=INK, bbox=behind)


def _mark(axes: Axes, value: float, name: str) -> None:
    """A line across all bars, named beside the first family, where no bar is."""
    axes.axvline(value, color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axes.annotate(name, (value, 0), (4, 0), textcoords="offset points", fontsize=9, color=SOFT, va="center")
