"""Paper 1's experiments on a small table: the theorems hold, the numbers are those of slow and obvious counts."""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from markupsafe import escape
from rich.console import Console

from shoal.anonymize import anonymize
from shoal.data.discharges import discharges
from shoal.errors import InputError
from shoal.masking.recoding.safe_harbor import SafeHarbor
from shoal.policy import Policy
from shoal_studies.proper_anonymization import STUDY
from shoal_studies.proper_anonymization.experiment import (
    ALL_NINE,
    GROUPS,
    HARBOR,
    LEVELS,
    NINE,
    QUASI,
    S2,
    S3,
    S4,
    SHOAL,
    SHOAL_T,
    least_closeness,
)
from shoal_studies.result import StudyResult

ROWS = 3_000
FIGURES = [f"figure-s{number}" for number in range(1, 8)]
TABLES = [f"table-s{number}" for number in range(4, 10)]


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
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study") / "new" / "folder"
    stages: list[str] = []
    return Study(folder, STUDY.run(folder, rows=ROWS, seed=1, progress=stages.append), stages)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return discharges(ROWS, 1)


def uniques(rows: list[tuple[object, ...]]) -> int:
    return sum(count == 1 for count in Counter(rows).values())


def by_k(frame: pl.DataFrame, family: str, column: str) -> dict[int, float]:
    rows = frame.filter(pl.col("family") == family)
    return {int(setting.removeprefix("k = ")): value for setting, value in rows[["setting", column]].rows()}


# ---- what is written


def test_each_stage_is_announced_once(study: Study) -> None:
    assert len(study.stages) == len(set(study.stages)) == STUDY.stages


