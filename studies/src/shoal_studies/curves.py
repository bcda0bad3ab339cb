"""Curves in small multiples, smoothed by lowess (Cleveland, 1979), and curves and bars over a whole number.

Every small panel names its own curves where they are farthest apart, so that there is no legend to look up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal_studies.charts import INK, SOFT, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

SPAN = 2 / 3  # of the points that each value is fitted to, Cleveland's own default
_GRID = 81  # places at which a curve is drawn
_APART = 0.085  # of the panel's height, at least, between two names


def lowess(x: Floats, y: Floats, at: Floats, span: float = SPAN) -> Floats:
    """At each place the line fitted to its nearest points, weighted by the tricube of their distance."""
    near = min(len(x), max(2, ceil(span * len(x))))
    return np.array([_local_line(x, y, place, near) for place in at])


def _local_line(x: Floats, y: Floats, place: float, near: int) -> float:
    distance = np.abs(x - place)
    reach = np.sort(distance)[near - 1] * (1 + 1e-6)  # so that the farthest of them still counts
    weight = np.clip(1 - (distance / reach) ** 3, 0, None) ** 3 if reach else (distance == 0).astype(np.float64)
    weight = weight / weight.sum()
    mean_x, mean_y = weight @ x, weight @ y
    spread = weight @ (x - mean_x) ** 2
    if spread <= 1e-12 * max(1.0, float(np.ptp(x)) ** 2):
        return float(mean_y)
    slope = weight @ ((x - mean_x) * (y - mean_y)) / spread
    return float(mean_y + slope * (place - mean_x))


@dataclass(frozen=True)
class Stroke:
    """How a curve is drawn: curves that run together stay visible where the wider ones come first."""

    colour: str
    ink: str  # of its name: dark enough to read
    width: float
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """One panel: curves over the same places, and a value to hold them against."""

    title: str
    curves: Mapping[str, tuple[Floats, Floats]]
    top: float  # of the scale
    mark: tuple[float, str] | None = None


def small_multiples(
    title: str,
    rows: Mapping[str, Sequence[Chart]],
    strokes: Mapping[str, Stroke],
    across: str,
    shows: Sequence[Callable[[float], str]],
) -> Figure:
    """A row of charts for each name; `shows` writes the values of each column's scale."""
    figure, all_axes = sheet(title, 0.9 + 2.5 * len(rows), len(rows), len(shows), sharex=True)
    for (name, charts), line in zip(rows.items(), all_axes, strict=True):
        line[0].set_ylabel(name, color=INK, fontsize=10.5, weight="bold", labelpad=8)
        for axes, chart, show in zip(line, charts, shows, strict=True):
            _draw(axes, chart, strokes, show)
    for axes in all_axes[-1]:
        axes.set_xlabel(across, color=SOFT, fontsize=9.5)
    return figure


def _draw(axes: Axes, chart: Chart, strokes: Mapping[str, Stroke], show: Callable[[float], str]) -> None:
    _frame(axes, chart, show)
    at_start = {}
    for name, (x, y) in chart.curves.items():
        stroke = strokes[name]
        at = np.linspace(x.min(), x.max(), _GRID)
        smooth = lowess(x, y, at)
        style = (0, stroke.dashes) if stroke.dashes else "solid"
        axes.plot(at, smooth, color=stroke.colour, linewidth=stroke.width, linestyle=style)
        axes.plot(x, y, "o", color=stroke.colour, markersize=stroke.width + 1.4, markeredgewidth=0)
        at_start[name] = float(smooth[0])
    first = min(float(x.min()) for x, _ in chart.curves.values())
    for place, names in _places(at_start, _APART * chart.top, chart.top):
        ink = strokes[names[0]].ink if len(names) == 1 else INK
        axes.text(first - 0.035, place, ", ".join(names), ha="right", va="center", fontsize=9, color=ink, weight="bold")


