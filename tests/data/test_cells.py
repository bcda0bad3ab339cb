"""Masked values print and read back exactly (docs/spec.md#cells, #cell-text)."""

from __future__ import annotations

import csv
import datetime as dt
import shlex
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.data.cells import MaskedColumn, interval_text, plain_text, set_text
from shoal.data.hierarchy import hierarchy_of
from shoal.data.node_labels import node_text
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Scalar
from shoal.errors import InputError

TRICKY = st.text(alphabet=st.sampled_from(list("ab;{}[]*\\+19 -é\n")), max_size=6)


def attribute(kind: Kind, domain: tuple[Scalar, ...] | None = None) -> Attribute:
    return Attribute("x", frozenset({Role.QUASI_IDENTIFIER}), kind, domain)


def texts(*cells: str | None) -> pl.Series:
    return pl.Series("x", cells, dtype=pl.String)


def admitted(column: MaskedColumn) -> list[list[tuple[float, float]]]:
    """For each record its runs of positions."""
    runs = column.runs
    assert runs is not None
    parts = [slice(*runs.starts[cell : cell + 2]) for cell in column.index]
    return [list(zip(runs.low[p].tolist(), runs.high[p].tolist(), strict=True)) for p in parts]


# ---- printing


def test_an_interval_of_one_value_prints_as_the_value() -> None:
    shown = interval_text(pl.Series("age", [24, 26]), pl.Series("age", [28, 26]))
    assert shown.to_list() == ["[24;28]", "26"]
    assert shown.name == "age"


def test_intervals_of_decimals_and_dates_and_text() -> None:
    assert interval_text(pl.Series([0.1]), pl.Series([1 / 3])).to_list() == ["[0.1;0.3333333333333333]"]
    days = pl.Series([dt.date(2009, 1, 1)]), pl.Series([dt.date(2009, 3, 31)])
    assert interval_text(*days).to_list() == ["[2009-01-01;2009-03-31]"]
    assert interval_text(texts("a;"), texts("b*")).to_list() == [r"[a\;;b\*]"]


def test_sets_print_in_the_order_of_their_codes() -> None:
    shown = set_text(texts("a", "b;", "c"), np.array([0, 1, 3]), np.array([2, 1, 0], np.int32))
    assert shown.to_list() == ["c", r"{b\;;a}"]


def test_text_that_nobody_can_misread_is_left_as_it_is() -> None:
    values = texts("plain", "85+", "", None, "[70-80)", "{x", "a;b", r"9\3", "a*b", "[a;b", "a}", "\\", "[a]", "*a")
    assert plain_text(values) is values


def test_text_that_would_be_misread_is_escaped_whole() -> None:
    read_as_masks = texts("[a;b]", "{a}", "{}", "x*", "*", "[a;\nb]")
    assert plain_text(read_as_masks).to_list() == [r"\[a\;b\]", r"\{a\}", r"\{\}", r"x\*", r"\*", "\\[a\\;\nb\\]"]
    assert plain_text(texts(r"\[70-80)", "a")).to_list() == [r"\\\[70-80)", "a"]  # or a reader takes the backslash away


def test_inside_a_set_or_a_range_all_that_divides_is_escaped() -> None:
    bands = texts("[70-80)", "[80-90)", r"9\3")
    assert set_text(bands, np.array([0, 1, 3]), np.array([0, 0, 2], np.int32)).to_list() == [
        "[70-80)",
        r"{\[70-80);9\\3}",
    ]
    assert interval_text(bands[:1], bands[1:2]).to_list() == [r"[\[70-80);\[80-90)]"]


# ---- reading numbers and dates


def test_every_form_of_a_masked_number() -> None:
    column = read_cells(
        texts("26", "[24;28]", "[5;5]", "937**", "*", None, "85+", "{3;5;4;9}", "26", "[-7; -3]"),
        attribute(Kind.NUMERIC, (0, 99999)),
    )
    assert admitted(column) == [
        [(26, 26)],
        [(24, 28)],
        [(5, 5)],
        [(93700, 93799)],
        [(-7, 99999)],
        [],
        [(85, 99999)],
        [(3, 5), (9, 9)],
        [(26, 26)],
        [(-7, -3)],
    ]
    assert column.index[0] == column.index[8]
    assert np.isnan(column.low[column.index[5]])
    assert np.isnan(column.high[column.index[5]])
    assert column.values().to_list()[3:6] == ["937**", "*", None]


