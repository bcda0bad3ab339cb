"""Tables in which people are hard to count: whoever counts them in the written file finds k in every class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.chunked_release import anonymize_to
from shoal.engines.disk import Disk

DICE = np.random.default_rng(11)
N = 180
WHO = {
    "one person in most rows": np.where(DICE.random(N) < 0.7, 0, DICE.integers(0, 60, N)),
    "side by side": np.sort(DICE.integers(0, 40, N)),
    "few people": DICE.integers(0, 7, N),
}
TABLE = pl.DataFrame(
    {
        "row": range(N),
        "age": DICE.integers(20, 50, N),
        "sex": DICE.choice(["f", "m"], N),
        "charge": DICE.integers(0, 5, N),
    }
)
GROUPINGS = ["hilbert", "kd", "kd-median", "sorted", "mdav", "mdav+", "recode"]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("gaps", [False, True], ids=["", "gaps"])
@pytest.mark.parametrize("who", WHO)
def test_every_class_of_the_file_has_k_people(
    who: str, gaps: bool, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 60)
    whose = pl.Series("pid", [f"p{number}" for number in WHO[who]])
    if gaps:
        whose = pl.Series("pid", [person if row % 9 else None for row, person in enumerate(whose)])
    table = TABLE.with_columns(whose)
    own = dict(zip(range(N), (person or f"nobody {row}" for row, person in enumerate(whose)), strict=True))
    for method in GROUPINGS:
        shown, achieved = released(table, counted(method), engine, tmp_path / method)
        people = shown.with_columns(who=pl.col("row").replace_strict(own)).group_by("age", "sex")
        assert people.agg(pl.col("who").n_unique())["who"].min() == achieved >= 4, method


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_cut_points_go_on_until_every_class_holds_k_people(engine: str, tmp_path: Path) -> None:
    table = TABLE.with_columns(pid=pl.Series([f"p{number}" for number in WHO["few people"]]))
    assert released(table, counted("cut-points"), engine, tmp_path / "r")[1] >= 4


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_who_is_spelled_in_several_ways_is_one_person(engine: str, tmp_path: Path) -> None:
    ways = ["Zo\u00eb{}", "Zoe\u0308{} ", "\ufeffZo\u00eb{}\u00a0", "\u200bZo\u00eb{}"]
    number = WHO["one person in most rows"]
    table = TABLE.with_columns(pid=pl.Series([ways[row % 4].format(who) for row, who in enumerate(number)]))
    as_numbers = TABLE.with_columns(
        pid=pl.Series([f"{who}.0" if row % 2 else f"{who}" for row, who in enumerate(number)])
    )
    own = dict(enumerate(number.tolist()))
    for spelled in (table, as_numbers):
        for method in ("hilbert", "recode"):
            shown, achieved = released(spelled, counted(method), engine, tmp_path / f"{method} {spelled['pid'][0]}")
            people = shown.with_columns(who=pl.col("row").replace_strict(own)).group_by("age", "sex")
            assert people.agg(pl.col("who").n_unique())["who"].min() == achieved >= 4, method


def counted(method: str) -> shoal.Policy:
    """Four people in every class; whoever is not named is a person of her own."""
    return shoal.Policy(
        quasi_identifiers=["age", "sex"],
        confidential=["charge"],
        insensitive=["row"],
        person="pid",
        models=[shoal.KAnonymity(4)],
        method={"name": method},
        missing_person="one-each",
    )


def released(table: pl.DataFrame, policy: shoal.Policy, engine: str, path: Path) -> tuple[pl.DataFrame, Any]:
    """What stands in the file, and how many people the verdict has counted."""
    if engine == "memory":
        made = shoal.anonymize(table, policy, seed=1)
        made.write(path.with_suffix(".parquet"))
        return pl.read_parquet(path.with_suffix(".parquet")), made.verdicts[0].achieved
    with Disk() as disk:
        release = anonymize_to(disk.table(table.lazy()), policy, str(path), seed=1)
        return pl.read_parquet(path / "*.parquet"), release.verdicts[0].achieved
