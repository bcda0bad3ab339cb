"""How the studies' tables become charts of `shoal.show`: one chart a column, a bar a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.show import Bars, Line, Series
from shoal.show.charts import Colour
from shoal.show.numbers import Unit


@dataclass(frozen=True)
class Panel:
    """One column of bars: its title, the column of the data, its unit, and a value to hold the bars against."""

    title: str
    column: str
    unit: Unit = "number"
    full: float | None = None  # what a full bar stands for; the greatest value if not given
    rule: tuple[float, str] | None = None


def bar_table(data: pl.DataFrame, panels: Iterable[Panel]) -> list[Bars]:
    """A chart a panel, a bar for each record of the data, which is named by its `family` and `setting`."""
    labels = [f"{family}, {setting}" for family, setting in data["family", "setting"].iter_rows()]
    return [
        Bars(
            panel.title,
            labels,
            (Series("", data[panel.column].to_list()),),
            panel.unit,
            full=panel.full,
            rule=panel.rule,
        )
        for panel in panels
    ]


def curve(data: pl.DataFrame, name: str, across: str, upwards: str, colour: Colour, *, dashed: bool = False) -> Line:
    """A line through two columns of the data."""
    return Line(name, list(data[across, upwards].iter_rows()), colour=colour, dashed=dashed)


def grouped_bars(title: str, labels: Sequence[str], series: Iterable[Series]) -> list[Bars]:
    """For each label a bar a series, shares of 1."""
    return [Bars(title, labels, tuple(series), full=1.0)]
