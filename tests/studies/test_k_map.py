"""Paper 3's simulation on small populations: theorems hold, counts are those of slow and obvious ones, runs resume."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.data import number_bands
from shoal.data.discharges import discharges
from shoal.data.hierarchy import from_levels
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.masking.recoding.lattice import search
from shoal_studies.driver import KEPT
from shoal_studies.k_map import STUDY
from shoal_studies.k_map.experiment import CRITERIA, FRACTIONS, LEVELS, KMap, Point, thresholds
from shoal_studies.k_map.lowess import lowess
from shoal_studies.k_map.recodings import Population, Sample, expected_suppression
from shoal_studies.result import StudyResult

FIGURES = ["figure-3", "figure-4", "figure-5", "fixed-recoding"]
DATA = pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA does not name the folder of real data")


def of(table: pl.DataFrame, **hierarchies: Any) -> Population:
    quasi = frozenset({Role.QUASI_IDENTIFIER})
    attributes = (Attribute(name, quasi, Kind.NOMINAL, hierarchy=hierarchies[name]) for name in table.columns)
    return Population("test", Microdata(table, Schema(tuple(attributes))))


@pytest.fixture(scope="module")
def small() -> Population:
    table = discharges(700, 3).select(age="age_yrs", sex="sex", county="patcnty")
    return of(
        table,
        age=number_bands.steps(table["age"], "age", steps=[5, 20]),
        sex=from_levels([table["sex"].unique().cast(pl.String)], "sex"),
        county=number_bands.steps(table["county"], "county", steps=[8]),
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    discharges(600, 4).select("age_yrs", "sex", "adm_qtr").write_csv(path)
    return str(path)


@dataclass(frozen=True)
class Study:
    folder: Path
    result: StudyResult
    stages: list[str]

    def table(self, slug: str) -> pl.DataFrame:
        return pl.read_csv(self.folder / f"{slug}.csv")

    @property
    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))
        return found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, file: str) -> Study:
    folder = tmp_path_factory.mktemp("k-map")
    said: list[str] = []
    return Study(folder, STUDY.run(folder, data=file, samples=2, seed=1, progress=said.append), said)


# ---- recodings and samples


def shown(population: Population, node: int) -> list[tuple[str, ...]]:
    """Each record as the recoding shows it, looked up value by value."""
    levels = population.lattice.by_attribute(population.recodings[node].levels)
    columns = []
    for coded, level in zip(population.microdata.quasi, levels, strict=True):
        hierarchy = coded.attribute.hierarchy
        assert hierarchy is not None
        show = dict(zip(hierarchy.leaf_values.to_list(), hierarchy.nodes[level], strict=True))
        columns.append([show[str(value)] for value in population.microdata.frame[coded.name]])
    return list(zip(*columns, strict=True))


def test_every_recoding_has_the_classes_that_its_labels_make(small: Population) -> None:
    rng = np.random.default_rng(1)
    chosen = rng.permutation(len(small))[:210]
    sample = Sample(small, np.bincount(small.lattice.row[chosen], minlength=len(small.lattice.keys)))
    assert len({recoding.levels for recoding in small.recodings}) == len(small.recodings) == small.lattice.nodes
    for node, recoding in enumerate(small.recodings):
        rows = shown(small, node)
        F, f = Counter(rows), Counter(rows[i] for i in chosen)
        assert sorted(zip(recoding.F, sample.sizes[node], strict=True)) == sorted((F[row], f[row]) for row in F)


def test_a_sample_is_a_simple_random_one(small: Population) -> None:
    samples = [small.sample(0.3, np.random.default_rng(draw)) for draw in range(200)]
    assert all(sample.records == 210 for sample in samples)
    assert all((sample.counts <= small.lattice.counts).all() for sample in samples)
    mean = np.mean([sample.counts for sample in samples], axis=0)
    assert mean == pytest.approx(0.3 * small.lattice.counts, abs=5 * math.sqrt(0.25 * small.lattice.counts.max() / 200))


@pytest.mark.parametrize("fraction", [0.1, 0.6])
def test_the_best_recoding_is_what_the_lattice_search_finds(small: Population, fraction: float) -> None:
    sample = small.sample(fraction, np.random.default_rng(7))
    there = sample.counts > 0
    lattice = replace(small.lattice, keys=small.lattice.keys[there], counts=sample.counts[there])
    for k, node in sample.best([1, 2, 3, 5, 10, 15]).items():
        found = search(lattice, k, sample.records, "discernibility", "geometric")
        made = sample.release(node, k)
        assert made.discernibility == found.cost[0]
        assert made.suppressed in found.suppressed[found.cost == found.cost[0]]


def test_nobody_is_at_risk_in_an_empty_release(small: Population) -> None:
    sample = small.sample(0.1, np.random.default_rng(1))
    assert sample.release(0, 1_000) == (0.0, 70 * 70, 70)


@pytest.mark.parametrize("k", LEVELS)
def test_of_a_whole_population_k_anonymity_allows_one_in_k_and_no_more(small: Population, k: int) -> None:
    sample = small.sample(1.0, np.random.default_rng(1))
    for node, recoding in enumerate(small.recodings):
        F = recoding.F
        kept = [int(size) for size in F if size >= k]
        assert (sample.sizes[node] == F).all()
        assert sample.release(node, k).risk == (1 / min(kept) if kept else 0) <= 1 / k


def test_figures_1_and_2_of_the_paper() -> None:
    """docs/spec.md#discernibility: 14 records of a population of 31."""
    sexes = "MMFMFFFFMMFMFM" + "MMFFFMFMMFFMMFFFF"
    years = [59, 62, 55, 59, 42, 75, 66, 87, 75, 78, 64, 59, 75, 67]
    years += [61, 74, 78, 61, 68, 73, 66, 67, 71, 74, 77, 68, 54, 52, 56, 88, 41]
    table = pl.DataFrame({"sex": list(sexes), "year": [1900 + year for year in years]})
    population = of(
        table,
        sex=from_levels([pl.Series(["F", "M"])], "sex"),
        year=number_bands.steps(table["year"], "year", steps=[5, 10]),
    )
    disclosed = Sample(population, np.bincount(population.lattice.row[:14], minlength=len(population.lattice.keys)))
    node = {population.lattice.by_attribute(r.levels): i for i, r in enumerate(population.recodings)}
    assert disclosed.release(node[0, 2], 2) == (0.25, 67, 3)
    assert disclosed.release(node[0, 1], 1) == (0.5, 24, 0)
    assert disclosed.release(node[0, 1], 2)[1:] == (115, 7)


