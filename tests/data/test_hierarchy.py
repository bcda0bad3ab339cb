"""Hierarchies are read exactly or refused by name; their arrays agree with the plain lines."""

from __future__ import annotations

import os
from collections import Counter
from itertools import chain, pairwise
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.data.hierarchy import MISSING, Hierarchy, hierarchy_of
from shoal.data.hierarchy_files import read_hierarchy, write_hierarchy
from shoal.errors import InputError
from tests.oracles.trees import Line, admitted, below, is_tree

AGES = [
    ("1", "0-4", "0-9", "*"),
    ("6", "5-9", "0-9", "*"),
    ("12", "10-14", "10-19", "*"),
    ("13", "10-14", "10-19", "*"),
]


@st.composite
def trees(draw: st.DrawFn) -> list[Line]:
    """Lines in any order, some of them twice; labels recur from level to level, as they do in real files."""
    groups = [[f"v{i}"] for i in range(draw(st.integers(1, 12)))]
    ancestors: dict[str, list[str]] = {group[0]: [group[0]] for group in groups}
    while len(groups) > 1 and draw(st.booleans()):
        cuts = draw(st.sets(st.integers(1, len(groups) - 1), max_size=len(groups) - 2))
        edges = [0, *sorted(cuts), len(groups)]
        groups = [list(chain(*groups[a:b])) for a, b in pairwise(edges)]
        for group in groups:
            label = draw(st.sampled_from([group[0], f"{group[0]}-{group[-1]}", f"{len(group)} from {group[0]}"]))
            for value in group:
                ancestors[value].append(label)
    lines = [tuple(path) if len(groups) == 1 and len(path) > 1 else (*path, "*") for path in ancestors.values()]
    lines += draw(st.lists(st.sampled_from(lines), max_size=2))
    return draw(st.permutations(lines))


@given(trees())
def test_arrays_agree_with_the_lines(lines: list[Line]) -> None:
    tree = hierarchy_of(lines, "x")
    assert sorted({*lines}) == sorted(zip(*tree.nodes, strict=True))
    assert (np.diff(tree.ancestors, axis=1) >= 0).all()
    assert tree.ancestors.dtype == np.int32
    often = Counter(line[0] for line in lines)
    assert tree.lines.tolist() == [often[value] for value in tree.leaf_values]
    for level in range(tree.levels):
        labels = tree.labels(level).to_list()
        assert sorted(labels) == sorted({line[level] for line in lines})
        assert [labels[number] for number in tree.ancestors[level]] == list(tree.nodes[level])
        assert tree.counts(level).tolist() == [len(below(lines, level, label)) for label in labels]
        first, last = tree.starts(level)[:-1], tree.starts(level)[1:] - 1
        assert [tree.nodes[level][i] for i in first] == labels == [tree.nodes[level][i] for i in last]


@given(trees())
def test_a_label_admits_the_leaves_of_every_node_of_that_name(lines: list[Line]) -> None:
    tree = hierarchy_of(lines, "x")
    for label in {label for line in lines for label in line}:
        leaves = tree.leaves(label)
        assert leaves is not None
        assert leaves.tolist() == sorted(leaves.tolist())
        assert set(tree.leaf_values.gather(leaves)) == admitted(lines, label)
    assert tree.leaves("nowhere") is None


@given(st.data())
def test_whatever_is_accepted_is_a_tree_and_what_is_refused_is_none(data: st.DataObject) -> None:
    depth = data.draw(st.integers(2, 3))
    label = st.sampled_from("abc")
    lines = data.draw(st.lists(st.tuples(st.sampled_from("uvw"), *[label] * (depth - 1)), min_size=1, max_size=5))
    lines = [(*line, "*") for line in lines]
    try:
        tree = hierarchy_of(lines, "x")
    except InputError:
        assert not is_tree(lines)
    else:
        assert is_tree(lines)
        assert set(zip(*tree.nodes, strict=True)) == set(lines)


