"""Figures as inline SVG: bars, step histograms, heat maps. Colours are CSS classes, so a page can go dark.

A figure is drawn 380 wide and shown at about that size however wide the page, so that its text stays readable.
Every mark tells its numbers on hover, every figure in words for those who cannot see it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WIDTH = 380
_INVISIBLE = dict.fromkeys([*range(32), 127], " ")
_LABEL = 24  # characters that fit beside a bar
_TICK = 12  # characters below a tick
_SPOKEN = 16  # values that a text alternative lists


@dataclass(frozen=True)
class Series:
    """One colour of a figure: its CSS class, its name and a value for each bar."""

    css: str
    name: str
    values: Sequence[float] | Floats


# ---- text and numbers


def text(value: object, longest: int = 200) -> str:
    """Any value as harmless HTML text, in element or attribute; what is too long ends in an ellipsis."""
    return html.escape(_cut(str(value).translate(_INVISIBLE), longest))


def _cut(plain: str, longest: int) -> str:
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def percent(share: float) -> str:
    """A share that never rounds to nothing or to all; harmless as HTML."""
    if 0 < share < 0.0001:
        return "≤0.01%"
    if 0.9999 < share < 1:
        return "≥99.99%"
    digits = 2 if share < 0.1 or share > 0.999 else 1
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + "%" if share else "0%"


def number(value: float, digits: int = 3) -> str:
    """So many digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


# ---- bars


def bars(
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    show: Callable[[float], str] = percent,
    caption: str = "",
) -> str:
    """Horizontal bars, one a series beside each label; `caption` is HTML already."""
    longest = max((float(np.max(s.values, initial=0.0)) for s in series), default=0.0) or 1.0
    left = 12 + round(7.3 * max((len(_cut(label, _LABEL)) for label in labels), default=0))
    scale = (WIDTH - left - 48) / longest
    thick = 11 if len(series) > 1 else 14
    height = len(series) * (thick + 1)
    rows = []
    for i, label in enumerate(labels):
        top = 2 + i * (height + 9)
        marks = "".join(
            _bar(s.css, float(s.values[i]), left, top + j * (thick + 1), thick, scale, show)
            for j, s in enumerate(series)
        )
        rows.append(
            f"<g><title>{text(label)}: {text(_told(series, i, show))}</title>"
            f'<text x="{left - 8}" y="{top + height / 2 + 3.5:.1f}" text-anchor="end">{text(label, _LABEL)}'
            f"</text>{marks}</g>"
        )
    spoken = "; ".join(f"{label}: {_told(series, i, show)}" for i, label in enumerate(labels[:_SPOKEN]))
    return _figure(title, spoken, len(labels) * (height + 9), "".join(rows), caption)


def _bar(css: str, value: float, left: int, top: int, thick: int, scale: float, show: Callable[[float], str]) -> str:
    width = max(scale * value, 0.8 if value else 0.0)
    return (
        f'<rect class="{css}" x="{left}" y="{top}" width="{width:.1f}" height="{thick}" rx="1.5"/>'
        f'<text class="n" x="{left + width + 5:.1f}" y="{top + thick - 1.5}">{text(show(value))}</text>'
    )


def _told(series: Sequence[Series], i: int, show: Callable[[float], str]) -> str:
    return ", ".join(f"{s.name} {show(float(s.values[i]))}" for s in series)


# ---- histograms


def histogram(
    title: str,
    edges: Floats,
    before: Floats,
    after: Floats,
    ticks: Sequence[tuple[float, str]],
    *,
    caption: str = "",
) -> str:
    """The original as an area, the release as a line over the same bins."""
    left, right, top, bottom = 4, WIDTH - 4, 16, 166
    most = max(float(before.max(initial=0.0)), float(after.max(initial=0.0))) or 1.0
    x = left + (right - left) * (edges - edges[0]) / (edges[-1] - edges[0])
    area, line = (_steps(x, bottom - (bottom - top) * shares / most) for shares in (before, after))
    marks = [
        f'<line class="axis" x1="{left}" y1="{top}" x2="{right}" y2="{top}" stroke-dasharray="2 3"/>'
        f'<text class="n" x="{right}" y="{top - 4}" text-anchor="end">{percent(most)} of records</text>'
        f'<path class="before area" d="M{left} {bottom}L{area}L{right} {bottom}Z"/>'
        f'<path class="after line" d="M{line}"/>'
        f'<line class="axis" x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
    ]
    marks += _ticks([(float(np.interp(place, edges, x)), label) for place, label in ticks], bottom)
    for i, (one, other) in enumerate(zip(before, after, strict=True)):
        marks.append(
            f'<rect class="hover" x="{x[i]:.1f}" y="{top}" width="{x[i + 1] - x[i]:.1f}" '
            f'height="{bottom - top}"><title>original {percent(float(one))}, '
            f"released {percent(float(other))}</title></rect>"
        )
    moved = float(np.abs(before - after).sum()) / 2
    ends = f"from {ticks[0][1]} to {ticks[-1][1]}, " if ticks else ""
    spoken = f"Shares of records {ends}original against released; they differ by {percent(moved)} of records."
    return _figure(title, spoken, bottom + 22, "".join(marks), caption)


def _steps(x: Floats, y: Floats) -> str:
    """A path over the bins, flat in each."""
    flat = zip(x[:-1], x[1:], y, strict=True)
    return "L".join(f"{left:.1f} {level:.1f}L{right:.1f} {level:.1f}" for left, right, level in flat)


