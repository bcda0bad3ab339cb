"""Naive coarsening gives the paper's intervals, admits every original value and promises nothing."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Scalar, Schema
from shoal.errors import InputError
from shoal.masking.recoding.coarsening import Coarsen, Mode, coarsen
from shoal.masking.recoding.suppressing import classes_of
from shoal.privacy.k_anonymity import KAnonymity

QUASI = frozenset({Role.QUASI_IDENTIFIER})


def table(frame: pl.DataFrame, domain: tuple[Scalar, ...] | None = None, **kinds: Kind) -> Microdata:
    attributes = (Attribute(n, QUASI, kinds.get(n, Kind.NUMERIC), domain) for n in frame.columns)
    return Microdata(frame, Schema(tuple(attributes)))


def intervals(values: list[int], resolution: int, mode: Mode = "labels") -> list[str]:
    column = coarsen(table(pl.DataFrame({"x": values}))["x"], resolution, mode)
    return column.values().unique(maintain_order=True).to_list()


AGES = list(range(86))
TABLE_S7 = (
    "[0;4] [5;9] [10;15] [16;20] [21;25] [26;31] [32;36] [37;42] [43;47] [48;52] [53;58] [59;63] [64;68] "
    "[69;74] [75;79] [80;85]"
)
TABLE_S8 = "[0;9] [10;20] [21;31] [32;42] [43;52] [53;63] [64;74] [75;85]"


@pytest.mark.parametrize(
    ("resolution", "printed"),
    [
        (1, "[0;85]"),
        (2, "[0;42] [43;85]"),
        (4, "[0;20] [21;42] [43;63] [64;85]"),
        (8, TABLE_S8),
        (16, TABLE_S7),
    ],
)
def test_ages_get_the_intervals_the_paper_prints(resolution: int, printed: str) -> None:
    assert intervals(AGES, resolution) == printed.split()


def test_labels_count_only_values_that_occur() -> None:
    assert intervals([0, 1, 2, 3, 50, 100, 1000], 3) == ["[0;1]", "[2;3]", "[50;1000]"]


def test_width_cuts_the_domain_into_equal_lengths() -> None:
    assert intervals(AGES, 4, "width") == ["[0;21]", "[22;42]", "[43;64]", "[65;85]"]
    assert intervals([0, 1, 2, 3, 50, 100, 999], 2, "width") == ["[0;499]", "[500;999]"]


def test_width_follows_a_declared_domain() -> None:
    coded = table(pl.DataFrame({"x": [10, 20, 30]}), domain=(0, 99))["x"]
    assert coarsen(coded, 2, "width").values().to_list() == ["[0;49]"] * 3


def test_width_of_decimals_shares_the_edges() -> None:
    coded = table(pl.DataFrame({"x": [0.0, 0.5, 0.9, 1.0]}))["x"]
    assert coarsen(coded, 2, "width").values().to_list() == [
        "[0.0;0.5]",
        "[0.5;1.0]",
        "[0.5;1.0]",
        "[0.5;1.0]",
    ]


def test_large_integers_keep_all_their_digits() -> None:
    top = 2**63 - 1
    values = [top, top - 1, top - 6, top - 7]
    assert intervals(values, 2, "width") == [f"[{top - 3};{top}]", f"[{top - 7};{top - 4}]"]
    assert intervals(values, 2) == [f"[{top - 1};{top}]", f"[{top - 7};{top - 6}]"]


@pytest.mark.parametrize("mode", ["labels", "width"])
def test_resolution_beyond_the_values_leaves_points(mode: Mode) -> None:
    assert intervals([1, 5, 9], 3, mode) == ["1", "5", "9"]
    assert intervals([1, 5, 9], 100, mode) == ["1", "5", "9"]


def test_kinds_are_shown_in_their_own_form_and_missing_stays_missing() -> None:
    frame = pl.DataFrame(
        {
            "day": [dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2020, 2, 1), None],
            "town": ["b", "c;d", None, "a"],
            "grade": pl.Series(["low", None, "high", "mid"], dtype=pl.Enum(["low", "mid", "high"])),
        }
    )
    microdata = table(frame, day=Kind.DATE, town=Kind.NOMINAL, grade=Kind.ORDINAL)
    shown = {name: c.values().to_list() for name, c in Coarsen(2).mask(microdata, []).columns.items()}
    assert shown["day"] == ["2020-01-01", "[2020-01-03;2020-02-01]", "[2020-01-03;2020-02-01]", None]
    assert shown["town"] == [r"{b;c\;d}", r"{b;c\;d}", None, "a"]
    assert shown["grade"] == ["low", None, "[mid;high]", "[mid;high]"]


def test_a_column_of_nothing_but_missing_shows_nothing() -> None:
    microdata = table(
        pl.DataFrame({"x": [None, None], "y": [None, None]}, schema={"x": pl.Int64, "y": pl.String}),
        y=Kind.NOMINAL,
    )
    for column in Coarsen(1).mask(microdata, []).columns.values():
        assert column.values().to_list() == [None, None]


def test_each_attribute_can_have_its_own_resolution() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4], "c": [1, 2, 3, 4]})
    masked = Coarsen({"a": 1, "b": 2}).mask(table(frame), [])
    assert masked.columns["a"].values().to_list() == ["[1;4]"] * 4
    assert masked.columns["b"].values().to_list() == ["[1;2]", "[1;2]", "[3;4]", "[3;4]"]
    assert masked.columns["c"].values().to_list() == ["1", "2", "3", "4"]
    assert masked.notes == ("Column 'c' has no resolution and is shown as it is.",)


@pytest.mark.parametrize("resolution", [0, -1, 2.5, True, "8", {"x": 0}])
def test_a_resolution_is_a_whole_number_from_one_on(resolution: object) -> None:
    with pytest.raises(InputError, match="'resolution' parameter of coarsen must be a whole number of at least 1"):
        Coarsen(resolution)  # type: ignore[arg-type]


def test_unknown_modes_and_columns_are_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="one of labels, width"):
        Coarsen(4, "equal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Did you mean 'age'"):
        Coarsen({"aeg": 4}).mask(table(pl.DataFrame({"age": [1, 2]})), [])


# ---- suppression

UNEVEN = pl.DataFrame({"x": [0] * 6 + [50, 99] + [1] * 2, "y": [7] * 10})


def test_failing_classes_are_suppressed_when_the_limit_covers_them() -> None:
    masked = Coarsen(2, "width").mask(table(UNEVEN), [KAnonymity(3)], suppression=0.2)
    assert masked.kept is not None
    assert masked.kept.tolist() == [0, 1, 2, 3, 4, 5, 8, 9]
    assert masked.columns["x"].values().to_list() == ["[0;49]"] * 8
    assert masked.notes == ("2 records in classes that miss a model were suppressed.",)


def test_nothing_is_suppressed_when_the_limit_does_not_cover_all_that_fail() -> None:
    masked = Coarsen(2, "width").mask(table(UNEVEN), [KAnonymity(3)], suppression=0.1)
    assert masked.kept is None
    assert len(masked.columns["x"].index) == 10
    assert masked.notes[0].startswith("2 records are in classes that miss a model")


def test_nothing_is_suppressed_without_leave_or_need() -> None:
    for k, suppression in ((3, 0.0), (2, 1.0)):
        masked = Coarsen(2, "width").mask(table(UNEVEN), [KAnonymity(k)], suppression=suppression)
        assert masked.kept is None
        assert masked.notes == ()


def test_a_release_is_never_emptied() -> None:
    masked = Coarsen(100).mask(table(pl.DataFrame({"x": [1, 2, 3]})), [KAnonymity(2)], suppression=1.0)
    assert masked.kept is None


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 5), min_size=1, max_size=40))
def test_classes_hold_exactly_the_equal_records(rows: list[tuple[int, ...]]) -> None:
    codes = np.array(rows, np.int32)
    wide = 1 << 30  # five columns of 30 bits do not fit one key
    partition = classes_of([(codes[:, j], wide) for j in range(5)])
    assert sorted(partition.order.tolist()) == list(range(len(rows)))
    groups = [partition.order[a:b] for a, b in zip(partition.starts[:-1], partition.starts[1:], strict=True)]
    assert sorted(sorted({rows[i] for i in group}) for group in groups) == sorted([row] for row in set(rows))


# ---- any table

numbers = st.one_of(st.integers(-(2**53), 2**53), st.none())
decimals = st.one_of(st.floats(-1e6, 1e6), st.none())
days = st.one_of(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), st.none())
texts = st.one_of(st.text("ab*;{}[]\\ é", min_size=1, max_size=4), st.none())
COLUMNS = st.one_of(
    st.tuples(st.just(Kind.NUMERIC), st.just(pl.Int64), st.lists(numbers, min_size=1, max_size=30)),
    st.tuples(st.just(Kind.NUMERIC), st.just(pl.Float64), st.lists(decimals, min_size=1, max_size=30)),
    st.tuples(st.just(Kind.DATE), st.just(pl.Date), st.lists(days, min_size=1, max_size=30)),
    st.tuples(st.just(Kind.NOMINAL), st.just(pl.String), st.lists(texts, min_size=1, max_size=30)),
)


def admits(column: MaskedColumn, records: int, positions: list[float | None]) -> bool:
    low, high = column.low[column.index], column.high[column.index]
    return all(
        np.isnan(low[i]) if at is None else low[i] <= at <= high[i]
        for i, at in zip(range(records), positions, strict=True)
    )


@given(COLUMNS, st.integers(1, 12), st.sampled_from(["labels", "width"]))
def test_every_cell_admits_its_value_and_reads_back_the_same(
    drawn: tuple[Kind, type[pl.DataType], list[Scalar | None]], resolution: int, mode: Mode
) -> None:
    kind, dtype, values = drawn
    coded = table(pl.DataFrame({"x": pl.Series(values, dtype=dtype)}), x=kind)["x"]
    column = coarsen(coded, resolution, mode)
    positions = [None if code < 0 else float(coded.positions[code]) for code in coded.codes]
    assert admits(column, len(values), positions)
    back = read_cells(column.values(), coded.attribute, coded.values)
    assert admits(back, len(values), positions)
    np.testing.assert_array_equal(back.size[back.index], column.size[column.index])
    shown = column.values().drop_nulls().n_unique()
    assert shown <= max(resolution, 1) or shown == len(coded.values)
