"""One record from each stratum: Algorithm S4 and its numbers, and the same bound at a smaller loss.

Defined in docs/spec.md#stratified.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.kernels.strata import divide_strata
from shoal.masking.grouped import publish
from shoal.masking.grouping.stratified import divided, strata, stratified
from shoal.masking.partition import Partition
from shoal.privacy.t_closeness import TCloseness, k_of_t, t_of_k
from shoal.utility.information_loss import information_loss
from tests.oracles import grouping as oracle
from tests.oracles.privacy import ordered_distance

QUASI, CONFIDENTIAL = frozenset({Role.QUASI_IDENTIFIER}), frozenset({Role.CONFIDENTIAL})
EXAMPLE = [100, 20, 70, 40, 90, 60, 30, 80, 10, 110, 50]


def table(quasi: object, confidential: object) -> Microdata:
    frame = pl.DataFrame(quasi, schema=None if isinstance(quasi, dict) else ["x", "y"], orient="row")
    attributes = [Attribute(name, QUASI, Kind.NUMERIC) for name in frame.columns]
    frame = frame.with_columns(pl.Series("c", confidential))
    return Microdata(frame, Schema((*attributes, Attribute("c", CONFIDENTIAL, Kind.NUMERIC))))


def members(partition: Partition) -> list[list[int]]:
    return [part.tolist() for part in np.split(partition.order, partition.starts[1:-1])]


def distances(classes: list[list[int]], values: list[int]) -> list[float]:
    return [ordered_distance([values[i] for i in part], values, sorted(set(values))) for part in classes]


# ---- Eqs. 6 to 8


@pytest.mark.parametrize(("k", "t"), [(2, 0.24999994), (3, 0.16666658), (5, 0.0999999), (10, 0.04999989)])
def test_table_s9(k: int, t: float) -> None:
    assert t_of_k(3_985_166, k) == pytest.approx(t, abs=5e-9)


@pytest.mark.parametrize(
    ("k", "t", "size"), [(2, 0.25, 2), (3, 0.17, 3), (5, 0.1, 5), (10, 0.05, 10), (2, 0.05, 10), (2, 0.01, 50)]
)
def test_the_class_size_that_comes_with_t(k: int, t: float, size: int) -> None:
    assert k_of_t(3_985_166, k, t) == size


@given(st.integers(2, 10**6), st.integers(2, 50))
def test_asking_for_the_t_of_k_gives_k(n: int, k: int) -> None:
    assume(k <= n)
    assert k_of_t(n, k, t_of_k(n, k)) == k
    assert k_of_t(n, 2, t_of_k(n, k)) <= k


def test_small_tables_and_extreme_t() -> None:
    assert k_of_t(20, 3, 0.05) == 7
    assert k_of_t(12, 2, 0.0) == 12
    assert k_of_t(12, 2, 1.0) == 2
    assert t_of_k(1, 1) == 0.0


def test_the_bound_is_the_worst_case_where_k_divides_n() -> None:
    """Every choice of one record from each of three strata of four: none is farther than Eq. 6, one is as far."""
    farthest = max(ordered_distance(choice, range(12), range(12)) for choice in product(*np.split(np.arange(12), 3)))
    assert farthest == pytest.approx(0.136364, abs=1e-6)
    assert farthest == pytest.approx(t_of_k(12, 3), abs=1e-9)


def farthest(found: list[np.ndarray], n: int) -> float:
    """Of all classes of one record from each stratum, the one left over included or not."""
    whole = [stratum for stratum in found if len(stratum) == len(found[0])]
    return max(ordered_distance(choice, range(n), range(n)) for some in (whole, found) for choice in product(*some))


@pytest.mark.parametrize(("n", "k", "last", "central"), [(11, 3, 0.2, 0.157576), (23, 10, 0.045455, 0.034675)])
def test_left_over_records_break_the_bound_least_in_the_middle(n: int, k: int, last: float, central: float) -> None:
    values = table({"x": range(n)}, range(n))["c"]
    assert farthest(strata(values, k, "last"), n) == pytest.approx(last, abs=1e-6)
    assert farthest(strata(values, k, "central"), n) == pytest.approx(central, abs=1e-6)
    assert last > central > t_of_k(n, k)


@pytest.mark.parametrize(
    ("n", "k", "last"), [(11, 3, 0.2), (23, 10, 0.045455), (1000, 7, 0.121622), (1003, 7, 0.123628)]
)
def test_how_far_s4_as_printed_can_stray(n: int, k: int, last: float) -> None:
    """The farthest class takes the least record of every stratum, or the greatest, one left over included or not."""
    values = table({"x": range(n)}, range(n))["c"]
    far = {}
    for remainder in ("last", "central"):
        found = strata(values, k, remainder)
        ends = [[end(stratum) for stratum in some] for some in (found, found[:-1]) for end in (min, max)]
        far[remainder] = max(ordered_distance(end, range(n), range(n)) for end in ends)
    assert far["last"] == pytest.approx(last, abs=1e-6)
    assert far["central"] < 0.8 * far["last"]


# ---- strata


@pytest.mark.parametrize(
    ("n", "k", "q", "whole", "rest"),
    [(12, 3, 4, 3, 0), (11, 3, 3, 3, 2), (23, 10, 2, 11, 1), (7, 5, 1, 7, 0), (10, 4, 2, 5, 0), (19, 7, 2, 9, 1)],
)
def test_sizes_of_strata_and_classes(n: int, k: int, q: int, whole: int, rest: int) -> None:
    for remainder in ("last", "central"):
        microdata = table({"x": range(n)}, range(n))
        found = strata(microdata["c"], k, remainder)
        assert [len(s) for s in found] == [q] * whole + [rest] * (rest > 0)
        assert sorted(np.concatenate(found)) == list(range(n))
        sizes = stratified(microdata, k, None, "c", remainder=remainder).sizes.tolist()
        assert sizes == [whole + 1] * rest + [whole] * (q - rest)


def test_asking_for_t_enlarges_the_classes() -> None:
    assert stratified(table({"x": range(20)}, range(20)), 3, 0.05, "c").sizes.tolist() == [10, 10]


def test_as_printed_the_greatest_values_are_left_over() -> None:
    found = strata(table({"x": range(11)}, EXAMPLE)["c"], 3, "last")
    assert [EXAMPLE[i] for i in found[-1]] == [100, 110]
    found = strata(table({"x": range(11)}, EXAMPLE)["c"], 3, "central")
    assert [EXAMPLE[i] for i in found[-1]] == [40, 50]


# ---- Algorithm S4


def test_the_printed_example() -> None:
    microdata = table({"x": range(1, 12)}, EXAMPLE)
    partition = stratified(microdata, 3, None, "c", remainder="last")
    assert partition.class_of(11).tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 1, 2]
    expected = [0.070455, 0.125, 0.139394]
    assert distances(members(partition), EXAMPLE) == pytest.approx(expected, abs=1e-6)
    levels = TCloseness(0.5, "c").levels(microdata["c"], partition.order, partition.starts)
    assert levels.tolist() == pytest.approx(expected, abs=1e-6)


@given(
    st.lists(
        st.tuples(st.tuples(st.integers(-20, 20), st.integers(0, 999)), st.integers(0, 9)), min_size=2, max_size=40
    ),
    st.integers(2, 7),
)
def test_s4_as_printed(records: list[tuple[tuple[int, int], int]], k: int) -> None:
    quasi, confidential = ([record[i] for record in records] for i in (0, 1))
    far = sorted({(z, record) for z, record in zip(oracle.distances_to_zero(quasi), quasi, strict=True)})
    assume(len(records) >= k and all(b[0] - a[0] > 1e-9 for a, b in pairwise(far)))
    partition = stratified(table(quasi, confidential), k, None, "c", remainder="last")
    found = sorted(sorted(part) for part in members(partition))
    assert found == sorted(sorted(part) for part in oracle.algorithm_s4(quasi, confidential, k))


# ---- strata divided together


def check_one_of_each(partition: Partition, found: list[np.ndarray], n: int) -> None:
    assert np.sort(partition.order).tolist() == list(range(n))
    label = partition.class_of(n)
    q = len(found[0])
    assert partition.classes == q
    for stratum in found:
        assert len(set(label[stratum].tolist())) == len(stratum)  # no class twice; a whole stratum is in all of them


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(2, 8), st.sampled_from([2, 5, 100]))
def test_divided_strata_give_every_class_one_of_each(seed: int, n: int, k: int, spread: int) -> None:
    assume(k <= n)
    rng = np.random.default_rng(seed)
    microdata = table(rng.integers(0, spread, (n, 2)).tolist(), rng.integers(0, 9, n).tolist())
    check_one_of_each(divided(microdata, k, None, "c"), strata(microdata["c"], k), n)


def test_divided_strata_of_more_than_one_block() -> None:
    rng = np.random.default_rng(4)
    n, k = 9001, 2  # 4500 classes and one record left over
    microdata = table(rng.normal(size=(n, 2)).tolist(), rng.permutation(n).tolist())
    check_one_of_each(divided(microdata, k, None, "c"), strata(microdata["c"], k), n)


def test_a_node_is_divided_down_to_single_classes_and_no_record_is_lost() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(21, 2)).astype(np.float32)
    records, offsets = rng.permutation(21), np.array([0, 8, 16, 21])
    before = [set(part.tolist()) for part in np.split(records, offsets[1:-1])]
    slot = np.zeros(5, np.int64)
    nodes = divide_strata(rows, records, offsets, np.array([0, 8, 0, 5]), 1, slot)
    assert [node[:2].tolist() for node in nodes] == [[c, c + 1] for c in range(8)]
    assert [set(part.tolist()) for part in np.split(records, offsets[1:-1])] == before
    assert len(set(slot.tolist())) == 5


def test_divided_strata_keep_the_bound_and_lose_less_than_s4() -> None:
    rng = np.random.default_rng(6)
    n, k = 1200, 6
    microdata = table(rng.integers(0, 90, (n, 2)).tolist(), rng.exponential(5, n).tolist())
    losses = []
    for partition in (divided(microdata, k, None, "c"), stratified(microdata, k, None, "c")):
        levels = TCloseness(0.5, "c").levels(microdata["c"], partition.order, partition.starts)
        assert levels.max() <= t_of_k(n, k) + 1e-9
        losses.append(information_loss(microdata, publish(microdata, partition).columns))
    assert losses[0] < 0.5 * losses[1]


def test_a_release_of_strata_says_what_can_be_learnt_from_it() -> None:
    """Merged classes follow from the quasi-identifiers; those of strata follow from what is to be hidden."""
    frame = pl.DataFrame({"x": range(60), "c": [i % 7 for i in range(60)]})
    for grouping, said in (("stratified", True), ("kd", False)):
        policy = shoal.Policy(
            quasi_identifiers=["x"],
            confidential=["c"],
            models=[shoal.KAnonymity(5), shoal.TCloseness(0.3)],
            method=shoal.METHODS.find(grouping)(),  # type: ignore[arg-type]
        )
        notes = shoal.anonymize(frame, policy).notes
        assert any("takes its people from all strata" in note for note in notes) == said
