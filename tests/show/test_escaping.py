"""What data says is shown as it stands: names, values, labels and notes mark up no page, no notebook, no terminal."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from shoal import KAnonymity, Policy, Release, anonymize, profile
from shoal.report.page import render
from shoal.show import Bars, Chart, HeatTable, Histogram, Line, Lines, Result, Series, Sheet
from shoal.show.svg import figure
from tests.report.test_page import Outline

NASTY = ["<script>alert(1)</script>", "\"a' & b", "{{7*7}}{% for %}", "[red]x[/red][/]", "$x^{2}$ </svg>"]
TAGS = {*["figure", "figcaption", "svg", "p", "g", "title", "text", "rect", "line", "path", "circle"]}
TABLE = {*["details", "summary", "div", "table", "thead", "tbody", "tr", "th", "td"]}
ARRAY = np.array([0.25, 0.75])


@dataclass(frozen=True)
class Nasty(Result):
    """A result all of whose words are nasty."""

    def sheets(self) -> list[Sheet]:
        rows = [(text, text) for text in NASTY]
        return [Sheet(text, (text, text), rows, legend=(text,)) for text in NASTY]

    def remarks(self) -> list[str]:
        return NASTY

    def charts(self) -> list[Chart]:
        return every_chart(NASTY)

    def to_dict(self) -> dict[str, object]:
        return {"words": NASTY}


def every_chart(texts: list[str]) -> list[Chart]:
    first = texts[0]
    values = np.linspace(0, 1, len(texts))
    table = np.outer(values, values)
    points = [(float(x), float(x)) for x in values]
    return [
        Bars(first, texts, tuple(Series(text, values) for text in texts), caption=first, rule=(0.5, first)),
        Histogram(first, np.array([0.0, 1.0, 2.0]), ARRAY, ARRAY, [(0.0, first), (2.0, first)], first),
        HeatTable(first, texts, texts, table, caption=first),
        HeatTable(first, texts, texts, table, "share", caption=first, across=first, upwards=first),
        Lines(first, tuple(Line(text, points, points[:1]) for text in texts), first, first, [("across", 0.5, first)]),
    ]


@pytest.fixture(scope="module")
def release() -> Release:
    rng = np.random.default_rng(0)
    names = ["<b>{{7*7}}</b>", "[red]q'uote\"[/red]"]
    table = pl.DataFrame({name: [NASTY[i] for i in rng.integers(0, len(NASTY), 200)] for name in names})
    table = table.with_columns(pl.Series("<i>no role</i>", range(200)), other=rng.integers(0, 4, 200))
    policy = Policy(quasi_identifiers=[names[0], "other"], confidential=[names[1]], models=[KAnonymity(3)])
    return anonymize(table, policy, seed=1)


@pytest.mark.parametrize("text", NASTY)
def test_words_are_shown_on_the_terminal_as_they_stand(text: str) -> None:
    assert text in str(Nasty())
    assert str(Nasty()) == repr(Nasty())
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    console.print(Nasty())
    assert text in console.file.getvalue()  # type: ignore[attr-defined]


def test_words_are_shown_in_a_notebook_as_they_stand() -> None:
    outline = Outline(Nasty()._repr_html_())
    assert {tag for tag, _ in outline.tags} == {"div", "style", "p", "b", "table", "tr", "th", "td"}
    for text in NASTY:
        assert outline.shown.count(text) == 3 + 2 * len(NASTY) + 2  # title, legend, remark, cells and header


@pytest.mark.parametrize("chart", every_chart(NASTY), ids=lambda chart: type(chart).__name__)
def test_words_are_shown_in_a_figure_of_a_page_as_they_stand(chart: Chart) -> None:
    drawn = ET.fromstring(str(figure(chart)))
    assert {part.tag for part in drawn.iter()} <= TAGS | TABLE
    shown = " ".join([*drawn.itertext(), *(part.get("aria-label", "") for part in drawn.iter())])
    for text in NASTY[:1] if isinstance(chart, Histogram) else NASTY:
        assert text[:12] in shown
    assert "49" not in shown


def test_every_chart_says_in_words_what_it_shows() -> None:
    for chart in every_chart(["first", "second", "third", "fourth", "fifth"]):
        label = ET.fromstring(str(figure(chart))).find("svg").get("aria-label")  # type: ignore[union-attr]
        assert label == f"first. {chart.words}"
        assert len(chart.words) > 20


def test_a_plot_takes_no_words_for_formulas() -> None:
    drawn = Nasty().plot()
    drawn.draw_without_rendering()
    assert len(drawn.axes) == len(every_chart(NASTY))


def test_a_report_evaluates_nothing_that_data_says(release: Release) -> None:
    page = render(release)
    outline = Outline(page)
    assert "script" not in {tag for tag, _ in outline.tags}
    assert "{{7*7}}" in outline.words
    assert "<b>{{7*7}}</b>" in outline.words
    assert "[red]q'uote\"[/red]" in outline.words
    assert "<b>49</b>" not in outline.words
    for drawn in re.findall(r"<figure>.*?</figure>", page, re.DOTALL):
        ET.fromstring(drawn)


def test_a_release_and_a_profile_print_names_as_they_stand(release: Release) -> None:
    assert "No role names '<i>no role</i>': left out of the release" in " ".join(str(release).split())
    found = profile(release.original.frame)
    assert "[red]q'uote\"[/red]" in str(found)
    assert "<b>{{7*7}}</b>" in Outline(found._repr_html_()).shown
