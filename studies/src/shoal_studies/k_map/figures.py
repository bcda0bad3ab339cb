"""How paper 3's simulation is drawn: a chart for each population and k, curves smoothed by lowess (Cleveland, 1979)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from shoal.show import Line, Lines
from shoal.show.charts import Colour
from shoal.show.numbers import Unit
from shoal_studies.driver import Draw, Frames
from shoal_studies.k_map.claims import Measured, measured
from shoal_studies.k_map.experiment import CRITERIA, FIXED, LEVELS, OPTIMAL
from shoal_studies.k_map.lowess import lowess

_GRID = 81  # places at which a curve is drawn

STROKES: dict[str, tuple[Colour, float]] = {  # curves that run together stay visible: the wider ones come first
    "D1": ("before", 6.0),
    "D2": ("orange", 1.6),
    "D3": ("sky", 4.0),
    "D4": ("blue", 1.5),
}
UNITS: dict[str, tuple[str, Unit]] = {  # what a chart's upward axis shows
    "risk": ("actual risk", "number"),
    "discernibility": ("information lost, share of D1's", "share"),
    "suppressed": ("records suppressed", "share"),
}


def _drawn(recoding: str, columns: Sequence[tuple[str, int]], frames: Frames) -> list[Lines]:
    """A row of charts for each population; each shows what a column says for a k."""
    of_recoding = measured(frames["points"], recoding)
    return [_chart(of_recoding, place, column, k) for place in of_recoding.populations for column, k in columns]


def _chart(measured: Measured, population: str, column: str, k: int) -> Lines:
    criteria = CRITERIA if column != "discernibility" else CRITERIA[1:]  # D1 is 1 by definition
    lines = tuple(_line(name, measured.curve(population, k, name, column)) for name in criteria)
    top = max(1.2 / k if column == "risk" else 0.0, *measured.values(column, CRITERIA, k=k), 1e-9)
    rules = {"risk": [(1 / k, f"1/{k}")], "discernibility": [(1.0, "D1")]}.get(column, [])
    upwards, unit = UNITS[column]
    return Lines(
        f"{population}: k = {k}",
        lines,
        "sampling fraction",
        upwards,
        [("upwards", place, name) for place, name in rules],
        unit=unit,
        top=top,
    )


def _line(name: str, measured: Mapping[float, float]) -> Line:
    x, y = np.array(list(measured)), np.array(list(measured.values()))
    at = np.linspace(x.min(), x.max(), _GRID)
    smooth = list(zip(at.tolist(), lowess(x, y, at).tolist(), strict=True))
    colour, width = STROKES[name]
    return Line(name, smooth, dots=list(measured.items()), dashed=name == "D2", width=width, colour=colour)


def _by_k(column: str) -> Draw:
    return partial(_drawn, OPTIMAL, [(column, k) for k in LEVELS])


FIGURES: dict[str, Draw] = {
    "Figure 3": _by_k("risk"),
    "Figure 4": _by_k("discernibility"),
    "Figure 5": _by_k("suppressed"),
    "Fixed recoding": partial(_drawn, FIXED, [(column, LEVELS[0]) for column in UNITS]),
}
