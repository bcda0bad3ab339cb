"""Figures as SVG: all text and paper follow the reader's light or dark; the same figure gives the same file."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from shoal_studies import charts
from shoal_studies.charts import IN_THE_DARK, ON_DARK, ON_LIGHT, Panel
from shoal_studies.curves import Chart, Curve, Plot, Stroke, curves, size_bars, small_multiples
from shoal_studies.drawing import drawn

STROKE = Stroke(charts.BLUE, charts.NAVY, 2.0)
X = np.array([0.1, 0.5, 0.9])
BARS = pl.DataFrame({"family": ["a", "b"], "setting": ["1", "2"], "x": [0.2, 0.4]})
FIGURES = {
    "grouped bars": lambda: charts.grouped_bars("Title", ["a", "b"], {"s": (charts.GREY, [0.1, 0.9])}),
    "bar table": lambda: charts.bar_table(
        "Title", BARS, [Panel("x", "x", str, mark=(0.3, "here"))], {"a": charts.BLUE, "b": charts.GREEN}
    ),
    "heat map": lambda: charts.heat_map(
        "Title", np.array([[0.0, 1.0], [0.5, 0.2]]), [["a", "b"], ["c", "d"]], ["1", "2"], "x", "y", "Blues"
    ),
    "small multiples": lambda: small_multiples(
        "Title", {"row": [Chart("k", {"D1": (X, X)}, 1.0, (0.5, "half"))]}, {"D1": STROKE}, "x", [str]
    ),
    "curves": lambda: curves(
        "Title", [Plot("p", [Curve("c", STROKE, {1: 0.1, 2: 0.2})], 1.0, [(1, "m")])], "x", "y", str
    ),
    "size bars": lambda: size_bars("Title", {"p": {1: 2.0, 3: 1.0}}, [charts.BLUE], 2),
}


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_stays_dark_on_a_dark_page(name: str) -> None:
    svg = drawn("one", FIGURES[name]())["svg"].decode()
    words = re.findall(r"<!-- (.+?) -->\s*<g( style=\"[^\"]*\")?", svg)
    assert words
    for word, style in words:
        fixed = any(f"fill: {colour}" in style for colour in (ON_DARK, ON_LIGHT))
        assert fixed or "fill: var(--c" in style, word
    assert "fill: #ffffff; fill: var(--cffffff)" in svg  # the paper
    assert "prefers-color-scheme:dark" in svg


def test_the_same_figure_gives_the_same_files() -> None:
    assert drawn("one", FIGURES["curves"]()) == drawn("one", FIGURES["curves"]())


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [charts.INK, charts.SOFT, charts.NAVY, charts.RUST, charts.SEA])
def test_text_stands_out_by_day_and_by_night(colour: str) -> None:
    for ink, paper in ((colour, charts.PAPER), (IN_THE_DARK[colour], IN_THE_DARK[charts.PAPER])):
        light, dark = sorted((_luminance(ink), _luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
