"""How paper 2's numbers are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from shoal_studies import charts
from shoal_studies.big_data.experiment import ALGORITHM, APART, LEDGER, MEANS, SHOWN, SIZES, TOGETHER, WHOLE, K
from shoal_studies.charts import Panel, bar_table
from shoal_studies.curves import Curve, Plot, Stroke, curves
from shoal_studies.driver import Draw, Frames
from shoal_studies.result import percent, three

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STROKES = {
    TOGETHER: Stroke(charts.ORANGE, charts.ORANGE, 2.2),
    ALGORITHM: Stroke(charts.BLUE, charts.BLUE, 2.2),
    MEANS: Stroke(charts.GREEN, charts.GREEN, 2.2, (4, 3)),
    APART: Stroke(charts.ORANGE, charts.ORANGE, 2.2),
    LEDGER: Stroke(charts.LIGHT_BLUE, charts.LIGHT_BLUE, 2.2),
    WHOLE: Stroke(charts.NAVY, charts.NAVY, 2.2, (5, 2)),
}
COLOURS = {f"Classes of {size}": colour for size, colour in zip(SIZES, (charts.ORANGE, charts.BLUE), strict=True)}


def dimensions(title: str, frames: Frames) -> Figure:
    data = frames["dimensions"]
    shown = {"of A1..A4": "loss_known", "of C1..Cs": "loss_confidential"}
    top = 1.1 * float(data.select(pl.max_horizontal(*shown.values()).max()).item())
    plots = [_plot(words, data, "confidential", column, (TOGETHER, *SHOWN), top) for words, column in shown.items()]
    upwards = "mean loss of an attribute, in standard deviations"
    return curves(title, plots, "confidential attributes s", upwards, lambda value: f"{value:.2f}")


def ten_releases(title: str, frames: Frames) -> Figure:
    shown = {f"people with fewer than {K} alike over all releases": "below_k", "records shown": "shown"}
    ways = (APART, LEDGER, WHOLE)
    plots = [_plot(words, frames["pool"], "releases", column, ways, 1.0) for words, column in shown.items()]
    return curves(title, plots, "releases", "share", lambda value: f"{value:.0%}")


def _plot(title: str, data: pl.DataFrame, across: str, column: str, ways: Iterable[str], top: float) -> Plot:
    points = {way: dict(data.filter(way=way)[across, column].iter_rows()) for way in ways}
    return Plot(title, [Curve(way, STROKES[way], of_way) for way, of_way in points.items()], top)


def one_person(title: str, frames: Frames) -> Figure:
    panels = [
        Panel("seen with and without her:\nknown exactly", "seen_exactly", percent, 1.0),
        Panel("a guess is off by,\nof the domain", "seen_off", percent),
        Panel("all others known:\nknown exactly", "known_exactly", percent, 1.0),
        Panel("a guess is off by,\nof the domain", "known_off", percent),
    ]
    return bar_table(title, frames["attacks"], panels, COLOURS)


def analysts(title: str, frames: Frames) -> Figure:
    panels = [
        Panel("a record's charge off by\n(standard deviations)", "record_off", three),
        Panel("a class's mean off by\n(standard deviations)", "class_off", three),
        Panel("the mean of all off by", "mean_off", lambda share: f"{share:.1%}"),
    ]
    return bar_table(title, frames["analyses"], panels, COLOURS)


FIGURES: dict[str, Draw] = {
    "Dimensions": dimensions,
    "One person": one_person,
    "Analysts": analysts,
    "Ten releases": ten_releases,
}
