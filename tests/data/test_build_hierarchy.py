"""Every builder gives a tree that lists all values, and whose labels read back as what they stand for."""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.build_hierarchy import BUILDERS, build
from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_levels import merging
from shoal.data.number_bands import learnt_bands
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError
from tests.oracles.trees import is_tree

WHOLE = st.lists(st.integers(-50, 200) | st.none(), min_size=1, max_size=25).filter(
    lambda values: set(values) != {None}
)
DECIMAL = st.lists(st.floats(-100, 100) | st.decimals(-9, 9, places=2).map(float), min_size=1, max_size=25)
TEXT = st.lists(st.text(alphabet=list("ab01;{}[]* é\\"), max_size=4), min_size=1, max_size=15)
DAYS = st.lists(st.dates(dt.date(1969, 1, 1), dt.date(2031, 12, 31)), min_size=1, max_size=40)


def lines(tree: Hierarchy) -> list[tuple[str, ...]]:
    return list(zip(*tree.nodes, strict=True))


def built(spec: dict[str, Any], values: pl.Series) -> Hierarchy:
    """The tree, seen to be one and to list all values."""
    tree = build(spec, values, "x")
    assert is_tree(lines(tree))
    assert (tree.encode(values) >= 0).sum() == len(values) - values.null_count()
    assert (tree.lines == 1).all()
    return tree


def holds_its_numbers(tree: Hierarchy) -> None:
    """Every label, read by itself, admits the numbers below it."""
    for level in range(1, tree.levels - 1):
        values = tree.leaf_values.cast(pl.Float64)
        cells = read_cells(tree.shown(level), Attribute("x", frozenset(), Kind.NUMERIC), values)
        numbers = values.to_numpy()
        assert (cells.low[cells.index] <= numbers).all()
        above = np.array([text.endswith("+") for text in tree.nodes[level]])  # reaches to the end of the domain
        assert (above | (numbers <= cells.high[cells.index])).all()


# ---- numbers


@given(
    WHOLE | DECIMAL,
    st.lists(st.integers(2, 4), max_size=3),
    st.sampled_from([0.1, 0.25, 1, 3, 5, 10]),
    st.integers(-3, 3),
)
def test_steps_nest(values: list[float | None], factors: list[int], first: float, origin: int) -> None:
    steps = [first]
    for factor in factors:
        steps.append(round(steps[-1] * factor, 6))
    tree = built({"type": "steps", "steps": steps, "origin": origin}, pl.Series(values, strict=False))
    holds_its_numbers(tree)


@given(WHOLE | DECIMAL, st.sampled_from([0.5, 1, 10]))
def test_widths_double_until_one_band_holds_all(values: list[float | None], width: float) -> None:
    tree = built({"type": "width", "width": width}, pl.Series(values, strict=False))
    holds_its_numbers(tree)
    assert tree.levels < 3 or len(tree.labels(tree.levels - 2)) <= 2


@given(WHOLE | DECIMAL, st.integers(2, 9))
def test_bands_of_like_frequency(values: list[float | None], bands: int) -> None:
    tree = built({"type": "frequency", "bands": bands}, pl.Series(values, strict=False))
    holds_its_numbers(tree)
    assert tree.levels < 3 or len(tree.labels(1)) <= bands


@given(
    WHOLE | DECIMAL, st.sets(st.integers(-60, 210) | st.sampled_from([0.5, 7.25]), min_size=1, max_size=6), st.data()
)
def test_cuts_at_any_place(values: list[float | None], finest: set[float], data: st.DataObject) -> None:
    coarser = data.draw(st.sets(st.sampled_from(sorted(finest)), min_size=1))
    column = pl.Series(values, strict=False)
    tree = built({"type": "cuts", "cuts": [sorted(finest), sorted(coarser)]}, column)
    holds_its_numbers(tree)
    together = {(sum(cut <= float(v) for cut in finest), tree.nodes[1][i]) for i, v in enumerate(tree.leaf_values)}
    if tree.levels == 4:
        assert len(together) == len(tree.labels(1))


