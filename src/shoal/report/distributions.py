"""Where the records of an attribute lie, before and after masking, in a few numbers however large the table.

A released cell says no more than the values it admits, so its records are spread evenly over them: over the
stretch of an interval, over the categories of a set. Few values and categories become bars; of many categories the
nodes of a hierarchy, or the frequent ones by themselves and the rest as one; many numbers, days or ranks become the
bins of a histogram.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded
from shoal.data.parse_cells import exactly
from shoal.data.schema import Kind
from shoal.show import Bars, Histogram
from shoal.show.charts import both

Floats = npt.NDArray[np.float64]

BARS = 15
BINS = 36
TAIL = 0.005  # of the records at each end share one bin, where they would stretch the axis


@dataclass(frozen=True)
class Distribution:
    """Shares of all records, drawn; the first and the last bin of a histogram hold all that lies beyond, too."""

    chart: Bars | Histogram
    missing: tuple[float, float] = (0.0, 0.0)  # shares before and after that a histogram does not show
    tails: bool = False  # something lies beyond

    @property
    def moved(self) -> float:
        """The share of records that is counted elsewhere than before."""
        before, after = (
            (self.chart.before, self.chart.after)
            if isinstance(self.chart, Histogram)
            else (np.asarray(series.values) for series in self.chart.series)
        )
        gaps = abs(self.missing[1] - self.missing[0]) if isinstance(self.chart, Histogram) else 0.0
        return (float(np.abs(after - before).sum()) + gaps) / 2


@dataclass(frozen=True)
class Precision:
    """How exactly an attribute is still shown."""

    exact: float  # share of the released records that show one value
    whole: float  # share that shows the wildcard
    width: float  # mean width of what is shown; of nominal attributes the mean number of categories


def distribution(coded: Coded, column: MaskedColumn) -> Distribution:
    """An attribute before and after masking: bars of its values or, of many, a histogram."""
    if coded.is_nominal or len(coded.values) <= BARS:
        return Distribution(_bars(coded, column))
    return _histogram(coded, column)


def precision(column: MaskedColumn) -> Precision:
    """How many records show a masked column exactly, how many not at all, and how wide what they show is."""
    records, whole = _records(column), column.hidden()
    nominal = column.attribute.kind is Kind.NOMINAL
    width = np.nan_to_num(column.size if nominal else column.high - column.low)
    single = column.size == 1 if nominal else column.low == column.high
    n = max(records.sum(), 1.0)
    return Precision(
        float(records[(single | np.isnan(column.low)) & ~whole].sum() / n),
        float(records[whole].sum() / n),
        float(records @ width / n),
    )


# ---- what is released, spread over what it admits


@dataclass(frozen=True)
class Admitted:
    """What each cell admits, as stretches of positions, both ends included; missing admits none."""

    column: MaskedColumn
    low: Floats
    high: Floats
    cell: npt.NDArray[np.int64]
    part: Floats  # of the records of its cell, by length

    def codes(self, coded: Coded) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The first and the last original value in each stretch; the nearest where it holds none."""
        first = np.minimum(np.searchsorted(coded.positions, self.low, "left"), len(coded.values) - 1)
        return first, np.maximum(np.searchsorted(coded.positions, self.high, "right") - 1, first)


def admitted(coded: Coded, column: MaskedColumn) -> Admitted:
    """The stretches of positions that each cell of a masked column admits."""
    if column.runs is None and (column.size < column.high - column.low + 1).any():  # sets with gaps
        column = exactly(column, coded.values)
    runs = column.runs
    if runs is None:
        cell = np.flatnonzero(~np.isnan(column.low))
        return Admitted(column, column.low[cell], column.high[cell], cell, np.ones(len(cell)))
    low, high = runs.low.astype(np.float64), runs.high.astype(np.float64)
    cell = np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))
    length = high - low + (1.0 if runs.discrete else 1e-300)  # single points of a line share evenly
    return Admitted(column, low, high, cell, length / np.bincount(cell, length)[cell])


