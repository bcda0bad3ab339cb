"""The app as a custodian meets it, in a real browser with the real server and its workers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import CSV

pytestmark = [
    pytest.mark.skipif(not all(map(find_spec, ("starlette", "uvicorn", "tomlkit"))), reason="needs shoal[ui]"),
    pytest.mark.xdist_group("app"),
]
SCREENS = ("open", "understand", "roles", "promise", "method", "result", "release", "check")
QUESTIONS = ("recipient", "other_releases", "known", "decided_by")
PATIENCE = 120_000  # milliseconds, on a busy machine


class App:
    """A server for one folder, and its link."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-m", "shoal", "ui", str(self.folder), "--no-browser"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        link = ""
        while not link.startswith("http://"):
            link = self.process.stdout.readline().strip()
        self.link, self.host = link, urlsplit(link).netloc

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


class Custodian:
    """Somebody at the browser: what she does is counted, and what goes wrong is kept."""

    def __init__(self, page: Page, app: App) -> None:
        self.page, self.app, self.clicks, self.problems = page, app, 0, list[str]()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.problems.append(f"script error: {error.message}"))
        page.on("request", lambda asked: self.local(asked.url) or self.problems.append(f"foreign: {asked.url}"))
        page.on("console", lambda line: "Content Security" in line.text and self.problems.append(line.text))

    def local(self, url: str) -> bool:
        return urlsplit(url).scheme in ("about", "data") or urlsplit(url).netloc == self.app.host

    def at(self, screen: str) -> None:
        """The screen is there, with all that it shows."""
        expect(self.page.locator(f"#frame[data-screen={screen}]")).to_be_visible(timeout=PATIENCE)
        expect(self.page.locator(".working")).to_have_count(0, timeout=PATIENCE)

    def goes(self, screen: str) -> None:
        self.page.goto(f"http://{self.app.host}/{screen}")
        self.at(screen)

    def clicks_on(self, role: Any, name: str) -> None:
        self.clicks += 1
        self.page.get_by_role(role, name=re.compile(name)).first.click()

    def reloads(self, screen: str) -> None:
        self.page.reload()
        self.at(screen)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app") / "hospital"
    folder.mkdir()
    (folder / "d.csv").write_text(CSV)
    with App(folder) as app:
        yield app
    assert not (folder / "work").exists()


@pytest.fixture
def custodian(browser: Browser, app: App) -> Iterator[Custodian]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    somebody = Custodian(context.new_page(), app)
    yield somebody
    context.close()
    assert somebody.problems == []


def to_a_release(somebody: Custodian, first: str, *, reload: bool) -> None:
    """From the first screen to the last."""
    page = somebody.page
    page.goto(somebody.app.link)
    somebody.at("open")
    assert "#" not in page.url
    somebody.clicks_on("button", first)
    if first == "d.csv":
        somebody.clicks_on("link", "This is how")
    for screen, role, name in (
        ("understand", "link", "Give the columns"),
        ("roles", "button", "Take these"),
        ("roles", "link", "Promise something"),
        ("promise", "link", "How it is brought"),
        ("method", "link", "See the result"),
        ("result", "link", "Release it"),
    ):
        somebody.at(screen)
        if reload:
            somebody.reloads(screen)
        if name == "Promise something":
            page.get_by_role("link", name=name).wait_for()
        somebody.clicks_on(role, name)
    somebody.at("release")
    page.locator("#recipient").click()
    somebody.clicks += 1
    for number, key in enumerate(QUESTIONS):
        page.keyboard.type(f"answer {number}")
        page.keyboard.press("Tab")
        assert page.locator(f"#{key}").input_value() == f"answer {number}"
    somebody.clicks_on("button", "^Release$")
    expect(page.get_by_role("heading", name="Released")).to_be_visible(timeout=PATIENCE)
    somebody.at("release")