@given(WHOLE | DECIMAL | st.lists(st.floats(-1e299, 1e299), min_size=1, max_size=25))
def test_learnt_bands(values: list[float | None]) -> None:
    holds_its_numbers(built({"type": "auto"}, pl.Series(values, strict=False)))


def test_bands_show_as_closed_intervals() -> None:
    tree = build({"type": "steps", "steps": [5, 10]}, pl.Series([0, 4, 5, 9, 10, 19, None]), "age")
    assert lines(tree) == [
        ("0", "[0;4]", "[0;9]", "*"),
        ("4", "[0;4]", "[0;9]", "*"),
        ("5", "[5;9]", "[0;9]", "*"),
        ("9", "[5;9]", "[0;9]", "*"),
        ("10", "[10;14]", "[10;19]", "*"),
        ("19", "[15;19]", "[10;19]", "*"),
    ]
    assert [tree.level_name(level) for level in range(4)] == ["as it is", "bands of 5", "bands of 10", "not shown"]


def test_bands_of_decimals_begin_at_their_first_end() -> None:
    tree = build({"type": "steps", "steps": [0.1, 0.5]}, pl.Series([0.1, 0.15, 0.3, 0.31, 0.5]), "x")
    assert tree.nodes[1] == ("[0.1;0.2]", "[0.1;0.2]", "[0.3;0.4]", "[0.3;0.4]", "[0.5;0.6]")
    assert tree.nodes[2] == ("[0.0;0.5]",) * 4 + ("[0.5;1.0]",)


def test_levels_that_merge_nothing_more_are_left_out() -> None:
    tree = build({"type": "steps", "steps": [1, 5, 10, 100]}, pl.Series([1, 2, 7]), "x")
    assert lines(tree) == [("1", "[0;4]", "*"), ("2", "[0;4]", "*"), ("7", "[5;9]", "*")]
    assert lines(build({"type": "steps", "steps": [5]}, pl.Series([3, 3]), "x")) == [("3", "*")]


def test_cuts_begin_at_a_round_number_and_end_open() -> None:
    tree = build({"type": "cuts", "cuts": [[18, 40, 65], [65]]}, pl.Series([17, 18, 39, 40, 65, 90]), "age")
    assert tree.nodes[1] == ("[0;17]", "[18;39]", "[18;39]", "[40;64]", "65+", "65+")
    assert tree.nodes[2] == ("[0;64]",) * 4 + ("65+",) * 2
    one = build({"type": "cuts", "cuts": [1970]}, pl.Series([1931, 1969, 1970, 1999]), "year")
    assert one.nodes[1] == ("[1920;1969]", "[1920;1969]", "1970+", "1970+")


def test_equal_frequencies_are_equal() -> None:
    values = pl.Series(np.repeat(np.arange(1, 17), 3))
    tree = build({"type": "frequency", "bands": 8}, values, "x")
    assert [len(tree.labels(level)) for level in range(tree.levels)] == [16, 8, 4, 2, 1]
    assert tree.counts(1).tolist() == [2] * 8
    skewed = build({"type": "frequency", "bands": 2}, pl.Series([1] * 90 + list(range(2, 12))), "x")
    assert len(skewed.labels(1)) <= 2


def test_learnt_cuts_are_round_and_near_the_middle() -> None:
    ages = pl.Series(np.random.default_rng(1).normal(46.3, 15, 20_000).clip(0, 99).astype(int))
    tree = learnt_bands(ages, "age")
    assert len(tree.labels(tree.levels - 2)) == 2
    assert tree.labels(tree.levels - 2)[1] in ("45+", "50+")
    records = np.bincount(tree.ancestors[tree.levels - 3][tree.encode(ages)])
    assert len(records) == 4
    assert records.min() > 0.15 * len(ages)


def test_texts_that_hold_numbers_are_numbers() -> None:
    tree = build({"type": "steps", "steps": [10]}, pl.Series(["7", "07", "12", "7.0"]), "x")
    assert {line[0]: line[1] for line in lines(tree)} == {"7": "[0;9]", "07": "[0;9]", "7.0": "[0;9]", "12": "[10;19]"}


# ---- codes