def _records(column: MaskedColumn) -> Floats:
    """Cell -> records."""
    return np.bincount(column.index, minlength=len(column.text)).astype(np.float64)


@dataclass(frozen=True)
class _Spread:
    """The stretches and how many records fall to each."""

    over: Admitted
    records: Floats
    missing: float


def _spread(coded: Coded, column: MaskedColumn) -> _Spread:
    over = admitted(coded, column)
    records = _records(over.column)
    return _Spread(over, records[over.cell] * over.part, float(records[np.isnan(over.column.low)].sum()))


# ---- bars


def _bars(coded: Coded, column: MaskedColumn) -> Bars:
    spread = _spread(coded, column)
    before = np.append(coded.counts, len(coded.codes) - coded.counts.sum()).astype(np.float64)
    after = np.append(_by_value(coded, spread), spread.missing)
    labels, parts = _level(coded) or _most_frequent(coded)
    if before[-1] or after[-1]:
        labels, parts = [*labels, "(missing)"], [*parts, np.array([-1])]
    shares = (_shares(np.array([mass[p].sum() for p in parts])) for mass in (before, after))
    return Bars(coded.name, tuple(labels), both(*shares))


def _level(coded: Coded) -> tuple[list[str], list[npt.NDArray[np.int64]]] | None:
    """The nodes of the finest level of the hierarchy that has few enough, each with its leaves; values if none has."""
    tree = coded.attribute.hierarchy
    if tree is None or len(tree.leaf_values) != len(coded.values):
        return None
    for level in range(tree.levels - 1):
        if len(labels := tree.labels(level)) <= BARS:
            return labels.to_list(), np.split(np.arange(len(coded.values)), tree.starts(level)[1:-1])
    return None


def _most_frequent(coded: Coded) -> tuple[list[str], list[npt.NDArray[np.int64]]]:
    shown = np.arange(len(coded.values))
    if len(shown) > BARS:
        shown = np.argsort(-coded.counts, kind="stable")[:BARS]
    rest = np.setdiff1d(np.arange(len(coded.values)), shown)
    labels, parts = coded.values.gather(shown).cast(pl.String).to_list(), [np.array([i]) for i in shown]
    return ([*labels, f"{len(rest):,} others"], [*parts, rest]) if len(rest) else (labels, parts)


def _by_value(coded: Coded, spread: _Spread) -> Floats:
    """Code -> records released, each stretch spread evenly over the values that it admits."""
    count = len(coded.values)
    if count == 0:
        return np.zeros(0)
    first, last = spread.over.codes(coded)
    each = spread.records / (last - first + 1)
    steps = np.bincount(first, each, count + 1) - np.bincount(last + 1, each, count + 1)
    return np.maximum(np.cumsum(steps)[:count], 0.0)


def _shares(mass: Floats) -> Floats:
    return mass / max(float(mass.sum()), 1.0)


# ---- histograms


def _histogram(coded: Coded, column: MaskedColumn) -> Distribution:
    discrete = not coded.values.dtype.is_float()
    edges = _edges(coded, discrete)
    inside = np.clip(coded.positions, edges[0], edges[-1])
    before, _ = np.histogram(inside, edges, weights=coded.counts)
    spread = _spread(coded, column)
    after = _mass_between(edges, spread, 0.5 if discrete else 0.0)
    n, released = len(coded.codes), max(len(column.index), 1)
    missing = 1.0 - float(coded.counts.sum()) / n, spread.missing / released
    tails = bool(coded.positions[0] < edges[0] or coded.positions[-1] > edges[-1])
    starts = [_place_text(coded, float(np.ceil(edge) if discrete else edge)) for edge in edges[:-1]]
    ticks = _ticks(coded, edges, discrete)
    chart = Histogram(coded.name, edges, before / n, after / released, ticks, starts=starts)
    return Distribution(chart, missing, tails)


