"""Paper 2's study on few patients: every statement holds, every number agrees with a plain count."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError
from shoal_studies.big_data import STUDY
from shoal_studies.big_data.experiment import (
    ALGORITHM,
    APART,
    LEDGER,
    MEANS,
    TOGETHER,
    WHOLE,
    Classes,
    attacks,
    known_median,
)
from shoal_studies.result import StudyResult


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return STUDY.run(tmp_path_factory.mktemp("study"), rows=3_000, seed=2)


def part(study: StudyResult, name: str) -> pl.DataFrame:
    return next(one.data for one in study.parts if one.name == name)


def test_the_papers_reasoning_holds_in_numbers(study: StudyResult) -> None:
    differing = [s.ours for _, s in study.statements if not s.agrees]
    assert differing == ["0% are known for certain by who sees only the two medians."]
    assert len(study.statements) == 11


def test_everything_is_written(study: StudyResult) -> None:
    names = {path.name for path in study.output.iterdir()}
    drawn = ("dimensions", "one-person", "analysts", "ten-releases")
    figures = {f"{name}.{kind}" for name in drawn for kind in ("csv", "png", "svg")}
    assert names == figures | {"measured", "dependence.csv", "index.html", "results.json"}
    assert json.loads((study.output / "results.json").read_text())["records"] == 3_000


def test_losses_of_algorithm_1_do_not_depend_on_what_else_is_released(study: StudyResult) -> None:
    data = part(study, "Dimensions").sort("confidential")
    assert data.filter(pl.col("way") == ALGORITHM)["loss_known"].n_unique() == 1
    assert data.filter(pl.col("way") == TOGETHER)["loss_known"].is_sorted()
    last = dict(data.filter(pl.col("confidential") == 8).select("way", "loss_confidential").iter_rows())
    assert last[MEANS] < last[ALGORITHM]


def test_noise_shrinks_with_the_class_and_with_epsilon(study: StudyResult) -> None:
    data = part(study, "Analysts").filter(pl.col("setting").str.starts_with("private"))
    for _, off in data.group_by("family"):
        assert off["class_off"].is_sorted(descending=True)  # epsilon grows
    small, large = (data.filter(pl.col("family") == f"Classes of {size}")["class_off"] for size in (5, 50))
    assert (small > large).all()


def test_anonymity_over_releases(study: StudyResult) -> None:
    data = part(study, "Ten releases")
    one = data.filter(pl.col("releases") == 1)
    assert one["below_k"].to_list() == [0.0] * 3
    assert data.filter(pl.col("way") == APART)["below_k"].is_sorted()
    assert data.filter(pl.col("way").is_in([LEDGER, WHOLE]))["smallest"].min() >= 5
    assert data.filter(pl.col("way") == WHOLE)["shown"].to_list() == [1.0] * 10


# ---- the attacks


def test_the_papers_example_of_differencing() -> None:
    """{10, 20, 30, 40, 50} with and without 50: range and mean reveal it, the median bounds it."""
    learnt = {row["setting"]: row for row in attacks(Classes(5, np.array([[50.0, 10, 20, 30, 40]]))).to_dicts()}
    assert learnt["range"]["seen_exactly"] == learnt["mean"]["seen_exactly"] == 1.0
    assert learnt["median"]["seen_exactly"] == learnt["median"]["known_exactly"] == 0.0
    middle = {row["setting"]: row for row in attacks(Classes(5, np.array([[30.0, 10, 20, 40, 50]]))).to_dicts()}
    assert middle["range"]["seen_exactly"] == 0.0
    assert middle["median"]["known_exactly"] == 1.0


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_what_a_median_says_is_true_and_exact_only_where_nothing_else_is_possible(size: int) -> None:
    random = np.random.default_rng(size)
    others = random.integers(0, 12, (200, size - 1)).astype(np.float64)
    victim = random.integers(0, 12, 200).astype(np.float64)
    medians = np.median(np.column_stack([victim, others]), axis=1)
    low, high = known_median(others, medians)
    assert ((low <= victim) & (victim <= high)).all()
    for i in range(200):
        possible = [v for v in range(12) if np.median([v, *others[i]]) == medians[i]]
        assert all(low[i] <= v <= high[i] for v in possible)
        if low[i] == high[i]:
            assert possible == [victim[i]]


def test_bad_numbers_are_refused(tmp_path: Path) -> None:
    for choices in ({"rows": 10}, {"seed": -1}):
        with pytest.raises(InputError, match="study big-data"):
            STUDY.run(tmp_path, **choices)
