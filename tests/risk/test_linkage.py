"""Linkage by ranks and correct links: the paper's figures, and every record compared with every other."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.kernels.neighbours import blocks_of, nearest
from shoal.risk import linkage
from shoal.risk.linkage import (
    correct_links,
    correct_links_mahalanobis,
    correct_links_rank,
    nearest_in_ranks,
    rank_linkage,
)
from shoal.risk.spaces import ranks
from tests.oracles import linkage as oracle
from tests.oracles.linkage import E3_X, E3_Y, pair_of
from tests.oracles.microaggregation import mdav

Matrix = npt.NDArray[np.float64]

few_values = st.one_of(st.integers(-3, 3).map(float), st.just(np.nan))


@st.composite
def tables(draw: st.DrawFn, *, same_size: bool = True) -> tuple[Matrix, Matrix]:
    """Two tables with ties and missing values; at least one attribute of the original varies."""
    n, m = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    size = n if same_size else draw(st.integers(1, 12))
    x, y = (draw(arrays(float, (rows, m), elements=few_values)) for rows in (n, size))
    x[:2, 0] = 0, 1
    return x, y


def varying(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    """Without the columns that measures leave out."""
    keep = [j for j in range(x.shape[1]) if len(set(x[~np.isnan(x[:, j]), j])) > 1]
    return x[:, keep], y[:, keep]


# ---- Eq. 2


def test_example_e3() -> None:
    pair = pair_of(E3_X, E3_Y)
    assert nearest_in_ranks(pair) == pytest.approx([1, 2**0.5, 1, 1, 2**0.5])
    assert rank_linkage(pair) == pytest.approx(0.384219, abs=1e-6)
    assert rank_linkage(pair, log="ln") == pytest.approx(0.069315, abs=1e-6)


def test_the_papers_logarithm_takes_distances_of_at_least_one_half() -> None:
    assert rank_linkage(pair_of(E3_X, E3_X), log="ln") == pytest.approx(np.log(0.5) / 2)
    with pytest.raises(InputError, match=r"'log' parameter of rank_linkage must be 'ln1p' or 'ln'\. Got 'log2'"):
        rank_linkage(pair_of(E3_X, E3_Y), log="log2")


@given(tables(same_size=False))
def test_as_comparing_every_record_with_every_other(tables: tuple[Matrix, Matrix]) -> None:
    x, y = tables
    n = len(x)
    before, after = (oracle.rank_rows(t.tolist(), n) for t in varying(x, y))
    distances = oracle.nearest(before, after, oracle.euclidean)
    expected = np.mean(np.log1p(distances)) / len(before[0])
    assert rank_linkage(pair_of(x, y)) == pytest.approx(expected, abs=1e-12)


@given(tables())
def test_an_unmasked_table_has_distance_zero_in_any_order(tables: tuple[Matrix, Matrix]) -> None:
    x, _ = tables
    assert rank_linkage(pair_of(x, x[::-1])) == 0.0


@given(tables())
def test_only_ranks_count(tables: tuple[Matrix, Matrix]) -> None:
    x, y = tables
    assert rank_linkage(pair_of(x**3, np.exp(y))) == pytest.approx(rank_linkage(pair_of(x, y)))


def test_nominal_and_constant_attributes_are_left_out() -> None:
    more = [np.column_stack([table, [7.0] * 5, [0.0, 1, 2, 3, 4]]) for table in (E3_X, E3_Y)]
    kinds = [Kind.NUMERIC, Kind.ORDINAL, Kind.NUMERIC, Kind.NOMINAL]
    assert rank_linkage(pair_of(*more, kinds)) == rank_linkage(pair_of(E3_X, E3_Y))
    with pytest.raises(InputError, match="nothing to measure"):
        rank_linkage(pair_of(more[0][:, 2:], more[1][:, 2:], kinds[2:]))


def test_zero_and_minus_zero_are_one_value() -> None:
    assert ranks(np.array([[0.0], [-0.0], [1.0]]), 3).ravel().tolist() == [1.5, 1.5, 3.0]


# ---- correct links


@given(tables())
def test_correct_links_as_comparing_every_record_with_every_other(tables: tuple[Matrix, Matrix]) -> None:
    """Missing is a value: two deviations of ranks from any other. A constant column agrees or differs."""
    x, y = tables
    n, (ordered, shown) = len(x), varying(x, y)
    before, after = (np.array(oracle.rank_rows(t.tolist(), n)) * 12**0.5 / n for t in (ordered, shown))
    gaps = [2.0 * np.isnan(t) for t in (ordered, shown)]
    constant = [j for j in range(x.shape[1]) if len(set(x[~np.isnan(x[:, j]), j])) < 2]
    codes = [np.nan_to_num(t[:, constant], nan=99.0) for t in (x, y)]

    def distance(one: int, other: int) -> float:
        line = np.concatenate([before[one] - after[other], gaps[0][one] - gaps[1][other]])
        return float((line**2).sum() + (codes[0][one] != codes[1][other]).sum())

    assert correct_links_rank(pair_of(x, y)) == pytest.approx(oracle.linked_to_own(n, distance))


def test_attributes_count_in_their_standard_deviations() -> None:
    """In plain units the second attribute would decide alone, and link each record to the other one's."""
    x = np.array([(0, 0), (1, 1000.0), (0, 3000), (1, 4000)])
    y = np.array([(0, 600), (1, 400.0), (0, 3600), (1, 3400)])
    assert correct_links(pair_of(x, y)) == 1.0
    assert correct_links(pair_of(x[:, 1:], y[:, 1:])) == 0.0


