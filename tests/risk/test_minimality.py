"""The minimality attack finds what merges tell, and finds nothing where they tell nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.microdata import Microdata
from shoal.masking.enforce import failing
from shoal.masking.partition import Partition
from shoal.privacy.model import PrivacyModel
from shoal.risk.attack import Outcome

L2 = (shoal.KAnonymity(4), shoal.LDiversity(2))
T3 = (shoal.KAnonymity(4), shoal.TCloseness(0.35))


def people(n: int = 800) -> pl.DataFrame:
    dice = np.random.default_rng(5)
    age, zip_code = dice.integers(18, 90, n), dice.integers(0, 400, n)
    ill = dice.random(n) < 0.2
    return pl.DataFrame({"age": age, "zip": zip_code, "ill": np.where(ill, "yes", "no")})


def policy(models: Sequence[PrivacyModel], method: object = None, **choices: object) -> shoal.Policy:
    method = method or shoal.Kd()
    return shoal.Policy(  # type: ignore[arg-type]
        quasi_identifiers=["age", "zip"], confidential=["ill"], models=list(models), method=method, **choices
    )


def attack(table: pl.DataFrame, asked: shoal.Policy) -> list[Outcome]:
    released = shoal.anonymize(table, asked).table.sample(fraction=1, shuffle=True, seed=1)
    return list(shoal.attack(table, released, asked, ["minimality"]).outcomes)


def join_the_next(
    microdata: Microdata, partition: Partition, models: Sequence[PrivacyModel], suppression: float = 0.0
) -> Partition:
    """A rule that tells: whatever class fails takes the one after it, the last the one before."""
    while (bad := failing(microdata, partition, models)).any() and partition.classes > 1:
        place = int(np.flatnonzero(bad)[0])
        gone = place + 1 if place + 1 < partition.classes else place
        partition = Partition(partition.order, np.delete(partition.starts, gone))
    return partition


@pytest.mark.slow
def test_a_class_that_joins_the_next_gives_away_what_it_held(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("masking.grouped", "risk.minimality"):
        monkeypatch.setattr(import_module(f"shoal.{module}"), "enforce", join_the_next)
    named, everybody = attack(people(300), policy(L2, shoal.Sorted()))
    assert named.guessed >= 20
    assert named.interval[0] > named.baseline + 0.05
    assert named.rate == 1.0
    assert everybody.rate > everybody.baseline


@pytest.mark.parametrize(
    "grouping", ["hilbert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sorted", "kd", "mdav"))]
)
def test_merges_along_the_tree_tell_no_more_than_class_frequencies(grouping: str) -> None:
    for outcome in attack(people(), policy(L2, shoal.METHODS.find(grouping)())):  # type: ignore[arg-type]
        assert outcome.interval[0] <= outcome.baseline
    assert outcome.guessed == 800


def test_nor_do_merges_for_closeness() -> None:
    for outcome in attack(people(), policy(T3)):
        assert outcome.interval[0] <= outcome.baseline


@pytest.mark.parametrize("method", [shoal.Coarsen(12), shoal.CutPoints(seconds=1)])
def test_what_cannot_merge_is_refused_rather_than_left_out(method: object) -> None:
    """Who is missing would tell what her class held."""
    with pytest.raises(shoal.PromiseError, match="does not keep l-diversity of 'ill'"):
        shoal.anonymize(people(), policy(L2, method, suppression=0.9))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (policy([shoal.KAnonymity(4)]), "No promise is about what classes hold"),
        (policy((shoal.KAnonymity(2), shoal.TCloseness(1.0)), shoal.Coarsen(1)), "Classes do not follow from"),
    ],
)
def test_where_nothing_was_merged_for_what_it_holds_there_is_nothing_to_attack(asked: shoal.Policy, words: str) -> None:
    released = shoal.anonymize(people(100), asked).table
    assert words in shoal.attack(people(100), released, asked, ["minimality"]).left_out["minimality"]


def test_a_release_that_the_method_does_not_make_is_not_attacked() -> None:
    released = shoal.anonymize(people(100), policy(L2, shoal.Sorted())).table
    found = shoal.attack(people(100), released, policy(L2), ["minimality"])
    assert "The release is not what the policy's method makes of the original" in found.left_out["minimality"]
    found = shoal.attack(people(100), released.drop("zip"), policy(L2), ["minimality"])
    assert "The release does not show 'zip'" in found.left_out["minimality"]


def test_a_recoding_goes_up_rather_than_leave_out_who_has_what() -> None:
    bands = tuple((str(age), f"{age // 6 * 6}+", f"{age // 30 * 30}+", "*") for age in range(18, 90))
    asked = shoal.Policy(
        quasi_identifiers=["age"],
        confidential=["ill"],
        models=[shoal.KAnonymity(4), shoal.LDiversity(2)],
        method=shoal.Recode(),
        suppression=0.3,
        attributes={"age": {"hierarchy": bands}},
    )
    table = people(500)
    release = shoal.anonymize(table, asked)
    alone = shoal.anonymize(table, asked.changed(models=(shoal.KAnonymity(4),)))
    at = release.to_dict()["levels"]["age"]
    assert at > alone.to_dict()["levels"]["age"]
    kept = set(release.masked.kept.tolist()) if release.masked.kept is not None else set(range(500))
    sizes = table.group_by(table["age"] if at == 0 else table["age"] // (6 if at == 1 else 30)).len()
    assert 500 - len(kept) == sizes.filter(pl.col("len") < 4)["len"].sum()  # for its size alone


@pytest.mark.slow
@pytest.mark.parametrize(("grouping", "models"), [("hilbert", L2), ("kd", T3)])
def test_on_adult_too_the_salary_is_not_told_by_merges(grouping: str, models: Sequence[PrivacyModel]) -> None:
    path = Path(os.environ.get("SHOAL_DATA", ""), "adult", "adult.csv")
    if not path.exists():
        pytest.skip("SHOAL_DATA names no folder with adult/adult.csv")
    table = pl.read_csv(path, separator=";").head(4000)
    asked = shoal.Policy(
        quasi_identifiers=table.columns[:-1],
        confidential=table.columns[-1:],
        models=list(models),
        method=shoal.METHODS.find(grouping)(),  # type: ignore[arg-type]
    )
    outcomes = attack(table, asked)
    assert outcomes[1].guessed == 4000
    assert all(outcome.interval[0] <= outcome.baseline for outcome in outcomes)