def test_leaves_stand_in_the_order_of_the_tree() -> None:
    tree = hierarchy_of([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")], "q")
    assert tree.leaf_values.to_list() == ["a", "c", "b"]
    assert tree.ancestors.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]


def test_several_tops_get_one_above_them() -> None:
    assert hierarchy_of([("a", "x"), ("b", "x"), ("c", "y")], "q").nodes[-1] == ("*",) * 3
    assert hierarchy_of([("a",), ("b",)], "q").nodes == (("a", "b"), ("*", "*"))
    assert hierarchy_of([("a",)], "q").nodes == (("a",), ("*",))


def test_a_line_that_is_repeated_counts_twice() -> None:
    tree = hierarchy_of([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("b", "x", "*")], "q")
    assert tree.leaf_values.to_list() == ["a", "b", "c"]
    assert [tree.counts(level).tolist() for level in range(3)] == [[1, 2, 1], [3, 1], [4]]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ["empty"]),
        ([()], ["empty"]),
        ([("a", "x", "*"), ("b", "*")], ["'b'", "2 entries", "'a'"]),
        ([("a", "x", "*"), ()], ["an empty line"]),
        ([("a", "x", "*"), ("b", "", "*")], ["level 1 empty", "'b'"]),
        ([("a", "x", "*"), ("a", "y", "*")], ["'a'", "two parents", "'x'", "'y'"]),
        ([("a", "x", "p", "*"), ("b", "x", "q", "*")], ["'x'", "two parents", "level 2", "'p'", "'q'"]),
        ([("a", "x", "*"), ("b", "y", "*")], ["Level 1", "not coarser", "'a'", "'x'"]),
        ([("a", "x", "p", "*"), ("b", "x", "p", "*"), ("c", "y", "q", "*")], ["Level 2", "not coarser", "'x'", "'p'"]),
        ([("value", "level 1", "level 2"), ("a", "x", "*"), ("b", "x", "*")], ["'value'", "'level 2'", "header"]),
    ],
)
def test_what_is_no_tree_is_refused_by_name(lines: list[Line], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        hierarchy_of(lines, "colour")
    for word in ["colour", *words]:
        assert word in str(error.value)


# ---- files


def written(folder: Path, text: str) -> Path:
    path = folder / "x.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "1;[0,4];[0,9];*\n6;[5,9];[0,9];*\n12;[10,14];[10,19];*\n13;[10,14];[10,19];*\n",
        "1,[0;4],[0;9],*\n6,[5;9],[0;9],*\n12,[10;14],[10;19],*\n13,[10;14],[10;19],*\n",
        '\ufeff1;"[0;4]";"[0;9]";*\r\n6;"[5;9]";"[0;9]";*\r\n\r\n12;"[10;14]";"[10;19]";*\r\n13;"[10;14]";"[10;19]";*',
        "1\t0-4\t0-9\t*\n6\t5-9\t0-9\t*\n12\t10-14\t10-19\t*\n13\t10-14\t10-19\t*\n",
        "1,(0;4),(0;9),*\n6,(5;9),(0;9),*\n12,(10;14),(10;19),*\n13,(10;14),(10;19),*\n",
    ],
)
def test_delimiters_are_detected_and_intervals_not_cut(tmp_path: Path, text: str) -> None:
    tree = read_hierarchy(written(tmp_path, text), "age")
    assert tree.leaf_values.to_list() == ["1", "6", "12", "13"]
    assert [len(tree.labels(level)) for level in range(tree.levels)] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (b"a;x;*\nb;x\n", ["'b'"]),
        (b"a;\xff;*\nb;y;*\n", ["not UTF-8"]),
        (b'a;"x;*\nb;x;*\n', ["quot"]),
    ],
)
def test_broken_files_end_in_one_sentence(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_hierarchy(path, "x")
    assert all(word in str(error.value) for word in words)
    with pytest.raises(InputError, match="no file"):
        read_hierarchy(tmp_path / "y.csv", "x")


@example(values=["\t\t\t", "", "["])
@given(values=st.lists(st.text(alphabet=list("a ;,\t\"'[]\\*é\n"), max_size=4), min_size=3, max_size=6, unique=True))
def test_what_is_written_reads_back_exactly(tmp_path_factory: pytest.TempPathFactory, values: list[str]) -> None:
    tree = hierarchy_of([(value, "[0;4]" if i < 2 else f" b;{i}", "*") for i, value in enumerate(values)], "x")
    path = tmp_path_factory.mktemp("h") / "x.csv"
    write_hierarchy(tree, path)
    again = read_hierarchy(path, "x")
    assert again.nodes == tree.nodes
    assert again.lines.tolist() == tree.lines.tolist()


def test_repeated_lines_are_written_again(tmp_path: Path) -> None:
    tree = hierarchy_of([("a", "*"), ("b", "*"), ("a", "*")], "x")
    write_hierarchy(tree, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "a;*\na;*\nb;*\n"


# ---- records


def test_records_are_coded_by_their_leaves() -> None:
    tree = hierarchy_of(AGES, "age")
    for column in (
        pl.Series([13, None, 1, 6]),
        pl.Series([13.0, None, 1.0, float("nan")]).set(pl.Series([False, False, False, True]), 6.0),
        pl.Series(["13", None, "1", "6"]),
        pl.Series(["13", None, "1", "6"], dtype=pl.Categorical),
    ):
        codes = tree.encode(column)
        assert codes.dtype == np.int32
        assert codes.tolist() == [3, MISSING, 0, 1]
    assert tree.encode(pl.Series([float("nan"), 1.0])).tolist() == [MISSING, 0]
    assert tree.encode(pl.Series([None, None])).tolist() == [MISSING, MISSING]


def test_minus_zero_is_listed_as_zero() -> None:
    tree = hierarchy_of([["-1.5", "*"], ["0.0", "*"], ["1.5", "*"]], "change")
    assert tree.encode(pl.Series([-0.0, 0.0, 1.5, None])).tolist() == [1, 1, 2, MISSING]


def test_a_value_that_is_not_listed_is_named() -> None:
    tree = hierarchy_of(AGES, "age")
    column = pl.Series("years", [1, 99, None, 98, 99])
    with pytest.raises(InputError, match=r"'years' holds '99' in record 2.* 1 other value"):
        tree.encode(column)
    assert tree.unlisted(column).to_list() == ["99", "98"]
    with pytest.raises(InputError, match=r"'1\.5'"):
        tree.encode(pl.Series("years", [1.0, 1.5]))


def test_values_that_are_not_listed_show_as_the_top_if_asked() -> None:
    tree = hierarchy_of(AGES, "age")
    codes = tree.encode(pl.Series([13, 99, None]), missing_to_top=True)
    assert codes.tolist() == [3, 4, MISSING]
    opened = tree.with_unlisted()
    assert opened.encode(pl.Series([13, 99, None]), missing_to_top=True).tolist() == [3, 4, MISSING]
    assert [opened.nodes[level][4] for level in range(4)] == ["*"] * 4
    assert [opened.counts(level).tolist() for level in range(4)] == [[1, 1, 1, 1, 4], [1, 1, 2, 4], [2, 2, 4], [4]]
    assert (np.diff(opened.ancestors, axis=1) >= 0).all()
    assert opened.leaves("*") is not None
    with pytest.raises(InputError):
        opened.encode(pl.Series([99]))


def test_large_hierarchies_are_handled_whole() -> None:
    values = 20_000
    lines = [(f"v{i}", *(f"{i // 10**level} of {level}" for level in range(1, 5)), "*") for i in range(values)]
    tree = hierarchy_of(lines[::-1], "x")
    assert tree.counts(4).tolist() == [10_000] * 2
    leaves = [tree.leaves(line[1]) for line in lines]
    assert all(found is not None and len(found) == 10 for found in leaves)
    assert (tree.encode(tree.leaf_values) == np.arange(values)).all()


# ---- words


def test_levels_in_words() -> None:
    bands = [
        (str(i), f"[{i // 5 * 5};{i // 5 * 5 + 4}]", f"{i // 10 * 10}-{min(i // 10 * 10 + 9, 32)}", "*")
        for i in range(33)
    ]
    tree = hierarchy_of(bands, "age")
    assert [tree.level_name(level) for level in range(4)] == ["as it is", "bands of 5", "bands of 10", "not shown"]
    assert tree.describe(1) == "bands of 5, 7 values"
    other = hierarchy_of([("a", "x", "all"), ("b", "x", "all"), ("c", "y", "all")], "q")
    assert [other.describe(level) for level in range(3)] == [
        "as it is, 3 values",
        "level 1 of 2, 2 values",
        "all shown as all, 1 value",
    ]
    uneven = hierarchy_of([("0", "[0,7]", "*"), ("5", "[5,6]", "*"), ("6", "[5,6]", "*"), ("2", "[2,2]", "*")], "q")
    assert uneven.level_name(1) == "level 1 of 2"


# ---- real files

DATA = pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA does not name the folder of real data")
LEVELS = {
    "adult": {
        "age": [100, 20, 10, 5, 1],
        "education": [16, 5, 3, 1],
        "marital-status": [7, 2, 1],
        "native-country": [41, 5, 1],
        "occupation": [14, 3, 1],
        "race": [5, 1],
        "salary-class": [2, 1],
        "sex": [2, 1],
        "workclass": [8, 3, 1],
    },
    "fars": {
        "iage": [99, 20, 10, 5, 3, 1],
        "ideathday": [33, 5, 3, 1],
        "ideathmon": [14, 5, 3, 1],
        "ihispanic": [10, 5, 1],
        "iinjury": [10, 5, 1],
        "irace": [20, 5, 1],
        "isex": [3, 1],
        "istatenum": [57, 6, 3, 1],
    },
}


@DATA
@pytest.mark.parametrize(("name", "nodes"), [("adult", 12_960), ("fars", 20_736)])
def test_real_hierarchies_cover_their_tables(name: str, nodes: int) -> None:
    folder = Path(os.environ["SHOAL_DATA"], name)
    table = pl.read_csv(folder / f"{name}.csv", separator=";")
    found: dict[str, Hierarchy] = {
        column.name: read_hierarchy(folder / "hierarchies" / f"{column.name}.csv", column.name) for column in table
    }
    assert prod(tree.levels for tree in found.values()) == nodes
    for column in table:
        tree = found[column.name]
        assert [len(tree.labels(level)) for level in range(tree.levels)] == LEVELS[name][column.name]
        codes = tree.encode(column)
        assert tree.leaf_values.gather(codes).equals(column.cast(pl.String), null_equal=False)


@DATA
def test_a_real_file_lists_a_value_twice_and_its_shares_follow() -> None:
    tree = read_hierarchy(Path(os.environ["SHOAL_DATA"], "fars", "hierarchies", "iage.csv"), "iage")
    assert int(tree.counts(0).sum()) == 100
    assert tree.counts(0)[tree.leaf_values.to_list().index("99")] == 2
    assert tree.counts(1).tolist() == [5] * 20
