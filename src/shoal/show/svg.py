"""Charts as inline SVG, for pages. Colours are CSS classes (`charts.css`), so that a page can go dark.

A chart is drawn 380 wide and shown at about that size however wide the page, so that its text stays readable. Every
mark tells its numbers on hover, every figure in words for those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.show.charts import AFTER, BARS, BEFORE, LINES, Bars, Chart, Floats, HeatTable, Histogram, Line, Lines
from shoal.show.markup import cut, element, templates
from shoal.show.numbers import WRITTEN, brief, number, percent

if TYPE_CHECKING:
    from markupsafe import Markup

Place = Callable[[float], float]  # value -> where it is drawn

WIDTH = 380
_LABEL = 24  # characters that fit beside a bar
_TICK = 12  # characters below a tick
_LETTER = 7.3  # how wide a character of a label is


class _Drawing(NamedTuple):
    marks: list[Markup]
    height: float


def figure(chart: Chart) -> Markup:
    """A chart with its title above, its caption below, and what it says in words."""
    from markupsafe import Markup

    drawing = _draw(chart)
    made = (
        templates()
        .get_template("figure.html")
        .render(chart=chart, marks=drawing.marks, width=WIDTH, height=round(drawing.height))
    )
    return Markup(made)  # noqa: S704 - the template has escaped what it was given


@singledispatch
def _draw(chart: Chart) -> _Drawing:
    raise TypeError(f"no way to draw {type(chart).__name__}")


# ---- bars


@_draw.register(Bars)
def _bars(chart: Bars) -> _Drawing:
    lines = [_in_lines(label) for label in chart.labels]
    left = 12 + round(_LETTER * max((len(line) for label in lines for line in label), default=0))
    scale = (WIDTH - left - 48) / chart.longest
    thick = 11 if len(chart.series) > 1 else 14
    bars = len(chart.series) * (thick + 1)
    height = max(bars, *(12 * len(label) for label in lines)) if lines else bars
    marks = []
    for i, label in enumerate(chart.labels):
        top = 2 + i * (height + 9)
        parts = [element("title", f"{cut(label)}: {chart.written(i)}"), *_label(lines[i], left - 8, top + height / 2)]
        for j, series in enumerate(chart.series):
            at = top + (height - bars) // 2 + j * (thick + 1)
            parts += _bar(chart, j, float(series.values[i]), left, at, thick, scale)
        marks.append(element("g", *parts))
    if chart.rule:
        place, name = left + scale * chart.rule[0], chart.rule[1]
        bottom = len(chart.labels) * (height + 9)
        marks.append(_dashed(place, 0, place, bottom, name))
    bottom = len(chart.labels) * (height + 9)
    if len(chart.series) < 2 or {series.name for series in chart.series} == {BEFORE, AFTER}:  # every page tells these
        return _Drawing(marks, bottom)
    swatches = [
        (series.name, element("rect", css=series.colour or BARS[j % len(BARS)], x=0, y=-9, width=14, height=9))
        for j, series in enumerate(chart.series)
    ]
    legend, end = _legend(swatches, bottom + 12)
    return _Drawing([*marks, *legend], end)


def _in_lines(name: str) -> list[str]:
    """A label of one line, or of two, parted at a blank where it has one."""
    if len(name) <= _LABEL:
        return [cut(name)]
    at = name.rfind(" ", 0, _LABEL + 1)
    first = name[:at] if at > 0 else name[:_LABEL]
    return [cut(first), cut(name[len(first) :].strip(), _LABEL)]


def _label(lines: Sequence[str], x: float, middle: float) -> Iterator[Markup]:
    for j, line in enumerate(lines):
        y = middle + 3.5 + 12 * (j - (len(lines) - 1) / 2)
        yield element("text", line, x=x, y=y, text_anchor="end")


def _bar(chart: Bars, j: int, value: float, left: int, top: int, thick: int, scale: float) -> Iterator[Markup]:
    width = max(scale * value, 0.8 if value else 0.0)
    colour = chart.series[j].colour or BARS[j % len(BARS)]
    yield element("rect", css=colour, x=left, y=top, width=width, height=thick, rx=1.5)
    written = WRITTEN[chart.unit](value)
    yield element("text", written, css="n", x=left + width + 5, y=top + thick - 1.5)


def _dashed(x1: float, y1: float, x2: float, y2: float, name: str) -> Markup:
    inside = [element("title", name)] if name else []
    return element("line", *inside, css="axis rule", x1=x1, y1=y1, x2=x2, y2=y2, stroke_dasharray="4 3")


# ---- histograms


@_draw.register(Histogram)
def _histogram(chart: Histogram) -> _Drawing:
    left, right, top, bottom = 4, WIDTH - 4, 16, 166
    edges, before, after = chart.edges, chart.before, chart.after
    most = max(float(before.max(initial=0.0)), float(after.max(initial=0.0))) or 1.0
    x = left + (right - left) * (edges - edges[0]) / (edges[-1] - edges[0])
    area, line = (_steps(x, bottom - (bottom - top) * shares / most) for shares in (before, after))
    marks = [
        element("line", css="axis", x1=left, y1=top, x2=right, y2=top, stroke_dasharray="2 3"),
        element("text", f"{percent(most)} of records", css="n", x=right, y=top - 4, text_anchor="end"),
        element("path", css="before area", d=f"M{left} {bottom}L{area}L{right} {bottom}Z"),
        element("path", css="after line", d=f"M{line}"),
        element("line", css="axis", x1=left, y1=bottom, x2=right, y2=bottom),
        *_ticks([(float(np.interp(place, edges, x)), label) for place, label in chart.ticks], bottom),
    ]
    for i, (was, is_) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
        title = element("title", f"original {percent(was)}, released {percent(is_)}")
        width = float(x[i + 1] - x[i])
        marks.append(element("rect", title, css="hover", x=float(x[i]), y=top, width=width, height=bottom - top))
    return _Drawing(marks, bottom + 22)


def _steps(x: Floats, y: Floats) -> str:
    """A path over the bins, flat in each."""
    flat = zip(x[:-1], x[1:], y, strict=True)
    return "L".join(f"{left:.1f} {level:.1f}L{right:.1f} {level:.1f}" for left, right, level in flat)


def _ticks(ticks: Sequence[tuple[float, str]], bottom: float) -> list[Markup]:
    """A label each, unless it would run into the label before."""
    marks, free = [], -math.inf
    for at, label in ticks:
        text = cut(label, _TICK)
        half = 3.4 * len(text)
        middle = min(max(at, half + 1), WIDTH - half - 1)
        marks.append(element("line", css="axis", x1=at, y1=bottom, x2=at, y2=bottom + 4))
        if middle - half >= free:
            free = middle + half + 4
            marks.append(element("text", text, css="n", x=middle, y=bottom + 17, text_anchor="middle"))
    return marks


# ---- heat tables


@_draw.register(HeatTable)
def _heat_table(chart: HeatTable) -> _Drawing:
    """Names to the left and, aslant, below."""
    crowded = len(chart.columns) >= 20
    font, room = (7, 20) if crowded else (11, 14 if chart.unit == "correlation" else _LABEL)
    aslant = 0.48 * font * max(len(cut(name, room)) for name in chart.columns)
    left = round(max(14 + 0.66 * font * max(len(cut(name, room)) for name in chart.rows), aslant - 12))
    wide = min((WIDTH - left) / len(chart.columns), 46.0)
    tall, top = min(wide, 30.0), 2
    bottom = top + len(chart.rows) * tall
    marks = []
    for i, name in enumerate(chart.rows):
        y = top + (i + 0.5) * tall + 0.35 * font
        marks.append(element("text", cut(name, room), x=left - 7, y=y, font_size=font, text_anchor="end"))
    for j, name in enumerate(chart.columns):
        place = f"translate({left + (j + 0.5) * wide + 3:.1f} {bottom + 10:.1f}) rotate(-45)"
        marks.append(element("text", cut(name, room), font_size=font, text_anchor="end", transform=place))
    for (i, j), value in np.ndenumerate(chart.cells):
        marks += _cell(chart, i, j, float(value), left + j * wide, top + i * tall, wide, tall)
    return _Drawing(marks, bottom + 14 + aslant)


def _cell(
    chart: HeatTable, i: int, j: int, value: float, x: float, y: float, wide: float, tall: float
) -> Iterator[Markup]:
    known = not math.isnan(value)
    written = WRITTEN[chart.unit](value) if known else "one of them does not vary"
    what = " of records" if chart.unit == "share" else ""
    title = element("title", f"{cut(chart.rows[i])}, {cut(chart.columns[j])}: {written}{what}")
    css = "none" if not known else "positive" if value >= 0 else "negative"
    depth = min(abs(value) / (chart.most or 1.0), 1.0) if known else 0.0
    size = {"width": max(wide - 1.5, 0.5), "height": max(tall - 1.5, 0.5)}
    yield element("rect", title, css=css, x=x, y=y, fill_opacity=f"{0.05 + 0.65 * depth:.2f}", **size)
    if known and wide >= 26:
        place = {"x": x + wide / 2 - 0.7, "y": y + tall / 2 + 3}
        yield element("text", brief(value, chart.unit), css="in", text_anchor="middle", **place)


# ---- lines


@_draw.register(Lines)
def _lines(chart: Lines) -> _Drawing:
    points = [point for line in chart.lines for point in (*line.points, *line.marked, *(line.dots or ()))]
    write = WRITTEN[chart.unit]
    if not points:
        return _Drawing([], 0)
    across = [x for x, _ in points] + [place for which, place, _ in chart.rules if which == "across"]
    upwards = [y for _, y in points] + [place for which, place, _ in chart.rules if which == "upwards"]
    if chart.top is not None:
        upwards += [0.0, chart.top]
    top, bottom = 22, 190
    low_y, high_y, y_ticks = _scale(upwards, chart.logarithmic[1])
    left = 10 + round(6.2 * max(len(write(tick)) for tick in y_ticks))
    low_x, high_x, x_ticks = _scale(across, chart.logarithmic[0], margin=False)
    x_of = _placed(low_x, high_x, left, WIDTH - 10, chart.logarithmic[0])
    y_of = _placed(low_y, high_y, bottom, top, chart.logarithmic[1])
    marks = [element("text", cut(chart.upwards, 60), css="n", x=4, y=10)]
    for tick in y_ticks:
        marks.append(element("line", css="axis", x1=left, y1=y_of(tick), x2=WIDTH - 10, y2=y_of(tick)))
        marks.append(element("text", write(tick), css="n", x=left - 5, y=y_of(tick) + 3.5, text_anchor="end"))
    marks += _ticks([(x_of(tick), number(tick)) for tick in x_ticks], bottom)
    marks.append(element("text", cut(chart.across, 60), css="n", x=WIDTH - 10, y=bottom + 32, text_anchor="end"))
    for which, place, name in chart.rules:
        if which == "across":
            marks.append(_dashed(x_of(place), top, x_of(place), bottom, name))
        else:
            marks.append(_dashed(left, y_of(place), WIDTH - 10, y_of(place), name))
    colours = [line.colour or LINES[j % len(LINES)] for j, line in enumerate(chart.lines)]
    marks += [_curve(line, colour, x_of, y_of, write) for line, colour in zip(chart.lines, colours, strict=True)]
    swatches = [(line.name, _swatch(line, colour)) for line, colour in zip(chart.lines, colours, strict=True)]
    legend, height = _legend(swatches, bottom + 48)
    return _Drawing([*marks, *legend], height)


def _scale(values: Sequence[float], logarithmic: bool, *, margin: bool = True) -> tuple[float, float, list[float]]:
    """Where a scale begins and ends, and round places on it."""
    low, high = min(values), max(values)
    if logarithmic and low > 0:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [10.0**power for power in powers]
        return min(low, ticks[0]), max(high, ticks[-1]), ticks
    span = high - low or abs(high) or 1.0
    if margin:
        low = 0.0 if 0 <= low < 0.5 * high else low - 0.05 * span
        high = high + 0.05 * span
    elif high == low:
        low, high = low - 0.5 * span, high + 0.5 * span
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(power * m for m in (1, 2, 5, 10) if (high - low) / (power * m) <= 5)
    first = math.ceil(low / step - 1e-9)
    return low, high, [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _placed(low: float, high: float, start: float, end: float, logarithmic: bool) -> Place:
    turn = math.log10 if logarithmic and low > 0 else float
    return lambda value: start + (end - start) * (turn(value) - turn(low)) / (turn(high) - turn(low))


def _curve(
    line: Line,
    colour: str,
    x_of: Callable[[float], float],
    y_of: Callable[[float], float],
    write: Callable[[float], str],
) -> Markup:
    places = [(x_of(x), y_of(y)) for x, y in line.points]
    drawn = [
        (x, before) if step else (x, y)
        for (_, before), (x, y) in zip([places[0], *places[:-1]] if places else [], places, strict=True)
        for step in ((True, False) if line.steps else (False,))
    ]
    parts = []
    if len(drawn) > 1:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
        dashes = "5 3" if line.dashed else None
        parts.append(element("path", css="curve", d=path, stroke_width=line.width, stroke_dasharray=dashes))
    measured = line.points if line.dots is None else line.dots
    dots = [*((point, 1.6 + line.width / 2) for point in measured), *((point, 5.0) for point in line.marked)]
    for (x, y), radius in dots:
        title = element("title", f"{cut(line.name)}: {write(y)} at {number(x)}")
        parts.append(element("circle", title, cx=x_of(x), cy=y_of(y), r=radius))
    return element("g", *parts, css=f"{colour} stroke")


def _swatch(line: Line, colour: str) -> Markup:
    """A piece of the curve, for the legend."""
    dashes = "5 3" if line.dashed else None
    path = element("path", css="curve", d="M0 -4h14", stroke_width=line.width, stroke_dasharray=dashes)
    return element("g", path, css=f"{colour} stroke")


def _legend(swatches: Sequence[tuple[str, Markup]], top: float) -> tuple[list[Markup], float]:
    """A swatch and a name each, as many in a row as there is room for; and where the drawing ends below them."""
    if len(swatches) < 2:
        return [], top - 8
    marks, x, y = [], 4.0, top
    for full_name, swatch in swatches:
        name = cut(full_name, 56)
        if x > 4 and x + 22 + 6 * len(name) > WIDTH:
            x, y = 4.0, y + 16
        marks.append(element("g", swatch, element("text", name, x=19, y=0), transform=f"translate({x:.0f} {y:.0f})"))
        x += 30 + 6 * len(name)
    return marks, y + 8
