"""Unique records by equality and by fitting boxes (paper 1, Eq. 1; docs/spec.md#fitting)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.cells import MaskedColumn, interval_text
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role
from shoal.errors import InputError
from shoal.risk import uniqueness
from shoal.risk.uniqueness import uniques_by_equality, worst_case_uniques
from tests.oracles.fitting import Box, is_unique, uniques

Cell = tuple[str | None, frozenset[object]]  # as released, and what it admits; an empty set is the whole domain


def numbers(*cells: str | None, domain: tuple[float, ...] | None = None) -> MaskedColumn:
    attribute = Attribute("x", frozenset({Role.QUASI_IDENTIFIER}), Kind.NUMERIC, domain)
    return read_cells(pl.Series("x", cells, dtype=pl.String), attribute)


def found(*columns: MaskedColumn) -> list[bool]:
    result = worst_case_uniques(list(columns))
    assert result.proven
    return result.unique.tolist()


# ---- the paper's examples, and those of docs/spec.md#fitting


def test_a_point_fits_a_range_but_not_the_other_way_round() -> None:
    assert found(numbers("26", "[24;28]")) == [False, True]


def test_ranges_cover_a_range_jointly() -> None:
    assert found(numbers("26", "[24;28]", "[20;25]", "[27;30]")) == [False, False, True, True]


def test_attributes_are_judged_jointly() -> None:
    assert found(numbers("93722", "937**", "93722"), numbers("[40;45]", "42", "42")) == [True, True, False]


def test_a_cover_may_need_two_boxes() -> None:
    assert found(numbers("[1;4]", "[1;2]", "[3;5]"), numbers("[1;2]", "[1;3]", "[0;2]")) == [
        False,
        True,
        True,
    ]


def test_no_gap_between_neighbouring_integers_but_between_decimals() -> None:
    assert found(numbers("[1;4]", "[0;2]", "[3;5]")) == [False, True, True]
    assert found(numbers("[1.0;4.0]", "[0.0;2.0]", "[3.0;5.0]")) == [True, True, True]
    assert found(numbers("[1.0;4.0]", "[0.0;2.5]", "[2.5;5.0]")) == [False, True, True]


def test_64_bit_identifiers_are_not_confused() -> None:
    big = 2**62
    assert found(numbers(f"{big}", f"{big + 1}")) == [True, True]
    assert found(numbers(f"{big}", f"[{big + 1};{big + 3}]")) == [True, True]
    assert found(numbers(f"{2**63 - 1}", f"[{-(2**63)};{2**63 - 1}]")) == [False, True]


def test_the_wildcard_is_the_whole_domain() -> None:
    assert found(numbers("*", "0", "1", "2", domain=(0, 2))) == [False] * 4
    assert found(numbers("*", "0", "1", "2", domain=(0, 3))) == [True, False, False, False]


def test_missing_is_a_value_that_only_missing_and_the_wildcard_admit() -> None:
    assert found(numbers(None, "[0;2]", domain=(0, 2))) == [True, True]
    assert found(numbers(None, None, "1")) == [False, False, True]
    assert found(numbers(None, "*", domain=(0, 2))) == [False, True]
    assert found(numbers(None, "*", "[0;2]", domain=(0, 2))) == [False, False, False]
    assert found(numbers("*", "[0;2]", domain=(0, 2))) == [False, False]  # no missing here: nothing to hide


def test_different_texts_of_one_meaning_are_the_same_box() -> None:
    assert found(numbers("[5;5]", "5", "7")) == [False, False, True]


def test_a_column_made_without_exact_runs_is_read_from_its_text() -> None:
    column = numbers("26", "[24;28]")
    bare = MaskedColumn(
        column.attribute, np.array([1, 0, 2], np.int32), pl.Series(["26", "[24;28]", "26"]), *np.zeros((3, 3))
    )
    assert found(bare) == [True, False, False]


def test_few_and_no_records() -> None:
    assert found(numbers("[1;2]")) == [True]
    assert found(numbers()) == []
    with pytest.raises(InputError, match="at least one attribute"):
        worst_case_uniques([])


def test_a_search_cut_short_is_reported_and_counts_as_unique() -> None:
    columns = [numbers("[1;4]", "[1;2]", "[3;5]"), numbers("[1;2]", "[1;3]", "[0;2]")]
    result = worst_case_uniques(columns, max_boxes=1)
    assert (result.unique.tolist(), result.proven, result.unproven) == ([True, True, True], False, 1)


# ---- against enumeration


def _integers(size: int) -> st.SearchStrategy[Cell]:
    ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(sorted)
    return st.one_of(
        st.integers(0, size - 1).map(lambda v: (str(v), frozenset([v]))),
        ends.map(lambda e: (f"[{e[0]};{e[1]}]", frozenset(range(e[0], e[1] + 1)))),
        st.sets(st.integers(0, size - 1), min_size=1).map(lambda s: ("{" + ";".join(map(str, s)) + "}", frozenset(s))),
        st.just(("*", frozenset())),
        st.just((None, frozenset([None]))),
    )


def _decimals(size: int) -> st.SearchStrategy[Cell]:
    """Ends are halves; in quarters, the odd ones stand for all that lies between two ends."""
    ends = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(sorted)
    return ends.map(lambda e: (f"[{e[0] / 2};{e[1] / 2}]", frozenset(range(2 * e[0], 2 * e[1] + 1))))


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[MaskedColumn], list[Box]]:
    """A few records of up to three attributes, and what each cell admits by name."""
    records = draw(st.integers(1, 12))
    columns: list[MaskedColumn] = []
    sets: list[list[frozenset[object]]] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([Kind.NUMERIC, Kind.ORDINAL, Kind.NOMINAL, None]))
        size = draw(st.integers(1, 5))
        cells = draw(st.lists((_integers if kind else _decimals)(size), min_size=records, max_size=records))
        whole = frozenset(range(size)) | ({None} if any(text is None for text, _ in cells) else set())
        domain = tuple(range(size)) if kind else None
        values = None if kind else pl.Series([0.0, size / 2])
        attribute = Attribute("x", frozenset(), kind or Kind.NUMERIC, domain)
        columns.append(read_cells(pl.Series("x", [t for t, _ in cells], dtype=pl.String), attribute, values))
        sets.append([admits or whole for _, admits in cells])
    return columns, list(zip(*sets, strict=True))


@pytest.mark.parametrize("patterns", [64, 1], ids=["each pattern apart", "patterns pooled"])
def test_the_search_agrees_with_enumeration(patterns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "_PATTERNS", patterns)

    @given(releases())
    def agrees(release: tuple[list[MaskedColumn], list[Box]]) -> None:
        columns, boxes = release
        assert found(*columns) == uniques(boxes)

    agrees()


def test_large_groups_searched_by_the_tree_agree_with_enumeration() -> None:
    generator = np.random.default_rng(5)
    for size, width in ((30, 3), (40, 6)):
        low = generator.integers(0, size, (400, 2))
        high = low + generator.integers(1, width, (400, 2))
        columns = [numbers(*(f"[{a};{b}]" for a, b in zip(low[:, j], high[:, j], strict=True))) for j in range(2)]
        boxes = [
            [frozenset(range(a, b + 1)) for a, b in zip(*ends, strict=True)] for ends in zip(low, high, strict=True)
        ]
        expected = uniques(boxes)
        assert 20 < sum(expected) < 380
        assert found(*columns) == expected


# ---- equality


def test_equality_counts_missing_as_a_value() -> None:
    frame = pl.DataFrame({"a b": [1, 1, None, None, 2], "c": ["x", "x", None, None, None], "d": range(5)})
    assert uniques_by_equality(frame, ["a b", "c"]).tolist() == [False, False, False, False, True]
    assert uniques_by_equality(frame, ["a b", "c", "d"]).all()
    assert uniques_by_equality(frame.clear(), ["c"]).tolist() == []


# ---- at scale


def _discharges(records: int) -> pl.DataFrame:
    generator = np.random.default_rng(7)
    county = np.minimum(generator.geometric(0.1, records), 30)
    return pl.DataFrame(
        {
            "hospital": county * 10 + generator.geometric(0.5, records).clip(1, 9),
            "age": generator.normal(50, 24, records).clip(0, 85).astype(np.int64),
            "sex": generator.integers(1, 3, records),
            "race": generator.choice(6, records, p=[0.6, 0.1, 0.02, 0.1, 0.15, 0.03]),
            "zip": 90000 + county * 100 + generator.geometric(0.07, records).clip(0, 99),
            "stay": generator.geometric(0.2, records).clip(0, 300),
        }
    )


def _masked_by_ladder(table: pl.DataFrame) -> pl.DataFrame:
    """Unique records masked further, step by step, as in Table S3; each step is one view of all records."""
    bands = {
        width: interval_text(table["age"] // width * width, table["age"] // width * width + width - 1)
        for width in (5, 20)
    }
    star = pl.Series(["*"]).extend_constant("*", table.height - 1)
    steps = [
        ("age", bands[5]), ("race", star), ("sex", star), ("age", bands[20]), ("age", star),
        ("zip", table["zip"].cast(pl.String).str.head(3) + "**"), ("zip", star),
    ]  # fmt: skip
    view = table.cast(pl.String)
    masked, waiting = view, uniques_by_equality(view, view.columns)
    for name, cells in steps:
        view = view.with_columns(cells.alias(name))
        masked = masked.select(
            pl.when(pl.Series(waiting)).then(view[c]).otherwise(pl.col(c)).alias(c) for c in view.columns
        )
        waiting &= uniques_by_equality(view, view.columns)
    return masked


def test_a_table_masked_by_safe_harbor_agrees_with_enumeration_on_a_sample() -> None:
    table = _discharges(200_000)
    masked = _masked_by_ladder(table)
    domains = {"age": (0, 99), "race": (0, 5), "sex": (1, 2)}
    columns = [
        read_cells(masked[c], Attribute(c, frozenset(), Kind.NUMERIC, domains.get(c)), table[c].unique().sort())
        for c in table.columns
    ]
    result = worst_case_uniques(columns)
    alone = uniques_by_equality(masked, masked.columns)
    assert result.proven
    assert not (result.unique & ~alone).any()
    low, high = (np.column_stack([getattr(c, end)[c.index] for c in columns]).astype(int) for end in ("low", "high"))
    small = (high - low + 1).prod(axis=1) <= 2_000
    generator = np.random.default_rng(1)
    for wanted in (True, False):
        for r in generator.permutation(np.flatnonzero(alone & small & (result.unique == wanted)))[:25]:
            meeting = ((low <= high[r]) & (high >= low[r])).all(axis=1)
            meeting[r] = False
            others = [_box(low[s], high[s]) for s in np.flatnonzero(meeting)]
            assert is_unique(_box(low[r], high[r]), others) == wanted
    assert result.unique[alone & small].any()
    assert not result.unique[alone & small].all()


def _box(low: np.ndarray, high: np.ndarray) -> list[frozenset[int]]:
    return [frozenset(range(a, b + 1)) for a, b in zip(low, high, strict=True)]


# ---- real data


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA does not name the folder of real data")
def test_hospital_discharges_of_2010_before_and_after_coarsening() -> None:
    """docs/spec.md#nhds, the counts of unique records; ages are numbers, all other attributes labels in order."""
    file = Path(os.environ["SHOAL_DATA"], "discharges", "nhds2010.parquet")
    labels = ["sex", "race", "marital_status", "dc_month", "region", "n_beds", "hospital_ownership"]
    coded = pl.read_parquet(file).select(
        pl.when(pl.col("age_unit").cast(pl.String) == "years").then("age").otherwise(0).alias("age"),
        pl.col(labels).cast(pl.String).fill_null("~missing").rank("dense"),
    )
    assert uniques_by_equality(coded, coded.columns).sum() == 63_883
    for resolution, expected in ((32, 36_804), (16, 23_947), (8, 10_296), (4, 1_238), (2, 0)):
        assert sum(found(*(_coarsened(column, resolution) for column in coded))) == expected


def _coarsened(column: pl.Series, resolution: int) -> MaskedColumn:
    """Algorithm S3: interval i of the sorted labels ends at index floor(i L / r) - 1."""
    labels = column.unique().sort()
    ends = np.unique(np.arange(1, resolution + 1) * len(labels) // resolution - 1)
    ends = ends[ends >= 0]
    interval = np.searchsorted(ends, np.searchsorted(labels, column))
    starts = np.append(0, ends[:-1] + 1)
    text = interval_text(labels.gather(starts[interval]), labels.gather(ends[interval]))
    return read_cells(text, Attribute(column.name, frozenset(), Kind.NUMERIC), labels)