def test_a_release_takes_a_dozen_clicks_and_a_reload_at_each_step_loses_nothing(custodian: Custodian) -> None:
    from tests.cli.conftest import run_command

    to_a_release(custodian, "d.csv", reload=True)
    assert custodian.clicks <= 12
    custodian.reloads("release")
    [place] = (custodian.app.folder / "releases").iterdir()
    assert run_command("check", str(place / "release.csv"), "--certificate", str(place / "certificate.json")) == 0
    answers = (place / "answers.toml").read_text()
    assert all(f"answer {number}" in answers for number in range(4))
    with custodian.page.context.expect_page() as opened:
        custodian.page.get_by_role("button", name=re.compile("report.html")).first.click()
    expect(opened.value.get_by_text("not for publication")).to_be_visible(timeout=PATIENCE)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_screen_is_accessible_and_fits(browser: Browser, app: App, width: int, dark: bool) -> None:
    """WCAG 2.2 AA by axe, on each screen as the journey above left it, by daylight and at night, desk and phone."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    somebody = Custodian(context.new_page(), app)
    somebody.page.goto(app.link)
    somebody.at("open")
    standard = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}
    problems = []
    for screen in SCREENS:
        somebody.goes(screen)
        violations: list[dict[str, Any]] = Axe().run(somebody.page, options=standard).response["violations"]
        problems += [f"{screen}: {each['id']} {node['html'][:120]}" for each in violations for node in each["nodes"]]
        across = somebody.page.evaluate("document.scrollingElement.scrollWidth")
        problems += [f"{screen} scrolls sideways: {across}"] if across > width else []
    context.close()
    assert problems + somebody.problems == []


def test_back_forward_undo_and_a_second_tab(custodian: Custodian) -> None:
    page = custodian.page
    page.goto(custodian.app.link)
    custodian.goes("promise")
    custodian.clicks_on("link", "How it is brought")
    custodian.at("method")
    page.go_back()
    custodian.at("promise")
    page.go_forward()
    custodian.at("method")
    page.go_back()
    custodian.at("promise")
    before = page.locator("#k").input_value()
    with page.context.expect_page() as opened:
        page.evaluate("window.open('/promise')")
    second = Custodian(opened.value, custodian.app)
    second.at("promise")
    second.page.locator("#k").fill("7")
    second.page.keyboard.press("Tab")
    expect(
        second.page.get_by_text("like those of at least 6 others").or_(second.page.get_by_text("6 others")).first
    ).to_be_visible()
    page.locator("#k").fill("9")
    page.keyboard.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("changed meanwhile")
    custodian.clicks_on("link", "Go on from how it is")
    custodian.at("promise")
    assert page.locator("#k").input_value() == "7"
    custodian.clicks_on("button", "Undo")
    expect(page.locator("#k")).to_have_value(before)
    page.locator("#k").fill("1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("at least 2")
    expect(page.locator("#k")).to_have_value(before)  # what holds, not what was tried


def test_a_page_without_the_token_shows_nothing(browser: Browser, app: App) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://{app.host}/roles")
    expect(page.get_by_role("heading", name="This page needs its link")).to_be_visible(timeout=PATIENCE)
    context.close()


@pytest.mark.slow
def test_the_way_can_be_gone_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(CSV)
    with App(tmp_path) as app:
        context = browser.new_context()
        somebody = Custodian(context.new_page(), app)
        page = somebody.page
        page.goto(app.link)
        somebody.at("open")

        def press_on(name: str) -> None:
            for _ in range(200):
                page.keyboard.press("Tab")
                text = page.evaluate("document.activeElement.textContent + (document.activeElement.id || '')")
                if name in text:
                    page.keyboard.press("Enter")
                    return
            raise AssertionError(f"{name} is not reached by Tab")

        press_on("d.csv")
        page.get_by_role("link", name="This is how").wait_for()
        press_on("This is how")
        for screen, name in (
            ("understand", "Give the columns"), ("roles", "Take these"), ("roles", "Promise something"),
            ("promise", "How it is brought"), ("method", "See the result"), ("result", "Release it"),
        ):  # fmt: skip
            somebody.at(screen)
            if name == "Promise something":
                page.get_by_role("link", name=name).wait_for()
            press_on(name)
        somebody.at("release")
        for key in QUESTIONS:
            while page.evaluate("document.activeElement.id") != key:
                page.keyboard.press("Tab")
            page.keyboard.type(key)
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Release":
                break
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Released")).to_be_visible(timeout=PATIENCE)
        context.close()
        assert somebody.problems == []


@pytest.mark.slow
def test_the_demo_leads_to_a_release_and_a_killed_server_goes_on(browser: Browser, tmp_path: Path) -> None:
    with App(tmp_path) as app:
        context = browser.new_context(viewport={"width": 390, "height": 800})
        somebody = Custodian(context.new_page(), app)
        to_a_release(somebody, "Try the demo", reload=False)
        assert somebody.clicks <= 12
        policy = (tmp_path / "shoal.toml").read_text()
        app.kill()
        somebody.page.get_by_role("link", name=re.compile("Promise")).first.click()
        expect(somebody.page.get_by_role("heading", name="Shoal does not answer")).to_be_visible(timeout=PATIENCE)
        app.start()
        somebody.page.goto(app.link)
        somebody.at("open")
        somebody.goes("release")
        assert (tmp_path / "shoal.toml").read_text() == policy
        assert somebody.page.locator("#recipient").input_value() == "answer 0"
        context.close()
