"""The looking itself: a sound page passes, and each fault that a page can have is found and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.browser.inspection import PHONE, Inspected

SOUND = '<svg width="40" height="40"><rect width="30" height="20"/></svg><p>Ink on paper.</p>'
FAULTS = {
    "script error: Gone": "<script>throw new Error('Gone')</script>",
    "console: lost": "<script>console.error('lost')</script>",
    "external request: http://localhost:9/a.png": '<img src="http://localhost:9/a.png" alt="far">',
    "not loaded: file:": '<img src="missing.png" alt="missing">',
    "not drawn: img: missing": '<img src="missing.png" alt="missing">',
    "not drawn: svg: hollow": '<svg width="40" height="40" aria-label="hollow"><g></g></svg>',
    "not drawn: figure: words": "<figure>words</figure>",
    "scrolls sideways: 900 px wide on 390": '<div style="width: 900px">wide</div>',
    "hard to read": '<p style="color: #bbb; background: #fff">faint</p>',
}


def page_of(folder: Path, body: str) -> Path:
    page = folder / "page.html"
    styled = f"<!DOCTYPE html><html lang=en><title>Page</title><body style='margin: 0; background: #fff'>{body}"
    page.write_text(styled, encoding="utf-8")
    return page


def test_a_sound_page_has_no_problem(inspect_page: Callable[..., Inspected], tmp_path: Path) -> None:
    assert inspect_page(page_of(tmp_path, SOUND)) == Inspected((), 1)


def test_every_fault_is_found(inspect_page: Callable[..., Inspected], tmp_path: Path) -> None:
    problems = inspect_page(page_of(tmp_path, SOUND + "".join(FAULTS.values())), width=PHONE).problems
    for fault in FAULTS:
        assert any(problem.startswith(fault) for problem in problems), (fault, problems)
