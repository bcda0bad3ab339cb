"""Merging and suppressing until every class keeps every model."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.kernels.segments import join_failing
from shoal.masking.enforce import enforce, failing
from shoal.masking.grouping.ordered import runs
from shoal.masking.partition import Partition
from shoal.privacy import LDiversity, PrivacyModel, TCloseness
from tests.oracles import privacy as oracle


def table(values: list[int | None], others: list[str] | None = None) -> Microdata:
    """Records on a line, in their order; `c` and `d` are confidential."""
    n = len(values)
    frame = pl.DataFrame({"x": range(n), "c": values, "d": others or ["a"] * n}, schema_overrides={"c": pl.Int64})
    confidential = frozenset({Role.CONFIDENTIAL})
    return Microdata(
        frame,
        Schema(
            (
                Attribute("x", frozenset({Role.QUASI_IDENTIFIER}), Kind.NUMERIC),
                Attribute("c", confidential, Kind.NUMERIC),
                Attribute("d", confidential, Kind.NOMINAL),
            )
        ),
    )


def in_runs(microdata: Microdata, k: int) -> Partition:
    return runs(np.arange(len(microdata)), k)


def members(partition: Partition) -> list[list[int]]:
    return [part.tolist() for part in np.split(partition.order, partition.starts[1:-1])]


def keeps(model: PrivacyModel, microdata: Microdata, partition: Partition) -> bool:
    """By the oracle, among the records that are kept."""
    column = microdata.frame[model.attribute].to_list()
    everyone = [column[i] for i in partition.order]
    inside = [[column[i] for i in part] for part in members(partition)]
    if isinstance(model, LDiversity):
        return all(oracle.diversity(part, model.variant, model.c) >= model.l - 1e-9 for part in inside)
    assert isinstance(model, TCloseness)
    line = oracle.line_of(everyone)
    ordered = model.ordered(microdata.schema[model.attribute].kind)
    return all(
        (oracle.ordered_distance(part, everyone, line) if ordered else oracle.equal_distance(part, everyone))
        <= model.t + 1e-9
        for part in inside
    )


models = st.lists(
    st.one_of(
        st.builds(TCloseness, st.sampled_from([0.0, 0.1, 0.3, 0.6]), st.sampled_from(["c", "d"])),
        st.builds(
            LDiversity,
            st.sampled_from([1, 1.5, 2, 3]),
            st.sampled_from(["c", "d"]),
            st.sampled_from(["distinct", "entropy", "recursive"]),
            st.sampled_from([0.5, 2.0]),
        ),
    ),
    min_size=1,
    max_size=3,
)
records = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 40, None]), st.sampled_from(["a", "b", "c"])), min_size=4, max_size=40
)


@settings(max_examples=150, deadline=None)
@given(records, models, st.integers(2, 4), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_what_comes_out_keeps_every_model_within_the_limit(
    rows: list[tuple[int | None, str]], asked: list[PrivacyModel], k: int, suppression: float
) -> None:
    microdata = table([c for c, _ in rows], [d for _, d in rows])
    before = in_runs(microdata, k)
    together = Partition(np.arange(len(rows)), np.array([0, len(rows)]))
    if not all(keeps(model, microdata, together) for model in asked):
        with pytest.raises(InputError, match=r"cannot be reached: the whole table in one class reaches only"):
            enforce(microdata, before, asked, suppression)
        return
    after = enforce(microdata, before, asked, suppression)
    assert all(keeps(model, microdata, after) for model in asked)
    assert len(set(after.order.tolist())) == len(after.order) >= (1 - suppression) * len(rows) - 1e-9
    assert after.sizes.min() >= k
    # Classes are only merged or left out: every old one is whole in one new class or gone.
    label = after.class_of(len(rows))
    assert all(len({int(label[i]) for i in part}) == 1 for part in members(before))
    if all(keeps(model, microdata, before) for model in asked):
        assert members(after) == members(before)


def test_a_failing_class_joins_the_next_and_the_last_the_one_before() -> None:
    assert join_failing(np.array([True, False, False]), 1).tolist() == [False, True, False]
    assert join_failing(np.array([False, False, True]), 1).tolist() == [False, False, True]
    assert join_failing(np.array([True, True, False]), 1).tolist() == [False, True, False]
    assert join_failing(np.array([True, True, True]), 1).tolist() == [False, True, True]
    assert join_failing(np.array([True, False, False, False]), 2).tolist() == [False, True, True, False]


def test_only_failing_classes_grow() -> None:
    microdata = table([1, 2, 1, 2, 1, 1, 2, 1])
    after = enforce(microdata, in_runs(microdata, 2), [LDiversity(2, "c")])
    assert members(after) == [[0, 1], [2, 3], [4, 5, 6, 7]]


def test_without_models_nothing_changes() -> None:
    microdata = table([1, 1, 1, 1])
    assert members(enforce(microdata, in_runs(microdata, 2), [], 0.5)) == [[0, 1], [2, 3]]


def test_the_smallest_failing_classes_are_suppressed_first() -> None:
    microdata = table([1, 1, 1, 1, 2, 1, 1, 2, 1, 2])
    groups = Partition(np.arange(10), np.array([0, 3, 5, 7, 10]))  # 1 1 1 | 1 2 | 1 1 | 2 1 2
    diverse = [LDiversity(2, "c")]
    assert failing(microdata, groups, diverse).tolist() == [True, False, True, False]
    assert members(enforce(microdata, groups, diverse, 0.2)) == [[0, 1, 2, 3, 4], [7, 8, 9]]
    assert members(enforce(microdata, groups, diverse, 0.5)) == [[3, 4], [7, 8, 9]]
    assert members(enforce(microdata, groups, diverse, 0.1)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


@pytest.mark.parametrize(("n", "share"), [(10, 0.3), (100, 0.29), (30, 0.1)])
def test_the_limit_is_a_share_of_the_records_whatever_the_rounding(n: int, share: float) -> None:
    """0.29 x 100 is 28.999999999999996 for a computer."""
    limit = round(n * share)
    microdata = table([1] * limit + [1, 2] * ((n - limit) // 2) + [2] * ((n - limit) % 2))
    groups = Partition(np.arange(n), np.array([0, limit, n]))
    assert members(enforce(microdata, groups, [LDiversity(2, "c")], share)) == [list(range(limit, n))]


def test_a_class_apart_is_left_out_where_it_may_be_and_merged_where_not() -> None:
    microdata = table([1, 2, 1, 1, 1, 9, 9, 9])
    groups = Partition(np.arange(8), np.array([0, 2, 5, 8]))
    asked = [TCloseness(0.45, "c")]
    levels = asked[0].levels(microdata["c"], groups.order, groups.starts)
    assert levels.tolist() == pytest.approx([0.1875, 0.4375, 0.5625])
    assert members(enforce(microdata, groups, asked, 0.4)) == [[0, 1], [2, 3, 4]]
    assert members(enforce(microdata, groups, asked, 0.3)) == [[0, 1], [2, 3, 4, 5, 6, 7]]


def test_where_the_rest_needs_the_suppressed_ones_nothing_is_suppressed() -> None:
    """Both classes fail; leaving one out would leave one value only."""
    microdata = table([1, 1, 1, 2, 2])
    groups = Partition(np.arange(5), np.array([0, 3, 5]))
    assert members(enforce(microdata, groups, [LDiversity(2, "c")], 0.5)) == [[0, 1, 2, 3, 4]]


def test_what_one_class_of_all_cannot_reach_is_refused() -> None:
    microdata = table([1, 1, 2, 2])
    with pytest.raises(
        InputError, match=r"l-diversity of 'c' at 3 cannot be reached: .* reaches only 2\. Ask for less\."
    ):
        enforce(microdata, in_runs(microdata, 2), [LDiversity(3, "c")], 0.5)
