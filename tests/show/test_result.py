"""Results show themselves in a notebook: tables that escape what they show, and figures without pyplot."""

from __future__ import annotations

import io
import json
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import polars as pl
import pytest
from rich.console import Console

from shoal import KAnonymity, Policy, Release, anonymize, profile
from shoal.data.discharges import discharges
from shoal.errors import InputError
from shoal.show import Bars, Line, Lines, Result, Series, Sheet
from shoal.show.figure import MOST, as_figure, as_files
from shoal.show.markup import for_notebook
from shoal.show.terminal import for_terminal


@pytest.fixture(scope="module")
def release() -> Release:
    policy = Policy(
        quasi_identifiers=["age_yrs", "sex", "los"],
        confidential=["charge"],
        models=[KAnonymity(5)],
        groups={"census": ("age_yrs", "sex")},
        rest="insensitive",
    )
    return anonymize(discharges(300, seed=1), policy, seed=1)


class Cells(HTMLParser):
    """What the tables show, cell by cell, and which cells hold numbers."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.numbers: list[str] = []
        self.tags: list[str] = []
        self.css: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.css = dict(attributes).get("class")

    def handle_data(self, data: str) -> None:
        if data.strip():
            (self.numbers if self.css == "number" else self.shown).append(data)


def test_a_sheet_is_escaped_and_its_numbers_stand_to_the_right() -> None:
    page = for_notebook([Sheet("<t>", ("a", "b"), [("<script>", "1 & 2")]), Sheet("empty", ("a",), [])], ["so < so"])
    cells = Cells(page)
    assert "script" not in cells.tags
    assert {"<t>", "<script>", "so < so"} <= set(cells.shown)
    assert cells.numbers == ["b", "1 & 2"]
    assert "empty" not in page


def test_a_value_cannot_steer_the_terminal_that_shows_it() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=200)
    out.print(for_terminal([Sheet("t\x1b[2J", ("c\x9b0m",), [("é\x1b]0;owned\x07 \u202e", "5")])]))
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert not [steering for steering in ("\x1b]", "\x1b[2J", "\x9b", "\x07", "\u202e") if steering in shown]
    assert "é\\x1b]0;owned\\x07 \\u202e" in shown


def test_a_release_shows_what_was_released_and_how_it_was_judged(release: Release) -> None:
    cells = Cells(release._repr_html_())
    assert "holds" in cells.shown
    assert {"300", f"{release.information_loss:.4f}", "5"} <= set(cells.numbers)


def test_a_releases_figure_tells_class_sizes_and_losses(release: Release) -> None:
    sizes, losses = release.plot().axes
    assert [text.get_text() for text in sizes.get_legend().get_texts()] == ["original", "released"]
    assert sum(bar.get_width() for bar in sizes.containers[1]) == pytest.approx(1)
    assert {text.get_text() for text in losses.get_yticklabels()} == {"age_yrs", "sex", "los"}
    assert losses.containers[0][0].get_width() == max(release.attribute_losses.values())


def test_a_risks_figure_tells_class_sizes_and_who_is_unique(release: Release) -> None:
    found = release.risk()
    sizes, guesses, known = found.plot().axes
    assert sizes.containers[0][0].get_width() == 0  # nobody is alone
    assert guesses.containers[0][-1].get_width() == found.records_at_risk[0.05] / 300
    assert [text.get_text() for text in known.get_yticklabels()] == ["census"]


def test_a_profiles_figure_names_the_most_identifying_first() -> None:
    found = profile(pl.DataFrame({"same": [1, 1, 1, 2], "own": [1.5, 2.5, 3.5, 4.5]}))
    alone, together = found.plot().axes
    assert [text.get_text() for text in alone.get_yticklabels()] == ["own", "same"]
    assert together.containers[0][-1].get_width() == found.uniques / 4


def test_a_figure_shows_itself_and_leaves_pyplot_alone(release: Release) -> None:
    before = "matplotlib.pyplot" in sys.modules
    assert release.plot()._repr_png_().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) is before


def test_labels_are_no_formulas_and_long_charts_are_cut() -> None:
    labels = ["price in $ and $x^{$", *map(str, range(MOST))]
    figure = as_figure(
        [Bars("many", labels, (Series("share", [0.5] * len(labels)),)), Bars("none", [], (Series("share", []),))]
    )
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert len(axes.containers[0]) == MOST
    assert axes.get_title("left") == f"many (first {MOST} of {MOST + 1})"


def test_a_release_prints_as_a_table_of_plain_text_that_fits_a_terminal(release: Release) -> None:
    lines = str(release).splitlines()
    assert lines[0] == "Released"
    assert [line.split() for line in lines if line.startswith(" records")] == [["records", "300"]]
    assert any(line.split() == ["k-anonymity", "5", f"{release.verdicts[0].achieved:g}", "holds"] for line in lines)
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in str(release)
    assert repr(release) == str(release)


def test_every_result_gives_json_of_what_it_holds(release: Release) -> None:
    for result in (release, release.risk(), profile(release.table)):
        assert json.loads(result.to_json()).keys() == result.to_dict().keys()


def test_without_matplotlib_a_plot_says_what_to_install(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[plot\]'"):
        release.plot()


def test_a_result_of_numbers_alone_says_that_it_has_no_figure() -> None:
    with pytest.raises(InputError, match="no figure of Nothing"):
        Nothing().plot()
    assert repr(Nothing()).startswith("<")


class Nothing(Result):
    """A result that holds nothing."""

    def sheets(self) -> list[Sheet]:
        return []

    def to_dict(self) -> dict[str, object]:
        return {}


def test_the_same_charts_give_the_same_files() -> None:
    charts = [Lines("curve", (Line("a", [(1, 2), (3, 4)], dots=[(2, 3)]),), "x", "y")]
    files = as_files("one", charts)
    assert files["png"].startswith(b"\x89PNG")
    assert ElementTree.fromstring(files["svg"]).tag.endswith("svg")
    assert files == as_files("one", charts)


def test_many_charts_stand_below_each_other() -> None:
    figure = as_figure([Lines(f"chart {i}", (Line("a", [(1, 2), (3, 4)]),), "x", "y") for i in range(6)])
    places = [axes.get_subplotspec().rowspan.start for axes in figure.axes]
    assert places == [0, 0, 0, 0, 1, 1]


def test_words_of_a_table_stay_whole_and_long_names_break_after_an_underscore() -> None:
    rows = [("discharge_disposition_id", "101,766", "quasi-identifier"), ("sex, age_of_the_patient", "1", "none")]
    shown = io.StringIO()
    console = Console(width=50, color_system=None, file=shown)
    console.print(for_terminal([Sheet("t", ("Attribute", "number", "Role"), rows)]))
    assert [line.split() for line in shown.getvalue().splitlines()[4:-1]] == [
        ["discharge_", "101,766", "quasi-identifier"],
        ["disposition_id"],
        ["sex,", "1", "none"],
        ["age_of_the_patient"],
    ]
