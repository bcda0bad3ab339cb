"""Paper 4's experiments from two seeds: the numbers are those of slow and obvious counts, and of the paper."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.data.pseudonyms import pseudonyms
from shoal.errors import InputError
from shoal.transactions import balanced
from shoal.transactions.attack import jaccard_attack
from shoal.transactions.balancing import balance
from shoal.transactions.clustering import cosine_k_means
from shoal.transactions.theory import best_clusters
from shoal_studies.driver import measured
from shoal_studies.purchases import STUDY, experiment
from shoal_studies.purchases.claims import TABLE_1, histories_studied, table_1
from shoal_studies.purchases.dummies import TABLE_2, figure_6, table_2
from shoal_studies.purchases.experiment import (
    ATTACKED,
    FULLEST,
    METHOD_1,
    METHOD_2,
    PSEUDONYMS,
    SETTINGS,
    SHOAL,
    Purchases,
    attacked_releases,
    judged,
    open_shop,
    padded,
)
from shoal_studies.purchases.measured import GENERATED, Measured
from shoal_studies.result import Statement, StudyResult

DATA = pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA names no folder of real data")
SEEDS = (1, 2)
SWEPT = (20, 50, 100, 130, 200)
FIGURES = ["figures-3-and-4", "figure-5", "figure-6", "unicity", "intruders"]
TABLES = ["histories", "table-1", "table-2", "utility"]


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

    def statement(self, words: str) -> dict[str, Any]:
        (found,) = (s for s in self.results["statements"] if words in s["paper"])
        return dict(found)


@pytest.fixture(scope="module")
def quick() -> Iterator[pytest.MonkeyPatch]:
    """Fewer numbers of clusters, one release of each, and hardly any exchanges of customers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "SWEEP", SWEPT)
        patch.setattr(experiment, "SWEEP_SEEDS", 1)
        patch.setattr(balanced, "PROPOSALS", 20)
        yield patch


