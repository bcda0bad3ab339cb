"""The tour's page and a study's, in a real browser: on a desk and a phone, by day, by night and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from shoal_studies.tour import take_tour
from tests.browser.inspection import DESKTOP, PAPER, PHONE, Inspected
from tests.studies.small_tour import at_small_sizes, small

pytestmark = pytest.mark.slow

VIEWS = [(DESKTOP, False, "screen"), (DESKTOP, True, "screen"), (PHONE, False, "screen"), (PAPER, False, "print")]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tour")
    with at_small_sizes(drawing=True):
        take_tour(folder, small("big-data", "k-map"))
    return folder


@pytest.mark.parametrize(("width", "dark", "media"), VIEWS)
@pytest.mark.parametrize(("page", "figures"), [("index.html", 8), ("k-map/index.html", 4)])
def test_pages_are_sound(
    inspect_page: Callable[..., Inspected], tour: Path, page: str, figures: int, width: int, dark: bool, media: str
) -> None:
    seen = inspect_page(tour / page, width=width, dark=dark, media=media)
    assert seen.problems == ()
    assert seen.pictures >= figures


def test_the_box_hides_what_agrees(browser: Browser, tour: Path) -> None:
    page = browser.new_page()
    page.goto((tour / "index.html").as_uri())
    agreeing, differing = page.locator("tr.agrees td"), page.locator("tr.differs td")
    assert agreeing.first.is_visible()
    page.get_by_label("Show only what differs").check()
    assert not any(agreeing.nth(i).is_visible() for i in range(agreeing.count()))
    assert all(differing.nth(i).is_visible() for i in range(differing.count()))
    page.close()
