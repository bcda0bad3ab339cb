"""What the source cites can be looked up in the repository: definitions by their anchor, papers by their authors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoal

ROOT = Path(shoal.__file__).parents[2]
SPEC = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
ANCHORS = set(re.findall(r"^\(([\w-]+)\)=$", SPEC, re.MULTILINE))
PAPERS = set(re.findall(r"^\| (paper \d+) \|", SPEC, re.MULTILINE))
LISTED = [line for line in SPEC.splitlines() if line.startswith("| ")]
CITED = re.compile(r"docs/spec\.md((?:(?:, | and )?#[\w-]+)+)")
AUTHOR = r"[A-ZÀ-Þ][a-zß-ÿ]+(?:[A-Z-][A-Za-zß-ÿ]+)*"
WORK = re.compile(rf"({AUTHOR})(?: et al\.?)?,? \(?((?:19[3-9]|20[0-2])\d)\b")
NO_AUTHORS = {"Cup", "March", "Science", "January", "February", "Apr"}  # that stand before a year
FILES = sorted(path for part in ("src", "studies", "tests") for path in (ROOT / part).rglob("*.py"))


def texts() -> Iterator[tuple[str, str]]:
    for path in FILES:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_every_definition_that_is_cited_has_its_anchor() -> None:
    cited = {
        (name, part)
        for name, text in texts()
        for chain in CITED.findall(text)
        for part in re.findall(r"#([\w-]+)", chain)
    }
    assert cited
    assert sorted((name, part) for name, part in cited if part not in ANCHORS) == []


def test_every_anchor_is_cited_or_linked() -> None:
    everything = SPEC + "".join(text for _, text in texts())
    assert sorted(anchor for anchor in ANCHORS if f"#{anchor}" not in everything) == ["literature", "papers"]


def test_every_paper_with_a_number_is_listed() -> None:
    cited = {(name, f"paper {number}") for name, text in texts() for number in re.findall(r"\b[Pp]aper (\d)", text)}
    assert sorted((name, paper) for name, paper in cited if paper not in PAPERS) == []


@pytest.mark.parametrize("name", [name for name, _ in texts() if name.startswith("src")])
def test_every_work_that_is_cited_by_author_and_year_is_listed(name: str) -> None:
    works = WORK.findall((ROOT / name).read_text(encoding="utf-8"))
    missing = [
        (author, year)
        for author, year in works
        if author not in NO_AUTHORS and not any(author in line and year in line for line in LISTED)
    ]
    assert missing == []


@pytest.mark.parametrize("page", ["design.md", "decisions/index.md"])
def test_every_place_that_a_page_about_the_code_names_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    places = re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|md)|(?:[\w-]+/)+)`", text)
    assert page != "design.md" or len(places) > 40
    assert [place for place in places if not any((root / place).exists() for root in (ROOT / "src/shoal", ROOT))] == []


def test_nothing_is_cited_that_lies_outside_of_the_repository() -> None:
    assert [
        name for name, text in texts() if name != "tests/test_references.py" and re.search(r"\bSPEC \d", text)
    ] == []
