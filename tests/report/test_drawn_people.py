"""The report and the printed result of a release of an engine count people and households, as those in memory do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.chunked_release import ChunkedRelease, anonymize_to
from shoal.data.discharges import discharges
from shoal.engines.table import Table
from shoal.report.findings import Findings
from shoal.report.risk import RiskSection
from tests.report.test_people import HOMES, text

Engine = Callable[[pl.DataFrame], Table]

STAYS = discharges(700, seed=3).select("age_yrs", "sex", "patzip", "charge")
STAYS = STAYS.with_columns(pid=(pl.int_range(700) * 37 % 260).cast(pl.String))

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 300)


def policy(**choices: Any) -> shoal.Policy:
    chosen = {"quasi_identifiers": ["age_yrs", "sex", "patzip"], "confidential": ["charge"], "person": "pid"}
    return shoal.Policy(**{**chosen, **choices})


def released(engine: Engine, frame: pl.DataFrame, chosen: shoal.Policy, folder: Path) -> ChunkedRelease:
    return anonymize_to(engine(frame), chosen, str(folder / "r"), seed=1, report=folder / "r.html")


def test_the_rows_about_people_are_those_in_memory(engine: Engine, tmp_path: Path) -> None:
    chosen = policy(method=shoal.Coarsen(6), suppression=0.9, models=[shoal.KAnonymity(4)])
    release, in_memory = released(engine, STAYS, chosen, tmp_path), shoal.anonymize(STAYS, chosen)
    here, there = (RiskSection.of(Findings(each)) for each in (release.reported(), in_memory))
    assert (here.facts, here.intruders, here.guessing) == (there.facts, there.intruders, there.guessing)
    assert here.charts == there.charts
    people = [name for name in in_memory.to_dict() if "people" in name]
    assert len(people) == 5
    assert [release.to_dict()[name] for name in people] == [in_memory.to_dict()[name] for name in people]
    assert release.records < 700
    rows = {row[0]: row for row in release.sheets()[0].rows}
    assert all(rows[row[0]] == row for row in in_memory.sheets()[0].rows if "pe" in row[0])
    page = text((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert f"{release.records} records of {release.owners[0].shown} people released" in page
    assert "Counts of records, people, groups and look-alikes" in page


def test_of_whole_histories_the_page_tells_who_stands_alone_by_all_records(engine: Engine, tmp_path: Path) -> None:
    chosen = policy(quasi_identifiers=["age_yrs", "sex"], models=[shoal.Linked(3)])
    release = released(engine, STAYS, chosen, tmp_path)
    shown = pl.read_parquet(tmp_path / "r/*.parquet")
    histories: dict[int, list[tuple[object, ...]]] = {}
    for who, *cells in shown.select("pid", "age_yrs", "sex").rows():
        histories.setdefault(who, []).append(tuple(cells))
    alike = Counter(tuple(sorted(rows)) for rows in histories.values())
    facts = release.to_dict()
    assert (facts["people"], facts["people_withheld"]) == (len(histories), 260 - len(histories))
    assert facts["highest_risk_of_people"] == 1 / min(alike.values())
    assert facts["average_risk_of_people"] == pytest.approx(len(alike) / len(histories))
    was: dict[str, list[tuple[object, ...]]] = {}
    for who, *cells in STAYS.select("pid", "age_yrs", "sex").rows():
        was.setdefault(who, []).append(tuple(cells))
    alone = list(Counter(tuple(sorted(rows)) for rows in was.values()).values()).count(1)
    assert f"People alone by all records {alone} 0" in text((tmp_path / "r.html").read_text(encoding="utf-8"))


def test_households_are_counted_where_they_are_promised(engine: Engine, tmp_path: Path) -> None:
    chosen = shoal.Policy(
        quasi_identifiers=["size", "sex"], confidential=["income"], models=[shoal.Households(5, column="hid")]
    )
    facts = released(engine, HOMES, chosen, tmp_path).to_dict()
    assert (facts["households"], facts["households_withheld"], facts["suppressed"]) == (40, 1, 3)
    page = text((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "80 records of 40 households released" in page
    assert "Households 41 40 1 withheld" in page
    assert "Counted are households" in page


def test_attacks_are_played_on_all_records_of_some_people(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.chunked_release.PAIRS", 200)
    monkeypatch.setattr("shoal.report.attacked.PEOPLE", 100)
    release = released(engine, STAYS, policy(quasi_identifiers=["age_yrs", "sex"], models=[shoal.Linked(3)]), tmp_path)
    drawn = release.reported().original.frame
    assert 50 < drawn.height < 400
    records = dict(STAYS["pid"].value_counts().iter_rows())
    whole = [records[who] == count for who, count in drawn["pid"].value_counts().iter_rows()]
    assert sum(whole) > 0.9 * len(whole)
    assert "histories" in text((tmp_path / "r.html").read_text(encoding="utf-8"))