def test_mahalanobis_distance_sees_departures_from_the_correlation() -> None:
    """Values moved along the correlation by much are nearer than values moved across it by little."""
    rng = np.random.default_rng(1)
    line = rng.normal(size=(120, 1))
    x = np.hstack([line, line + 0.01 * rng.normal(size=(120, 1))])
    y = x + 0.3 * rng.normal(size=(120, 1))
    whitened = correct_links_mahalanobis(pair_of(x, y))
    cholesky = np.linalg.cholesky(np.linalg.inv(np.cov(x.T)))
    assert whitened == pytest.approx(oracle.correct_links((x @ cholesky).tolist(), (y @ cholesky).tolist(), range(120)))
    assert whitened > 3 * correct_links(pair_of(x, y))


def test_attributes_that_follow_from_others_add_nothing_to_the_mahalanobis_distance() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = x + rng.normal(size=x.shape)
    total = [np.column_stack([t, t.sum(axis=1), 3 * t[:, 0]]) for t in (x, y)]
    assert correct_links_mahalanobis(pair_of(*total)) == correct_links_mahalanobis(pair_of(x, y)) > 0


def test_every_record_of_an_unmasked_table_is_linked_but_for_doubles() -> None:
    x = np.array([(0, 0), (1, 5), (2, 3), (2, 3), (9, 9)], float)
    for links in (correct_links, correct_links_mahalanobis, correct_links_rank):
        assert links(pair_of(x, x)) == pytest.approx((3 + 2 / 2) / 5)


def test_whoever_shows_the_same_shares_the_chance() -> None:
    x = np.array([[0.0], [1], [10], [11], [12]])
    y = np.array([[0.5], [0.5], [11], [11], [11]])
    assert correct_links(pair_of(x, y)) == pytest.approx((2 / 2 + 3 / 3) / 5)


def test_a_suppressed_record_is_not_linked() -> None:
    assert correct_links(pair_of(E3_X, E3_X[[1, 3]], kept=[1, 3])) == pytest.approx(2 / 5)
    x = np.array([[0.0], [1], [5]])
    assert correct_links(pair_of(x, [[5.0], [0]], kept=[2, 0])) == pytest.approx(2 / 3)


def test_missing_values_stand_in_the_middle_of_ranks() -> None:
    x = np.array([[0.0], [1], [2], [3], [np.nan]])
    found = ranks(x, 5).ravel()
    assert found.tolist() == pytest.approx([1, 1 + 4 / 3, 1 + 8 / 3, 5, 3])


def test_whoever_lacks_a_value_is_not_taken_for_the_mean() -> None:
    x = np.array([[0.0], [1], [2], [3], [4], [np.nan]])
    assert correct_links(pair_of(x, x)) == correct_links_rank(pair_of(x, x)) == 1.0


# ---- many records


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_blocks_give_what_comparing_all_gives(spread: float) -> None:
    rng = np.random.default_rng(3)
    points = np.round(rng.normal(size=(1_500, 5)) @ rng.normal(size=(5, 5)), 1)
    queries = np.round(points[:700] + spread * rng.normal(size=(700, 5)), 1)
    assert len(blocks_of(points).starts) > 10
    gaps = queries[:, None] - points[None]
    squares = (gaps**2).sum(axis=2)
    assert nearest(queries, points) == pytest.approx(squares.min(axis=1))
    assert nearest(queries, points, largest=True) == pytest.approx((gaps**2).max(axis=2).min(axis=1))


def test_a_large_table_is_judged_by_a_sample_and_says_so() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 2))
    pair = pair_of(x, x + 0.02 * rng.normal(size=x.shape))
    every = rank_linkage(pair), correct_links(pair)
    assert linkage.sampled(pair) == ""
    pair = replace(pair, linked_at_most=1_000)
    assert linkage.sampled(pair) == "1,000 of 3,000 records, drawn at random"
    assert (rank_linkage(pair), correct_links(pair)) == pytest.approx(every, abs=0.05)
    assert rank_linkage(pair) != every[0]


# ---- the paper's data


def figures(name: str) -> Matrix:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with casc/census.csv and casc/eia.csv")
    table = pl.read_csv(Path(folder) / "casc" / f"{name}.csv")
    columns = table.columns if name == "census" else ["MONTH", *table.columns[5:]]
    values = table.select(columns).cast(pl.Float64).to_numpy()
    return (values - values.min(axis=0)) / np.ptp(values, axis=0)


@pytest.mark.parametrize(
    ("name", "k", "risk", "links"),
    [
        ("census", 5, 0.4525, 0.1019),
        ("census", 10, 0.4656, 0.0370),
        ("census", 50, 0.4889, 0.0102),
        ("eia", 5, 0.5820, 0.09),
    ],
)
def test_microaggregation_of_the_papers_tables(name: str, k: int, risk: float, links: float) -> None:
    """Figure 1 in paper mode; links to the first of equally near ones, where we give their expectation."""
    x = figures(name)
    group = mdav(x, k)
    y = np.array([x[group == g].mean(axis=0) for g in range(group.max() + 1)])[group]
    assert rank_linkage(pair_of(x, y)) == pytest.approx(risk, abs=2e-4)
    assert correct_links_rank(pair_of(x, y)) == pytest.approx(links, abs=0.02)


@pytest.mark.parametrize(
    ("name", "gamma", "risk", "links"), [("census", 1.0, 0.4507, 0.035), ("eia", 0.05, 0.578, 0.08)]
)
def test_correlated_noise_on_the_papers_tables(name: str, gamma: float, risk: float, links: float) -> None:
    x = figures(name)
    noise = np.random.default_rng(5).multivariate_normal(np.zeros(x.shape[1]), gamma * np.cov(x.T), len(x))
    assert rank_linkage(pair_of(x, x + noise), log="ln") == pytest.approx(risk, abs=0.003)
    assert correct_links_rank(pair_of(x, x + noise)) == pytest.approx(links, abs=0.015)
