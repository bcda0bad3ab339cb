"""How paper 3's simulation is drawn: a row of charts for each population."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal_studies import charts
from shoal_studies.curves import Chart, Stroke, small_multiples
from shoal_studies.driver import Draw, Frames
from shoal_studies.k_map.claims import Measured, measured
from shoal_studies.k_map.experiment import CRITERIA, FIXED, LEVELS, OPTIMAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STROKES = {
    "D1": Stroke("#b9c3ce", charts.SOFT, 6.0),
    "D2": Stroke(charts.ORANGE, charts.RUST, 1.6, (5, 2)),
    "D3": Stroke(charts.LIGHT_BLUE, charts.SEA, 4.0),
    "D4": Stroke(charts.NAVY, charts.NAVY, 1.5),
}
Show = Callable[[float], str]
Column = tuple[str, str, int, Show]  # a chart's title, what it shows, for which k, and how values are written


def _two_digits(value: float) -> str:
    return f"{value:.2g}"


def _share(value: float) -> str:
    return f"{100 * value:.3g}%"


def _drawn(recoding: str, columns: Sequence[Column], title: str, frames: Frames) -> Figure:
    of_recoding = measured(frames["points"], recoding)
    rows = {
        population: [_chart(of_recoding, population, words, column, k) for words, column, k, _ in columns]
        for population in of_recoding.populations
    }
    return small_multiples(title, rows, STROKES, "sampling fraction", [show for *_, show in columns])


def _chart(measured: Measured, population: str, title: str, column: str, k: int) -> Chart:
    curves = {}
    for criterion in CRITERIA if column != "discernibility" else CRITERIA[1:]:  # D1 is 1 by definition
        curve = measured.curve(population, k, criterion, column)
        curves[criterion] = np.array(list(curve)), np.array(list(curve.values()))
    top = max(1.2 / k if column == "risk" else 0.0, *measured.values(column, CRITERIA, k=k), 1e-9)
    mark = {"risk": (1 / k, f"1/{k}"), "discernibility": (1.0, "D1"), "suppressed": None}[column]
    return Chart(title, curves, top, mark)


def _by_k(column: str, show: Show) -> Draw:
    return partial(_drawn, OPTIMAL, [(f"k = {k}", column, k, show) for k in LEVELS])


FIGURES: dict[str, Draw] = {
    "Figure 3": _by_k("risk", _two_digits),
    "Figure 4": _by_k("discernibility", _share),
    "Figure 5": _by_k("suppressed", _share),
    "Fixed recoding": partial(
        _drawn,
        FIXED,
        [
            ("Actual risk", "risk", LEVELS[0], _two_digits),
            ("Information lost, share of D1's", "discernibility", LEVELS[0], _share),
            ("Suppressed", "suppressed", LEVELS[0], _share),
        ],
    ),
}
