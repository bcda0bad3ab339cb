"""MDAV: against the plain algorithm and the values known for its test files; and what bettering it must keep."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.kernels.mdav import mdav_groups
from shoal.masking.grouping import mdav as module
from shoal.masking.grouping.mdav import blocked, mdav, microaggregate, places
from shoal.masking.partition import Partition
from tests.oracles import microaggregation as oracle

Matrix = npt.NDArray[np.float64]

TOY = pl.DataFrame(
    [(1, 1), (1.2, 0.9), (0.8, 1.1), (5, 5), (5.1, 4.9), (4.8, 5.3), (9, 1), (9.2, 1.2)],
    schema=["x", "y"],
    orient="row",
)


def numbers(frame: pl.DataFrame, **about: object) -> Microdata:
    roles = frozenset({Role.QUASI_IDENTIFIER})
    return Microdata(frame, Schema(tuple(Attribute(name, roles, Kind.NUMERIC, **about) for name in frame.columns)))


def loss(rows: Matrix, partition: Partition) -> float:
    """100 SSE / SST."""
    everyone = np.zeros(len(rows), np.int64)
    return 100 * oracle.sse(rows, partition.class_of(len(rows))) / oracle.sse(rows, everyone)


def casc(name: str) -> pl.DataFrame:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA does not name the folder with casc/census.csv and casc/eia.csv")
    if name == "census":
        return pl.read_csv(Path(folder, "casc", "census.csv"))
    table = pl.read_csv(Path(folder, "casc", "eia.csv"))
    return table.select(name, *table.columns[5:])


# ---- as printed


@pytest.mark.parametrize(
    ("k", "groups", "lost"),
    [
        (2, [1, 2, 1, 3, 2, 3, 0, 0], 18.010678),
        (3, [1, 1, 1, 1, 0, 1, 0, 0], 67.914857),
        (4, [1, 1, 1, 0, 0, 1, 0, 0], 64.158874),
    ],
)
def test_eight_records(k: int, groups: list[int], lost: float) -> None:
    rows = places(numbers(TOY).quasi)
    assert mdav_groups(rows, k).tolist() == groups
    assert loss(rows, microaggregate(rows, k)) == pytest.approx(lost, abs=1e-6)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 1)), min_size=2, max_size=60),
    st.integers(2, 7),
)
def test_groups_are_those_of_the_plain_algorithm_ties_and_all(records: list[tuple[int, int, int]], k: int) -> None:
    rows = np.array(records, np.float64)
    assert mdav_groups(rows, k).tolist() == oracle.mdav(rows, k).tolist()


@pytest.mark.parametrize(("n", "k"), [(1500, 3), (2000, 20)])
def test_blocks_that_are_passed_over_hold_nothing_that_is_missed(n: int, k: int) -> None:
    """More than one block, packed anew several times; clusters, so that most are passed over."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 4)) + 10 * rng.integers(0, 4, (n, 1))
    assert np.array_equal(mdav_groups(rows, k), oracle.mdav(rows, k))


def test_who_was_taken_by_the_first_group_does_not_lead_the_second() -> None:
    """All records alike: the farthest from r is r's own neighbour."""
    assert mdav_groups(np.zeros((7, 2)), 2).tolist() == [0, 0, 1, 1, 2, 2, 2]


CENSUS, UTILITIES = (5.6922, 9.0884, 14.1559), (0.4829, 1.6667, 3.8397)


@pytest.mark.parametrize(
    ("name", "known"), [("census", CENSUS), ("UTILITYID", UTILITIES), ("MONTH", (1.0847, 2.1661, 4.4062))]
)
def test_the_loss_on_the_test_files_is_the_known_one(name: str, known: tuple[float, float, float]) -> None:
    rows = places(numbers(casc(name)).quasi)
    found = [loss(rows, microaggregate(rows, k)) for k in (3, 5, 10)]
    assert found == pytest.approx(known, abs=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "known"), [("census", CENSUS), ("UTILITYID", UTILITIES)])
def test_bettered_groups_lose_less_by_more_than_a_tenth(name: str, known: tuple[float, float, float]) -> None:
    rows = places(numbers(casc(name)).quasi)
    for k, lost in zip((3, 5, 10), known, strict=True):
        better = microaggregate(rows, k, improve=True)
        assert loss(rows, better) < 0.9 * lost
        assert ((better.sizes >= k) & (better.sizes < 2 * k)).all()


