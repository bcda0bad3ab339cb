"""How paper 2's numbers are drawn."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from shoal.show import Lines
from shoal.show.charts import Bars, Colour
from shoal.show.numbers import Unit
from shoal_studies.big_data.experiment import ALGORITHM, APART, LEDGER, MEANS, SHOWN, TOGETHER, WHOLE, K
from shoal_studies.charts import Panel, bar_table, curve
from shoal_studies.driver import Draw, Frames

COLOURS: dict[str, Colour] = {
    TOGETHER: "orange",
    ALGORITHM: "blue",
    MEANS: "green",
    APART: "orange",
    LEDGER: "sky",
    WHOLE: "ink",
}
DASHED = (MEANS, WHOLE)  # they run together with others


def dimensions(frames: Frames) -> list[Lines]:
    data = frames["dimensions"]
    shown = {"Loss of A1..A4": "loss_known", "Loss of C1..Cs": "loss_confidential"}
    top = 1.1 * float(data.select(pl.max_horizontal(*shown.values()).max()).item())
    axes = "confidential", "confidential attributes s", "mean loss of an attribute, in standard deviations"
    return [_lines(title, data, column, (TOGETHER, *SHOWN), axes, top) for title, column in shown.items()]


def ten_releases(frames: Frames) -> list[Lines]:
    shown = {f"People with fewer than {K} alike over all releases": "below_k", "Records shown": "shown"}
    axes = "releases", "releases", "share"
    ways = (APART, LEDGER, WHOLE)
    return [_lines(title, frames["pool"], column, ways, axes, 1.0, "share") for title, column in shown.items()]


def _lines(
    title: str,
    data: pl.DataFrame,
    column: str,
    ways: Iterable[str],
    axes: tuple[str, str, str],  # the column across, its name, and that of the other axis
    top: float,
    unit: Unit = "number",
) -> Lines:
    across, name_across, upwards = axes
    lines = (curve(data.filter(way=way), way, across, column, COLOURS[way], dashed=way in DASHED) for way in ways)
    return Lines(title, tuple(lines), name_across, upwards, unit=unit, top=top)


def one_person(frames: Frames) -> list[Bars]:
    panels = [
        Panel("Seen with and without her: known exactly", "seen_exactly", "share", 1.0),
        Panel("Seen with and without her: a guess is off by, of the domain", "seen_off", "share"),
        Panel("All others known: known exactly", "known_exactly", "share", 1.0),
        Panel("All others known: a guess is off by, of the domain", "known_off", "share"),
    ]
    return bar_table(frames["attacks"], panels)


def analysts(frames: Frames) -> list[Bars]:
    panels = [
        Panel("A record's charge off by (standard deviations)", "record_off"),
        Panel("A class's mean off by (standard deviations)", "class_off"),
        Panel("The mean of all off by", "mean_off", "share"),
    ]
    return bar_table(frames["analyses"], panels)


FIGURES: dict[str, Draw] = {
    "Dimensions": dimensions,
    "One person": one_person,
    "Analysts": analysts,
    "Ten releases": ten_releases,
}