def test_expected_suppression_is_that_of_binomial_classes() -> None:
    F, k, p = [1, 3, 4, 8, 40], 5, 0.2
    by_hand = sum(f * math.comb(size, f) * p**f * (1 - p) ** (size - f) for size in F for f in range(1, k))
    assert expected_suppression(np.array(F), k, p) == pytest.approx(by_hand / (p * sum(F)))


def test_the_fixed_recoding_suppresses_about_half(small: Population) -> None:
    node = small.suppressing(0.5, 5, 0.1)
    drawn = [small.sample(0.1, np.random.default_rng(draw)).release(node, 5).suppressed / 70 for draw in range(100)]
    assert np.mean(drawn) == pytest.approx(expected_suppression(small.recodings[node].F, 5, 0.1), abs=0.05)
    others = [expected_suppression(recoding.F, 5, 0.1) for recoding in small.recodings]
    assert min(abs(share - 0.5) for share in others) == pytest.approx(abs(others[node] - 0.5))


# ---- the criteria


@pytest.mark.parametrize(
    ("k", "criterion", "sizes"),
    [
        (5, "D1", [5, 5, 5, 5, 5, 5, 5, 5, 5]),
        (5, "D2", [2, 2, 3, 3, 3, 4, 4, 5, 5]),
        (5, "D3", [2, 3, 4, 5, 5, 5, 5, 5, 5]),
        (5, "D4", [3, 4, 4, 5, 5, 5, 5, 5, 5]),
        (10, "D2", [2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (10, "D3", [3, 5, 6, 8, 9, 10, 10, 10, 10]),
        (10, "D4", [4, 5, 6, 8, 9, 10, 10, 10, 10]),
        (15, "D2", [3, 4, 6, 7, 8, 10, 11, 13, 14]),
        (15, "D4", [4, 6, 8, 10, 12, 14, 15, 15, 15]),
    ],
)
def test_class_sizes_asked_for(k: int, criterion: str, sizes: list[int]) -> None:
    assert [thresholds(k, fraction)[criterion] for fraction in FRACTIONS] == sizes


# ---- what is written


def test_each_stage_is_announced_once(study: Study, file: str) -> None:
    assert len(study.stages) == len(set(study.stages)) == replace(STUDY, asked={"data": file}).stages


def test_figures_are_png_and_svg_and_every_table_is_csv(study: Study) -> None:
    for slug in FIGURES:
        assert (study.folder / f"{slug}.png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(study.folder / f"{slug}.svg").getroot().tag.endswith("svg")
        assert study.table(slug).height == 2 * len(FRACTIONS) * len(LEVELS) * len(CRITERIA)
    assert study.table("class-size").height == len(LEVELS) * len(CRITERIA)
    page = (study.folder / "index.html").read_text(encoding="utf-8")
    assert page.count('role="img"') == sum(len(part.charts) for part in study.result.parts)
    assert "src=" not in page


def test_results_hold_the_papers_findings_beside_ours(study: Study) -> None:
    statements = study.results["statements"]
    said = " ".join(statement["paper"] for statement in statements)
    for words in ("far below the threshold of 0.2", "converge to 0.2", "as high as 0.6", "0.3 and less", "45%", "50%"):
        assert words in said
    for statement in statements:
        assert statement["ours"]
        assert bool(statement["reason"]) <= (not statement["agrees"])


def test_a_release_has_the_risk_and_cost_that_the_theory_allows(study: Study) -> None:
    risk, loss, suppressed = (study.table(slug) for slug in FIGURES[:3])
    fixed = study.table("fixed-recoding")
    for table in (risk, fixed):
        assert (table["risk"] <= 1 / table["class_size"] + 1e-12).all()  # F >= f >= the class size
        assert (table.filter(criterion="D1")["above_threshold"] == 0).all()
    for table in (loss, fixed):
        assert (table.filter(criterion="D1")["discernibility"] == 1).all()
        by_size = table.sort("population", "k", "fraction", "class_size")
        for _, one in by_size.group_by("population", "k", "fraction"):
            assert one["discernibility"].is_sorted()  # whoever asks for less loses less
    assert suppressed["suppressed"].is_between(0, 1).all()
    assert (fixed["suppressed"] > 0.05).any()


def test_criteria_that_ask_for_the_same_get_the_same(study: Study) -> None:
    for slug in FIGURES[:3]:
        for _, one in study.table(slug).group_by("population", "k", "fraction", "class_size"):
            assert one.drop("criterion", pl.selectors.ends_with("lowess")).n_unique() == 1


def test_the_points_are_averages_over_the_samples(study: Study, file: str) -> None:
    population, _ = KMap(file).populations.values()
    drawn = [population.sample(0.3, np.random.default_rng([1, 300, draw])) for draw in (0, 1)]
    releases = [(one.release(one.best([4])[4], 4), one.release(one.best([5])[5], 5)) for one in drawn]
    for slug, expected in {
        "figure-3": np.mean([d4.risk for d4, _ in releases]),
        "figure-4": np.mean([d4.discernibility / d1.discernibility for d4, d1 in releases]),
        "figure-5": np.mean([d4.suppressed / 180 for d4, _ in releases]),
    }.items():
        table = study.table(slug)
        row = table.filter(population=population.name, k=5, criterion="D4", fraction=0.3)
        assert row[0, 5] == pytest.approx(expected), slug


# ---- stopping and going on


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """Nothing is drawn; tells which points were measured."""
    measured: list[tuple[str, float]] = []
    measure = Point.measure

    def counted(point: Point) -> list[dict[str, Any]]:
        measured.append((point.population.name, point.fraction))
        return measure(point)

    monkeypatch.setattr(StudyResult, "write", lambda self: None)
    monkeypatch.setattr(Point, "measure", counted)
    return measured


def test_an_interrupted_run_goes_on_where_it_stopped(
    study: Study, file: str, tmp_path: Path, quick: list[tuple[str, float]]
) -> None:
    def stop(stage: str) -> None:
        if "0.4" in stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        STUDY.run(tmp_path, data=file, samples=2, seed=1, progress=stop)
    assert len(quick) == 3
    cut_short = max((tmp_path / KEPT).iterdir(), key=lambda path: path.stat().st_mtime_ns)
    cut_short.write_bytes(cut_short.read_bytes()[:-9])
    again = STUDY.run(tmp_path, data=file, samples=2, seed=1).to_dict()
    assert again["statements"] == study.results["statements"]
    assert again["run"] == study.results["run"]
    assert len(quick) == 2 * len(FRACTIONS) + 1
    assert len(set(quick)) == 2 * len(FRACTIONS)
    STUDY.run(tmp_path, data=file, samples=2, seed=1)
    assert len(quick) == 2 * len(FRACTIONS) + 1


@pytest.mark.parametrize("other", [{"samples": 1}, {"seed": 2}])
def test_points_of_other_parameters_are_not_taken(
    study: Study, file: str, tmp_path: Path, quick: list[tuple[str, float]], other: dict[str, int]
) -> None:
    copytree(study.folder / KEPT, tmp_path / KEPT)
    STUDY.run(tmp_path, data=file, **({"samples": 2, "seed": 1} | other))
    assert len(quick) == 2 * len(FRACTIONS)


@pytest.mark.slow
def test_points_of_another_table_of_the_same_name_are_not_taken(tmp_path: Path, quick: list[tuple[str, float]]) -> None:
    file = tmp_path / "people.csv"
    for seed in (5, 6):
        discharges(600, seed).select("age_yrs", "sex", "adm_qtr").write_csv(file)
        STUDY.run(tmp_path, data=str(file), samples=2, seed=1)
    assert len(quick) == 2 * 2 * len(FRACTIONS)


# ---- the curves


def test_lowess_follows_a_line_exactly() -> None:
    x = np.array(FRACTIONS)
    at = np.linspace(0, 1, 7)
    assert lowess(x, 3 - 2 * x, at) == pytest.approx(3 - 2 * at)


def test_lowess_fits_weighted_lines_to_the_nearest_points() -> None:
    x = np.array([0.1, 0.2, 0.35, 0.4, 0.6, 0.7, 0.95])
    y = np.random.default_rng(2).normal(size=7)
    for place in (0.1, 0.38, 0.5, 0.95):
        nearest = sorted(range(7), key=lambda i: abs(x[i] - place))[:5]  # two thirds of seven
        reach = max(abs(x[i] - place) for i in nearest)
        weights = [(1 - (abs(x[i] - place) / reach) ** 3) ** 3 for i in nearest]
        line = np.polyfit(x[nearest], y[nearest], 1, w=np.sqrt(weights))
        assert lowess(x, y, np.array([place]))[0] == pytest.approx(np.polyval(line, place), abs=1e-4)


def test_lowess_of_one_place_is_the_mean() -> None:
    x = np.array([0.5, 0.5])
    assert lowess(x, np.array([1.0, 3.0]), x) == pytest.approx([2.0, 2.0])


# ---- populations


def test_without_real_data_two_populations_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    found = list(KMap().populations.values())
    assert [(p.name, len(p)) for p in found] == [("generated admissions", 101_034), ("generated patients", 23_590)]
    assert all(50 <= p.lattice.nodes <= 500 for p in found)
    again, other = (KMap(seed=seed).populations["generated patients"].microdata.frame for seed in (1, 2))
    assert found[1].microdata.frame.equals(again)
    assert not again.equals(other)


@DATA
def test_crashes_and_veterans() -> None:
    crashes, veterans, _ = KMap().populations.values()
    assert (crashes.name, veterans.name) == ("crashes", "veterans")
    frame = crashes.microdata.frame
    assert [frame[name].n_unique() for name in ("age", "sex")] == [98, 2]  # as in the paper
    assert len(crashes) > 95_000
    assert veterans.microdata.frame["sex"].n_unique() == 2
    assert len(veterans) > 60_000
    for population in (crashes, veterans):
        assert 50 <= population.lattice.nodes <= 400
        rows = Point(population, 0.1, 2, 1).measure()
        fixed = {r["criterion"]: r for r in rows if r["k"] == 5 and r["recoding"] == "fixed"}
        assert fixed["D1"]["risk"] < 0.1 < 0.2 < fixed["D4"]["risk"] < fixed["D3"]["risk"] == fixed["D2"]["risk"]
        assert 0.4 < fixed["D1"]["suppressed"] < 0.6


def test_a_file_may_hold_any_kinds_of_values_and_records_with_missing_ones_are_left_out(
    tmp_path: Path, quick: list[tuple[str, float]]
) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "weight": rng.normal(70, 10, 400).round(1),
            "born": pl.Series(rng.integers(0, 9000, 400)).cast(pl.Date),
            "town": [None if i < 10 else "abc"[i % 3] for i in range(400)],
            "same": ["x"] * 400,
        }
    )
    table.write_parquet(tmp_path / "t.parquet")
    result = STUDY.run(tmp_path / "out", data=str(tmp_path / "t.parquet"), samples=1)
    assert result.table.startswith("390 records of t.parquet, ")


def test_numbers_that_all_differ_are_recoded_to_bands_until_all_records_are_alike(tmp_path: Path) -> None:
    table = pl.DataFrame(np.random.default_rng(1).random((200, 3)), schema=list("abc"))
    table.write_parquet(tmp_path / "t.parquet")
    population = KMap(data=str(tmp_path / "t.parquet")).populations["records of t.parquet"]
    finest, *_, coarsest = population.recodings
    assert finest.F.tolist() == [1] * 200
    assert coarsest.F.tolist() == [200]
    for node, recoding in enumerate(population.recodings):
        assert sorted(Counter(shown(population, node)).values()) == sorted(recoding.F.tolist())
    assert 1 < population.suppressing(0.5, 5, 1.0) < len(population.recodings) - 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": range(149)}), "149 complete records: a population has 150 at least"),
        (
            pl.DataFrame(np.random.default_rng(1).integers(0, 100, (7_000, 6)), schema=list("abcdef")),
            "distinct rows and 15,625 recodings, too many .* leave out columns",
        ),
    ],
)
def test_unfit_files_are_refused(tmp_path: Path, table: pl.DataFrame, message: str) -> None:
    table.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=message):
        STUDY.run(tmp_path / "out", data=str(tmp_path / "t.parquet"), samples=1)


def test_an_output_that_is_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said: list[str] = []
    with pytest.raises(InputError, match="taken"):
        STUDY.run(tmp_path / "taken", progress=said.append)
    assert said == []


def test_the_command(tmp_path: Path, file: str, quick: list[tuple[str, float]]) -> None:
    made = CliRunner().invoke(app, ["study", "k-map", "--data", file, "--samples", "1", "-o", str(tmp_path), "--json"])
    assert made.exit_code == 0, made.output
    found = json.loads(made.stdout)
    assert found["study"] == STUDY.title
    assert found["table"].endswith("1 samples a point")
