"""The chart vocabulary: what is drawn, as data. `svg` draws it on pages, `figure` with matplotlib.

Every chart says in words what it shows (`words`), for those who cannot see it. Colours are names; two of them, `before`
and `after`, are those of the original and of the release wherever both stand together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.show.numbers import WRITTEN, Unit, percent
from shoal.show.sheet import Sheet

Floats = npt.NDArray[np.float64]
Numbers = Sequence[float] | Floats
Point = tuple[float, float]
Rule = tuple[Literal["across", "upwards"], float, str]  # which axis it stands on, where, and its name
Colour = Literal["after", "before", "third", "blue", "orange", "green", "pink", "yellow", "sky", "ink"]

BEFORE, AFTER = "original", "released"
COLOURS: Mapping[Colour, str] = {  # but for the first three, Okabe and Ito's: told apart by any colour vision
    "after": "#0d857b",
    "before": "#6d7f95",
    "third": "#d9622b",
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "yellow": "#e69f00",
    "sky": "#56b4e9",
    "ink": "#17232e",
}
BARS: tuple[Colour, ...] = ("after", "before", "third", "blue", "yellow", "green")  # of series that name no colour
LINES: tuple[Colour, ...] = ("blue", "orange", "green", "pink", "yellow", "sky", "ink", "before")
_SPOKEN = 16  # values that words list
_LISTED = 200  # points that a table lists


@dataclass(frozen=True)
class Series:
    """One colour of bars: its name and a value for each label."""

    name: str
    values: Numbers
    colour: Colour | None = None


def both(before: Numbers, after: Numbers) -> tuple[Series, Series]:
    """The original and the release beside each other."""
    return Series(BEFORE, before, "before"), Series(AFTER, after, "after")


@dataclass(frozen=True)
class Bars:
    """Horizontal bars: a row a label, a bar a series. `rule` is a value to hold them against, and its name."""

    title: str
    labels: Sequence[str]
    series: tuple[Series, ...]
    unit: Unit = "share"
    caption: str = ""
    full: float | None = None  # what a whole bar stands for; the greatest value if not given
    rule: tuple[float, str] | None = None

    @property
    def longest(self) -> float:
        """What the longest bar stands for."""
        values = [float(np.max(series.values, initial=0.0)) for series in self.series]
        return self.full or max([*values, self.rule[0] if self.rule else 0.0], default=0.0) or 1.0

    def written(self, row: int) -> str:
        """The values of a row, each after its name."""
        return ", ".join(f"{s.name} {WRITTEN[self.unit](float(s.values[row]))}" for s in self.series)

    @property
    def sheet(self) -> Sheet:
        """The same as a table."""
        write = WRITTEN[self.unit]
        rows = [(label, *(write(float(s.values[i])) for s in self.series)) for i, label in enumerate(self.labels)]
        return Sheet(self.title, ("", *(s.name for s in self.series)), rows, numbers=len(self.series))

    @property
    def words(self) -> str:
        """The first rows, label by label."""
        return "; ".join(f"{label}: {self.written(i)}" for i, label in enumerate(self.labels[:_SPOKEN]))


@dataclass(frozen=True)
class Histogram:
    """Shares of records in bins of a line, original and released; `ticks` are places and what they are called."""

    title: str
    edges: Floats
    before: Floats
    after: Floats
    ticks: Sequence[tuple[float, str]] = ()
    caption: str = ""
    starts: Sequence[str] = ()  # where each bin begins, as it is written

    @property
    def sheet(self) -> Sheet:
        """The same as a table, a row a bin."""
        starts = self.starts or [f"{edge:.4g}" for edge in self.edges[:-1]]
        shares = zip(starts, self.before.tolist(), self.after.tolist(), strict=True)
        return Sheet(
            self.title, ("from", BEFORE, AFTER), [(at, percent(was), percent(is_)) for at, was, is_ in shares], 2
        )

    @property
    def words(self) -> str:
        """Where the bins lie, and how much moved."""
        ends = f"from {self.ticks[0][1]} to {self.ticks[-1][1]}, " if self.ticks else ""
        moved = float(np.abs(self.before - self.after).sum()) / 2
        return f"Shares of records {ends}original against released; they differ by {percent(moved)} of records."


@dataclass(frozen=True)
class HeatTable:
    """A table of numbers, the deeper its colour the farther from 0, up to `most`; NaN is left empty."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Floats
    unit: Unit = "correlation"
    most: float = 1.0
    caption: str = ""
    across: str = ""  # what rows and columns are, where their names do not say it
    upwards: str = ""

    @property
    def sheet(self) -> Sheet:
        """The same as a table."""
        write = WRITTEN[self.unit]
        rows = [
            (name, *("" if np.isnan(value) else write(float(value)) for value in cells))
            for name, cells in zip(self.rows, self.cells, strict=True)
        ]
        return Sheet(self.title, ("", *self.columns), rows, numbers=len(self.columns))

    @property
    def words(self) -> str:
        """The greatest cells; of a square of correlations, of its half above the diagonal."""
        mirrored = self.unit == "correlation" and list(self.rows) == list(self.columns)
        row, column = np.triu_indices(len(self.rows), 1) if mirrored else np.indices(self.cells.shape).reshape(2, -1)
        values = np.nan_to_num(self.cells[row, column])
        first = np.argsort(-np.abs(values), kind="stable")[:3]
        write = WRITTEN[self.unit]
        named = (f"{self.rows[row[i]]} and {self.columns[column[i]]} {write(float(values[i]))}" for i in first)
        return f"{'Correlations' if mirrored else 'Cells'}, the strongest first: {'; '.join(named)}."


@dataclass(frozen=True)
class Line:
    """A curve through points; `marked` are points of their own, drawn larger."""

    name: str
    points: Sequence[Point]
    marked: Sequence[Point] = ()
    dots: Sequence[Point] | None = None  # what was measured; each point if not given: a formula has none
    dashed: bool = False
    width: float = 2.0  # where curves run together, the wider ones that come first stay visible
    steps: bool = False  # flat up to the next point
    colour: Colour | None = None


@dataclass(frozen=True)
class Lines:
    """Curves over one scale across and one upwards, with `rules` to hold them against."""

    title: str
    lines: tuple[Line, ...]
    across: str
    upwards: str
    rules: Sequence[Rule] = ()
    unit: Unit = "number"  # upwards
    logarithmic: tuple[bool, bool] = (False, False)  # across, upwards
    caption: str = ""
    top: float | None = None  # of the scale upwards; what is drawn decides if not given

    @property
    def sheet(self) -> Sheet:
        """What was measured, as a table."""
        write = WRITTEN[self.unit]
        rows = [
            (line.name, f"{x:g}", write(y))
            for line in self.lines
            for x, y in (*(line.points if line.dots is None else line.dots), *line.marked)
        ]
        return Sheet(self.title, ("", self.across, self.upwards), rows[:_LISTED], numbers=2)

    @property
    def words(self) -> str:
        """Where each curve begins and ends."""
        write = WRITTEN[self.unit]
        ends = []
        for line in self.lines:
            points = [*line.points, *line.marked]
            if points:
                (x, y), (last_x, last_y) = points[0], points[-1]
                ends.append(f"{line.name} from {write(y)} at {x:g} to {write(last_y)} at {last_x:g}")
        return f"{self.upwards} over {self.across}: {'; '.join(ends)}."


Chart = Bars | Histogram | HeatTable | Lines


def filled(charts: Sequence[Chart]) -> list[Chart]:
    """Those with something to draw."""
    return [chart for chart in charts if not isinstance(chart, Bars) or chart.labels]
