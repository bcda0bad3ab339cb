"""Merging and suppressing until every class keeps every model, and what an intruder learns from the merges."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.data.microdata import Microdata
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.masking.enforce import enforce, even_leaves, failing, tree
from shoal.masking.grouping.ordered import runs
from shoal.masking.partition import Partition
from shoal.privacy import LDiversity, TCloseness
from shoal.privacy.model import PrivacyModel
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


def test_the_tree_is_halved_evenly_and_three_leaves_stand_alone() -> None:
    assert [level.tolist() for level in tree(1)] == [[0, 1]]
    assert [level.tolist() for level in tree(3)] == [[0, 1, 2, 3], [0, 3]]
    assert [level.tolist() for level in tree(6)] == [[0, 1, 2, 3, 4, 5, 6], [0, 3, 6], [0, 6]]
    assert [level.tolist() for level in tree(8)] == [list(range(9)), [0, 2, 4, 6, 8], [0, 4, 8], [0, 8]]


@pytest.mark.parametrize("leaves", [2, 5, 7, 11, 100, 6033])
def test_every_node_of_the_tree_is_whole_in_the_next_level(leaves: int) -> None:
    levels = tree(leaves)
    assert levels[0].tolist() == list(range(leaves + 1))
    assert levels[-1].tolist() == [0, leaves]
    assert all(set(above) <= set(below) for below, above in pairwise(level.tolist() for level in levels))


def test_all_but_a_few_nodes_have_halves_of_as_many_leaves() -> None:
    uneven = 0
    for below, above in pairwise(tree(6033)):
        for low, high in pairwise(above.tolist()):
            halves = np.diff(below[(below >= low) & (below <= high)])
            uneven += len(set(halves.tolist())) > 1
    assert uneven <= 16


def test_large_classes_are_cut_into_parts_as_small_as_the_smallest() -> None:
    partition = Partition(np.arange(40), np.array([0, 5, 14, 34, 40]))
    assert even_leaves(partition).starts.tolist() == [0, 5, 14, 19, 24, 29, 34, 40]


def test_a_class_that_fails_takes_its_whole_node_along() -> None:
    microdata = table([1, 2, 1, 2, 1, 1, 2, 1])
    after = enforce(microdata, in_runs(microdata, 2), [LDiversity(2, "c")])
    assert members(after) == [[0, 1], [2, 3], [4, 5, 6, 7]]
    microdata = table([1, 1, 1, 2, 2, 1, 2, 1])
    after = enforce(microdata, in_runs(microdata, 2), [LDiversity(2, "c")])
    assert members(after) == [[0, 1, 2, 3], [4, 5], [6, 7]]


def test_of_classes_that_must_stay_whole_none_is_cut() -> None:
    microdata = table([1, 1, 1, 2, 1, 2, 1, 2, 1, 2])
    groups = Partition(np.arange(10), np.array([0, 2, 8, 10]))
    assert len(members(enforce(microdata, groups, [LDiversity(2, "c")]))) > 1
    assert members(enforce(microdata, groups, [LDiversity(2, "c")], divisible=False)) == [list(range(10))]


def best_guesses(model: PrivacyModel, n: int, k: int, values: int) -> tuple[float, float]:
    """How often an intruder is right who tries all tables, and how often by class frequencies, on average over them.

    She knows the quasi-identifiers, the model and what is released, and takes all tables for equally likely.
    """
    tables: dict[Any, Counter[tuple[int, int]]] = defaultdict(Counter)
    by_frequency = 0
    for held in product(range(values), repeat=n):
        microdata = table(list(held))
        try:
            released = members(enforce(microdata, in_runs(microdata, k), [model]))
        except InputError:
            continue
        shown = tuple((tuple(part), tuple(sorted(held[i] for i in part))) for part in released)
        tables[shown].update(enumerate(held))
        by_frequency += sum(max(Counter(inside).values()) for _, inside in shown)
    known = sum(max(held[i, v] for v in range(values)) for held in tables.values() for i in range(n))
    people = sum(held.total() for held in tables.values())
    return known / people, by_frequency / people


@pytest.mark.parametrize(
    ("model", "n", "k", "values"),
    [
        (LDiversity(2, "c"), 8, 2, 2),
        (LDiversity(2, "c"), 9, 3, 2),
        (LDiversity(1.8, "c", "entropy"), 8, 2, 2),
        (LDiversity(2, "c"), 6, 2, 3),
        (TCloseness(0.3, "c"), 8, 2, 2),
        (TCloseness(0.2, "c"), 6, 2, 3),
    ],
)
def test_who_tries_all_tables_is_right_no_more_often_than_by_class_frequencies(
    model: PrivacyModel, n: int, k: int, values: int
) -> None:
    best, by_frequency = best_guesses(model, n, k, values)
    assert best == pytest.approx(by_frequency, abs=1e-12)


def test_six_records_do_not_tell_who_is_ill() -> None:
    """Merged with the class after them, the first two would be known to hold one value, and by the counts which."""
    frame = pl.DataFrame({"age": [1, 2, 10, 11, 20, 21], "ill": ["hiv", "hiv", "flu", "hiv", "flu", "hiv"]})
    policy = shoal.Policy(
        quasi_identifiers=["age"], confidential=["ill"], models=[shoal.KAnonymity(2), shoal.LDiversity(2)]
    )
    released = shoal.anonymize(frame, policy).table
    assert released["age"].to_list() == ["[1;21]"] * 6


def test_failing_classes_at_the_end_of_the_line_end_in_a_release() -> None:
    """Six hundred of twenty thousand stand last and apart: merging must reach them in few rounds."""
    ill = ["yes" if day >= 19_400 else "no" for day in range(20_000)]
    frame = pl.DataFrame({"age_days": range(20_000), "ill": ill})
    policy = shoal.Policy(
        quasi_identifiers=["age_days"], confidential=["ill"], models=[shoal.KAnonymity(5), shoal.TCloseness(0.2)]
    )
    release = shoal.anonymize(frame, policy)
    assert all(verdict.holds for verdict in release.verdicts)
    assert len(release.sizes) > 1


def test_without_models_nothing_changes() -> None:
    microdata = table([1, 1, 1, 1])
    assert members(enforce(microdata, in_runs(microdata, 2), [], 0.5)) == [[0, 1], [2, 3]]


@dataclass(frozen=True)
class Near:
    """A model about quasi-identifiers alone: at least so many records of the class stand before `place`."""

    asked: float
    place: int

    name: ClassVar[str] = "near"
    attribute: ClassVar[str | None] = None

    def levels(
        self, about: Microdata, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        x = about.frame["x"].to_numpy()[order]
        return np.add.reduceat(x < self.place, starts[:-1], dtype=np.float64)

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return levels >= self.asked

    def verdict(self, classes: Any) -> Any:
        raise NotImplementedError


def test_the_smallest_classes_that_fail_by_quasi_identifiers_are_suppressed_first() -> None:
    microdata = table([1] * 10)
    groups = Partition(np.arange(10), np.array([0, 3, 5, 7, 10]))
    near = [Near(1, 5)]
    assert failing(microdata, groups, near).tolist() == [False, False, True, True]
    assert members(enforce(microdata, groups, near, 0.2)) == [[0, 1, 2, 3, 4, 7, 8, 9]]
    assert members(enforce(microdata, groups, near, 0.5)) == [[0, 1, 2], [3, 4]]
    assert members(enforce(microdata, groups, near, 0.1)) == [list(range(10))]


@pytest.mark.parametrize(("n", "share"), [(10, 0.3), (100, 0.29), (30, 0.1)])
def test_the_limit_is_a_share_of_the_records_whatever_the_rounding(n: int, share: float) -> None:
    """0.29 x 100 is 28.999999999999996 for a computer."""
    limit = round(n * share)
    microdata = table([1] * n)
    groups = Partition(np.arange(n), np.array([0, n - limit, n]))
    assert members(enforce(microdata, groups, [Near(1, n - limit)], share)) == [list(range(n - limit))]


def test_nobody_is_suppressed_for_what_a_class_holds() -> None:
    """Whoever knows who is missing would know that the class failed, and so what it held."""
    microdata = table([1, 1, 1, 2, 1, 2, 2, 1])
    after = enforce(microdata, in_runs(microdata, 2), [LDiversity(2, "c")], 0.5)
    assert members(after) == [[0, 1, 2, 3], [4, 5], [6, 7]]


def test_where_the_rest_needs_the_suppressed_ones_nothing_is_suppressed() -> None:
    """Leaving out the class that stands too far would leave one value only."""
    microdata = table([1, 1, 1, 2, 2])
    groups = Partition(np.arange(5), np.array([0, 3, 5]))
    assert members(enforce(microdata, groups, [LDiversity(2, "c"), Near(1, 3)], 0.5)) == [[0, 1, 2, 3, 4]]


def test_what_one_class_of_all_cannot_reach_is_refused() -> None:
    microdata = table([1, 1, 2, 2])
    with pytest.raises(
        InputError, match=r"l-diversity of 'c' at 3 cannot be reached: .* reaches only 2\. Ask for less\."
    ):
        enforce(microdata, in_runs(microdata, 2), [LDiversity(3, "c")], 0.5)
