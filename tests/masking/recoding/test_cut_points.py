"""The search over cut points finds the optimum, proves it or says by how much it may be missed, and shows intervals."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.discharges import discharges
from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.kernels import cut_points as kernel
from shoal.kernels import cut_rows, greedy_cuts
from shoal.masking.method import Masked
from shoal.masking.recoding.cut_points import MOST_CUTS, CutPoints, CutPointSearch, search
from shoal.privacy import KAnonymity, LDiversity
from shoal.utility.discernibility import discernibility
from tests.oracles.cut_points import Column, optimum
from tests.oracles.cut_points import discernibility as slow_discernibility

QUASI = frozenset({Role.QUASI_IDENTIFIER})


def table(columns: dict[str, Sequence[object]] | pl.DataFrame, **kinds: Kind) -> Microdata:
    frame = pl.DataFrame(columns)
    return Microdata(frame, Schema(tuple(Attribute(n, QUASI, kinds.get(n, Kind.NUMERIC)) for n in frame.columns)))


def numbers(columns: Sequence[Column]) -> Microdata:
    return table({f"x{j}": pl.Series(column, dtype=pl.Int64) for j, column in enumerate(columns)})


def class_sizes(masked: Masked) -> list[int]:
    shown = pl.DataFrame([column.values() for column in masked.columns.values()])
    return shown.group_by(shown.columns).len()["len"].to_list()


def shown(masked: Masked, name: str) -> list[str | None]:
    return masked.columns[name].values().to_list()


# ---- against every set of cuts


@dataclass(frozen=True)
class Instance:
    columns: list[list[int | None]]
    k: int
    suppression: float

    @property
    def limit(self) -> int:
        return int(self.suppression * len(self.columns[0]))

    @property
    def optimum(self) -> int:
        return optimum(self.columns, self.k, self.limit)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """At most 12 cuts in at most 3 attributes, some values missing."""
    n = draw(st.one_of(st.integers(5, 12), st.integers(5, 40)))
    widths = draw(st.sampled_from([(12,), (6, 6), (10, 2), (5, 4, 3), (4, 4, 4), (8, 2, 2)]))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    missing = draw(st.sampled_from([0.0, 0.0, 0.1]))
    columns = [[None if dice.random() < missing else int(dice.integers(width)) for _ in range(n)] for width in widths]
    return Instance(columns, draw(st.integers(1, 5)), draw(st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0])))


@given(instances())
def test_the_search_finds_the_optimum_and_proves_it(case: Instance) -> None:
    found = search(numbers(case.columns), case.k, suppression=case.suppression, seconds=None)
    assert found.cost == found.bound == case.optimum
    assert found.proven
    assert found.suppressed <= case.limit


@given(instances())
def test_what_is_shown_costs_what_the_search_says(case: Instance) -> None:
    microdata = numbers(case.columns)
    found = search(microdata, case.k, suppression=case.suppression, seconds=None)
    models = [KAnonymity(case.k)] if case.k > 1 else []
    masked = CutPoints(None).mask(microdata, models, suppression=case.suppression)
    left_out = 0 if masked.kept is None else len(microdata) - len(masked.kept)
    sizes = class_sizes(masked)
    assert min(sizes) >= case.k
    assert left_out == found.suppressed
    assert discernibility(np.array(sizes), left_out) == found.cost


@given(instances(), st.integers(0, 200))
def test_the_bound_is_never_above_the_optimum(case: Instance, work: int) -> None:
    """Also in the midst of the search, wherever it is interrupted; and the tree by itself leads to the optimum."""
    n, best = len(case.columns[0]), case.optimum
    codes, sizes = coded_rows(case.columns)
    problem = cut_rows.problem_of(sizes, case.k, n, case.limit)
    stack, levels, hashes = kernel.root(problem, codes, np.ones(n, np.int64))
    none = np.zeros(len(problem.code), np.bool_)
    progress = kernel.Progress(np.array([0, kernel.ENTER, 0]), np.array([n * n]), none)
    status, bounds = kernel.PAUSED, [0]
    while status != kernel.DONE:
        bounds.append(kernel.open_bound(problem, stack, levels, hashes, progress))
        status = kernel.advance(problem, stack, levels, hashes, progress, work)
        stack = kernel.grown(stack, n) if status == kernel.FULL else stack
        assert progress.best[0] >= best
    assert bounds == sorted(bounds)
    assert bounds[-1] <= best == progress.best[0]
    assert kernel.open_bound(problem, stack, levels, hashes, progress) == best


def coded_rows(columns: Sequence[Column]) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.uint8]], list[int]]:
    places = [[99 if value is None else value for value in column] for column in columns]
    found = [np.unique(place, return_inverse=True) for place in places]
    return np.stack([codes for _, codes in found], axis=1).astype(np.uint8), [len(values) for values, _ in found]


def test_without_time_the_greedy_recoding_is_given_with_its_gap() -> None:
    dice = np.random.default_rng(1)
    frame = pl.DataFrame(np.clip(dice.normal(4, 2, (300, 3)).astype(int), 0, 7))
    greedy, best = (search(table(frame), 3, seconds=seconds) for seconds in (0, None))
    assert not greedy.proven
    assert greedy.nodes == 0
    assert greedy.bound <= best.cost < greedy.cost <= 300**2
    assert 0 < greedy.gap < 1
    assert best.proven
    assert best.gap == 0
    assert best.nodes > 1
    in_words = CutPoints(0).mask(table(frame), [KAnonymity(3)]).notes[0]
    assert f"Discernibility {greedy.cost:,}, not proven optimal" in in_words
    assert f"no recoding costs less than {greedy.bound:,}" in in_words


def test_leave_to_suppress_is_used_where_it_costs_less() -> None:
    cells = [(x, y) for x in range(5) for y in range(4)]
    rows = [cell for cell in cells[1:] for _ in range(50)] + cells[:1]  # the first cell holds one record
    microdata = table(pl.DataFrame(rows, schema=["x", "y"], orient="row"))
    forbidden, allowed, free = (search(microdata, 5, suppression=share, seconds=None) for share in (0.0, 0.002, 1.0))
    assert (forbidden.suppressed, allowed.suppressed, free.suppressed) == (0, 1, 1)
    assert allowed.cost == free.cost == 19 * 50**2 + len(rows) < forbidden.cost
    assert allowed.proven
    assert forbidden.proven


def test_sums_of_squares_of_many_records_do_not_overflow() -> None:
    counts = np.array([10**9, 10**9 - 1, 3, 2], np.int64)
    n = int(counts.sum())
    problem = cut_rows.problem_of([4], 5, n, 5)
    chosen = np.zeros(3, np.bool_)
    codes = np.arange(4, dtype=np.uint8).reshape(-1, 1)
    cost, suppressed, done = greedy_cuts.refine(problem, codes, counts, cut_rows.hashes(4), chosen, -1, 9)
    assert done
    assert (cost, suppressed) == ((10**9) ** 2 + (10**9 - 1) ** 2 + 25, 0)
    assert chosen.tolist() == [True, True, False]


# ---- paper 3's own figures

SEX = "MMFMFFFFMMFMFM"
YEAR = [1959, 1962, 1955, 1959, 1942, 1975, 1966, 1987, 1975, 1978, 1964, 1959, 1975, 1967]


def test_the_toy_of_figure_1_beats_decades() -> None:
    decades = [year // 10 for year in YEAR]
    sexes = ["FM".index(sex) for sex in SEX]
    assert slow_discernibility([tuple(sexes), tuple(decades)], 2) == (67, 3)
    microdata = table({"sex": list(SEX), "year": YEAR}, sex=Kind.NOMINAL)
    as_in_figure = search(microdata, 2, suppression=3 / 14, seconds=None)
    none_left_out = search(microdata, 2, seconds=None)
    assert as_in_figure.cost == optimum([sexes, YEAR], 2, 3) < 67
    assert none_left_out.cost == optimum([sexes, YEAR], 2, 0)
    assert none_left_out.suppressed == 0


# ---- what is shown


def test_intervals_run_from_the_least_to_the_greatest_value_found() -> None:
    age = [3, 5, 9, 20, 21, 29, 80, 81, 85]
    masked = CutPoints().mask(table({"age": age}), [KAnonymity(3)])
    assert shown(masked, "age") == ["[3;9]"] * 3 + ["[20;29]"] * 3 + ["[80;85]"] * 3
    assert masked.kept is None
    assert masked.notes[0].startswith("Discernibility 27, proven optimal: ")
    assert masked.notes[1] == "age: 3 to 9, 20 to 29, 80 to 85."


def test_suppressed_records_are_left_out() -> None:
    microdata = table({"age": [1, 1, 1, 1, 9, 5, 5, 5, 5, 5]})
    masked = CutPoints().mask(microdata, [KAnonymity(3)], suppression=0.1)
    assert masked.kept is not None
    assert masked.kept.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert set(shown(masked, "age")) == {"1", "5"}
    whole = CutPoints().mask(microdata, [KAnonymity(3)])
    assert whole.kept is None
    assert set(shown(whole, "age")) == {"1", "[5;9]"}


def test_every_kind_is_cut_in_its_order_and_read_back() -> None:
    """One attribute would do for the classes; what the others can show besides is shown."""
    frame = pl.DataFrame(
        {
            "day": [dt.date(2020, 1, d) for d in (1, 2, 30, 31)],
            "grade": pl.Series(["low", "low", "high", "mid"], dtype=pl.Enum(["low", "mid", "high"])),
            "town": ["a", "b", "c;d", "e"],
        }
    )
    microdata = table(frame, day=Kind.DATE, grade=Kind.ORDINAL, town=Kind.NOMINAL)
    masked = CutPoints().mask(microdata, [KAnonymity(2)])
    assert shown(masked, "day") == ["[2020-01-01;2020-01-02]"] * 2 + ["[2020-01-30;2020-01-31]"] * 2
    assert shown(masked, "grade") == ["low", "low", "[mid;high]", "[mid;high]"]
    assert shown(masked, "town") == ["{a;b}", "{a;b}", r"{c\;d;e}", r"{c\;d;e}"]
    assert "Column 'town' is nominal: its categories are cut in the order of their codes." in masked.notes
    for name, column in masked.columns.items():
        coded = microdata[name]
        back = read_cells(column.values(), coded.attribute, coded.values)
        places = coded.positions[coded.codes]
        assert (back.low[back.index] <= places).all()
        assert (back.high[back.index] >= places).all()


def test_missing_is_apart_where_it_can_be_and_otherwise_shown_as_anything() -> None:
    apart = CutPoints().mask(table({"x": [1, 1, 2, 2, None, None]}), [KAnonymity(2)])
    assert shown(apart, "x") == ["1", "1", "2", "2", None, None]
    assert "x: 1, 2, missing." in apart.notes
    joined = CutPoints().mask(table({"x": [1, 1, 2, 2, None]}), [KAnonymity(2)])
    assert shown(joined, "x") == ["1", "1", "*", "*", "*"]
    assert "x: 1, all other values and missing." in joined.notes


def test_columns_of_one_value_or_none_have_no_cuts() -> None:
    microdata = table({"one": [7, 7, 7], "none": pl.Series([None] * 3, dtype=pl.Int64)})
    masked = CutPoints().mask(microdata, [KAnonymity(2)])
    assert shown(masked, "one") == ["7"] * 3
    assert shown(masked, "none") == [None] * 3
    assert search(microdata, 2) == CutPointSearch({"one": (), "none": ()}, 9, 9, 0, search(microdata, 2).nodes, 0)


def test_categories_that_do_not_occur_are_neither_cut_nor_shown() -> None:
    grade = pl.Series(["b", "b", "d", "d"], dtype=pl.Enum(["a", "b", "c", "d", "e"]))
    microdata = table(pl.DataFrame({"grade": grade}), grade=Kind.ORDINAL)
    assert search(microdata, 2).cuts == {"grade": (3,)}
    assert shown(CutPoints().mask(microdata, [KAnonymity(2)]), "grade") == ["b", "b", "d", "d"]


def test_many_values_are_cut_at_quantiles_only_and_this_is_said() -> None:
    microdata = table({"x": np.append(np.arange(1000), [0] * 500 + [999] * 500)})
    assert search(microdata, 2, seconds=0).candidates == MOST_CUTS
    few = numbers([list(range(MOST_CUTS + 1)) * 2])
    assert search(few, 2).candidates == MOST_CUTS
    notes = CutPoints(0).mask(microdata, [KAnonymity(2)]).notes
    assert "Column 'x' has 1,000 values: it may be cut at 64 quantiles only, and the optimum is over these." in notes
    assert not any("quantiles" in note for note in CutPoints(0).mask(few, [KAnonymity(2)]).notes)


def test_quantiles_of_even_values_are_even() -> None:
    cuts = np.array(search(numbers([list(range(650))]), 1, seconds=None).cuts["x0"])
    assert len(cuts) == MOST_CUTS
    assert set(np.diff(cuts)) == {10}


# ---- other models


def with_illness(frame: pl.DataFrame) -> Microdata:
    illness = Attribute("illness", frozenset({Role.CONFIDENTIAL}), Kind.NOMINAL)
    return Microdata(frame, Schema((Attribute("age", QUASI, Kind.NUMERIC), illness)))


def test_no_class_is_left_out_for_what_it_holds() -> None:
    microdata = with_illness(pl.DataFrame({"age": [1] * 4 + [2] * 2, "illness": list("abcdee")}))
    masked = CutPoints().mask(microdata, [KAnonymity(2), LDiversity(2, "illness")], suppression=0.4)
    assert masked.kept is None


class AtLeast(LDiversity):
    """Any model that says how large a class must be at least."""

    @property
    def smallest_class(self) -> int:
        return 4


def test_a_model_can_say_how_large_classes_must_be() -> None:
    microdata = with_illness(pl.DataFrame({"age": [1, 1, 2, 2, 3, 3, 4, 4], "illness": list("abcdefgh")}))
    masked = CutPoints().mask(microdata, [KAnonymity(2), AtLeast(1, "illness")])
    assert class_sizes(masked) == [4, 4]


# ---- input


@pytest.mark.parametrize("seconds", [-1, "30", True, float("nan")])
def test_seconds_are_a_number_from_zero_on(seconds: object) -> None:
    with pytest.raises(InputError, match="'seconds' parameter of cut-points must be a number of at least 0"):
        CutPoints(seconds)  # type: ignore[arg-type]


def test_a_k_that_the_table_cannot_give_is_refused() -> None:
    with pytest.raises(InputError, match="k = 4 is larger than the table's 3 records"):
        CutPoints().mask(table({"x": [1, 2, 3]}), [KAnonymity(4)])
    with pytest.raises(InputError, match="k = 0 cannot be had of a table of 3 records"):
        search(table({"x": [1, 2, 3]}), 0)
    with pytest.raises(InputError, match="'suppression' parameter of cut-points must be a share from 0 to 1"):
        search(table({"x": [1, 2, 3]}), 2, suppression=2)


# ---- real tables


def test_generated_discharges_in_five_thousand_rows() -> None:
    frame = discharges(5_000, seed=1).select("age_yrs", "sex", "los")
    microdata = table(frame, sex=Kind.NOMINAL)
    masked = CutPoints(1.0).mask(microdata, [KAnonymity(5)], suppression=0.02)
    left_out = 0 if masked.kept is None else 5_000 - len(masked.kept)
    sizes = np.array(class_sizes(masked))
    assert sizes.min() >= 5
    assert left_out <= 100
    assert discernibility(sizes, left_out) <= search(microdata, 5, suppression=0.02, seconds=0).cost


EDUCATION = (
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors "
    "Masters Prof-school Doctorate"
)


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="SHOAL_DATA names no folder of real data")
def test_age_sex_and_education_of_adult_are_cut_at_the_proven_optimum() -> None:
    frame = pl.read_csv(Path(os.environ["SHOAL_DATA"]) / "adult" / "adult.csv", separator=";")
    frame = frame.select("age", "sex", pl.col("education").cast(pl.Enum(EDUCATION.split())))
    found = search(table(frame, sex=Kind.NOMINAL, education=Kind.ORDINAL), 5, seconds=None)
    assert (found.cost, found.suppressed, found.proven) == (3_949_132, 0, True)
