"""Dependence of attributes: each measure against its definition, the permutation test against shuffling, the rule."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from shoal.data.microdata import Coded, encode
from shoal.data.schema import Attribute, Kind, Role
from shoal.errors import InputError
from shoal.risk.contingency import contingency, excess_test, mutual_information
from shoal.risk.dependence import (
    Dependence,
    Pair,
    _benjamini_hochberg,
    _correlations,
    correlation_ratio,
    cramers_v,
    dependence,
)
from tests.oracles import dependence as oracle

N = 3_000
NORMAL = np.random.default_rng(11).normal(size=N)
LETTERS = np.random.default_rng(12).choice(list("abcd"), size=N)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(13)


def coded(name: str, values: object, kind: Kind = Kind.NUMERIC) -> Coded:
    return encode(pl.Series(name, values), Attribute(name, frozenset({Role.CONFIDENTIAL}), kind))


def only(one: Coded, other: Coded) -> Pair:
    (pair,) = dependence([one, other]).pairs
    return pair


# ---- measures


def few(n: int, shift: int, seed: int) -> tuple[list[str], list[str]]:
    """Two lists of letters, of which the second follows the first now and then."""
    random = np.random.default_rng(seed)
    one = random.integers(0, 4, n)
    other = np.where(random.random(n) < shift / 10, one, random.integers(0, 3, n))
    return [str(x) for x in one], [str(x) for x in other]


@pytest.mark.parametrize(("n", "shift"), [(30, 0), (60, 3), (200, 6), (200, 10)])
def test_categories_as_defined(n: int, shift: int) -> None:
    one, other = few(n, shift, seed=n)
    table = contingency(np.array(one, np.int64), np.array(other, np.int64))
    assert cramers_v(table) == pytest.approx(oracle.cramers_v(one, other))
    assert float(mutual_information(table)) == pytest.approx(oracle.mutual_information(one, other))
    numbers = [float(int(x) ** 2 + i % 7) for i, x in enumerate(other)]
    found = correlation_ratio(coded("a", one, Kind.NOMINAL), coded("b", numbers))
    assert found == pytest.approx(oracle.correlation_ratio(one, numbers))


def test_no_association_is_none_and_the_whole_is_one() -> None:
    everything = np.repeat(np.arange(4), 50)
    assert cramers_v(contingency(everything, everything)) == pytest.approx(1.0)
    assert cramers_v(contingency(everything, np.tile(np.arange(4), 50))) == 0.0
    assert cramers_v(contingency(everything, np.zeros(200, np.int64))) == 0.0
    assert correlation_ratio(coded("a", ["x"] * 9, Kind.NOMINAL), coded("b", range(9))) == 0.0


def test_numbers_by_the_larger_of_pearson_and_spearman(random: np.random.Generator) -> None:
    line = NORMAL + random.normal(size=N)
    pair = only(coded("x", NORMAL), coded("y", line))
    assert pair.measure == "correlation"
    by_hand = max(stats.pearsonr(NORMAL, line)[0], stats.spearmanr(NORMAL, line)[0])
    assert pair.association == pytest.approx(by_hand)
    steep = only(coded("x", NORMAL), coded("y", -np.exp(4 * NORMAL)))
    assert steep.association == pytest.approx(1.0)  # Spearman, and the sign does not matter
    assert abs(stats.pearsonr(NORMAL, -np.exp(4 * NORMAL))[0]) < 0.5


def test_ties_and_missing_values_as_in_the_field(random: np.random.Generator) -> None:
    x, y = random.integers(0, 5, N), random.integers(0, 3, N)
    y = np.where(random.random(N) < 0.4, x, y)
    expected = max(stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0])
    assert _correlations([coded("x", x), coded("y", y)])[0, 1] == pytest.approx(expected)
    gaps = [None if i < 300 else int(value) for i, value in enumerate(y)]
    expected = max(stats.pearsonr(x[300:], y[300:])[0], stats.spearmanr(x[300:], y[300:])[0])
    assert _correlations([coded("x", x), coded("y", gaps)])[0, 1] == pytest.approx(expected, abs=0.01)


def test_dependence_that_is_no_line_is_found(random: np.random.Generator) -> None:
    parabola = NORMAL**2 + random.normal(size=N) / 2
    assert abs(stats.spearmanr(NORMAL, parabola)[0]) < 0.1
    pair = only(coded("x", NORMAL), coded("y", parabola))
    assert pair.measure == "Cramer's V of tenths"
    assert pair.dependent


def test_many_categories_do_not_look_like_dependence(random: np.random.Generator) -> None:
    many = random.integers(0, 1_000, N).astype(str)
    assert not only(
        coded("c", many, Kind.NOMINAL), coded("d", random.integers(0, 500, N).astype(str), Kind.NOMINAL)
    ).dependent
    assert only(coded("c", many, Kind.NOMINAL), coded("x", random.normal(size=N))).p > 0.01


# ---- the test


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_the_chance_is_that_of_shuffled_records(shift: int) -> None:
    one, other = few(60, shift, seed=100 + shift)
    levels = np.array(one, np.int64), np.array(other, np.int64)
    _, p = excess_test([levels], None, 999)
    assert p == pytest.approx(oracle.permutation_test(one, other, 2_000, seed=5), abs=0.1)


def test_what_a_correlation_ratio_does_not_see_is_found_by_information(random: np.random.Generator) -> None:
    """Ward and charge share most of a bit, and the mean charge is the same in both wards."""
    charge = random.integers(0, 10_000, N)
    ward = np.where(random.random(N) < 0.97, np.abs(charge - 5_000) < 2_500, random.random(N) < 0.5)
    pair = only(coded("charge", charge), coded("ward", ward.astype(str), Kind.NOMINAL))
    assert pair.association < 0.05
    assert pair.information > 0.7
    assert pair.dependent


def test_alternating_bands_are_found_at_a_fine_resolution(random: np.random.Generator) -> None:
    charge = random.integers(0, 6_400, N)
    ward = (charge // 200 % 2).astype(str)
    assert only(coded("charge", charge), coded("ward", ward, Kind.NOMINAL)).dependent


def test_a_gap_that_goes_with_a_value_is_a_dependence(random: np.random.Generator) -> None:
    ward = random.integers(0, 2, N)
    charge = [None if w and random.random() < 0.2 else 1.0 * i for i, w in enumerate(random.permutation(ward))]
    gaps = [1 if value is None else int(random.random() < 0.1) for value in charge]
    assert only(coded("charge", charge), coded("ward", [str(g) for g in gaps], Kind.NOMINAL)).dependent


def test_two_together_may_tell_what_neither_tells(random: np.random.Generator) -> None:
    x, y = random.integers(0, 2, N), random.integers(0, 2, N)
    columns = [coded(name, v.astype(str), Kind.NOMINAL) for name, v in (("x", x), ("y", y), ("z", x ^ y))]
    found = dependence(columns)
    assert not any(pair.dependent for pair in found.pairs)
    assert all(each.dependent for each in found.together)
    assert found.components == [("x", "y", "z")]


def test_what_goes_together_at_every_age_is_found_though_not_in_all(random: np.random.Generator) -> None:
    age, charge = random.integers(0, 80, N), random.normal(size=N)
    ward = ((charge > 0) ^ (age >= 40)).astype(str)
    columns = [coded("charge", charge), coded("ward", ward, Kind.NOMINAL)]
    assert not dependence(columns).pairs[0].dependent
    assert dependence(columns, [coded("age", age)]).pairs[0].dependent


def test_the_test_keeps_its_level() -> None:
    found = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        columns = [coded(name, random.normal(size=200)) for name in ("x", "y")]
        known = coded("q", random.integers(0, 9, 200))
        found += dependence(columns, [known]).pairs[0].p <= 0.05
    assert found <= 8


def test_what_the_test_would_find_shrinks_with_the_records(random: np.random.Generator) -> None:
    few_records, many = (
        only(coded("x", NORMAL[:n]), coded("y", random.normal(size=n))).detectable for n in (300, 3_000)
    )
    assert few_records == pytest.approx(10 * many, rel=0.01)


def test_significance_is_adjusted_for_the_number_of_pairs(random: np.random.Generator) -> None:
    p = random.random(40) ** 3
    assert _benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_a_faint_dependence_counts_where_it_is_no_accident() -> None:
    n = 40_000
    random = np.random.default_rng(3)
    x = random.normal(size=n)
    faint = only(coded("x", x), coded("y", 0.07 * x + random.normal(size=n)))
    assert 0.05 < faint.association < 0.1
    assert faint.p <= 0.01
    assert faint.dependent
    assert not Pair("x", "y", "correlation", 0.07, 0.0, 0.2).dependent
    assert Pair("x", "y", "correlation", 0.0, 0.0, 0.0001).dependent  # however weak: it is there
    assert Pair("x", "y", "correlation", 0.1, 0.0, 1.0).dependent


def test_one_pair_among_many_can_be_significant(random: np.random.Generator) -> None:
    attributes = [coded(f"x{i}", random.normal(size=400)) for i in range(7)]
    far = np.abs(attributes[0].positions[attributes[0].codes]) > 0.7
    attributes.append(coded("y", far.astype(str), Kind.NOMINAL))
    found = dependence(attributes)
    assert len(found.pairs) == 28
    assert next(pair for pair in found.pairs if (pair.first, pair.second) == ("x0", "y")).p <= 0.01


# ---- the rule


def test_what_a_chain_links_shares_a_partition() -> None:
    pairs = tuple(
        Pair(one, other, "correlation", 0.5 if linked else 0.0, 0.0, 0.5)
        for one, other, linked in [("a", "b", 0), ("a", "c", 1), ("b", "d", 1), ("c", "e", 1), ("b", "e", 0)]
    )
    found = Dependence(("a", "b", "c", "d", "e", "f"), pairs)
    assert found.components == [("a", "c", "e"), ("b", "d"), ("f",)]
    assert "'a', 'c', 'e'; 'b', 'd'" in found.rule


def test_independent_attributes_may_be_apart_and_must_not_be_merged() -> None:
    found = dependence([coded("x", NORMAL), coded("c", LETTERS, Kind.NOMINAL)])
    assert found.components == [("x",), ("c",)]
    assert "must not be merged" in found.rule
    assert found.to_dict()["share_a_partition"] == [["x"], ["c"]]
    assert "one confidential attribute" in dependence([coded("x", NORMAL)]).rule
    with pytest.raises(InputError, match="No attribute"):
        dependence([])


def test_the_same_table_gets_the_same_answer() -> None:
    attributes = [coded("x", NORMAL), coded("c", LETTERS, Kind.NOMINAL)]
    assert dependence(attributes) == dependence(attributes)


def test_columns_that_do_not_vary_or_are_missing_depend_on_nothing() -> None:
    still = coded("s", [1] * N)
    gone = coded("g", pl.Series([None] * N, dtype=pl.Float64))
    assert only(still, coded("x", NORMAL)).association == 0.0
    assert only(gone, coded("x", NORMAL)).association == 0.0
    assert only(gone, coded("c", LETTERS, Kind.NOMINAL)).p == 1.0
