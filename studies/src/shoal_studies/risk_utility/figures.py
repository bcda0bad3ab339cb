"""How paper 5's numbers are drawn."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from shoal.compare.result import LINKS
from shoal.show import Line, Lines
from shoal.show.charts import Bars, Colour, Rule
from shoal_studies.charts import Panel, bar_table, curve
from shoal_studies.driver import Draw, Frames
from shoal_studies.risk_utility.claims import SYMBOL, Measured, measured, setting_of
from shoal_studies.risk_utility.experiment import EMD, MICRO, MULTIPLIED, NOISE, SWAP, UTILITIES, R

_COLOURS: dict[str, Colour] = {MICRO: "blue", NOISE: "orange", SWAP: "green", MULTIPLIED: "pink"}


def figure_1(frames: Frames) -> list[Lines]:
    """A chart a table, as in the paper; all parameters share a logarithmic scale."""
    return [_curves(table) for table in measured(frames)]


def _curves(table: Measured) -> Lines:
    lines = [
        curve(table.curves.filter(method=method), f"{method}, {SYMBOL[method]}", "parameter", R, colour)
        for method, colour in _COLOURS.items()
    ]
    if table.reported:
        rings = list(table.matched["parameter", R].iter_rows())
        lines.append(Line("the paper's parameters", (), marked=rings, colour="ink"))
    rule: Rule = ("upwards", table.target, f"R = {table.target:.2f}")
    return Lines(table.name, tuple(lines), "parameter of the method", "R", (rule,), logarithmic=(True, False))


def _bars(frames: Frames, panels: Iterable[Panel]) -> list[Bars]:
    """A bar for each table and method, at the parameter that it was brought to."""
    data = frames["equal"]
    settings = [f"{method}, {setting_of(method, value)}" for method, value in data["method", "parameter"].iter_rows()]
    return bar_table(data.with_columns(family="table", setting=pl.Series(settings)), panels)


def equal_risk(frames: Frames) -> list[Bars]:
    panels = (
        Panel("Risk R (higher: safer)", R),
        Panel("Earth mover's distance", EMD),
        Panel("Found by ranks (correct links)", LINKS[1], "share", 1.0),
        Panel("Found by standardised distance", LINKS[0], "share", 1.0),
    )
    return _bars(frames, panels)


def other_measures(frames: Frames) -> list[Bars]:
    return _bars(frames, [Panel(words, name) for name, words in UTILITIES.items()])


FIGURES: dict[str, Draw] = {"Figure 1": figure_1, "Equal risk": equal_risk, "Other measures": other_measures}