def test_the_wildcard_admits_the_original_values_ends_and_the_declared_domain() -> None:
    column = read_cells(texts("26", "*"), attribute(Kind.NUMERIC, (0, 85)), pl.Series([3, 90]))
    assert (column.low[1], column.high[1]) == (0, 90)


def test_plain_columns_of_any_type_are_points() -> None:
    for values, positions in (
        (pl.Series([7, None, 3], dtype=pl.Int8), [[(7, 7)], [], [(3, 3)]]),
        (pl.Series([0.5, float("nan"), 2.0]), [[(0.5, 0.5)], [], [(2.0, 2.0)]]),
    ):
        assert admitted(read_cells(values, attribute(Kind.NUMERIC))) == positions
    days = pl.Series([dt.date(1970, 1, 3), None])
    assert admitted(read_cells(days, attribute(Kind.DATE))) == [[(2, 2)], []]
    assert admitted(read_cells(pl.Series([None, None]), attribute(Kind.NUMERIC))) == [[], []]


def test_64_bit_identifiers_stay_exact() -> None:
    big = 2**63 - 1
    column = read_cells(texts(str(big), str(big - 1), f"[{big - 3};{big - 1}]"), attribute(Kind.NUMERIC))
    assert admitted(column) == [[(big, big)], [(big - 1, big - 1)], [(big - 3, big - 1)]]
    assert column.low[0] == column.low[1]  # which floats alone could not tell apart
    unsigned = read_cells(texts(str(2**64 - 1), "5"), attribute(Kind.NUMERIC))
    assert admitted(unsigned) == [[(2**64 - 1, 2**64 - 1)], [(5, 5)]]


def test_integers_and_days_are_discrete_decimals_and_times_are_not() -> None:
    def discrete(column: MaskedColumn) -> bool:
        assert column.runs is not None
        return column.runs.discrete

    assert discrete(read_cells(texts("[1;2]"), attribute(Kind.NUMERIC)))
    assert not discrete(read_cells(texts("[1;2.5]"), attribute(Kind.NUMERIC)))
    assert not discrete(read_cells(texts("[1;2]"), attribute(Kind.NUMERIC), pl.Series([1.0, 2.0])))
    assert discrete(read_cells(texts("[2020-01-01;2020-01-02]"), attribute(Kind.DATE)))
    assert not discrete(read_cells(texts("[2020-01-01T10:00:00;2020-01-02 11:00:00.5]"), attribute(Kind.DATE)))


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (Kind.NUMERIC, "abc"),
        (Kind.NUMERIC, "[28;24]"),
        (Kind.NUMERIC, "[1;x]"),
        (Kind.NUMERIC, "nan"),
        (Kind.NUMERIC, "{1;two}"),
        (Kind.DATE, "2020-13-01"),
        (Kind.DATE, "someday"),
        (Kind.DATE, "[2020-02-01;2020-01-01]"),
        (Kind.ORDINAL, "[high;low]"),
    ],
)
def test_what_cannot_be_read_is_named(kind: Kind, cell: str) -> None:
    domain: tuple[Scalar, ...] | None = ("low", "high") if kind is Kind.ORDINAL else None
    with pytest.raises(InputError) as error:
        read_cells(texts(None, cell), attribute(kind, domain))
    assert "'x'" in str(error.value)
    assert repr(cell) in str(error.value)


def test_numbers_beyond_64_bits_are_refused() -> None:
    with pytest.raises(InputError, match="64 bits"):
        read_cells(texts("1" * 30, "2"), attribute(Kind.NUMERIC))


NUMBERS = (
    st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5),  # small ones so that both ends are often the same
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
    st.dates(),
    st.datetimes(dt.datetime(1600, 1, 1), dt.datetime(2200, 1, 1)),
)


@pytest.mark.parametrize("values", NUMBERS, ids=["integer", "decimal", "date", "time"])
def test_intervals_read_back_exactly(values: st.SearchStrategy[float | dt.date]) -> None:
    @given(st.lists(st.tuples(values, values).map(sorted), min_size=1, max_size=8))
    def reads_back(pairs: list[list[float | dt.date]]) -> None:
        low, high = (pl.Series([p[end] for p in pairs]) for end in (0, 1))
        kind = Kind.DATE if low.dtype.is_temporal() else Kind.NUMERIC
        column = read_cells(interval_text(low, high), attribute(kind), pl.concat([low, high]).unique().sort())
        expected = zip(low.to_physical().to_list(), high.to_physical().to_list(), strict=True)
        assert admitted(column) == [[pair] for pair in expected]

    reads_back()


