"""The figures of paper 4's study: how many clusters there are of each size, and curves over a whole number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal_studies.curves import Stroke
from shoal_studies.figures import INK, SOFT, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