@pytest.fixture(scope="module")
def study(quick: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SHOAL_DATA", raising=False)
        folder = tmp_path_factory.mktemp("generated") / "new" / "folder"
        said: list[str] = []
        return Study(folder, STUDY.run(folder, seeds=len(SEEDS), seed=SEEDS[0], progress=said.append), said)


@pytest.fixture(scope="module")
def paper(quick: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> list[Statement]:
    """What is said of the paper's own customers."""
    found = Measured.of_frames(measured(Purchases(seeds=2), tmp_path_factory.mktemp("paper")))
    parts = (histories_studied, table_1, table_2, figure_6)
    return [statement for part in parts for statement in part(found).statements]


# ---- what is written


def test_each_stage_is_announced_once(study: Study, quick: pytest.MonkeyPatch) -> None:
    assert len(study.stages) == len(set(study.stages)) == replace(STUDY, asked={"seeds": len(SEEDS)}).stages


def test_figures_are_png_and_svg_and_every_table_is_csv(study: Study) -> None:
    for slug in FIGURES:
        assert (study.folder / f"{slug}.png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(study.folder / f"{slug}.svg").getroot().tag.endswith("svg")
    assert [part.slug for part in study.result.parts if part.charts] == FIGURES
    assert all(study.table(slug).height for slug in FIGURES + TABLES)
    page = (study.folder / "index.html").read_text(encoding="utf-8")
    assert page.count('role="img"') == sum(len(part.charts) for part in study.result.parts)
    assert "src=" not in page


def test_the_page_says_first_on_which_data_each_table_was_made(study: Study) -> None:
    page = (study.folder / "index.html").read_text(encoding="utf-8")
    for section in page.split("<section")[1:]:
        _, _, after = section.partition("</h2>")
        assert after.lstrip().startswith('<p class="on">Made on 400 customers of generated purchases')


def test_without_the_papers_file_its_numbers_differ_because_data_are_generated(study: Study) -> None:
    assert "generated purchases" in study.result.table
    assert study.statement("38,087")["reason"] == GENERATED
    assert study.statement("182,897")["reason"] == GENERATED
    for statement in study.results["statements"]:
        assert statement["ours"]
        assert bool(statement["reason"]) == (not statement["agrees"])


# ---- the numbers


def test_a_clustering_is_judged_as_its_release_is_attacked(study: Study) -> None:
    histories = open_shop(None, 1).histories
    label = balance(histories.sets, cosine_k_means(histories.sets, 60, seed=3), 4)
    facts = judged(histories.sets, label)
    release = padded(histories, label, 5)
    attack = jaccard_attack(histories, release)
    assert (facts["reid"], facts["jaccard"]) == pytest.approx((attack.reid, attack.own_similarity))
    assert facts["dummies"] == len(release) - len(histories)
    assert sorted(facts["sizes"]) == sorted(np.unique(label, return_counts=True)[1])


def test_table_2_is_the_mean_over_the_seeds(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    histories = open_shop(None, 1).histories
    goods = [set(histories.item[histories.customer == customer]) for customer in range(400)]
    dummies, rates = [], []
    for seed in SEEDS:
        label = balance(histories.sets, cosine_k_means(histories.sets, 100, seed=seed), 3)
        members = [np.flatnonzero(label == cluster) for cluster in range(100)]
        shown = [set.union(*(goods[u] for u in one)) for one in members]
        dummies.append(sum(len(shown[label[u]]) - len(goods[u]) for u in range(400)))
        nearest = [max(range(400), key=lambda u, own=own: len(own & goods[u]) / len(own | goods[u])) for own in shown]
        rates.append(sum(nearest[label[u]] == u for u in range(400)) / 400)
    row = study.table("table-2").row(by_predicate=pl.col("setting") == "c = 100, s_min = 3", named=True)
    assert (row["dummies"], row["±"]) == (round(np.mean(dummies)), round(np.std(dummies, ddof=1)))
    assert row["Reid"] == pytest.approx(np.mean(rates))
    assert row["dummies, paper"] == 68_357


def test_table_2_has_every_setting_and_what_shoal_saves(study: Study) -> None:
    table = study.table("table-2")
    assert table.height == len(TABLE_2) == 12
    balanced_rows = table.drop_nulls("Shoal")
    saved = 100 * (1 - balanced_rows["Shoal"] / balanced_rows["dummies"])
    assert balanced_rows["saved, %"].to_numpy() == pytest.approx(saved.to_numpy(), abs=0.06)
    assert (saved > 0).all()


def test_every_cluster_is_counted_and_none_is_smaller_than_asked(study: Study) -> None:
    sizes = study.table("figures-3-and-4")
    for _, one in sizes.group_by("method"):
        assert one["clusters"].sum() == pytest.approx(50)
        assert (one["size"] * one["clusters"]).sum() == pytest.approx(400)
    assert sizes.filter(~pl.col("method").str.starts_with(METHOD_1))["size"].min() == 5


def test_table_1_holds_the_papers_triangle_and_correlations(study: Study) -> None:
    table = study.table("table-1")
    assert table.height == sum(map(len, TABLE_1.values())) == 21
    assert table["ours"].is_between(-1, 1).all()
    signs = table.filter(pl.col("paper").abs() < 0.999)
    assert (signs["ours"].sign() == signs["paper"].sign()).all()


def test_the_best_number_of_clusters_is_where_eq_5_is_least(study: Study) -> None:
    about = dict(study.table("histories")["", "ours"].iter_rows())
    b, h = about["goods a customer (b)"], about["goods that two share (h), by Proposition 1"]
    best = best_clusters(400, b, h)
    assert f"{best} with b and μ of these" in study.statement("c* = 130")["ours"]
    curve = study.table("figure-6")
    assert curve["c"].to_list() == [50, 100, 130, 200]  # Eq. 3 is not valid for 20
    five, three = study.table("figure-5"), curve.join(study.table("figure-5"), on="c", suffix=" of 5")
    alpha = (2 * three["Eq. 3"] - three["c"] / 400) / three["Eq. 3 of 5"]
    assert alpha.to_numpy() == pytest.approx(np.full(4, alpha[0]))
    assert (2 * three[METHOD_2] - three["c"] / 400).to_numpy() == pytest.approx(
        (alpha * three[f"{METHOD_2} of 5"]).to_numpy()
    )
    assert five.filter(~pl.col("Eq. 3 is valid"))["c"].to_list() == [20]


def test_goods_single_nobody_out_of_a_release(study: Study) -> None:
    shares = study.table("unicity")
    by_goods = shares.filter(known="item")
    before = by_goods.filter(release=PSEUDONYMS)["singled_out"]
    assert before.is_sorted()
    assert before[-1] > 0.5
    assert by_goods.filter(pl.col("release") != PSEUDONYMS)["singled_out"].to_list() == [0.0] * 10
    assert (shares.filter(known="item, day")["singled_out"] >= by_goods["singled_out"]).all()


def test_who_knows_more_goods_finds_more_customers_and_a_release_hides_them(study: Study) -> None:
    data = study.table("intruders")
    rates = {
        name: dict(data.filter(release=name)["known", "found"].iter_rows()) for name in (PSEUDONYMS, METHOD_2, SHOAL)
    }
    plain = rates[PSEUDONYMS]
    assert plain["1 good"] < plain["3 goods"] < plain["10 goods"] <= plain["all goods (Algorithm 1)"] == 1
    c, _ = ATTACKED
    for method in (METHOD_2, SHOAL):
        for known in ("1 good", "3 goods", "10 goods", "all goods (Algorithm 1)", "all goods, by TF-IDF cosine"):
            assert rates[method][known] <= c / 400 + 0.02
        assert rates[method]["all goods and quantities"] > c / 400  # what stays open is told
    assert not study.statement("judged by Algorithm 1 alone")["agrees"]


def test_the_releases_attacked_are_the_same_in_every_run(study: Study) -> None:
    shop = open_shop(None, 1)
    for release in attacked_releases(shop, 3).values():
        assert release.names.equals(pseudonyms(shop.histories.customers, b"3".rjust(32, b"0")))
        assert (release.seed, release.sizes.min()) == (3, ATTACKED[1])


def test_utility_is_measured_for_each_method(study: Study) -> None:
    table = study.table("utility")
    assert table["c", "method"].rows() == [(c, method) for c in FULLEST for method in (METHOD_1, METHOD_2, SHOAL)]
    assert (table["u1", "u2", "u3"].to_numpy() > 0).all()


# ---- the paper's own customers


def about(words: str, statements: list[Statement]) -> Statement:
    (found,) = (statement for statement in statements if words in statement.paper)
    return found


@DATA
def test_the_papers_characteristics(paper: list[Statement]) -> None:
    assert about("38,087", paper).agrees
    both = about("coefficient of two is", paper).ours
    assert both == "b = 65.7, of which the paper gives the whole part, and μ = 0.0300."
    assert about("0.41", paper).ours == "0.4000."
    assert about("h = 4 goods", paper).ours.startswith("h = 3.83; ")
    assert "they share 4.41" in about("h = 2bμ/(1+μ)", paper).ours


@DATA
def test_the_papers_dummies_and_rates(paper: list[Statement]) -> None:
    for c, s_min in FULLEST.items():
        assert about(f"c = {c}, s_min = {s_min}:", paper).agrees
    for words in ("similarity of a released customer", "Re-identification rate", "E(Reid) = c/n", "where s_min is n/c"):
        assert about(words, paper).agrees, words
    assert about("c* = 130", paper).ours.startswith("130 by Eq. 3 and 5; 130 with")
    assert about("U1 and U2, follow", paper).agrees


# ---- bad input


def test_a_folder_without_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no transactions_400\.csv"):
        STUDY.run(tmp_path / "out", data=tmp_path)


def test_too_few_customers_are_told(tmp_path: Path) -> None:
    lines = [f"{customer},1,2010/12/1,8:45,{good},1.5,2" for customer in range(9) for good in range(3)]
    (tmp_path / "transactions_400.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match="has 9 customers"):
        STUDY.run(tmp_path / "out", data=tmp_path)


def test_one_seed_shows_no_spread(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 2"):
        STUDY.run(tmp_path, seeds=1)


def test_an_output_that_is_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said: list[str] = []
    with pytest.raises(InputError, match="taken"):
        STUDY.run(tmp_path / "taken", progress=said.append)
    assert said == []


def test_the_command(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def noted(study_asked: Any, output: Path, progress: Any) -> StudyResult:
        asked.update(study_asked.asked, output=output)
        return study.result

    monkeypatch.setattr(type(STUDY), "run", noted)
    options = ["--data", str(tmp_path), "--seeds", "3", "-o", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(app, ["study", "purchases", *options])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["study"] == STUDY.title
    assert (asked["output"], asked["data"], asked["seeds"], asked["seed"]) == (tmp_path / "out", tmp_path, 3, 1)


def test_settings_are_the_papers() -> None:
    assert {(c, s_min) for c, s_min in TABLE_2 if s_min} | {(50, 5)} == {(c, s) for c in SETTINGS for s in SETTINGS[c]}