# ---- reading categories


def test_every_form_of_a_masked_category() -> None:
    column = read_cells(
        texts("a", "{c;a}", r"a\*b", "*", "{c}", None, r"{a;\;\\}"),
        attribute(Kind.NOMINAL),
        texts("a", "a*b", "c", ";\\"),
    )
    assert admitted(column) == [
        [(0, 0)],
        [(0, 0), (2, 2)],
        [(1, 1)],
        [(0, 3)],
        [(2, 2)],
        [],
        [(0, 0), (3, 3)],
    ]
    assert column.size[column.index].tolist()[:5] == [1, 2, 1, 4, 1]


def test_prefixes_admit_the_codes_of_that_length() -> None:
    cells = texts("937**", "9370*", "8****", "93701", "937")
    column = read_cells(cells, attribute(Kind.NOMINAL), texts("93701", "93711", "937", "9370123"))
    assert admitted(column)[:2] == [[(0, 1)], [(0, 0)]]
    assert admitted(column)[2] == [(4, 4)]  # no known code begins so: a label of its own


def test_ordered_categories_read_as_ranges_of_ranks() -> None:
    column = read_cells(texts("[low;mid]", "high", "*"), attribute(Kind.ORDINAL, ("low", "mid", "high", "top")))
    assert admitted(column) == [[(0, 1)], [(2, 2)], [(0, 3)]]
    assert np.isnan(column.size).all()
    with pytest.raises(InputError, match="'middling'"):
        read_cells(texts("middling"), attribute(Kind.ORDINAL, ("low", "high")))


def test_a_span_of_ordered_categories_reads_as_its_two_ends_say() -> None:
    grades = attribute(Kind.ORDINAL, ("9th", "10th", "11th", "12th"))
    column = read_cells(texts("9th to 11th", "12th", "9th", "[9th;11th]"), grades)
    assert admitted(column) == [[(0, 2)], [(3, 3)], [(0, 0)], [(0, 2)]]
    itself = attribute(Kind.ORDINAL, ("a", "b", "a to b"))
    assert admitted(read_cells(texts("a to b"), itself)) == [[(2, 2)]]
    doubtful = attribute(Kind.ORDINAL, ("3", "4 to 5", "3 to 4", "5"))
    for order, cell in ((grades, "12th to 9th"), (grades, "9th to 13th"), (doubtful, "3 to 4 to 5")):
        with pytest.raises(InputError, match=f"'{cell}', which is not among its ordered categories"):
            read_cells(texts(cell), order)
    assert admitted(read_cells(texts("x to y"), attribute(Kind.NOMINAL, ("x", "y")))) == [[(2, 2)]]  # a label


def test_without_a_domain_the_column_itself_stands_in_for_it() -> None:
    column = read_cells(texts("10", "{9;10}", "*", "[9;11]"), attribute(Kind.ORDINAL))
    assert admitted(column) == [[(1, 1)], [(0, 1)], [(0, 2)], [(0, 2)]]


def test_a_label_that_the_domain_does_not_list_is_a_category_of_its_own() -> None:
    column = read_cells(texts("85+", "a", "*"), attribute(Kind.NOMINAL, ("a", "b")))
    assert admitted(column) == [[(2, 2)], [(0, 0)], [(0, 2)]]


def test_nodes_of_a_hierarchy_admit_their_leaves() -> None:
    tree = hierarchy_of([["a", "[a;b]", "*"], ["b", "[a;b]", "*"], ["c", "only c", "*"]], "x")
    nominal = Attribute("x", frozenset(), Kind.NOMINAL, hierarchy=tree)
    assert admitted(read_cells(texts("[a;b]", "only c", "*", "b"), nominal)) == [
        [(0, 1)],
        [(2, 2)],
        [(0, 2)],
        [(1, 1)],
    ]
    ages = hierarchy_of([["20", "20-29"], ["22", "20-29"], ["31", "30-39"]], "x")
    numeric = Attribute("x", frozenset(), Kind.NUMERIC, hierarchy=ages)
    assert admitted(read_cells(texts("20-29", "31"), numeric)) == [[(20, 20), (22, 22)], [(31, 31)]]