def _edges(coded: Coded, discrete: bool) -> Floats:
    """Equal bins over the records, far tails left to the outer ones; whole numbers never on an edge."""
    line, below = coded.positions, np.cumsum(coded.counts) / coded.counts.sum()
    least, most = line[0], line[-1]
    low, high = line[np.searchsorted(below, TAIL)], line[np.searchsorted(below, 1 - TAIL)]
    core = high - low
    low = least if low - least <= core / 2 else low
    high = most if most - high <= core / 2 else high
    if not discrete:
        return np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    width = np.ceil((high - low + 1) / BINS)
    bins = int(np.ceil((high - low + 1) / width))
    edges: Floats = low - 0.5 + width * np.arange(bins + 1)
    return edges


def _mass_between(edges: Floats, spread: _Spread, half: float) -> Floats:
    """Records in each bin: each stretch, half a step wider at both ends, spread evenly over its length."""
    low, high, records, bins = spread.over.low - half, spread.over.high + half, spread.records, len(edges) - 1
    first = np.searchsorted(edges[1:-1], low, "right")
    last = np.maximum(np.searchsorted(edges[1:-1], high, "left"), first)
    across = first < last
    within = np.bincount(first[~across], records[~across], bins)
    first, last, low, high = first[across], last[across], low[across], high[across]
    density = records[across] / (high - low)
    begun = np.bincount(first, density * (edges[first + 1] - low), bins)
    ended = np.bincount(last, density * (high - edges[last]), bins)
    covering = np.cumsum(np.bincount(first + 1, density, bins) - np.bincount(last, density, bins))
    return np.maximum(within + begun + ended + covering * np.diff(edges), 0.0)


def _ticks(coded: Coded, edges: Floats, discrete: bool) -> tuple[tuple[float, str], ...]:
    """About five round positions, each with the value that lies there."""
    if isinstance(coded.values.dtype, pl.Date | pl.Datetime) and (ticks := _calendar(coded.values.dtype, edges)):
        return ticks
    span = edges[-1] - edges[0]
    power = 10.0 ** np.floor(np.log10(span / 5))
    step = next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= 6)
    step = max(step, 1.0) if discrete else step
    places = step * np.arange(np.ceil(edges[0] / step), np.floor(edges[-1] / step) + 1)
    places = places + 0.0  # no negative zero
    return tuple((float(place), _place_text(coded, float(place))) for place in places)


_CALENDAR = {"1mo": "%Y-%m", "3mo": "%Y-%m", "6mo": "%Y-%m"} | {f"{n}y": "%Y" for n in (1, 2, 5, 10, 20, 50, 100)}


def _calendar(dtype: pl.DataType, edges: Floats) -> tuple[tuple[float, str], ...]:
    """The beginnings of months or years, two to six of them; none where there are more or fewer."""
    ends = pl.Series(edges[[0, -1]]).cast(pl.Int64).cast(dtype).cast(pl.Date)
    for step, form in _CALENDAR.items():
        days = pl.date_range(ends[0], ends[1], "1mo", eager=True).dt.truncate(step).unique().sort()
        places = days.cast(dtype).to_physical().cast(pl.Float64).to_numpy()
        inside = (places >= edges[0]) & (places <= edges[-1])
        if 2 <= inside.sum() <= 6:
            return tuple(zip(places[inside].tolist(), days.filter(pl.Series(inside)).dt.strftime(form), strict=True))
    return ()


def _place_text(coded: Coded, place: float) -> str:
    if coded.attribute.kind is Kind.ORDINAL:
        return str(coded.values[int(np.clip(place, 0, len(coded.values) - 1))])
    dtype = coded.values.dtype
    if dtype.is_temporal():
        moment = str(pl.Series([int(place)], dtype=pl.Int64).cast(dtype)[0])
        return moment[:10] if isinstance(dtype, pl.Datetime) else moment
    if abs(place) >= 1e6:
        return f"{place / 1e9:g}G" if abs(place) >= 1e9 else f"{place / 1e6:g}M"
    return f"{place:.6g}"
