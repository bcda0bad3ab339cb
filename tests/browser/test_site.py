"""The documentation site builds without a warning, leads nowhere that is not there, and asks no other machine."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import shoal
from tests.browser.inspection import DESKTOP, PHONE, Inspected

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*myst_parser.*is deprecated")]


@dataclass
class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    path: Path
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if "href" in given:
            (self.loads if tag == "link" else self.links).append(given["href"])
        self.loads += [given[name] for name in ("src", "data", "poster") if name in given and tag != "meta"]


def faults(site: Path) -> Iterator[str]:
    """What is wrong with the links of a folder of pages."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        for target in page.loads:
            if urlsplit(target).netloc:
                yield f"{where} loads {target} from another machine."
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{where} names {target}, which is not there."
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].places:
                yield f"{where} names {target}, and there is no such place on that page."
    for style in sorted(site.rglob("*.css")):
        if any(sign in style.read_text(encoding="utf-8") for sign in ("url(http", "url(//", "@import")):
            yield f"{style.relative_to(site)} loads something from another machine."


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sphinx.application import Sphinx

    folder, said = tmp_path_factory.mktemp("site"), io.StringIO()
    html = folder / "html"
    app = Sphinx(DOCS, DOCS, html, folder / "doctrees", "html", status=None, warning=said, keep_going=True)
    app.build()
    assert said.getvalue() == ""
    return html


def test_every_link_leads_somewhere_and_nothing_comes_from_elsewhere(site: Path) -> None:
    assert len(list(site.glob("*.html"))) > len(list(DOCS.glob("*.md")))
    assert list(faults(site)) == []


def test_every_guide_can_be_reached_from_the_first_page(site: Path) -> None:
    links = {urlsplit(link).path for link in Page(site / "index.html").links}
    assert {f"{guide.stem}.html" for guide in DOCS.glob("*.md")} - {"index.html"} <= links


def test_the_reference_knows_everything_that_is_public(site: Path) -> None:
    assert {f"shoal.{name}" for name in shoal.__all__} <= Page(site / "api.html").places


def test_the_reference_shows_no_made_up_docstring(site: Path) -> None:
    """A dataclass without words gets its own signature for a docstring."""
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in shoal.__all__:
        assert f"<p>{name}(" not in text, name


@pytest.mark.parametrize(("width", "dark"), [(DESKTOP, False), (DESKTOP, True), (PHONE, False)])
@pytest.mark.parametrize("page", ["index.html", "choose.html", "engines.html"])
def test_pages_are_sound(inspect_page: Callable[..., Inspected], site: Path, page: str, width: int, dark: bool) -> None:
    assert inspect_page(site / page, width=width, dark=dark).problems == ()


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="gone.html">x</a>', "index.html names gone.html, which is not there."),
        ('<img src="gone.png">', "index.html names gone.png, which is not there."),
        ('<a href="#gone">x</a>', "index.html names #gone, and there is no such place on that page."),
        (
            '<a href="other.html#gone">x</a>',
            "index.html names other.html#gone, and there is no such place on that page.",
        ),
        (
            '<link href="https://a.example/font.css">',
            "index.html loads https://a.example/font.css from another machine.",
        ),
        ('<script src="//a.example/a.js"></script>', "index.html loads //a.example/a.js from another machine."),
    ],
)
def test_a_broken_link_is_found(page: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "index.html").write_text(f'<a href="other.html#here">fine</a>{page}', encoding="utf-8")
    assert list(faults(tmp_path)) == [fault]


def test_a_style_sheet_that_loads_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("body { background: url(https://a.example/a.png) }", encoding="utf-8")
    assert list(faults(tmp_path)) == ["a.css loads something from another machine."]