def _ticks(ticks: Sequence[tuple[float, str]], bottom: int) -> list[str]:
    """A label each, unless it would run into the one before."""
    marks, free = [], -math.inf
    for at, label in ticks:
        half = 3.4 * min(len(label), _TICK)
        middle = min(max(at, half + 1), WIDTH - half - 1)
        marks.append(f'<line class="axis" x1="{at:.1f}" y1="{bottom}" x2="{at:.1f}" y2="{bottom + 4}"/>')
        if middle - half < free:
            continue
        free = middle + half + 4
        marks.append(
            f'<text class="n" x="{middle:.1f}" y="{bottom + 17}" text-anchor="middle">{text(label, _TICK)}</text>'
        )
    return marks


# ---- heat maps


@dataclass(frozen=True)
class _Cell:
    css: str
    depth: float  # of the colour, from 0 to 1
    told: str  # on hover
    shown: str  # where there is room


def heat_map(title: str, names: Sequence[str], table: Floats, *, caption: str = "") -> str:
    """Correlations: the deeper the colour, the stronger; the hue is the sign. Few attributes show numbers."""
    cells = [[_correlation(float(value)) for value in row] for row in table]
    return _grid(title, _strongest(names, table), names, names, cells, caption, room=14 if len(names) < 20 else 20)


def cross_table(
    title: str, rows: Sequence[str], columns: Sequence[str], shares: Floats, *, most: float, caption: str = ""
) -> str:
    """Shares of records: the deeper the colour, the more, up to `most`."""
    cells = [[_share(share, share / most) for share in row] for row in shares.tolist()]
    i, j = np.unravel_index(int(np.argmax(shares)), shares.shape)
    spoken = f"Most records, {percent(float(shares[i, j]))}, are at {rows[int(i)]}, {columns[int(j)]}."
    return _grid(title, spoken, rows, columns, cells, caption, room=_LABEL)


def _grid(
    title: str,
    spoken: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[_Cell]],
    caption: str,
    *,
    room: int,
) -> str:
    """Names to the left and, aslant, below, of so many characters at most."""
    font = 11 if len(columns) < 20 else 7
    aslant = 0.43 * font * max(len(_cut(name, room)) for name in columns)
    left = round(max(14 + 0.6 * font * max(len(_cut(name, room)) for name in rows), aslant - 12))
    top = 2
    size = min((WIDTH - left) / len(columns), 46.0)
    height = min(size, 30.0)
    bottom = top + len(rows) * height
    marks = [
        f'<text x="{left - 7}" y="{top + (i + 0.5) * height + 0.35 * font:.1f}" font-size="{font}" text-anchor="end">'
        f"{text(name, room)}</text>"
        for i, name in enumerate(rows)
    ]
    marks += [
        f'<text font-size="{font}" text-anchor="end" transform="translate({left + (j + 0.5) * size + 3:.1f} '
        f'{bottom + 10:.1f}) rotate(-45)">{text(name, room)}</text>'
        for j, name in enumerate(columns)
    ]
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            pair = f"{rows[i]}, {columns[j]}"
            marks.append(_square(cell, pair, left + j * size, top + i * height, size, height))
    return _figure(title, spoken, round(bottom + 14 + aslant), "".join(marks), caption)


def _square(cell: _Cell, pair: str, x: float, y: float, width: float, height: float) -> str:
    shown = (
        f'<text class="in" x="{x + width / 2 - 0.7:.1f}" y="{y + height / 2 + 3:.1f}" text-anchor="middle">'
        f"{cell.shown}</text>"
        if width >= 26
        else ""
    )
    return (
        f'<g><title>{text(pair)}: {cell.told}</title><rect class="{cell.css}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{width - 1.5:.1f}" height="{height - 1.5:.1f}" fill-opacity="{0.05 + 0.65 * cell.depth:.2f}"/>'
        f"{shown}</g>"
    )


def _correlation(value: float) -> _Cell:
    if np.isnan(value):
        return _Cell("none", 0.0, "one of them does not vary", "")
    return _Cell("positive" if value >= 0 else "negative", abs(value), f"{value:.2f}", _short(value))


def _short(value: float) -> str:
    """.81 for 0.81: a cell is small."""
    two = f"{value:.2f}".replace("0.", ".", 1)
    return {"-.00": ".00", "1.00": "1", "-1.00": "-1"}.get(two, two)


def _share(share: float, depth: float) -> _Cell:
    return _Cell("positive", depth, f"{percent(share)} of records", _brief(share))


def _brief(share: float) -> str:
    """At most four characters, a cell is small; none at all is told from hardly any."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}" if share > 1e-9 else "0"


def _strongest(names: Sequence[str], table: Floats) -> str:
    """The strongest correlations in words."""
    row, column = np.triu_indices(len(names), 1)
    values = np.nan_to_num(table[row, column])
    first = np.argsort(-np.abs(values), kind="stable")[:3]
    told = "; ".join(f"{names[row[i]]} and {names[column[i]]} {values[i]:.2f}" for i in first)
    return f"Pairwise correlations. The strongest: {told}."


# ---- the frame of every figure


def _figure(title: str, spoken: str, height: int, marks: str, caption: str) -> str:
    """A title above, what the figure says in words, a caption in HTML below."""
    below = f"<p>{caption}</p>" if caption else ""
    return (
        f'<figure><figcaption>{text(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{text(title)}. {text(spoken, 1500)}">{marks}</svg>{below}</figure>'
    )