@given(TEXT, st.sampled_from(["left", "right"]))
def test_any_codes_are_masked_into_a_tree(values: list[str], side: str) -> None:
    built({"type": "mask", "side": side}, pl.Series(values))


@given(st.lists(st.integers(0, 99_999), min_size=1, max_size=20))
def test_masked_numbers_admit_their_values(values: list[int]) -> None:
    holds_its_numbers(built({"type": "mask"}, pl.Series(values)))


@given(st.lists(st.text(alphabet="AB019", min_size=1, max_size=5), min_size=1, max_size=20))
def test_masked_codes_admit_the_codes_of_that_length_and_beginning(values: list[str]) -> None:
    tree = built({"type": "mask"}, pl.Series(values))
    for level in range(1, tree.levels - 1):
        cells = read_cells(tree.shown(level), Attribute("x", frozenset(), Kind.NOMINAL), tree.leaf_values)
        assert (cells.size[cells.index] == tree.counts(level)[tree.ancestors[level]]).all()


def test_digits_are_masked_one_by_one() -> None:
    zips = pl.Series(["93722", "93721", "93711", "93011", "90011"])
    tree = build({"type": "mask"}, zips, "zip")
    assert {line[0]: line[1:] for line in lines(tree)}["93722"] == ("9372*", "937**", "93***", "*")
    left = build({"type": "mask", "side": "left"}, zips, "zip")
    assert {line[0]: line[1:] for line in lines(left)}["93711"] == ("**711", "***11", "****1", "*")


def test_numbers_are_filled_up_with_zeros_and_texts_are_not() -> None:
    tree = build({"type": "mask"}, pl.Series([93722, 93721, 1234, 1239]), "zip")
    assert {line[0]: line[1] for line in lines(tree)} == {
        "93722": "9372*",
        "93721": "9372*",
        "1234": "0123*",
        "1239": "0123*",
    }
    icd = build({"type": "mask"}, pl.Series(["A01", "A011", "A012", "A02"]), "icd")
    assert ("A01", "A01", "A0*", "*") in lines(icd)
    assert ("A011", "A01*", "A0**", "*") in lines(icd)


# ---- dates


@given(DAYS, st.sets(st.sampled_from(["day", "week", "month", "quarter", "year", "decade"]), min_size=1))
def test_dates_nest_whatever_the_levels(values: list[dt.date], units: set[str]) -> None:
    tree = built({"type": "dates", "levels": sorted(units)}, pl.Series(values))
    days = tree.leaf_values.str.to_date()
    assert days.is_sorted()
    named = [tree.level_name(level) for level in range(1, tree.levels - 1)]
    assert named == [
        f"{unit}s" for unit in ("day", "week", "month", "quarter", "year", "decade") if f"{unit}s" in named
    ]
    if "weeks" in named:
        for day, label in zip(days, tree.nodes[1 + named.index("weeks")], strict=True):
            if label.startswith("["):
                low, high = (dt.date.fromisoformat(end) for end in label.strip("[]").split(";"))
                assert low <= day <= high
                assert (high - low).days < 6
            else:
                assert label in (f"{day:%G-W%V}", f"{day}")


def test_dates_print_as_is_usual() -> None:
    days = pl.Series([dt.date(2024, 1, 29), dt.date(2024, 1, 30), dt.date(2024, 3, 31), dt.date(2019, 12, 31)])
    spec = {"type": "dates", "levels": ["year", "month"]}
    tree = build(spec, pl.concat([days, pl.Series([dt.date(2024, 1, 1)])]), "d")
    assert lines(tree)[-1] == ("2024-03-31", "2024-03", "2024", "*")
    texts = build({"type": "dates", "levels": ["quarter", "decade"]}, pl.Series([*map(str, days), "2020-02-29"]), "d")
    assert lines(texts)[2] == ("2024-01-29", "2024-Q1", "2020s", "*")
    weeks = build({"type": "dates", "levels": ["week"]}, pl.concat([days, days.dt.offset_by("1d")]), "d")
    assert ("2024-01-29", "2024-W05", "*") in lines(weeks)


