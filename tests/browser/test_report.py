"""The custodian's report as a reader sees it: on a desk, on a phone, at night, on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from shoal import KAnonymity, Policy, TCloseness, anonymize
from shoal.data.discharges import discharges
from tests.browser.inspection import DESKTOP, PAPER, PHONE, Inspected

LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"width": DESKTOP},
    "desktop, dark": {"width": DESKTOP, "dark": True},
    "phone": {"width": PHONE},
    "paper, printed from a dark screen": {"width": PAPER, "media": "print", "dark": True},
}


OPEN = "document.querySelectorAll('details').forEach(fold => { fold.open = true; })"
HEIGHT = "document.documentElement.scrollHeight"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a table with a hierarchy, dates, a nominal attribute of many categories and a long name."""
    table = discharges(600, seed=3).with_columns(
        admitted=pl.date(2009, 1, 1) + pl.duration(days=pl.col("los") * 7 + pl.col("age_yrs")),
        a_name_that_is_longer_than_any_label_may_be=pl.col("patzip").cast(pl.String) + " and what else is to say",
    )
    races = [(str(race), "low" if race < 3 else "high", "*") for race in table["race"].unique().sort()]
    policy = Policy(
        identifiers=["oshpd_id"],
        quasi_identifiers=["age_yrs", "sex", "race", "los", "admitted", table.columns[-1]],
        confidential=["charge", "diag_p"],
        models=[KAnonymity(4), TCloseness(0.5, "charge")],
        groups={"census": ("age_yrs", "sex", "race"), "temporal": ("los", "admitted")},
        attributes={"sex": {"kind": "nominal"}, "race": {"hierarchy": races}, table.columns[-1]: {"kind": "nominal"}},
        rest="insensitive",
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    anonymize(table, policy, seed=1).report(path)
    return path


@pytest.mark.parametrize(
    "look", [pytest.param(look, marks=[] if look in ("desktop, dark", "phone") else pytest.mark.slow) for look in LOOKS]
)
def test_nothing_is_wrong_with_the_report(inspect_page: Callable[..., Inspected], report: Path, look: str) -> None:
    found = inspect_page(report, **LOOKS[look])
    assert found.problems == ()
    assert found.pictures >= 2 * 20  # figures and the drawings in them


def test_whoever_cannot_see_it_finds_the_way(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    assert Axe().run(page).generate_snapshot() == ""
    page.evaluate(OPEN)
    assert Axe().run(page).generate_snapshot() == ""
    page.close()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_what_decides_is_at_most_a_third_of_the_page(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(report.as_uri())
    folded = page.evaluate(HEIGHT)
    page.evaluate("document.querySelectorAll('details:not(.numbers)').forEach(fold => { fold.open = true; })")
    assert folded <= page.evaluate(HEIGHT) / 3
    page.close()


def test_a_link_to_a_folded_part_opens_it(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": DESKTOP, "height": 900})
    page.goto(report.as_uri())
    assert page.locator("#loss h3").first.is_visible() is False
    page.get_by_role("link", name="What was lost").click()
    assert page.locator("#loss h3").first.is_visible() is True
    page.close()


def test_text_of_figures_can_be_read_on_a_phone(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": PHONE, "height": 900})
    page.goto(report.as_uri())
    page.evaluate(OPEN)
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll("svg[role=img] text")].map(label => {
          const drawing = label.ownerSVGElement;
          const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
          return parseFloat(getComputedStyle(label).fontSize) * scale;
        }))"""
    )
    assert smallest >= 10.5
    page.close()


def test_paper_is_white_whatever_the_screen_and_no_figure_is_cut(browser: Browser, report: Path) -> None:
    page = browser.new_page(color_scheme="dark", viewport={"width": PAPER, "height": 900})
    page.emulate_media(media="print")
    page.goto(report.as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    breaks = "[...document.querySelectorAll('figure')].map(f => getComputedStyle(f).breakInside)"
    assert set(page.evaluate(breaks)) == {"avoid"}
    assert page.evaluate("document.querySelector('nav').checkVisibility()") is False
    folded = "[...document.querySelectorAll('.fold figure')].map(f => f.checkVisibility({contentVisibilityAuto: true}))"
    assert set(page.evaluate(folded)) == {True}
    page.close()


def test_no_label_leaves_its_figure(browser: Browser, report: Path) -> None:
    """At the width of a phone, where text is largest against the drawing."""
    page = browser.new_page(viewport={"width": PHONE, "height": 900})
    page.goto(report.as_uri())
    page.evaluate(OPEN)
    cut = page.evaluate(
        """() => [...document.querySelectorAll("svg[role=img] text")].filter(label => {
          const text = label.getBoundingClientRect(), drawing = label.ownerSVGElement.getBoundingClientRect();
          return text.left < drawing.left - 1 || text.right > drawing.right + 1 || text.bottom > drawing.bottom + 1;
        }).map(label => label.textContent)"""
    )
    assert cut == []
    page.close()
