"""k-map inferred from a sampling fraction: only of cells that were fixed before the sample was drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal import KAnonymity, KMap, Policy, Release, anonymize, check
from shoal.draft import prepare
from shoal.errors import InputError
from shoal.masking.grouped import publish
from shoal.masking.grouping.hilbert import Hilbert
from shoal.masking.grouping.kd import Kd
from shoal.masking.grouping.mdav import Mdav
from shoal.masking.method import Method
from shoal.masking.microaggregation import IndividualRanking
from shoal.masking.recoding.coarsening import Coarsen
from shoal.masking.recoding.cut_points import CutPoints
from shoal.masking.recoding.recode import Recode
from shoal.masking.recoding.safe_harbor import SafeHarbor
from shoal.privacy.k_map import error
from shoal.privacy.matching import match, population_of
from shoal.report.page import render

K, FRACTION, POPULATIONS = 5, 0.02, 20
QUASI = ("a", "b", "c")
BANDS: dict[str, Any] = {name: {"hierarchy": {"type": "steps", "steps": [4, 8, 16, 32]}} for name in QUASI}
LEARNT: dict[str, Any] = {name: {"hierarchy": {"type": "auto"}} for name in QUASI}


def people(seed: int, n: int = 10_000) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=n)
    return pl.DataFrame({name: np.round(50 + 8 * middle + 12 * rng.normal(size=n)).astype(int) for name in QUASI})


def sample(population: pl.DataFrame, seed: int) -> pl.DataFrame:
    drawn = np.random.default_rng(1000 + seed).permutation(population.height)
    return population[drawn[: int(FRACTION * population.height)]]


def too_few(shown: pl.DataFrame, table: pl.DataFrame, population: pl.DataFrame) -> int:
    """How many of the classes shown fewer than K people of the population fit."""
    schema = Policy(quasi_identifiers=QUASI).schema(
        table
    )  # numbers: what a band shows is read, not looked up in a tree
    fit = match(shown.select(QUASI).unique(), [schema[name] for name in QUASI], population_of(population)).people
    return int((fit < K).sum())


def released(table: pl.DataFrame, method: Method, **choices: Any) -> Release:
    policy = Policy(
        quasi_identifiers=QUASI,
        method=method,
        **{"models": [KMap(K, FRACTION)], "attributes": BANDS, "suppression": 1.0, **choices},
    )
    return anonymize(table, policy, seed=1)


# ---- what is allowed holds


@pytest.mark.parametrize(
    "levels", [None, *(pytest.param(dict.fromkeys(QUASI, level), marks=pytest.mark.slow) for level in (1, 2))]
)
def test_of_fixed_cells_no_more_are_too_small_than_the_verdict_says(levels: dict[str, int] | None) -> None:
    small, expected = 0, 0.0
    for seed in range(POPULATIONS):
        population = people(seed)
        table = sample(population, seed)
        release = released(table, Recode(levels=levels), suppression=0.1 if levels is None else 1.0)
        small += too_few(release.table, table, population)
        tested = len(release.sizes) + release.suppressed
        expected += error(K, FRACTION, KMap(K, FRACTION).smallest_class) * tested
        assert (
            f"of at most {tested:,} classes" in release.notes[-1] or f"of the {tested:,} classes" in release.notes[-1]
        )
    assert small <= expected + 3 * expected**0.5


def test_of_ranges_drawn_round_the_sample_most_are_too_small() -> None:
    """The reason for the refusal: the same test, passed by the default grouping."""
    small = classes = 0
    for seed in range(4):
        population = people(seed)
        table = sample(population, seed)
        microdata, _ = prepare(table, Policy(quasi_identifiers=QUASI))
        model = KMap(K, FRACTION)
        (partition,) = Hilbert().groupings(microdata, model.smallest_class, [])
        masked = publish(microdata, partition)
        small += too_few(pl.DataFrame([column.values() for column in masked.columns.values()]), table, population)
        classes += partition.classes
    assert small / classes > 2 * model.alpha


def test_the_error_is_that_of_a_class_seen_in_the_sample() -> None:
    rng = np.random.default_rng(1)
    drawn = rng.binomial(K - 1, 0.3, size=200_000)
    size = KMap(K, 0.3).smallest_class
    assert (drawn[drawn > 0] >= size).mean() <= error(K, 0.3, size) <= 0.1
    assert error(K, 0.3, K) == 0.0


# ---- what is not allowed is refused


@pytest.mark.parametrize(
    ("method", "attributes", "name"),
    [
        (Hilbert(), {}, "hilbert"),
        (Hilbert(), BANDS, "hilbert"),  # common ancestors of the sample's own neighbours
        (Kd(), {}, "kd"),
        (Mdav(), {}, "mdav"),
        (CutPoints(), {}, "cut-points"),
        (Coarsen(8), {}, "coarsen"),
        (Coarsen(8, "width"), {}, "coarsen"),
        (SafeHarbor(), {}, "safe-harbor"),
        (IndividualRanking(), {}, "individual-ranking"),
        (Recode(local=True), BANDS, "recode"),
        (Recode(), LEARNT, "recode"),
        (Recode(), BANDS | {"a": {"hierarchy": {"type": "frequency", "bands": 8}}}, "recode"),
        (Recode(), BANDS | {"a": {"hierarchy": {"type": "cuts", "cuts": [40, 60]}}}, "recode"),
    ],
)
def test_cells_drawn_from_the_sample_are_refused_by_name(method: Method, attributes: dict[str, Any], name: str) -> None:
    table = sample(people(0), 0)
    with pytest.raises(InputError, match=rf"what '{name}' shows: its cells are drawn .* \(--k-map 5,population=FILE\)"):
        released(table, method, attributes=attributes, suppression=0.0)


def test_cuts_that_begin_below_every_value_are_fixed() -> None:
    table = sample(people(0), 0)
    cuts = {"hierarchy": {"type": "cuts", "cuts": [-100, 40, 60]}}
    assert released(table, Recode(), attributes=BANDS | {"a": cuts}).verdicts[0].holds


def test_a_method_that_says_nothing_of_its_cells_draws_them() -> None:
    class Silent(Method):
        """Says nothing."""

        def mask(self, *_: object, **__: object) -> None:
            raise AssertionError("refused before any work")

    with pytest.raises(InputError, match="what 'silent' shows"):
        released(sample(people(0), 0), Silent())  # type: ignore[arg-type]


def test_classes_of_k_records_hold_k_people_whatever_the_method() -> None:
    table = sample(people(0), 0)
    release = released(table, Hilbert(), models=[KMap(K, FRACTION), KAnonymity(K)])
    verdict = release.verdicts[0]
    assert (verdict.holds, verdict.achieved, verdict.note) == (True, K, "")
    assert released(table, Hilbert(), models=[KMap(K, 0.5)]).verdicts[0].achieved >= K
    page = render(release)  # of drawn ranges nothing is inferred, the journalist included
    assert "Journalist, at worst" not in page


def test_a_policy_cannot_declare_drawn_cells_fixed() -> None:
    with pytest.raises(InputError, match="what 'hilbert' shows"):
        released(sample(people(0), 0), Hilbert(), models=[KMap(K, FRACTION, cells_fixed=True)])


# ---- a file made elsewhere


def test_a_foreign_file_is_not_said_to_hold_unless_its_cells_are_said_to_be_fixed() -> None:
    release = released(sample(people(0), 0), Recode())
    assert release.sizes.min() < K
    policy = Policy(quasi_identifiers=QUASI, models=[KMap(K, FRACTION)])
    with pytest.raises(InputError, match="does not show whether they were"):
        check(release.table, policy)
    fixed = policy.model_copy(update={"models": (replace(policy.models[0], cells_fixed=True),)})
    (verdict,) = check(release.table, fixed)
    assert verdict.holds
    assert "not about the share of classes" in verdict.note


def test_a_foreign_file_whose_classes_decide_by_size_is_judged_without_being_told() -> None:
    policy = Policy(quasi_identifiers=["a"], models=[KMap(K, FRACTION)])
    assert check(pl.DataFrame({"a": ["[1;2]"] * 5}), policy)[0].holds
    alone = check(pl.DataFrame({"a": ["[1;2]"] * 5 + ["3"]}), policy)[0]
    assert (alone.holds, alone.achieved) == (False, 1)


# ---- tests by which one record would be enough


@pytest.mark.parametrize(("test", "fraction"), [("poisson", 0.01), ("individual", 0.01), ("individual", 0.05)])
def test_a_test_that_every_unique_record_passes_is_refused(test: Any, fraction: float) -> None:
    with pytest.raises(InputError, match="every unique record would pass"):
        KMap(5, fraction, test)
