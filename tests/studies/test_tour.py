"""The tour: every figure and table of every paper is listed, counts are those of the statements, runs go on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape

from shoal.errors import InputError
from shoal_studies.result import Part, StudyResult
from shoal_studies.tour import STUDIES, Found, Tour, finished, take_tour
from tests.studies.small_tour import at_small_sizes, small

pytestmark = pytest.mark.slow

FIGURES_AND_TABLES = {  # as the papers number them
    "proper-anonymization": [*(f"Figure S{i}" for i in range(1, 8)), *(f"Table S{i}" for i in range(1, 11))],
    "big-data": [],
    "k-map": ["Table 1", *(f"Figure {i}" for i in range(1, 6)), "Appendix A", "Appendix B"],
    "purchases": [*(f"Figure {i}" for i in range(1, 7)), "Table 1", "Table 2"],
    "risk-utility": ["Figure 1", "Table 1"],
}


@pytest.fixture(scope="module")
def sizes() -> Iterator[pytest.MonkeyPatch]:
    with at_small_sizes() as patch:
        yield patch


@pytest.fixture(scope="module")
def taken(sizes: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Tour:
    told: list[float] = []
    tour = take_tour(tmp_path_factory.mktemp("tour"), small(), lambda stage, seconds: told.append(seconds))
    assert sum(told) == pytest.approx(sum(study.seconds for study in STUDIES))  # the bar ends where it should
    return tour


@pytest.fixture(scope="module")
def page(taken: Tour) -> str:
    return (taken.output / "index.html").read_text(encoding="utf-8")


# ---- what is listed


def test_every_figure_and_table_of_each_paper_is_listed_once() -> None:
    assert {study.name: [item.name for item in study.paper.items] for study in STUDIES} == FIGURES_AND_TABLES


def test_an_item_is_made_again_or_has_a_reason(taken: Tour) -> None:
    for one in taken.taken:
        for item in one.study.paper.items:
            assert bool(item.part) != bool(item.why_not), item.name
            assert not item.part or one.statements(item.part), f"{one.study.name}: nothing is said of {item.name}"


def test_the_page_shows_every_item_part_and_statement(taken: Tour, page: str) -> None:
    for one in taken.taken:
        for item in one.study.paper.items:
            assert escape(item.shows) in page
            assert escape(item.why_not) in page
        for name, part in one.results["parts"].items():
            assert f'{one.study.name}/index.html#{part["anchor"]}"' in page, name
        for statement in one.results["statements"]:
            assert escape(statement["paper"]) in page
            assert escape(statement["ours"]) in page
            assert escape(statement["reason"]) in page


def test_counts_are_those_of_the_statements(taken: Tour, page: str) -> None:
    statements = [s for one in taken.taken for s in one.results["statements"]]
    agree = sum(s["agrees"] for s in statements)
    assert taken.counts == (agree, len(statements) - agree)
    assert page.count('<span class="badge agrees">') == agree
    assert page.count('<span class="badge differs">') == page.count('<p class="because">') == len(statements) - agree
    assert page.count('<span class="badge not-repeated">') == taken.items[1] - taken.items[0]
    assert f'<p class="value">{agree}</p>' in page
    assert f'<p class="value">{taken.items[0]} of {taken.items[1]}</p>' in page


def test_every_difference_has_its_reason(taken: Tour) -> None:
    for one in taken.taken:
        for statement in one.results["statements"]:
            assert bool(statement["reason"]) == (not statement["agrees"]), statement


def test_results_are_the_page_for_machines(taken: Tour) -> None:
    results = json.loads((taken.output / "results.json").read_text(encoding="utf-8"))
    assert results == json.loads(json.dumps(taken.to_dict()))
    listed = [item["name"] for study in results["studies"] for item in study["items"]]
    assert listed == [name for names in FIGURES_AND_TABLES.values() for name in names]


# ---- the page


class Sources(HTMLParser):
    """Everything that a browser would fetch, and where links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.fetched += [found[name] for name in ("src", "srcset", "data") if name in found]
        assert tag not in ("script", "link", "iframe")
        if tag == "a":
            self.links.append(found["href"])
        if tag not in ("meta", "img", "input", "br", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["", *FIGURES_AND_TABLES])
def test_pages_fetch_nothing_from_elsewhere_and_their_links_lead_somewhere(taken: Tour, name: str) -> None:
    text = (taken.output / name / "index.html").read_text(encoding="utf-8")
    assert "@import" not in text
    assert not re.search(r"url\((?!['\"]?data:)", text)
    found = Sources()
    found.feed(text)
    assert not found.open
    for source in found.fetched:
        assert source.startswith("data:") or (taken.output / name / source).is_file(), source
    anchors = set(re.findall(r'id="([^"]+)"', text))
    for link in found.links:
        file, _, anchor = link.partition("#")
        if link.startswith("https://doi.org/"):
            continue
        elsewhere = (taken.output / name / file).read_text(encoding="utf-8") if anchor and file else ""
        assert (taken.output / name / file).exists(), link
        assert not anchor or anchor in anchors or f'id="{anchor}"' in elsewhere, link


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    study = replace(STUDIES[1], title="<b>bold</b>")
    found = Found(study, {"table": "<i>", "parts": {}, "statements": [], "settings": {}})
    Tour((found,), tmp_path).write()
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;bold" in text
    assert "<b>bold" not in text
    assert "on <i>" not in text


# ---- going on


def test_finished_studies_are_not_run_again(taken: Tour, sizes: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, float]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyResult, "write", lambda self: pytest.fail("a study was run again"))
        again = take_tour(taken.output, small(), lambda stage, seconds: said.append((stage, seconds)))
    assert again.counts == taken.counts
    assert said == [(f"{study.name}: finished before", study.seconds) for study in STUDIES]


def test_only_what_was_asked_for_otherwise_is_run_again(taken: Tour, sizes: pytest.MonkeyPatch) -> None:
    (study,) = small("big-data")
    folder = taken.output / "big-data"
    assert finished(study, folder) is not None
    assert finished(replace(study, asked={"rows": 1_001}), folder) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_DATA", str(Path(__file__).parent))
        assert finished(study, folder) is None
    assert finished(study, taken.output) is None


def test_a_study_cut_short_is_run_again(tmp_path: Path, sizes: pytest.MonkeyPatch) -> None:
    (study,) = small("big-data")

    def stop(stage: str, seconds: float) -> None:
        if "ten releases" in stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_tour(tmp_path, (study,), stop)
    assert [path.name for path in (tmp_path / "big-data").iterdir()] == ["measured"]
    assert finished(study, tmp_path / "big-data") is None


def test_a_study_cut_short_while_it_writes_leaves_whole_files_and_is_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars as pl

    from shoal_studies import result

    parts = tuple(Part(name, name, pl.DataFrame({"x": [1]})) for name in ("one", "two"))
    made = StudyResult("Study", "table", 1, parts, tmp_path, {})
    made.write()
    assert (tmp_path / "results.json").exists()

    def stop(path: Path, content: bytes) -> None:
        if path.name == "two.csv":
            raise KeyboardInterrupt
        path.write_bytes(content)

    monkeypatch.setattr(result, "write_whole", stop)
    with pytest.raises(KeyboardInterrupt):
        made.write()
    assert not (tmp_path / "results.json").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"one.csv", "two.csv", "index.html"}


def test_a_folder_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        take_tour(tmp_path / "file" / "tour", small())