def _frame(axes: Axes, chart: Chart, show: Callable[[float], str]) -> None:
    axes.set_title(chart.title, loc="left", fontsize=10.5, color=INK)
    axes.tick_params(labelbottom=True)
    axes.set(xlim=(-0.19, 0.95), ylim=(-0.04 * chart.top, 1.08 * chart.top), xticks=[0.1, 0.3, 0.5, 0.7, 0.9])
    axes.locator_params(axis="y", nbins=4, steps=[1, 2, 2.5, 5, 10])
    axes.yaxis.set_major_formatter(lambda value, _: show(value))
    if chart.mark:
        value, name = chart.mark
        axes.hlines(value, 0.08, 0.95, color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        axes.text(0.965, value, name, va="center", fontsize=9, color=SOFT)


def _places(values: Mapping[str, float], apart: float, highest: float) -> list[tuple[float, list[str]]]:
    """Where names stand: at their values, those of like values together, others pushed apart."""
    groups: list[tuple[float, list[str]]] = []
    for name, value in sorted(values.items(), key=lambda item: item[1]):
        if groups and value - groups[-1][0] < apart / 6:
            groups[-1][1].append(name)
        else:
            groups.append((value, [name]))
    places = [value for value, _ in groups]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + apart)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], highest - apart * (len(places) - 1 - i))
    return [(place, sorted(names)) for place, (_, names) in zip(places, groups, strict=True)]


# ---- curves over a whole number


@dataclass(frozen=True)
class Curve:
    name: str
    stroke: Stroke
    points: Mapping[int, float]
    dots: bool = True  # at what was measured; a formula has none


@dataclass(frozen=True)
class Plot:
    """One panel of curves; its marks are lines upwards, each with a name."""

    title: str
    curves: Sequence[Curve]
    top: float
    marks: Sequence[tuple[float, str]] = ()


def curves(title: str, plots: Sequence[Plot], across: str, upwards: str, show: Callable[[float], str]) -> Figure:
    """Panels side by side on one scale; `show` writes its values."""
    figure, (all_axes,) = sheet(title, 4.6, 1, len(plots), sharey=True)
    for axes, plot in zip(all_axes, plots, strict=True):
        for curve in plot.curves:
            stroke = curve.stroke
            style = (0, stroke.dashes) if stroke.dashes else "solid"
            marker = "o" if curve.dots else ""
            axes.plot(
                list(curve.points), list(curve.points.values()), label=curve.name, color=stroke.colour,
                linewidth=stroke.width, linestyle=style, marker=marker, markersize=4, clip_on=False, zorder=3,
            )  # fmt: skip
        axes.set(ylim=(0, plot.top))
        for place, name in plot.marks:
            axes.axvline(place, color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
            axes.annotate(name, (place, 0), (4, 4), textcoords="offset points", fontsize=9, color=SOFT)
        axes.set_title(plot.title, loc="left", fontsize=10.5, color=INK)
        axes.set_xlabel(across, color=SOFT, fontsize=9.5)
    first = all_axes[0]
    first.set_ylabel(upwards, color=SOFT, fontsize=9.5)
    first.yaxis.set_major_formatter(lambda value, _: show(value))
    names = first.get_legend_handles_labels()
    figure.legend(*names, loc="outside lower left", ncols=len(names[0]), frameon=False, fontsize=9.5, labelcolor=INK)
    return figure


def size_bars(title: str, panels: Mapping[str, Mapping[int, float]], colours: Sequence[str], least: int) -> Figure:
    """For each panel the number of clusters (upwards) of each size; `least` is the size that was asked for."""
    figure, (all_axes,) = sheet(title, 3.6, 1, len(panels), sharey=True)
    for axes, (name, sizes), colour in zip(all_axes, panels.items(), colours, strict=True):
        axes.bar(list(sizes), list(sizes.values()), 0.86, color=colour)
        axes.axvline(least - 0.5, color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
        axes.set_title(name, loc="left", fontsize=10.5, color=INK)
        axes.set_xlabel("customers in the cluster", color=SOFT, fontsize=9.5)
        axes.set(xlim=(0, max(map(max, panels.values())) + 1))
    all_axes[0].set_ylabel("clusters", color=SOFT, fontsize=9.5)
    all_axes[0].locator_params(axis="y", integer=True)
    top = all_axes[0].get_ylim()[1]
    all_axes[0].annotate(
        f"s_min = {least}", (least - 0.5, top), (4, -10), textcoords="offset points", fontsize=9, color=SOFT
    )
    return figure
