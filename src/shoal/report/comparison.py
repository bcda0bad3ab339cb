"""Methods compared: risk across, utility upwards, a line a method (paper 5, Figure 1).

Colours are Okabe and Ito's, which people with any colour vision can tell apart; each line also has marks of its own
shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.data.paths import atomic_write
from shoal.errors import InputError
from shoal.sheet import blank_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#17232e", "#6d7f95")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SOFT, _LINE = "#52616f", "#dfe5ea"
_DECADES = 30.0  # utilities this far apart are told apart on a logarithmic scale only
_FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Line:
    """A method's curve of (risk, utility) and where it stands at what was asked."""

    name: str
    curve: Sequence[tuple[float, float]]
    at: Sequence[tuple[float, float]]


def draw(lines: Sequence[Line], across: str, upwards: str, fixed: Mapping[str, float]) -> Figure:
    """`fixed` is the risk or the utility that all were brought to."""
    figure = blank_figure(7.5, 5.0)
    axes = figure.add_subplot()
    for j, line in enumerate(lines):
        colour, mark = _COLOURS[j % len(_COLOURS)], _MARKS[j % len(_MARKS)]
        if line.curve:
            axes.plot(*zip(*line.curve, strict=True), color=colour, marker=mark, markersize=4, label=line.name)
        if line.at:
            name = None if line.curve else line.name
            axes.plot(
                *zip(*line.at, strict=True), mark, color=colour, markersize=9, markeredgecolor="white", label=name
            )
    for about, value in fixed.items():
        rule = axes.axvline if about == "risk" else axes.axhline
        rule(value, color=_SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    heights = [y for line in lines for _, y in (*line.curve, *line.at)]
    if min(heights) > 0 and max(heights) >= _DECADES * min(heights):
        axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.set_title(_title(fixed), loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=_LINE)
    axes.set_axisbelow(True)
    axes.legend(frameon=False)
    return figure


def _title(fixed: Mapping[str, float]) -> str:
    at = "".join(f" at {about} {value:g}" for about, value in fixed.items())
    return f"Risk and utility of each method{at}"


def check_plot(path: str | Path) -> None:
    """Refuses, before any work, a format that no figure can be written in."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"The plot {str(path)!r} must end in one of {', '.join(_FORMATS)}.")


def write_plot(figure: Figure, path: str | Path, *, overwrite: bool = False) -> None:
    with atomic_write(path, private=True, overwrite=overwrite) as temporary:
        figure.savefig(temporary, dpi=150)
