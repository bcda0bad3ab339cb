"""Atoms of pooled releases: the worked example, and against signatures as tuples."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.errors import InputError
from shoal.releases.atoms import Pool, may_stay, signatures
from shoal.releases.audit import audit, overlapping
from shoal.releases.published import Published, published
from tests.oracles.releases import anonymity

release = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 3), min_size=1)


def members(classes: dict[str, int]) -> pl.DataFrame:
    schema = {"subject": pl.String, "class": pl.Int32}
    return pl.DataFrame({"subject": list(classes), "class": list(classes.values())}, schema=schema)


def as_published(name: str, label: str) -> Published:
    numbers = [int(digit) for digit in label]
    frame = pl.DataFrame({"subject": [str(i) for i in range(len(label))], "class": numbers}).cast({"class": pl.Int32})
    return Published(name, frame, pl.DataFrame({"box": [f"c{i}" for i in range(max(numbers) + 1)]}))


def test_the_worked_example() -> None:
    pair = [as_published("A", "0000011111"), as_published("B", "0001111122")]
    pool = Pool.of(pair)
    assert pool.anonymity.tolist() == [3, 3, 3, 2, 2, 3, 3, 3, 2, 2]
    found = audit(pair, 3)
    assert found.smallest_pooled_class == 2
    assert found.subjects_below_k == 4
    assert found.histogram == {2: 4, 3: 6}
    assert not found.holds
    (both,) = found.pairs
    assert (both.common_subjects, both.overlaps, both.unequal) == (10, 4, 4)
    assert (both.smallest_common, both.smallest_others) == (2, 2)


def test_overlaps_list_what_is_common_and_what_is_not() -> None:
    pool = Pool.of([as_published("A", "00011"), as_published("B", "00111")])
    assert overlapping(*pool.labels).rows() == [(0, 0, 2, 1, 0), (0, 1, 1, 2, 2), (1, 1, 2, 0, 1)]


def test_equal_or_disjoint_classes_are_as_safe_as_each_release() -> None:
    pair = [as_published("A", "000111"), as_published("B", "111000")]
    found = audit(pair, 3)
    assert found.holds
    assert found.pairs[0].unequal == 0
    assert found.pairs[0].smallest_common is None
    assert found.worst == ()


def test_the_worst_are_shown_with_what_each_release_shows_of_them() -> None:
    a = published("A", pl.DataFrame({"id": [1, 2, 3], "age": ["[1;2]", "[1;2]", "[1;2]"]}), "id", ["age"])
    b = published("B", pl.DataFrame({"id": ["1", "2"], "age": [None, None]}, schema_overrides={"age": pl.String}), "id", ["age"])  # fmt: skip  # noqa: E501
    (alone, two) = audit([a, b], 3).worst
    assert alone == {"subjects": 1, "shown": {"A": {"age": "[1;2]"}, "B": None}}
    assert two == {"subjects": 2, "shown": {"A": {"age": "[1;2]"}, "B": {"age": None}}}


@given(st.lists(release, min_size=1, max_size=4))
def test_effective_anonymity_is_the_size_of_the_signature_group(releases: list[dict[str, int]]) -> None:
    pool = Pool.of([Published("r", members(one), pl.DataFrame()) for one in releases])
    assert dict(zip(pool.subjects, pool.anonymity.tolist(), strict=True)) == anonymity(releases)


valued = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1)


@given(st.lists(valued, min_size=1, max_size=4))
def test_those_whose_values_changed_apart_are_told_apart(releases: list[dict[str, tuple[int, int]]]) -> None:
    def published(release: dict[str, tuple[int, int]]) -> Published:
        label = members({who: where for who, (where, _) in release.items()})
        return Published("r", label, pl.DataFrame(), pl.DataFrame({"x": [str(value) for _, value in release.values()]}))

    def signature(who: str) -> tuple[object, ...]:
        values = [release[who][1] if who in release else None for release in releases]
        agrees = [None if value is None else values.index(value) for value in values]
        return (*(release.get(who, (None,))[0] for release in releases), *agrees)

    pool = Pool.of([published(release) for release in releases])
    sizes = Counter(signature(who) for who in pool.subjects)
    assert pool.anonymity.tolist() == [sizes[signature(who)] for who in pool.subjects]


def test_signatures_are_the_same_where_nobody_of_a_piece_is_in_some_release(monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = pl.Series([bytes([i]) * 16 for i in range(0, 256, 4)], dtype=pl.Binary)
    everybody, few = (
        Published("r", pl.DataFrame({"subject": some, "class": 0}), pl.DataFrame(), pl.DataFrame({"x": some}))
        for some in (subjects, subjects[:3])
    )
    whole = signatures([everybody, few])
    monkeypatch.setattr("shoal.releases.published.PIECE", 8)
    assert everybody.pieces == 8
    assert_frame_equal(signatures([everybody, few]), whole, check_row_order=False, check_column_order=False)
    assert sorted(whole["people"]) == [3, 61]


@example(1, [6, 8], 5)  # one of each, and two more
@given(st.integers(0, 9), st.lists(st.integers(1, 9), max_size=3), st.integers(2, 5))
def test_those_who_stay_and_those_who_do_not_are_none_or_at_least_k(absent: int, present: list[int], k: int) -> None:
    groups = np.array(present, np.int64)
    stay = may_stay(np.array([absent]), np.zeros(len(groups), np.int32), groups, k).tolist()
    possible = [
        counts
        for counts in product(*(range(n + 1) for n in present))
        if all(n == 0 or n >= k for n in counts)
        and (absent + sum(present) - sum(counts) in (0, *range(k, 40)) or sum(counts) == 0)
    ]
    assert tuple(stay) in possible
    assert sum(stay) == max(map(sum, possible))  # no more could stay


def test_a_subject_has_one_record_and_a_name() -> None:
    twice = pl.DataFrame({"id": [7, 8, 7], "age": ["a", "b", "c"]})
    with pytest.raises(InputError, match="names '7' in 'id' again in record 3"):
        published("A", twice, "id", ["age"])
    unnamed = pl.DataFrame({"id": [7, None], "age": ["a", "b"]})
    with pytest.raises(InputError, match="whom record 2 is about"):
        published("A", unnamed, "id", ["age"])
    with pytest.raises(InputError, match=r"no column 'ids'.*'id'"):
        published("A", twice, "ids", ["age"])