def test_a_week_across_two_months_is_two_spans_of_days() -> None:
    days = pl.Series([dt.date(2024, 1, 29) + dt.timedelta(i) for i in range(8)])
    tree = build({"type": "dates", "levels": ["week", "month"]}, days, "d")
    assert tree.labels(1).to_list() == ["[2024-01-29;2024-01-31]", "[2024-02-01;2024-02-04]", "2024-W06"]
    yearly = pl.Series([dt.date(2024, 12, 30), dt.date(2024, 12, 31), dt.date(2025, 1, 1)])
    assert build({"type": "dates", "levels": ["week", "year"]}, yearly, "d").nodes[1] == (
        "[2024-12-30;2024-12-31]",
        "[2024-12-30;2024-12-31]",
        "[2025-01-01;2025-01-05]",
    )


def test_times_of_day_are_kept_apart_only_as_they_are() -> None:
    times = pl.Series([dt.datetime(2024, 3, 1, 8), dt.datetime(2024, 3, 1, 9), dt.datetime(2024, 3, 2)])
    tree = build({"type": "dates", "levels": ["day"]}, times, "t")
    assert tree.nodes[1] == ("2024-03-01", "2024-03-01", "2024-03-02")
    assert (tree.encode(times) == [0, 1, 2]).all()


# ---- categories


_CATEGORIES = st.text(alphabet=list("ab;{}[]*\\"), max_size=3) | st.sampled_from(["a to b", "a to", "to b", "b to a"])


@given(st.lists(_CATEGORIES, min_size=1, max_size=9, unique=True), st.data())
def test_ordered_categories_merge_with_their_neighbours(order: list[str], data: st.DataObject) -> None:
    values = pl.Series(data.draw(st.lists(st.sampled_from(order))), dtype=pl.String)
    spec: dict[str, Any] = {"type": "order", "order": order}
    if data.draw(st.booleans()):
        finer = data.draw(st.lists(st.sampled_from(order), min_size=1, unique=True))
        spec["cuts"] = [finer, finer[: data.draw(st.integers(1, len(finer)))]]
    tree = built(spec, values)
    assert tree.leaf_values.to_list() == order
    for level in range(1, tree.levels - 1):
        cells = read_cells(tree.shown(level), Attribute("x", frozenset(), Kind.ORDINAL), tree.leaf_values)
        first, last = tree.starts(level)[:-1], tree.starts(level)[1:] - 1
        assert cells.low[cells.index].tolist() == first[tree.ancestors[level]].tolist()
        assert cells.high[cells.index].tolist() == last[tree.ancestors[level]].tolist()


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        (["9th", "10th", "11th", "12th"], ["9th to 10th", "11th to 12th"]),
        (["a", "b", "c"], ["a to b", "c"]),
        (["3", "4 to 5", "3 to 4", "5"], ["[3;4 to 5]", "[3 to 4;5]"]),  # `3 to 4 to 5` would be both
        (["a", "b", "a to b", "c"], ["[a;b]", "a to b to c"]),  # the first would be a category
        (["a", "b*", "", "c"], ["[a;b\\*]", "[;c]"]),
    ],
)
def test_neighbours_are_labelled_by_words_that_can_mean_one_thing_only(order: list[str], shown: list[str]) -> None:
    assert build({"type": "order", "order": order}, pl.Series(order), "x").labels(1).to_list() == shown


def test_an_enum_has_its_order() -> None:
    sizes = pl.Series(["M", "S"], dtype=pl.Enum(["S", "M", "L", "XL"]))
    for kind in ("order", "auto"):
        assert build({"type": kind}, sizes, "size").nodes[1] == ("S to M", "S to M", "L to XL", "L to XL")


@st.composite
def taxonomies(draw: st.DrawFn) -> dict[str, str]:
    """Each node with two children or none, so that each level merges."""
    parents: dict[str, str] = {}
    open_nodes, number = ["root"], 0
    for _ in range(draw(st.integers(1, 8))):
        parent = open_nodes.pop(draw(st.integers(0, len(open_nodes) - 1)))
        for _ in range(2):
            number += 1
            parents[f"n{number}"] = parent
            open_nodes.append(f"n{number}")
    return parents


