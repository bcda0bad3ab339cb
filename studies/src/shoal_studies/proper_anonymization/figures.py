"""How paper 1's numbers are drawn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shoal_studies import charts
from shoal_studies.charts import Panel
from shoal_studies.driver import Draw, Frames
from shoal_studies.proper_anonymization.claims import by_knowledge, of, square, value_of
from shoal_studies.proper_anonymization.experiment import (
    GRID,
    HARBOR,
    NINE,
    PRINTED,
    S2,
    S3,
    S4,
    SHOAL,
    SHOAL_T,
    resolution_of,
)
from shoal_studies.result import percent, three

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    S2: charts.BLUE,
    S4: charts.LIGHT_BLUE,
    SHOAL: charts.GREEN,
    SHOAL_T: charts.LIGHT_GREEN,
    S3: charts.ORANGE,
    HARBOR: charts.GREY,
}

_SPOKEN = {
    "spatial": "spatial (hospital)",
    "census": "census (age, sex, origin, home)",
    "temporal": "temporal (stay, quarter)",
}

_TICKS = [resolution_of(intervals) for intervals in GRID]

_AXES = (
    "intervals of each census attribute (age, sex, ethnicity, race, ZIP code, county)",
    "intervals of hospital, stay and quarter",
)


def masked(attribute: str, title: str, frames: Frames) -> Figure:
    data = frames["masked"].filter(attribute=attribute)
    series = {
        "of all records": (charts.GREY, data["share"].to_list()),
        f"of these, {attribute} masked": (charts.ORANGE, data["masked"].to_list()),
    }
    return charts.grouped_bars(title, data["value"].to_list(), series)


def figure_s3(title: str, frames: Frames) -> Figure:
    data = by_knowledge(frames)
    harbor = "safe harbor (PD), records masked while unique by "
    shown = {
        "original (SPD)": (charts.GREY, "SPD"),
        f"{harbor}the 7 attributes that Table S3 masks": (charts.ORANGE, f"PD, {PRINTED}"),
        f"{harbor}all 9 attributes": (charts.BLUE, f"PD, {NINE}"),
    }
    series = {name: (colour, data[column].to_list()) for name, (colour, column) in shown.items()}
    return charts.grouped_bars(title, [_SPOKEN.get(known, known) for known in data["known"]], series)


def figure_s4(title: str, frames: Frames) -> Figure:
    panels = (
        Panel("Unique records\n(unequivocal)", "reidentification_risk", percent, 1.0),
        Panel("Random guess is right\n(average)", "random_guess", percent, 1.0),
        Panel("Charge above $100,000\nis learnt", "attribute_disclosure", percent, 1.0),
        Panel("Information loss\n(Eq. 3)", "information_loss", three),
    )
    return charts.bar_table(title, of(frames["releases"], S2, SHOAL, S3, HARBOR), panels, COLOURS)


def figure_s5(title: str, frames: Frames) -> Figure:
    risk = square(frames["grid"], "reidentification_risk")
    labels = [[percent(share) for share in row] for row in risk]
    labels[0][0] += f"\n{frames['grid']['uniques'][0]:,} records"
    return charts.heat_map(title, risk, labels, _TICKS, *_AXES, "Blues")


def figure_s6(title: str, frames: Frames) -> Figure:
    lost = square(frames["grid"], "information_loss")
    labels = [[three(value) for value in row] for row in lost]
    return charts.heat_map(title, lost, labels, _TICKS, *_AXES, "Oranges")


def figure_s7(title: str, frames: Frames) -> Figure:
    releases = frames["releases"]
    coarse = value_of(releases, S3, "1/8", "information_loss")
    panels = (
        Panel("Charge above $100,000 is learnt", "attribute_disclosure", percent),
        Panel("Information loss (Eq. 3)", "information_loss", three, mark=(coarse, "1/8 coarsening")),
    )
    return charts.bar_table(title, of(releases, S2, S4, SHOAL, SHOAL_T), panels, COLOURS)


FIGURES: dict[str, Draw] = {
    "Figure S1": partial(masked, "race"),
    "Figure S2": partial(masked, "age"),
    "Figure S3": figure_s3,
    "Figure S4": figure_s4,
    "Figure S5": figure_s5,
    "Figure S6": figure_s6,
    "Figure S7": figure_s7,
}
