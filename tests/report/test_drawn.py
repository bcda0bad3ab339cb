"""The report on a release of an engine counts what the report in memory counts, and says what was drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.chunked_release import ChunkedRelease, anonymize_to
from shoal.data.discharges import discharges
from shoal.engines.table import Table
from shoal.report.findings import Findings

Engine = Callable[[pl.DataFrame], Table]

TABLE = discharges(900, seed=3).select("age_yrs", "sex", "patzip", "charge", "diag_p")
POLICY = shoal.Policy(
    quasi_identifiers=["age_yrs", "sex", "patzip"],
    confidential=["charge", "diag_p"],
    method=shoal.Coarsen(3),
    suppression=0.6,
)

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 300)


def released(engine: Engine, folder: Path) -> ChunkedRelease:
    report = folder / "report.html"
    return anonymize_to(engine(TABLE), POLICY, str(folder / "r"), seed=1, report=report)


def test_what_is_counted_is_what_is_counted_in_memory(engine: Engine, tmp_path: Path) -> None:
    found, expected = (
        Findings(release) for release in (released(engine, tmp_path).reported(), shoal.anonymize(TABLE, POLICY))
    )
    assert found.drawn == 900  # all of so few
    for side in ("before", "after"):
        here, there = (getattr(findings, side) for findings in (found, expected))
        assert (here.records, here.uniques, here.classes) == (there.records, there.uniques, there.classes)
        assert here.records_at_risk == there.records_at_risk
    assert [sorted(sizes) for sizes in found.sizes] == [sorted(sizes) for sizes in expected.sizes]
    assert found.known == expected.known
    assert {name: learnt.rows() for name, learnt in found.disclosed.items()} == {
        name: learnt.rows() for name, learnt in expected.disclosed.items()
    }
    assert found.losses == pytest.approx(expected.losses)
    assert {name: each.exact for name, each in found.precisions.items()} == pytest.approx(
        {name: each.exact for name, each in expected.precisions.items()}
    )
    assert found.correlations.after == pytest.approx(expected.correlations.after, nan_ok=True, abs=1e-9)


def test_the_page_says_which_numbers_are_of_drawn_records(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.chunked_release.PAIRS", 150)
    release = released(engine, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    said = re.search(r"of all 900 records\. Distributions.*? are of (\d+) records that were drawn at random", page)
    assert said is not None
    assert 150 <= int(said[1]) <= 160
    assert f"{release.records:,} records released" in page
    assert "Every promise holds" in page
    assert "Who is found again is not measured: among drawn records" in page
    assert ">found_again<" not in page
    assert (
        "released records that were drawn when they were masked; how many look like each is not counted there" in page
    )
    assert page.count("<article>") == 5
    assert "look the same</p>" not in page
    assert (tmp_path / "report.html").stat().st_mode & 0o077 == 0
