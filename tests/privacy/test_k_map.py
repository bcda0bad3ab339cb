"""k-map: k' of the paper's tests, individual risk, and the model (paper 3; docs/spec.md#k-map)."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.policy import Policy
from shoal.privacy.check import classes_of
from shoal.privacy.k_map import KMap, Test, individual_risk, k_prime, reached

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TABLE: dict[tuple[int, Test], tuple[int, ...]] = {
    (5, "individual"): (1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5),
    (5, "poisson"): (1, 2, 2, 3, 4, 5, 6, 6, 7, 8, 8),
    (5, "truncated-poisson"): (2, 3, 3, 4, 4, 5, 6, 6, 7, 8, 8),
    (10, "individual"): (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    (10, "poisson"): (1, 2, 3, 5, 6, 8, 9, 10, 11, 13, 14),
    (10, "truncated-poisson"): (2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14),
    (15, "individual"): (1, 2, 3, 4, 6, 7, 8, 10, 11, 13, 14),
    (15, "poisson"): (2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 19),
    (15, "truncated-poisson"): (2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 19),
    (3, "poisson"): (1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6),
    (3, "truncated-poisson"): (2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6),
}

tests = st.sampled_from(["individual", "poisson", "truncated-poisson"])


def promised(k: int, fraction: float, test: Test) -> KMap:
    """The model, of cells that were fixed; a test by which one record would be enough is none."""
    assume(min(k, k_prime(k, fraction, test)) > 1)
    return KMap(k, fraction, test, cells_fixed=True)


poisson_tests = st.sampled_from(["poisson", "truncated-poisson"])
fractions = st.floats(1e-3, 1.0)


def poisson_tail(f: int, mean: float) -> float:
    """P(X >= f), by summing exactly what lies below f."""
    below = sum((Fraction(mean) ** i / math.factorial(i) for i in range(f)), Fraction(0))
    return float(1 - below * Fraction(math.exp(-mean)))


# ---- k'


@pytest.mark.parametrize(("k", "test"), TABLE)
def test_the_table_of_k_prime(k: int, test: Test) -> None:
    assert tuple(k_prime(k, fraction, test) for fraction in FRACTIONS) == TABLE[k, test]


@given(st.integers(2, 40), fractions, poisson_tests, st.floats(0.01, 0.9))
def test_k_prime_is_the_least_size_that_the_test_rejects(k: int, fraction: float, test: Test, alpha: float) -> None:
    def tail(f: int) -> float:
        given_some = -math.expm1(-k * fraction) if test == "truncated-poisson" else 1.0
        return poisson_tail(f, k * fraction) / given_some

    found = k_prime(k, fraction, test, alpha)
    assert tail(found) <= alpha * (1 + 1e-9)
    assert found == 1 or tail(found - 1) > alpha * (1 - 1e-9)


def test_many_classes_tested_at_once_need_a_smaller_significance() -> None:
    assert k_prime(5, 0.1, classes=1000) == k_prime(5, 0.1, alpha=0.0001) == 6
    assert k_prime(5, 0.1, classes=1) == k_prime(5, 0.1)


def test_a_table_that_is_the_population_is_k_anonymized() -> None:
    assert KMap(5, fraction=1.0).smallest_class == 5


@given(st.integers(1, 60), st.integers(2, 60), fractions, tests)
def test_a_class_reaches_k_if_and_only_if_it_is_large_enough(size: int, k: int, fraction: float, test: Test) -> None:
    model = promised(k, fraction, test)
    assert (size >= model.smallest_class) == bool(model.meets(np.array([reached(size, fraction, test)]))[0])
    assert reached(size, fraction, test) >= size * (1 - 1e-12)


@given(st.integers(1, 60), fractions, poisson_tests)
def test_a_class_reaches_the_greatest_k_for_which_it_is_large_enough(size: int, fraction: float, test: Test) -> None:
    k = int(reached(size, fraction, test))
    assert k == 1 or min(k, k_prime(k, fraction, test)) <= size
    assert min(k + 1, k_prime(k + 1, fraction, test)) > size


# ---- individual risk


def test_individual_risk_of_one_and_two_records_has_closed_forms() -> None:
    for p in (0.001, 0.1, 0.2, 0.49, 0.5, 0.51, 0.9, 0.999):
        odds = p / (1 - p)
        assert individual_risk(1, p) == pytest.approx(-odds * math.log(p), rel=1e-12)
        assert individual_risk(2, p) == pytest.approx(odds + odds**2 * math.log(p), rel=1e-9)


def test_individual_risk_of_small_classes() -> None:
    assert individual_risk([1, 2, 3, 4], 0.1) == pytest.approx([0.255843, 0.082684, 0.046368, 0.031885], abs=1e-6)
    assert individual_risk([1, 2, 3], 0.2) == pytest.approx([0.402359, 0.149410, 0.087647], abs=1e-6)
    assert individual_risk([1, 2, 3], 0.5) == pytest.approx([0.693147, 0.306853, 0.193147], abs=1e-6)


@given(st.integers(1, 80), st.floats(0.02, 1.0))
def test_individual_risk_is_the_mean_of_one_over_the_people(f: int, p: float) -> None:
    """F given f is negative binomial: P(F) = C(F-1, f-1) p^f q^(F-f)."""
    probability, total = p**f, 0.0
    for F in range(f, f + 20_000):
        total += probability / F
        probability *= (1 - p) * F / (F - f + 1)
        if probability < 1e-18 and f / p < F:
            break
    assert individual_risk(f, p) == pytest.approx(total, rel=1e-8)


def test_individual_risk_of_large_classes_and_rare_samples_stays_exact() -> None:
    assert individual_risk(10**6, 0.1) == pytest.approx(0.1 / (10**6 - 0.9), rel=1e-9)
    assert individual_risk([1, 7], 1.0).tolist() == pytest.approx([1.0, 1 / 7])
    assert individual_risk(31, 1e-9) == pytest.approx(individual_risk(32, 1e-9) * 31 / 30, rel=1e-6)


def test_francdat_gives_the_known_risks() -> None:
    f = np.array([2, 2, 2, 1, 1, 1, 1, 2])
    people = np.array([110, 84.5, 84.5, 17, 541, 8, 5, 110])
    known = [0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426]
    assert individual_risk(f, f / people) == pytest.approx(known, abs=1e-8)


# ---- the model

QUASI = frozenset({Role.QUASI_IDENTIFIER})
SCHEMA = Schema((Attribute("sex", QUASI, Kind.NOMINAL), Attribute("age", QUASI, Kind.NUMERIC)))
KINDS = {attribute.name: attribute.kind for attribute in SCHEMA}


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(2, 12), fractions, tests)
def test_what_holds_while_masking_holds_of_the_output(labels: list[int], k: int, fraction: float, test: Test) -> None:
    model = promised(k, fraction, test)
    order = np.argsort(labels, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(np.sort(labels), prepend=-1)), len(labels))
    levels = model.levels(None, order, starts)
    verdict = model.verdict(classes_of(pl.DataFrame({"x": labels}), ["x"], {"x": Kind.NUMERIC}))
    assert verdict.holds == bool(model.meets(levels).all())
    assert verdict.achieved == levels.min()
    assert (verdict.model, verdict.asked) == ("k-map", k)


PEOPLE = pl.DataFrame({"sex": ["f"] * 6 + ["m"] * 4, "age": [20, 21, 22, 23, 30, 40, 20, 25, 29, 60]})


def test_with_a_population_the_people_who_fit_decide() -> None:
    release = pl.DataFrame({"sex": ["f", "m"], "age": ["[20;29]", "[20;29]"]})
    verdict = KMap(3, population=PEOPLE).verdict(classes_of(release, ["sex", "age"], KINDS))
    assert (verdict.achieved, verdict.holds) == (3, True)
    assert not KMap(4, population=PEOPLE).verdict(classes_of(release, ["sex", "age"], KINDS)).holds
    nobody = pl.DataFrame({"sex": ["f"], "age": ["[70;79]"]})
    assert KMap(2, population=PEOPLE).verdict(classes_of(nobody, ["sex", "age"], KINDS)).achieved == 0


def test_while_masking_a_single_record_may_be_enough() -> None:
    table = Microdata(pl.DataFrame({"sex": ["f", "f", "m"], "age": [20, 23, 60]}), SCHEMA)
    model = KMap(4, population=PEOPLE)
    everyone, apart = np.arange(3), np.array([0, 2, 3])
    assert model.levels(table, everyone, apart).tolist() == [4, 1]
    assert model.levels(None, everyone, apart).tolist() == [2, 1]  # of records alone nothing more is known
    assert model.smallest_class == 1


def test_an_empty_release_keeps_every_promise() -> None:
    nothing = classes_of(PEOPLE.clear(), ["sex", "age"], KINDS)
    assert KMap(5, 0.1).verdict(nothing).holds
    assert KMap(5, population=PEOPLE).verdict(nothing).holds


def test_a_policy_keeps_the_model(tmp_path: Path) -> None:
    models = (KMap(5, 0.1), KMap(7, 0.2, "poisson", 0.05), KMap(3, population="people.csv"))
    path = tmp_path / "shoal.toml"
    path.write_text(Policy(quasi_identifiers=["age"], models=models).to_toml(), encoding="utf-8")
    assert [model.k for model in Policy.read(path).models] == [5, 7, 3]
    assert Policy.read(path).models[:2] == models[:2]
    (described,) = (
        table
        for table in Policy.model_json_schema()["properties"]["models"]["items"]["oneOf"]
        if table["properties"]["name"] == {"const": "k-map"}
    )
    assert set(described["properties"]) == {"name", "k", "fraction", "test", "alpha", "population", "cells_fixed"}


# ---- what cannot be


@pytest.mark.parametrize(
    ("choices", "fault"),
    [
        ({"k": 1, "fraction": 0.1}, "'k'"),
        ({"k": 5, "fraction": 0.0}, "'fraction'"),
        ({"k": 5, "fraction": 10}, "'fraction'"),
        ({"k": 5, "fraction": 0.1, "alpha": 1.0}, "'alpha'"),
        ({"k": 5, "fraction": 0.1, "test": "normal"}, "'test'"),
        ({"k": 5}, "population"),
        ({"k": 5, "fraction": 0.1, "population": "people.csv"}, "not both"),
    ],
)
def test_a_model_that_cannot_be_is_refused(choices: dict[str, object], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        KMap(**choices)  # type: ignore[arg-type]


def test_no_number_of_classes_below_one_is_tested() -> None:
    with pytest.raises(InputError, match="'classes'"):
        k_prime(5, 0.1, classes=0)
