"""Codes by their beginnings: a tree that lists them all, in their order, whose nodes hold what their labels say."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.build_hierarchy import build
from shoal.data.hierarchy import Hierarchy
from shoal.data.prefix_trees import MORE, prefix_tree, prefixes
from shoal.errors import InputError
from tests.oracles.trees import is_tree

ICD = ["E11", "E11.9", "E11.65", "E10.1", "I10", "I11.0", "I12", "I13", "J45.909", "J45", "Z38.0", "Z38"]


def lines(tree: Hierarchy) -> dict[str, tuple[str, ...]]:
    return {line[0]: line[1:] for line in zip(*tree.nodes, strict=True)}


def admits(label: str, code: str) -> bool:
    """By what a reader takes from the label alone."""
    if label.endswith(MORE):
        return code.startswith(label.removesuffix(MORE))
    begin = label.rstrip("*")
    return code.startswith(begin) and (label == "*" or len(code) == len(label))


@given(st.lists(st.text(alphabet="AB01.", min_size=1, max_size=5), min_size=1, max_size=25))
def test_a_node_holds_the_codes_that_its_label_says_and_no_others(codes: list[str]) -> None:
    tree = prefixes(pl.Series(codes), "x")
    assert is_tree(list(zip(*tree.nodes, strict=True)))
    assert sorted(tree.leaf_values) == sorted(set(codes))
    assert tree.leaf_values.to_list() == sorted(set(codes))  # neighbours in the tree stand together
    for level in range(1, tree.levels):
        for label, code in zip(tree.nodes[level], tree.leaf_values, strict=True):
            below = [c for c, other in zip(tree.leaf_values, tree.nodes[level], strict=True) if other == label]
            assert code in below
            if label not in tree.nodes[0]:
                assert below == [c for c in tree.leaf_values if admits(label, c)]


def test_postcodes_are_masked_digit_by_digit_whatever_they_are_stored_as() -> None:
    tree = prefixes(pl.Series([92056, 92057, 92103, 1234]), "zip")
    assert lines(tree)["92057"] == ("9205*", "92***", "*")
    assert lines(tree)["1234"] == ("0123*", "01***", "*")  # 01234: a number has lost its zero
    text = prefixes(pl.Series(["92056", "92057", "92103", "01234"]), "zip")
    assert lines(text)["92057"] == ("9205*", "92***", "*")
    assert build({"type": "prefix"}, pl.Series(["92056", "92057", "92103"]), "zip").levels == 3


def test_codes_stored_as_floats_or_categories_have_the_tree_of_their_digits() -> None:
    codes = [92056, 92057, 92103, 1234, *range(93000, 93008)]
    floats = prefix_tree(pl.Series([*map(float, codes), None]), "zip")
    assert floats is not None
    assert lines(floats)["92057.0"] == ("9205*", "92***", "9****", "*")
    categories = prefix_tree(pl.Series(map(str, codes[4:] + codes[:3]), dtype=pl.Categorical), "zip")
    assert categories is not None
    assert lines(categories)["92057"][0] == "9205*"


def test_codes_with_a_point_stored_as_floats_have_a_tree_where_their_name_says_codes() -> None:
    branches = [1.1, 1.11, 46.3, 46.0, 46.31, 62.01, 85.2, 10.1, 10.2, 47.1, 47.11]
    tree = prefix_tree(pl.Series(branches), "nace")
    assert tree is not None
    assert lines(tree)["1.11"] == ("01.1...", "01...", "0...", "*")
    assert lines(tree)["46.31"][:2] == ("46.3...", "46...")
    assert prefix_tree(pl.Series(branches), "rate") is None
    assert prefix_tree(pl.Series([*branches, float("inf")]), "nace") is None


def test_diagnoses_meet_in_their_category() -> None:
    tree = prefixes(pl.Series(ICD), "dx")
    assert lines(tree)["E11.65"] == ("E11...", "E1...", "*")
    assert lines(tree)["E11"] == ("E11...", "E1...", "*")
    assert lines(tree)["I10"] == ("I10", "I1...", "*")  # nothing else begins so
    leaves = tree.leaves("E11...")
    assert leaves is not None
    assert tree.leaf_values.gather(leaves).to_list() == ["E11", "E11.65", "E11.9"]


@pytest.mark.parametrize(
    "values",
    [
        list(range(92000, 92040)),
        [f"{code:05d}" for code in range(1000, 1040)],
        ICD,
        [f"SW{n}A {n}AA" for n in range(1, 10)] + ["E1 6AN"],
        [f"{n:02d}.{m}" for n in range(1, 6) for m in (11, 12)],
        [f"{1000 + n} {a}B" for n in range(6) for a in "XY"],
        [f"{n:02d}-95{n % 10}" for n in range(12)],
    ],
)
def test_codes_that_nest_have_a_tree(values: list[object]) -> None:
    tree = prefix_tree(pl.Series(values), "code")
    assert tree is not None
    assert tree.levels > 2


@pytest.mark.parametrize(
    "values",
    [
        list(range(1, 59)),  # counties: two digits say nothing of each other
        list(range(-5, 200)),
        ["red", "green", "blue"] * 5,
        [f"2021-03-{day:02d}" for day in range(1, 29)],
        [f"{day:02d}.03.2021" for day in range(1, 29)],
        [0.5 * n for n in range(400)],
        [None, None],
        [93721, 93722],
    ],
)
def test_what_does_not_nest_has_none(values: list[object]) -> None:
    assert prefix_tree(pl.Series(values), "code") is None


def test_what_is_no_code_is_refused_by_its_value() -> None:
    with pytest.raises(InputError, match="'-3', which is no code"):
        prefixes(pl.Series([12, -3]), "zip")
    with pytest.raises(InputError, match="60 characters"):
        prefixes(pl.Series(["a" * 60]), "zip")


@pytest.mark.parametrize(("dtype", "least"), [(pl.UInt64, 2**63), (pl.Int64, 2**63 - 5000), (pl.Int128, 10**25)])
def test_huge_whole_numbers_have_beginnings_too(dtype: pl.DataType, least: int) -> None:
    tree = prefix_tree(pl.Series([least + 7 * i for i in range(400)], dtype=dtype), "x")
    assert tree is not None
    assert tree.labels(1)[0] == f"{str(least)[:-1]}*"