@given(taxonomies(), st.data())
def test_taxonomies_keep_every_ancestor(parents: dict[str, str], data: st.DataObject) -> None:
    names = sorted({*parents, *parents.values()})
    values = data.draw(st.lists(st.sampled_from(names)))
    pairs = data.draw(st.permutations([[child, parent] for child, parent in parents.items()]))
    tree = built({"type": "tree", "parents": pairs}, pl.Series(values, dtype=pl.String))
    assert set(tree.leaf_values) == {*names} - {*parents.values()} | {*values}
    for line in lines(tree):
        path = [line[0]]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        assert list(dict.fromkeys(line)) == path
    assert build({"type": "tree", "parents": parents}, pl.Series(values, dtype=pl.String), "x").levels == tree.levels


def test_roots_of_a_taxonomy_get_one_above_them() -> None:
    tree = build({"type": "tree", "parents": {"a": "x", "b": "x", "c": "y"}}, pl.Series(["a"]), "q")
    assert lines(tree) == [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]


# ---- learnt


@given(TEXT | st.lists(st.sampled_from([True, False]), min_size=1) | DAYS)
def test_a_tree_is_learnt_from_anything(values: list[Any]) -> None:
    built({"type": "auto"}, pl.Series(values))


def test_rare_values_are_bundled_with_each_other() -> None:
    values = ["often"] * 600 + ["half"] * 300 + [f"r{i:02d}" for i in range(100)]
    tree = build({"type": "auto", "least": 1}, pl.Series(values), "x")
    shown = dict(zip(tree.nodes[0], tree.nodes[1], strict=True))
    assert (shown["often"], shown["half"]) == ("often", "half")
    records = np.bincount(tree.ancestors[1][tree.encode(pl.Series(values))])
    assert sorted(records)[1:-2] == pytest.approx([1000 / 64] * (len(records) - 3), abs=1)
    few = build({"type": "auto", "least": 1}, pl.Series(["a"] * 900 + list("bcd")), "x")
    assert few.labels(1).to_list() == ["a", "{b;c;d}"]
    many = build({"type": "auto", "least": 1}, pl.Series(["a"] * 900 + list("bcdefghijk")), "x")
    assert many.labels(1).to_list() == ["a", "b, c and 8 more"]
    named = build({"type": "auto", "least": 2}, pl.Series(["a"] * 900 + ["b"] * 2 + list("cdefghijk")), "x")
    assert named.labels(1).to_list() == ["a", "b and 9 more"]
    nobody = build({"type": "auto"}, pl.Series(["a"] * 900 + list("bcd")), "x")
    assert nobody.labels(1).to_list() == ["a", "3 rare values"]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([f"{i:05d}" for i in range(30)], "0000*"),
        ([f"A{i:02d}" for i in range(20)], "A0*"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 2, 1)], "2024-01"),
        (["2024-01-01", "2024-01-02", "2024-02-01"], "2024-01"),
        ([str(i) for i in range(1, 9)], "[0;1]"),
    ],
)
def test_what_values_are_decides_how_they_merge(values: list[Any], shown: str) -> None:
    tree = build({"type": "auto"}, pl.Series(values), "x")
    assert tree.nodes[1][0] == shown


# ---- faults


