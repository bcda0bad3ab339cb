"""One headless Chromium for all tests of pages; without one they are skipped and say how to get it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.inspection import Inspected, inspect_page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("No Chromium on the path, so no page was opened: install it (Debian: apt-get install chromium).")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield opened
        opened.close()


@pytest.fixture(name="inspect_page", scope="session")
def inspect_page_(browser: Browser) -> Callable[..., Inspected]:
    """`inspect_page(path, width=..., dark=..., media=...)`; see tests/browser/inspection.py."""
    return partial(inspect_page, browser)