def test_figures_are_png_and_svg_and_every_table_is_csv(study: Study) -> None:
    for slug in FIGURES:
        assert (study.folder / f"{slug}.png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(study.folder / f"{slug}.svg").getroot().tag.endswith("svg")
    for slug in FIGURES + TABLES:
        assert study.table(slug).height > 0


def test_the_page_needs_no_other_file_to_be_read(study: Study) -> None:
    page = (study.folder / "index.html").read_text(encoding="utf-8")
    assert page.count('role="img"') == sum(len(part.charts) for part in study.result.parts)
    assert "src=" not in page
    for statement in study.results["statements"]:
        assert str(escape(statement["paper"])) in page


def test_results_hold_the_papers_statements_beside_ours(study: Study) -> None:
    statements = study.results["statements"]
    said = " ".join(statement["paper"] for statement in statements)
    for words in ("75%", "0.26%", "zero unequivocal", "1/k", "1/32, 1/16 and 1/8", "51 records", "0.957", "0.811"):
        assert words in said
    assert {s["where"].lower().replace(" ", "-") for s in statements} == {*FIGURES, *TABLES}
    assert all(statement["ours"] for statement in statements)


def test_what_differs_has_a_reason_and_what_agrees_has_none(study: Study) -> None:
    for statement in study.results["statements"]:
        assert bool(statement["reason"]) == (not statement["agrees"]), statement["paper"]


def test_a_small_table_is_not_said_to_have_the_papers_uniqueness(study: Study) -> None:
    first = next(s for s in study.results["statements"] if s["where"] == "Figure S3")
    assert not first["agrees"]
    assert f"of {ROWS:,}" in first["reason"]


def test_the_terminal_shows_all_statements_in_80_columns(study: Study) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(study.result)
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count(" agrees") + shown.count(" differs ") >= len(study.result.statements)


# ---- Figure S3


def test_uniqueness_of_the_original_for_every_union_of_groups(study: Study, table: pl.DataFrame) -> None:
    found = dict(study.table("figure-s3")[["known", "SPD"]].rows())
    unions = [union for size in (1, 2, 3) for union in combinations(GROUPS, size)]
    expected = {
        " + ".join(union): uniques(table.select(*(name for group in union for name in GROUPS[group])).rows()) / ROWS
        for union in unions
    }
    assert found == pytest.approx(expected)


def test_masking_that_looks_at_all_nine_leaves_the_least(study: Study) -> None:
    frame = study.table("figure-s3")
    everything = frame.filter(pl.col("known") == "spatial + census + temporal").row(0, named=True)
    spd, printed, nine = (everything[c] for c in frame.columns[1:])
    assert nine < printed < spd


def test_the_added_steps_hide_nothing(table: pl.DataFrame) -> None:
    policy = Policy(quasi_identifiers=QUASI, confidential=("charge",), models=(), method=SafeHarbor(ALL_NINE))
    released = anonymize(table, policy).table
    for name in ("oshpd_id", "los"):
        assert (released[name] == table[name].cast(pl.String)).all()


# ---- Figure S4


@pytest.mark.parametrize("family", [S2, SHOAL])
def test_k_anonymity_leaves_no_unique_record_and_a_guess_of_at_most_one_in_k(study: Study, family: str) -> None:
    frame = study.table("figure-s4")
    assert set(by_k(frame, family, "uniques").values()) == {0}
    for column in ("highest_risk", "random_guess"):
        assert all(0 < guess <= 1 / k for k, guess in by_k(frame, family, column).items())


def test_information_loss_grows_with_k(study: Study) -> None:
    for family in (S2, SHOAL):
        losses = by_k(study.table("figure-s4"), family, "information_loss")
        assert sorted(losses.values()) == [losses[k] for k in LEVELS]


def coarse(column: list[int], resolution: int) -> list[int]:
    """The number of each value's interval (docs/spec.md#coarsening)."""
    labels = sorted(set(column))
    if resolution >= len(labels):
        return column
    ends = [i * len(labels) // resolution for i in range(1, resolution + 1)]
    interval = {label: sum(end <= place for end in ends) for place, label in enumerate(labels)}
    return [interval[value] for value in column]


@pytest.mark.parametrize("resolution", [32, 16, 8])
def test_uniques_and_disclosure_left_by_coarsening(study: Study, table: pl.DataFrame, resolution: int) -> None:
    rows = list(zip(*(coarse(table[name].to_list(), resolution) for name in QUASI), strict=True))
    high = [charge > 100_000 for charge in table["charge"]]
    size, all_high = Counter(rows), dict.fromkeys(rows, True)
    for row, is_high in zip(rows, high, strict=True):
        all_high[row] &= is_high
    exposed = sum(size[row] for row in size if all_high[row])
    found = study.table("figure-s4").row(
        by_predicate=(pl.col("family") == S3) & (pl.col("setting") == f"1/{resolution}"), named=True
    )
    assert found["uniques"] == uniques(rows)
    assert found["random_guess"] == pytest.approx(len(size) / ROWS)
    assert found["attribute_disclosure"] == pytest.approx(exposed / sum(high))


def test_safe_harbor_leaves_uniques(study: Study) -> None:
    harbor = study.table("figure-s4").filter(pl.col("family") == HARBOR)
    assert harbor.height == 2
    assert (harbor["uniques"] > 0).all()
    assert harbor.filter(pl.col("setting") == NINE)["uniques"][0] == harbor["uniques"].min()


# ---- Figures S5 and S6


def test_finer_intervals_never_lower_the_risk_nor_raise_the_loss(study: Study) -> None:
    risk = study.table("figure-s5")["uniques"].to_numpy().reshape(6, 6)
    loss = study.table("figure-s6")["information_loss"].to_numpy().reshape(6, 6)
    for axis in (0, 1):
        assert (np.diff(risk, axis=axis) >= 0).all()
        assert (np.diff(loss, axis=axis) <= 1e-12).all()


def test_the_grid_ends_at_the_table_itself_and_begins_at_two_intervals(study: Study, table: pl.DataFrame) -> None:
    grid = study.table("figure-s5")
    assert grid.row(-1)[:3] == ("full", "full", uniques(table.select(QUASI).rows()))
    assert study.table("figure-s6").row(-1)[2] == 0.0
    two = zip(*(coarse(table[name].to_list(), 2) for name in QUASI), strict=True)
    left = uniques(list(two))
    assert grid.row(0)[:3] == ("2", "2", left)
    (statement,) = (s for s in study.results["statements"] if "51 records" in s["paper"])
    assert statement["ours"] == f"{left:,} records."


# ---- Figure S7 and Table S9


@pytest.mark.parametrize("family", [S4, SHOAL_T])
def test_t_closeness_rules_out_disclosure(study: Study, table: pl.DataFrame, family: str) -> None:
    frame = study.table("figure-s7")
    t = {k: (ROWS - k) / (2 * (ROWS - 1) * k) for k in LEVELS}
    reached, exposed = by_k(frame, family, "t"), by_k(frame, family, "attribute_disclosure")
    assert least_closeness(table["charge"]) > max(t.values())
    for k in LEVELS:
        assert reached[k] <= t[k] + 1e-9
        assert exposed[k] == 0.0
    assert set(by_k(frame, family, "uniques").values()) == {0}


def test_no_class_of_high_charges_is_nearer_to_the_table_than_stated() -> None:
    charge = [10_000, 20_000, 20_000, 90_000, 100_000, 100_001, 150_000, 150_000, 400_000]
    values = sorted(set(charge))

    def distance(members: tuple[int, ...]) -> float:
        F = [sum(c <= v for c in charge) / len(charge) for v in values]
        F_class = [sum(c <= v for c in members) / len(members) for v in values]
        return sum(abs(a - b) for a, b in zip(F, F_class, strict=True)) / (len(values) - 1)

    high = [c for c in charge if c > 100_000]
    classes = [members for size in range(1, len(high) + 1) for members in combinations(high, size)]
    least = least_closeness(pl.Series("charge", charge))
    assert 0 < least <= min(map(distance, classes)) < 1.2 * least


def test_table_s9(study: Study) -> None:
    frame = study.table("table-s9")
    assert frame["k"].to_list() == [2, 3, 5, 10]
    assert frame["paper"].to_list() == [0.25, 0.17, 0.10, 0.05]
    assert frame["t"].round(2).to_list() == frame["paper"].to_list()


# ---- Tables S4 and S5


def triangle(frame: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = frame.drop("attribute").cast(pl.Float64).to_numpy()
    return values[np.triu_indices(len(values))]


def test_table_s4_is_the_correlation_of_what_was_left_unmasked(study: Study, table: pl.DataFrame) -> None:
    policy = Policy(quasi_identifiers=QUASI, confidential=("charge",), models=(), method=SafeHarbor())
    left = anonymize(table, policy).table.select(pl.col(QUASI).cast(pl.Float64, strict=False)).to_numpy()
    expected = []
    for i, j in combinations(range(len(QUASI)), 2):
        pair = left[:, [i, j]]
        expected.append(np.corrcoef(pair[~np.isnan(pair).any(axis=1)].T)[0, 1])
    found = triangle(study.table("table-s4"))
    assert len(found) == 36
    assert found == pytest.approx(np.array(expected), nan_ok=True)


def test_the_agreement_is_that_of_the_two_tables(study: Study) -> None:
    before, after = triangle(study.table("table-s4")), triangle(study.table("table-s5"))
    known = ~np.isnan(before)
    agreement = np.corrcoef(before[known], np.nan_to_num(after[known]))[0, 1]
    (statement,) = (s for s in study.results["statements"] if "0.957" in s["paper"])
    assert statement["ours"].startswith(f"{agreement:.3f} ")


# ---- a table of one's own


@pytest.mark.slow
def test_a_file_gives_what_the_same_generated_table_gives(
    study: Study, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StudyResult, "write", lambda self: None)  # drawing takes longer than all else
    table.select(reversed(table.columns)).write_csv(tmp_path / "d.csv")
    again = STUDY.run(tmp_path / "out", data=str(tmp_path / "d.csv"), seed=1)
    found, source = again.to_dict(), str(tmp_path / "d.csv")
    other = {"table": f"{ROWS:,} records of {source}", "settings": {"data": source, "rows": 400_000, "seed": 1}}
    for part in found["parts"].values():  # type: ignore[attr-defined]
        assert part.pop("on") in (
            other["table"],
            "the paper's own example",
            "ages 0 to 85",
            "the number of records alone",
        )
    parts = {name: {key: part[key] for key in part if key != "on"} for name, part in study.results["parts"].items()}
    assert found == study.results | other | {"run": found["run"], "parts": parts}
    assert found["run"] != study.results["run"]


def test_lacking_attributes_are_named(table: pl.DataFrame, tmp_path: Path) -> None:
    table.drop("race", "los").write_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match=r"lacks 'race', 'los'"):
        STUDY.run(tmp_path / "out", data=str(tmp_path / "d.csv"))


@pytest.mark.parametrize("values", [pl.lit("female"), pl.lit(1.5), pl.lit(-1)])
def test_what_is_no_code_is_refused(table: pl.DataFrame, tmp_path: Path, values: pl.Expr) -> None:
    table.head(50).with_columns(sex=values).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(InputError, match=r"'sex'.*whole numbers"):
        STUDY.run(tmp_path / "out", data=str(tmp_path / "d.parquet"))


def test_charges_as_text_are_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    table.head(50).with_columns(charge=pl.lit("high")).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(InputError, match="'charge'"):
        STUDY.run(tmp_path / "out", data=str(tmp_path / "d.parquet"))


@pytest.mark.slow
def test_missing_values_and_whole_numbers_kept_as_floats_are_everyday_input(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StudyResult, "write", lambda self: None)
    some = pl.int_range(pl.len()) % 10 == 0
    holes = [pl.when(~some).then(pl.col(name)).alias(name) for name in ("race", "age_yrs", "charge")]
    table.head(500).with_columns(*holes, pl.col("los").cast(pl.Float64)).write_parquet(tmp_path / "d.parquet")
    found = STUDY.run(tmp_path / "out", data=str(tmp_path / "d.parquet")).to_dict()
    json.dumps(found, allow_nan=False)
    grouped = [s for s in found["statements"] if "zero unequivocal" in s["paper"]]  # type: ignore[attr-defined]
    assert grouped[0]["agrees"]


def test_fewer_records_than_the_largest_k_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="classes of up to 10, but the table has 9"):
        STUDY.run(tmp_path / "out", rows=9)


def test_an_output_that_is_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    stages: list[str] = []
    with pytest.raises(InputError, match="taken"):
        STUDY.run(tmp_path / "taken", rows=10, progress=stages.append)
    assert stages == []