@pytest.mark.parametrize(
    ("spec", "values", "words"),
    [
        ({}, [1], ["no type None", "steps"]),
        ({"type": "step"}, [1], ["Did you mean 'steps'?"]),
        ({"type": "steps", "step": [5]}, [1], ["no choice 'step'", "Did you mean 'steps'?"]),
        ({"type": "steps"}, [1], ["needs 'steps'"]),
        ({"type": "steps", "steps": [5, 12]}, [1], ["12", "5", "multiple"]),
        ({"type": "steps", "steps": [0]}, [1], ["'steps'"]),
        ({"type": "steps", "steps": "5"}, [1], ["'steps'", "number"]),
        ({"type": "steps", "steps": [5]}, ["1", "old"], ["'old'", "no number"]),
        ({"type": "steps", "steps": [5]}, [1.0, math.inf], ["no number"]),
        ({"type": "auto"}, [1.5, 1e305], ["1e+305", "too large"]),
        ({"type": "steps", "steps": [1e-9]}, [1e12, 0.5], ["too narrow"]),
        ({"type": "steps", "steps": [5]}, [dt.date(2024, 1, 1)], ["not numbers"]),
        ({"type": "steps", "steps": [5]}, [None], ["no values"]),
        ({"type": "steps", "steps": [5]}, [2**62], ["58 bits"]),
        ({"type": "width", "width": -1}, [1], ["'width'"]),
        ({"type": "frequency", "bands": 1}, [1], ["'bands'", "2 or more"]),
        ({"type": "cuts", "cuts": [[5, 9], [7]]}, [1], ["cut at 7", "finer"]),
        ({"type": "cuts", "cuts": [9, 5]}, [1], ["rising"]),
        ({"type": "cuts", "cuts": [[5], 7]}, [1], ["one list a level"]),
        ({"type": "cuts", "cuts": ["x"]}, [1], ["'x'"]),
        ({"type": "mask", "side": "top"}, ["a"], ["'side'"]),
        ({"type": "mask"}, ["a" * 60], ["60 characters"]),
        ({"type": "mask"}, [-5, 6], ["'-5'"]),
        ({"type": "mask"}, [0.5], ["'0.5'"]),
        ({"type": "dates", "levels": ["months"]}, [dt.date(2024, 1, 1)], ["Did you mean 'month'?"]),
        ({"type": "dates", "levels": ["month"]}, ["2024-01-01", "1.2.2024"], ["'1.2.2024'"]),
        ({"type": "dates", "levels": ["month"]}, ["2024-02-30"], ["'2024-02-30'"]),
        ({"type": "order"}, ["a"], ["'order'"]),
        ({"type": "order", "order": ["a", "a"]}, ["a"], ["different"]),
        ({"type": "order", "order": ["low", "high"]}, ["hihg"], ["'hihg'", "'high'"]),
        ({"type": "order", "order": ["a", "b", "c"], "cuts": [["b"], ["c"]]}, ["a"], ["cut at c"]),
        ({"type": "order", "order": ["a", "b"], "cuts": ["z"]}, ["a"], ["'z'"]),
        ({"type": "tree", "parents": {"a": "b", "b": "a"}}, ["a"], ["'a'", "ancestor of itself"]),
        ({"type": "tree", "parents": [["a", "b"], ["a", "c"]]}, ["a"], ["'a'", "two parents"]),
        ({"type": "tree", "parents": [["a", "b", "c"]]}, ["a"], ["'parents'"]),
        ({"type": "tree", "parents": {}}, ["a"], ["'parents'"]),
        ({"type": "tree", "parents": {"a": "r", "b": "r"}}, ["c"], ["'c'"]),
        ({"type": "tree", "parents": {"a": "x", "b": "y", "x": "r", "y": "r"}}, ["a"], ["not coarser", "'a'"]),
    ],
)
def test_what_cannot_be_built_is_said_in_one_sentence(
    spec: dict[str, Any], values: list[Any], words: list[str]
) -> None:
    with pytest.raises(InputError) as error:
        build(spec, pl.Series(values, strict=False), "x")
    for word in words:
        assert word in str(error.value)


def test_every_builder_is_tried_above() -> None:  # prefixes in test_prefix_trees
    assert set(BUILDERS) == {"steps", "width", "frequency", "cuts", "mask", "prefix", "dates", "order", "tree", "auto"}


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), max_size=3))
def test_only_levels_that_merge_are_kept(levels: list[list[int]]) -> None:
    nested = [[0, 1, 2, 3]]
    for merge in levels:
        nested.append([merge[number] for number in nested[-1]])
    tree = merging(pl.Series(list("abcd")), [("", pl.Series([f"g{g}" for g in level])) for level in nested[1:]], "x")
    assert is_tree(lines(tree))
    sizes = [len(tree.labels(level)) for level in range(tree.levels)]
    assert all(finer > coarser for finer, coarser in pairwise(sizes))
    assert {*sizes} == {*(len({*level}) for level in nested), 1}
