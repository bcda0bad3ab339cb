"""Paper 5's experiments on small generated tables, and on Census where SHOAL_DATA names the folder of real data."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.compare.contenders import Contender
from shoal.compare.trials import seeds
from shoal.draft import prepare
from shoal.errors import InputError
from shoal.masking.perturbing.noise import Noise
from shoal.measure import Pair, find_measure
from shoal.policy import Policy
from shoal_studies.driver import measured
from shoal_studies.result import StudyResult
from shoal_studies.risk_utility import STUDY, claims, experiment
from shoal_studies.risk_utility.claims import SAME_RISK, Measured
from shoal_studies.risk_utility.experiment import (
    CENSUS,
    EIA,
    EMD,
    GRIDS,
    METHODS,
    MICRO,
    MULTIPLIED,
    NOISE,
    SWAP,
    UTILITIES,
    R,
    RiskUtility,
    tables,
)

SMALL = {"Census": (190, 9), "EIA": (150, 4)}
DATA = pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA does not name the folder of real data")


@dataclass(frozen=True)
class Study:
    folder: Path
    result: StudyResult
    stages: list[str]

    def table(self, slug: str) -> pl.DataFrame:
        return pl.read_csv(self.folder / f"{slug}.csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("risk-utility")
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SHOAL_DATA", raising=False)
        patch.setattr(experiment, "SHAPES", SMALL)
        return Study(folder, STUDY.run(folder, runs=2, seed=3, progress=said.append), said)


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setattr(experiment, "SHAPES", SMALL)


# ---- what is written


def test_each_stage_is_announced_once(study: Study, generated: None) -> None:
    assert len(study.stages) == len(set(study.stages)) == STUDY.stages


def test_figures_are_png_and_svg_and_every_table_is_csv(study: Study) -> None:
    for slug in ("figure-1", "equal-risk", "other-measures"):
        assert (study.folder / f"{slug}.png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(study.folder / f"{slug}.svg").getroot().tag.endswith("svg")
    assert study.table("figure-1").height == 2 * sum(map(len, GRIDS.values()))
    assert study.table("table-1").height == study.table("equal-risk").height == 2 * len(METHODS)
    assert set(UTILITIES) < set(study.table("other-measures").columns)
    assert study.table("groups").height == 6
    page = (study.folder / "index.html").read_text(encoding="utf-8")
    assert page.count('role="img"') == sum(len(part.charts) for part in study.result.parts)
    assert "src=" not in page


def test_what_differs_on_generated_tables_is_put_down_to_them(study: Study) -> None:
    said = {s["paper"]: s for s in json.loads((study.folder / "results.json").read_text())["statements"]}
    match = next(said[paper] for paper in said if paper.startswith("Census: R = 0.45"))
    assert not match["agrees"]
    assert match["reason"] == "The table is generated: it has the shape of Census, not its values."
    assert all(bool(s["reason"]) == (not s["agrees"]) for s in said.values())


# ---- what is measured


def test_a_point_of_figure_1_is_the_average_over_the_runs(study: Study, generated: None) -> None:
    frame = tables(None, 3)[0].frame
    microdata, _ = prepare(frame, Policy(quasi_identifiers=tuple(frame.columns)))
    drawn = [Noise(0.25, within="anywhere").mask(microdata, (), seed=seed) for seed in seeds(3, 2)]
    by_hand = [find_measure(R)(Pair.of(microdata, masked.columns)) for masked in drawn]
    curves = study.table("figure-1").filter(table="generated Census", method=NOISE, parameter=0.25)
    assert curves[R].item() == pytest.approx(np.mean(by_hand))


def test_methods_are_compared_at_the_risk_of_microaggregation(study: Study) -> None:
    equal = study.table("equal-risk")
    note = next(part.note for part in study.result.parts if part.name == "Equal risk")
    for _, one in equal.group_by("table"):
        micro = one.filter(method=MICRO)
        assert micro["parameter"].item() == 5
        curves = study.table("figure-1").filter(table=micro["table"].item(), method=MICRO, parameter=5.0)
        assert micro[R].item() == curves[R].item()
        reached = pl.col(R) >= 0.98 * micro[R].item()
        assert one.filter(reached)[EMD].is_sorted()
        for row in one.filter(~reached).iter_rows(named=True):
            assert re.search(f"Out of reach of [^:]*{row['method']}[^:]* on {row['table']}:", note)


def test_table_1_stands_beside_the_papers(study: Study) -> None:
    table = study.table("table-1")
    assert table["EMD, paper"].to_list() == [*CENSUS.emd.values(), *EIA.emd.values()]
    assert table.filter(method=MULTIPLIED)["parameter"].to_list() == ["s = 0.5", "s = 0.3"]
    assert (table["EMD"] > 0).all()


def test_bettered_groups_never_lose_more(study: Study) -> None:
    groups = study.table("groups")
    assert (groups["mdav+"] <= groups["mdav"]).all()
    for _, one in groups.group_by("table"):
        assert one.sort("k")["mdav"].is_sorted()


def test_what_was_measured_is_not_measured_again(
    study: Study, generated: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*asked: Any) -> Any:
        raise AssertionError("masked again")

    monkeypatch.setattr(Contender, "mask", never)
    monkeypatch.setattr(StudyResult, "write", lambda self: None)
    again = STUDY.run(study.folder, runs=2, seed=3)
    assert again.to_dict() == study.result.to_dict()
    with pytest.raises(AssertionError, match="masked again"):
        STUDY.run(study.folder, runs=2, seed=4)


def test_the_papers_rankings() -> None:
    assert CENSUS.ranking == [MICRO, SWAP, MULTIPLIED, NOISE]
    assert EIA.ranking == [MICRO, NOISE, MULTIPLIED, SWAP]


# ---- the tables


def test_generated_tables_have_the_papers_shapes_correlated_and_skewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    census, eia = (table.frame for table in tables(None, 1))
    assert (census.shape, eia.shape) == ((1_080, 13), (4_092, 11))
    for frame in (census, eia):
        numbers = frame.to_numpy()
        off_diagonal = np.corrcoef(np.log(numbers), rowvar=False)[np.triu_indices(frame.width, 1)]
        assert np.abs(off_diagonal).mean() > 0.2
        assert (np.mean(numbers, axis=0) > 1.1 * np.median(numbers, axis=0)).all()
    assert tables(None, 1)[0].frame.equals(census)
    assert not tables(None, 2)[0].frame.equals(census)


def test_of_other_files_all_numbers_that_vary_are_masked(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"a": rng.random(160), "town": ["x", "y"] * 80, "same": [1] * 160, "b": rng.random(160)})
    table.write_csv(tmp_path / "census.csv")  # by name, but not the paper's
    table.write_csv(tmp_path / "other.csv")
    found = tables(str(tmp_path), 1)
    assert [(t.name, t.frame.columns, t.reported) for t in found] == [
        ("census", ["a", "b"], None),
        ("other", ["a", "b"], None),
    ]


def test_the_command_on_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    size = rng.lognormal(size=160)
    table = pl.DataFrame({"sales": (100 * size).round(), "tax": (10 * size * rng.lognormal(size=160)).round(1)})
    table.write_csv(tmp_path / "firms.csv")
    monkeypatch.setattr(StudyResult, "write", lambda self: None)
    asked = ["study", "risk-utility", "--data", str(tmp_path / "firms.csv"), "--runs", "1", "-o", str(tmp_path / "out")]
    made = CliRunner().invoke(app, [*asked, "--json"])
    assert made.exit_code == 0, made.output
    found = json.loads(made.stdout)
    assert found["table"] == "firms (160 x 2); random methods tried once"
    assert list(found["parts"]) == ["Figure 1", "Equal risk", "Other measures", "Groups"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": range(149), "b": range(149)}), "149 records and 2 columns"),
        (pl.DataFrame({"a": range(200), "b": ["x"] * 200, "c": [7] * 200}), "200 records and 1 columns"),
    ],
)
def test_unfit_files_are_refused(tmp_path: Path, table: pl.DataFrame, message: str) -> None:
    table.write_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match=message):
        STUDY.run(tmp_path / "out", data=str(tmp_path / "t.csv"))


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no CSV file"):
        STUDY.run(tmp_path / "out", data=str(tmp_path))


def test_an_output_that_is_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said: list[str] = []
    with pytest.raises(InputError, match="taken"):
        STUDY.run(tmp_path / "taken", progress=said.append)
    assert said == []


# ---- the paper's tables


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = str(Path(os.environ["SHOAL_DATA"], "casc", "census.csv"))
    (census,) = claims.measured(measured(RiskUtility(folder, runs=1), tmp_path_factory.mktemp("census")))
    return census


@DATA
def test_figure_1_on_census(census: Measured) -> None:
    def curve(method: str) -> list[float]:
        found: list[float] = census.curves.filter(pl.col("method") == method)[R].to_list()
        return found

    assert curve(MICRO) == pytest.approx([0.452, 0.465, 0.470, 0.475, 0.479, 0.489], abs=0.001)
    noise = [0.397, 0.416, 0.427, 0.433, 0.436, 0.443, 0.449, 0.451, 0.453]
    assert curve(NOISE) == pytest.approx(noise, abs=0.004)


@DATA
def test_table_1_on_census(census: Measured) -> None:
    for row in census.matched.iter_rows(named=True):
        assert row[R] == pytest.approx(CENSUS.risk, abs=SAME_RISK)
        assert row[EMD] == pytest.approx(CENSUS.emd[row["method"]], abs=0.02)  # of one draw
    assert census.equal["method"].to_list() == CENSUS.ranking
    assert census.equal.filter(method=MICRO)["parameter"].item() == 5


@DATA
def test_groups_on_census(census: Measured) -> None:
    assert census.groups["mdav"].round(2).to_list() == [5.69, 9.09, 14.16]
    assert (census.groups["mdav+"] <= 0.97 * census.groups["mdav"]).all()


@DATA
def test_eia_has_the_months_for_the_paper_and_the_utilities_for_the_literature() -> None:
    _, eia = tables(None, 1)
    assert (eia.name, eia.frame.shape, eia.grouped.shape) == ("EIA", (4_092, 11), (4_092, 11))
    assert (eia.frame.columns[0], eia.grouped.columns[0]) == ("MONTH", "UTILITYID")
    assert eia.reported is EIA
