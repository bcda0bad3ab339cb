"""A page looked at in a real browser: whatever a reader would stumble over, as sentences.

All folds are opened. Scripts must not fail, nothing may be asked of another machine, every picture must be drawn, the
page must not scroll sideways, and text must stand out from its ground (WCAG AA, judged by axe-core).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

DESKTOP, PHONE, PAPER = 1280, 390, 688  # pixels across; paper is A4 within its margins
LOCAL = ("file", "data", "blob", "about")

_SETTLE = """async () => {
  document.querySelectorAll("details").forEach(fold => { fold.open = true; });
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
  await document.fonts.ready;
}"""

_PICTURES = """() => {
  const marks = "path, rect, circle, ellipse, line, polyline, polygon, text, image, use";
  const empty = box => box.width <= 0 && box.height <= 0;
  const drawn = picture => {
    if (empty(picture.getBoundingClientRect())) return false;
    if (picture instanceof HTMLImageElement) return picture.naturalWidth > 0;
    if (picture instanceof SVGSVGElement) return [...picture.querySelectorAll(marks)].some(m => !empty(m.getBBox()));
    return picture.querySelector("svg, img, canvas, table") !== null;
  };
  const named = p => p.getAttribute("aria-label") || p.getAttribute("alt") || p.textContent.trim() || p.outerHTML;
  const shown = [...document.querySelectorAll("figure, svg, img, canvas")].filter(p => p.checkVisibility());
  return {
    count: shown.length,
    missing: shown.filter(p => !drawn(p)).map(p => `${p.tagName.toLowerCase()}: ${named(p).slice(0, 80)}`),
  };
}"""

_SIDEWAYS = """() => {
  const page = document.scrollingElement, width = page.clientWidth;
  if (page.scrollWidth <= width) return [];
  const scrolls = e => getComputedStyle(e).overflowX !== "visible";
  const clipped = e => e && e !== document.body && (scrolls(e) || clipped(e.parentElement));
  const beyond = e => e.getBoundingClientRect().right > width + 1 && !clipped(e.parentElement);
  const first = [...document.body.querySelectorAll("*")].find(beyond);
  return [`${page.scrollWidth} px wide on ${width}: ${first ? first.outerHTML.slice(0, 80) : "the body itself"}`];
}"""


@dataclass(frozen=True)
class Inspected:
    """What is wrong with the page, and how many pictures it shows."""

    problems: tuple[str, ...]
    pictures: int


def inspect_page(
    browser: Browser,
    path: Path,
    *,
    width: int = DESKTOP,
    dark: bool = False,
    media: Literal["screen", "print"] = "screen",
) -> Inspected:
    """Opens the file in a window of its own."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"script error: {error.message}"))
    page.on("console", lambda said: said.type == "error" and problems.append(f"console: {said.text}"))
    page.on("request", lambda asked: _local(asked.url) or problems.append(f"external request: {asked.url}"))
    page.on("requestfailed", lambda asked: problems.append(f"not loaded: {asked.url}"))
    try:
        page.emulate_media(media=media)
        page.goto(path.resolve().as_uri(), wait_until="load")
        page.evaluate(_SETTLE)
        pictures = page.evaluate(_PICTURES)
        problems += [f"not drawn: {picture}" for picture in pictures["missing"]]
        problems += [f"scrolls sideways: {where}" for where in page.evaluate(_SIDEWAYS)]
        problems += _faint(page)
    finally:
        context.close()
    return Inspected(tuple(problems), pictures["count"])


def _local(url: str) -> bool:
    return urlsplit(url).scheme in LOCAL


def _faint(page: Page) -> list[str]:
    """Text that hardly stands out from what it stands on."""
    only = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "resultTypes": ["violations"]}
    found: list[dict[str, Any]] = Axe().run(page, options=only).response["violations"]
    nodes = [node for violation in found for node in violation["nodes"]]
    return [f"hard to read: {node['any'][0]['message']} {node['html'][:80]}" for node in nodes]