@given(st.lists(TRICKY, min_size=1, max_size=6, unique=True), st.data())
@example(["{a;b}", "[a;b]", "ab*", "*", "\\", ";", "a\\;", ""], None)
def test_any_text_reads_back_exactly(values: list[str], data: st.DataObject | None) -> None:
    series = texts(*sorted(values))
    plain = read_cells(plain_text(series), attribute(Kind.NOMINAL), series)
    assert admitted(plain) == [[(i, i)] for i in range(len(values))]
    chosen = (
        [list(range(len(values)))]
        if data is None
        else data.draw(
            st.lists(st.lists(st.integers(0, len(values) - 1), min_size=1, unique=True), min_size=1, max_size=4)
        )
    )
    offsets = np.cumsum([0, *map(len, chosen)])
    column = read_cells(
        set_text(series, offsets, np.concatenate(chosen).astype(np.int32)), attribute(Kind.NOMINAL), series
    )
    assert [[v for a, b in runs for v in range(a, b + 1)] for runs in admitted(column)] == [sorted(c) for c in chosen]
    ranges = interval_text(series[:1], series[-1:])
    assert admitted(read_cells(ranges, attribute(Kind.ORDINAL), series)) == [[(0, len(values) - 1)]]


LABELS = [
    *(("za", "{z}", "*"), ("zb", "{z}", "*"), ("xa", "x*", "*"), ("xbb", "x*", "*")),
    *(("q1", r"9\3", "*"), ("q2", r"9\3", "*"), ("93701", "937**", "*"), ("93702", "937**", "*")),
    *(("a*b", "[odd", "*"), ("a;c", "[odd", "*"), ("m1", "{m1;m2}", "*"), ("m2", "{m1;m2}", "*")),
]


def test_labels_of_a_hierarchy_are_not_taken_for_masks() -> None:
    attribute = Attribute("c", frozenset(), Kind.NOMINAL, None, hierarchy_of(LABELS, "c"))
    assert node_text(attribute, 0)[8:10].to_list() == ["a*b", "a;c"]
    shown = node_text(attribute, 1)
    assert shown.to_list() == [r"\{z\}", r"x\*", r"9\3", "937**", "[odd", "{m1;m2}"]
    assert node_text(attribute, 2).to_list() == ["*"]
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    begins = hierarchy.starts(1)
    with_tree = read_cells(shown, attribute)
    assert list(zip(with_tree.low, with_tree.high, strict=True)) == list(zip(begins, begins[1:] - 1, strict=False))
    without = read_cells(shown, replace(attribute, hierarchy=None), hierarchy.leaf_values)
    assert without.size.tolist() == [1, 1, 1, 2, 1, 2]  # what is escaped is one label, what is not says what lies below


def test_bands_of_numbers_stand_as_they_are_where_they_say_what_lies_below() -> None:
    bands = [(str(i), f"[{i // 10 * 10};{i // 10 * 10 + 9}]", "*") for i in range(20)]
    wrong = [(str(i), "[20;30]", "*") for i in range(20, 30)] + [(str(i), "[31;", "*") for i in range(30, 40)]
    for open_ended in (False, True):
        tree = hierarchy_of(bands + wrong, "n")
        attribute = Attribute("n", frozenset(), Kind.NUMERIC, None, tree.with_unlisted() if open_ended else tree)
        assert node_text(attribute, 1)[:4].to_list() == ["[0;9]", "[10;19]", r"\[20\;30\]", "[31;"]


def test_minus_zero_is_shown_as_zero() -> None:
    low, high = pl.Series([-0.0, -0.0, -1.0]), pl.Series([5.0, 0.0, -0.0])
    assert interval_text(low, high).to_list() == ["[0.0;5.0]", "0.0", "[-1.0;0.0]"]
    assert plain_text(pl.Series([-0.0], dtype=pl.Float32)).to_list() == ["0.0"]


def test_a_range_of_texts_without_an_order_is_refused_with_a_list_that_works_when_pasted() -> None:
    cells = texts("[Doctorate;Bachelors]", "[10th;12th]", "[12th;a, b]", "10th", "?")
    with pytest.raises(InputError, match=r"^Column 'x' shows the range '\[Doctorate;Bachelors\]'") as refused:
        read_cells(cells, attribute(Kind.NOMINAL))
    option = shlex.split(str(refused.value).partition("--kind ")[2].rstrip("."))[0]
    order = next(csv.reader([option.partition("x=ordinal:")[2]]))
    assert set(order) == {"?", "10th", "12th", "a, b", "Bachelors", "Doctorate"}
    read_cells(cells, attribute(Kind.ORDINAL, tuple(order)))
    read_cells(texts("[2020-01-02;2021-01-02]"), attribute(Kind.NOMINAL))
