"""How paper 1's numbers are drawn."""

from __future__ import annotations

from functools import partial
from typing import Literal

from shoal.show import HeatTable, Series
from shoal.show.charts import Bars, Colour
from shoal_studies.charts import Panel, bar_table, grouped_bars
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


def masked(attribute: str, frames: Frames) -> list[Bars]:
    data = frames["masked"].filter(attribute=attribute)
    series = (
        Series("of all records", data["share"].to_list(), "before"),
        Series(f"of these, {attribute} masked", data["masked"].to_list(), "orange"),
    )
    return grouped_bars(f"Records by {attribute}", data["value"].to_list(), series)


def figure_s3(frames: Frames) -> list[Bars]:
    data = by_knowledge(frames)
    shown: dict[str, tuple[Colour, str]] = {
        "original (SPD)": ("before", "SPD"),
        "safe harbor (PD) by the 7 attributes of Table S3": ("orange", f"PD, {PRINTED}"),
        "safe harbor (PD) by all 9 attributes": ("blue", f"PD, {NINE}"),
    }
    series = (Series(name, data[column].to_list(), colour) for name, (colour, column) in shown.items())
    return grouped_bars("Unique records", [_SPOKEN.get(known, known) for known in data["known"]], series)


def figure_s4(frames: Frames) -> list[Bars]:
    panels = (
        Panel("Unique records (unequivocal)", "reidentification_risk", "share", 1.0),
        Panel("Random guess is right (average)", "random_guess", "share", 1.0),
        Panel("Charge above $100,000 is learnt", "attribute_disclosure", "share", 1.0),
        Panel("Information loss (Eq. 3)", "information_loss"),
    )
    return bar_table(of(frames["releases"], S2, SHOAL, S3, HARBOR), panels)


def _grid(title: str, column: str, unit: Literal["share", "number"], frames: Frames) -> list[HeatTable]:
    cells = square(frames["grid"], column)
    most = float(cells.max()) or 1.0
    census, others = _AXES
    caption = f"From left to right: {census}. From top to bottom: {others}."
    return [HeatTable(title, _TICKS, _TICKS, cells, unit, most, caption, across=census, upwards=others)]


def figure_s7(frames: Frames) -> list[Bars]:
    releases = frames["releases"]
    coarse = value_of(releases, S3, "1/8", "information_loss")
    panels = (
        Panel("Charge above $100,000 is learnt", "attribute_disclosure", "share"),
        Panel("Information loss (Eq. 3)", "information_loss", rule=(coarse, "1/8 coarsening")),
    )
    return bar_table(of(releases, S2, S4, SHOAL, SHOAL_T), panels)


FIGURES: dict[str, Draw] = {
    "Figure S1": partial(masked, "race"),
    "Figure S2": partial(masked, "age"),
    "Figure S3": figure_s3,
    "Figure S4": figure_s4,
    "Figure S5": partial(_grid, "Unique records", "reidentification_risk", "share"),
    "Figure S6": partial(_grid, "Information loss (Eq. 3)", "information_loss", "number"),
    "Figure S7": figure_s7,
}