# ---- the grouping


@pytest.mark.parametrize("improve", [False, True])
@pytest.mark.parametrize("n", [2, 5, 9, 10, 14, 15, 700])
def test_classes_are_of_k_to_twice_that_and_hold_every_record_once(n: int, improve: bool) -> None:
    k = min(n, 5)
    partition = microaggregate(np.random.default_rng(n).normal(size=(n, 3)), k, improve=improve)
    assert np.sort(partition.order).tolist() == list(range(n))
    assert ((partition.sizes >= k) & (partition.sizes < 2 * k)).all()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), min_size=2, max_size=60),
    st.integers(2, 6),
)
def test_bettering_never_costs_anything(records: list[tuple[int, int]], k: int) -> None:
    rows = np.array(records, np.float64)
    k = min(k, len(rows))
    plain, better = (microaggregate(rows, k, improve=improve) for improve in (False, True))
    assert sorted(better.order.tolist()) == list(range(len(rows)))
    assert ((better.sizes >= k) & (better.sizes < 2 * k)).all()
    before, after = (oracle.sse(rows, p.class_of(len(rows))) for p in (plain, better))
    assert after <= before * (1 + 1e-12)


def test_classes_next_to_each_other_lie_next_to_each_other() -> None:
    rows = np.random.default_rng(0).normal(size=(600, 1))
    partition = microaggregate(rows, 3)
    means = np.add.reduceat(rows[partition.order, 0], partition.starts[:-1]) / partition.sizes
    assert np.abs(np.diff(means)).sum() < 3 * np.ptp(means)  # in the order they are made it is 47


def test_large_tables_are_grouped_in_blocks_and_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(3000, 2))
    whole = loss(rows, microaggregate(rows, 4))
    assert blocked(3000) == ()
    monkeypatch.setattr(module, "_WHOLE", 2000)
    monkeypatch.setattr(module, "_BLOCK", 700)
    in_blocks, better = (microaggregate(rows, 4, improve=improve) for improve in (False, True))
    for partition in (in_blocks, better):
        assert np.sort(partition.order).tolist() == list(range(3000))
        assert ((partition.sizes >= 4) & (partition.sizes < 8)).all()
    assert whole < loss(rows, in_blocks) < 1.3 * whole
    assert loss(rows, better) < 0.9 * whole
    assert "blocks of 700" in blocked(3000)[0]


def test_a_class_of_one_is_every_record_by_itself() -> None:
    assert microaggregate(np.arange(6.0)[:, None], 1).sizes.tolist() == [1] * 6


# ---- where records lie


def test_places_are_standard_deviations_or_ranges() -> None:
    microdata = numbers(pl.DataFrame({"x": [10, 20, 40], "y": [7, 7, 7]}))
    assert places(microdata.quasi)[:, 0].tolist() == pytest.approx(np.array([0, 10, 30]) / np.std([10, 20, 40], ddof=1))
    assert places(microdata.quasi, "range").tolist() == [[0, 0], [pytest.approx(1 / 3), 0], [1, 0]]


def test_missing_lies_a_whole_domain_beyond() -> None:
    microdata = numbers(pl.DataFrame({"x": [10, 20, None]}))
    assert places(microdata.quasi, "range")[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("scale", ["sigma", "range"])
def test_weights_count_in_either_scale(scale: str) -> None:
    frame = pl.DataFrame({"x": [1, 2, 4]})
    plain, double = (places(numbers(frame, weight=weight).quasi, scale)[:, 0] for weight in (1.0, 2.0))
    assert (2 * plain).tolist() == pytest.approx(double.tolist())


def test_neither_an_absurd_weight_nor_an_absurd_domain_breaks_the_grouping() -> None:
    quasi = frozenset({Role.QUASI_IDENTIFIER})
    schema = Schema(
        (
            Attribute("x", quasi, Kind.NUMERIC, weight=1e300),
            Attribute("y", quasi, Kind.NUMERIC, domain=(-1e308, 1e308)),
        )
    )
    frame = pl.DataFrame({"x": range(12), "y": [None, *map(float, range(10)), 1e300]})
    for improve in (False, True):
        assert sorted(mdav(Microdata(frame, schema), 3, improve=improve).order.tolist()) == list(range(12))
