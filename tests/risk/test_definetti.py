"""The deFinetti attack learns from all classes together, and only where there is something to learn."""

from __future__ import annotations

import numpy as np
import polars as pl

import shoal
from shoal.risk.attack import Outcome

DIVERSE = [shoal.KAnonymity(5), shoal.LDiversity(2)]


def people(depends: bool, n: int = 1500) -> pl.DataFrame:
    dice = np.random.default_rng(7)
    age, height = dice.integers(18, 90, n), dice.integers(18, 90, n)
    risk = age - height + dice.normal(0, 5, n) if depends else dice.random(n)
    return pl.DataFrame({"age": age, "height": height, "ill": np.where(risk > np.quantile(risk, 0.6), "yes", "no")})


def attack(table: pl.DataFrame) -> list[Outcome]:
    method = shoal.Sorted()  # its classes are wide: much can be told apart within them
    asked = shoal.Policy(quasi_identifiers=["age", "height"], confidential=["ill"], models=DIVERSE, method=method)
    released = shoal.anonymize(table, asked).table.sample(fraction=1, shuffle=True, seed=1)
    return list(shoal.attack(table, released, asked, ["definetti"]).outcomes)


def test_what_goes_with_quasi_identifiers_is_learnt_in_spite_of_diversity() -> None:
    named, everybody = attack(people(depends=True))
    assert named.guessed > 100
    assert named.interval[0] > named.baseline + 0.1
    assert everybody.interval[0] > everybody.baseline


def test_of_what_depends_on_nothing_nothing_is_learnt() -> None:
    for outcome in attack(people(depends=False)):
        assert outcome.interval[0] <= outcome.baseline


def test_without_a_confidential_attribute_there_is_nothing_to_learn() -> None:
    table = people(depends=True, n=100)
    asked = shoal.Policy(quasi_identifiers=["age", "height"], models=[shoal.KAnonymity(5)])
    found = shoal.attack(table, shoal.anonymize(table, asked).table, asked, ["definetti"])
    assert "No confidential attribute is named" in found.left_out["definetti"]


def test_of_many_values_bands_are_guessed() -> None:
    table = people(depends=True).with_columns(charge=pl.col("age") * 1000 + pl.int_range(pl.len()))
    asked = shoal.Policy(quasi_identifiers=["age", "height"], confidential=["charge"], models=[shoal.KAnonymity(5)])
    found = shoal.attack(table, shoal.anonymize(table, asked).table, asked, ["definetti"])
    assert found.outcomes[0].target == "charge (which tenth), taken for known"
