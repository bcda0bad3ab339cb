"""Prosecutor, journalist and marketer on the paper's toy databases and on real crashes; the guideline (paper 3)."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path
from statistics import mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.privacy import KAnonymity
from shoal.privacy.check import classes_of
from shoal.privacy.k_map import KMap
from shoal.risk.guideline import Recommendation, recommend
from shoal.risk.scenarios import scenarios
from shoal.utility.discernibility import discernibility

QUASI = frozenset({Role.QUASI_IDENTIFIER})
SCHEMA = Schema((Attribute("sex", QUASI, Kind.NOMINAL), Attribute("born", QUASI, Kind.NUMERIC)))
KINDS = {attribute.name: attribute.kind for attribute in SCHEMA}

# The paper's Figure 1: the first 14 are the table to disclose, all 31 the identification database.
PEOPLE = """M1959 M1962 F1955 M1959 F1942 F1975 F1966 F1987 M1975 M1978 F1964 M1959 F1975 M1967
            M1961 M1974 F1978 F1961 F1968 M1973 F1966 M1967 M1971 F1974 F1977 M1968 M1954 F1952 F1956 F1988 F1941"""
DATABASE = pl.DataFrame([{"sex": p[0], "born": int(p[1:])} for p in PEOPLE.split()])
TABLE = DATABASE[:14]


def bands(table: pl.DataFrame, years: int) -> pl.DataFrame:
    """Years of birth in bands; `id` counts from 1 as in the paper."""
    first = pl.col("born") // years * years
    band = pl.format("[{};{}]", first, first + years - 1).alias("born")
    return table.select("sex", band).with_row_index("id", offset=1)


def of_at_least(table: pl.DataFrame, k: int) -> pl.DataFrame:
    return table.filter(pl.len().over("sex", "born") >= k)


def sizes(table: pl.DataFrame) -> np.ndarray:
    return classes_of(table, ["sex", "born"], KINDS).sizes


def suppressed(table: pl.DataFrame, kept: pl.DataFrame) -> set[int]:
    return set(table["id"]) - set(kept["id"])


# ---- Figures 1 and 2


def test_two_anonymization_of_figure_1_halves_the_risk_that_was_accepted() -> None:
    table = bands(TABLE, 10)
    kept = of_at_least(table, 2)
    found = scenarios(kept, SCHEMA, population=DATABASE)
    assert suppressed(table, kept) == {3, 5, 8}
    assert found.prosecutor.highest == 0.5
    assert found.journalist is not None
    assert found.journalist.highest == 0.25
    assert found.journalist.records_above == 3
    assert found.journalist.average == found.marketer == pytest.approx((3 / 4 + 8 / 5) / 11)
    assert found.classes_beyond_population == 0
    verdict = KMap(2, population=DATABASE).verdict(classes_of(kept, ["sex", "born"], KINDS))
    assert (verdict.achieved, verdict.holds) == (4, True)


def test_two_map_of_figure_2_keeps_everybody_in_bands_of_five_years() -> None:
    table = bands(TABLE, 5)
    found = scenarios(table, SCHEMA, population=DATABASE)
    assert found.records == 14
    assert found.prosecutor.highest == 1.0
    assert found.journalist is not None
    assert found.journalist.highest == 0.5
    verdict = KMap(2, population=DATABASE).verdict(classes_of(table, ["sex", "born"], KINDS))
    assert (verdict.achieved, verdict.holds) == (2, True)
    database = bands(DATABASE, 5)
    assert suppressed(database, of_at_least(database, 2)) == {24, 27, 28}
    assert len(suppressed(table, of_at_least(table, 2))) == 7


def test_discernibility_of_the_figures() -> None:
    decades, halves = bands(TABLE, 10), bands(TABLE, 5)
    assert discernibility(sizes(of_at_least(decades, 2)), suppressed=3) == 67
    assert discernibility(sizes(halves)) == 24
    assert discernibility(sizes(of_at_least(halves, 2)), suppressed=7) == 115


# ---- what is known of the population


def test_without_a_population_the_prosecutor_bounds_all() -> None:
    found = scenarios(bands(TABLE, 10), SCHEMA)
    assert (found.journalist, found.basis) == (None, None)
    assert found.marketer == found.prosecutor.average == pytest.approx(8 / 14)
    assert found.prosecutor.records_above == 14


@given(st.lists(st.integers(0, 8), min_size=1, max_size=80), st.floats(0.01, 1.0))
def test_the_journalist_never_does_better_than_the_prosecutor(rows: list[int], fraction: float) -> None:
    schema = Schema((Attribute("x", QUASI, Kind.NUMERIC),))
    found = scenarios(pl.DataFrame({"x": rows}), schema, fraction=fraction)
    assert found.journalist is not None
    assert found.journalist.highest <= found.prosecutor.highest
    assert found.journalist.average <= found.prosecutor.average * (1 + 1e-12)
    assert found.journalist.records_above <= found.prosecutor.records_above
    if fraction == 1.0:
        assert found.journalist.highest == found.prosecutor.highest


def test_records_above_the_threshold_are_those_that_d4_does_not_vouch_for() -> None:
    rows = [label for label, size in enumerate((2, 3, 4, 9)) for _ in range(size)]
    schema = Schema((Attribute("x", QUASI, Kind.NUMERIC),))
    found = scenarios(pl.DataFrame({"x": rows}), schema, fraction=0.1, threshold=0.2)
    assert KMap(5, 0.1).smallest_class == 3
    assert found.journalist is not None
    assert found.journalist.records_above == 2
    assert found.prosecutor.records_above == 9
    assert found.population_uniques is not None


def test_sampling_weights_give_each_class_its_own_fraction() -> None:
    """francdat: four keys and a weight; the mean of the known individual risks."""
    francdat = pl.DataFrame(
        {
            "a": [1, 1, 1, 3, 4, 4, 6, 1],
            "b": [2, 2, 2, 3, 3, 3, 2, 2],
            "c": [5, 1, 1, 1, 1, 1, 1, 5],
            "d": [1, 1, 1, 5, 4, 1, 5, 1],
            "w": [18.0, 45.5, 39, 17, 541, 8, 5, 92],
        }
    )
    schema = Schema(tuple(Attribute(name, QUASI, Kind.NUMERIC) for name in "abcd"))
    found = scenarios(francdat, schema, weights="w")
    known = [0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426]
    assert found.journalist is not None
    assert found.journalist.average == pytest.approx(mean(known), abs=1e-8)
    assert found.basis == "sampling weights"


def test_a_population_that_lacks_people_of_the_table_is_told() -> None:
    found = scenarios(bands(TABLE, 10), SCHEMA, population=DATABASE[14:])
    assert found.classes_beyond_population == 1
    assert found.journalist is not None
    assert found.journalist.highest <= found.prosecutor.highest


def test_an_empty_release_gives_nobody_a_chance() -> None:
    nothing = bands(TABLE, 10).clear()
    for known in ({}, {"population": DATABASE}, {"fraction": 0.1}):
        found = scenarios(nothing, SCHEMA, **known)  # type: ignore[arg-type]
        assert (found.prosecutor.highest, found.marketer) == (0.0, 0.0)


def test_results_are_for_machines_and_for_people() -> None:
    found = scenarios(bands(TABLE, 10), SCHEMA, fraction=0.3)
    content = found.to_dict()
    assert content["prosecutor"] == {"highest": 1.0, "average": pytest.approx(8 / 14), "records_above": 14}
    assert content["basis"] == "sampling fraction"
    console = Console(width=80, file=StringIO())
    console.print(found)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for word in ("prosecutor", "journalist", "marketer", "above 0.2", "pitman", "chosen"):
        assert word in shown
    assert "journalist" in found._repr_html_()


@pytest.mark.parametrize(
    ("choices", "fault"),
    [
        ({"population": DATABASE, "fraction": 0.1}, "only one"),
        ({"fraction": 1.5}, "'fraction'"),
        ({"threshold": 5}, "'threshold'"),
        ({"weights": "sexx"}, "Did you mean 'sex'"),
        ({"weights": "sex"}, "weights"),
        ({"population": DATABASE.drop("born")}, "no column 'born'"),
    ],
)
def test_what_cannot_be_is_refused(choices: dict[str, object], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        scenarios(bands(TABLE, 10), SCHEMA, **choices)  # type: ignore[arg-type]


def test_a_table_without_quasi_identifiers_is_refused() -> None:
    with pytest.raises(InputError, match="No quasi-identifier"):
        scenarios(TABLE, Schema(()))
    with pytest.raises(InputError, match="no column 'born'"):
        scenarios(TABLE.drop("born"), SCHEMA)


# ---- the paper's finding, on real crashes

FARS = Path(os.environ.get("SHOAL_DATA", "")) / "fars" / "fars.csv"


@pytest.mark.skipif(not os.environ.get("SHOAL_DATA"), reason="SHOAL_DATA does not name the folder of real data sets")
def test_on_real_crashes_d4_keeps_the_risk_where_d2_and_d3_do_not() -> None:
    columns = ("iage", "isex", "irace")
    people = pl.read_csv(FARS, separator=";").select(columns)
    schema = Schema(tuple(Attribute(name, QUASI, Kind.NUMERIC) for name in columns))
    assert people.unique().height == 1735
    risk = {pi: dict.fromkeys(("D1", "D2", "D3", "D4"), 0.0) for pi in (0.1, 0.2, 0.3, 0.9)}
    for pi in risk:
        least = {
            "D1": 5,
            "D2": KMap(5, pi, "individual").smallest_class,
            "D3": KMap(5, pi, "poisson").smallest_class,
            "D4": KMap(5, pi).smallest_class,
        }
        samples = [people.sample(fraction=pi, seed=seed) for seed in range(4)]
        for name, smallest in least.items():
            released = [sample.filter(pl.len().over(columns) >= smallest) for sample in samples]
            found = [scenarios(table, schema, population=people).journalist for table in released]
            risk[pi][name] = mean(chance.highest for chance in found if chance is not None)
    for pi in (0.1, 0.2):
        assert risk[pi]["D1"] <= risk[pi]["D4"] <= risk[pi]["D3"] <= risk[pi]["D2"]
        assert risk[pi]["D1"] < 0.15
        assert risk[pi]["D2"] > 0.4
        assert risk[pi]["D3"] > 0.2
    assert all(risk[pi]["D4"] <= 0.25 for pi in (0.1, 0.2, 0.3))
    assert all(value == pytest.approx(0.2, abs=0.01) for value in risk[0.9].values())


# ---- the guideline

NONE = {"whole_population": False, "membership_known": False, "subjects_tell": False}


@pytest.mark.parametrize("sign", ["whole_population", "large_fraction", "membership_known", "subjects_tell"])
def test_any_way_to_be_sure_asks_for_k_anonymity(sign: str) -> None:
    advice = recommend(**(NONE | {sign: True}), fraction=0.1, database=True)
    assert (advice.scenario, advice.model, advice.k, advice.smallest_class) == ("prosecutor", "k-anonymity", 5, 5)
    assert advice.promise == KAnonymity(5)
    assert len(advice.reasons) == 2


def test_otherwise_d4_decides() -> None:
    advice = recommend(**NONE, fraction=0.1)
    assert (advice.scenario, advice.model, advice.k_prime, advice.smallest_class) == ("journalist", "k-map", 3, 3)
    assert advice.promise == KMap(5, 0.1)
    assert recommend(**NONE, fraction=0.1, risk=0.1).smallest_class == KMap(10, 0.1).smallest_class == 4


def test_a_large_fraction_needs_no_rule_of_its_own_but_a_warning() -> None:
    advice = recommend(**NONE, fraction=0.6)
    assert (advice.k_prime, advice.smallest_class) == (6, 5)
    assert "half" in advice.warnings[0]
    assert not recommend(**NONE, fraction=0.4).warnings


def test_with_the_database_at_hand_people_are_counted() -> None:
    advice = recommend(**NONE, database=True)
    assert (advice.scenario, advice.model, advice.smallest_class, advice.promise) == ("journalist", "k-map", None, None)


def test_where_nothing_is_known_of_the_population_k_records_must_do() -> None:
    advice = recommend(**NONE)
    assert (advice.scenario, advice.model, advice.smallest_class) == ("journalist", "k-anonymity", 5)


def test_a_fraction_of_one_is_the_whole_population() -> None:
    assert recommend(**NONE, fraction=1.0).scenario == "prosecutor"


@pytest.mark.parametrize(("risk", "k"), [(0.5, 2), (0.33, 4), (0.2, 5), (0.1, 10), (0.09, 12), (0.05, 20), (0.9, 2)])
def test_k_follows_from_the_risk_accepted(risk: float, k: int) -> None:
    assert recommend(**NONE, risk=risk).k == k


def test_the_recommendation_can_be_read() -> None:
    advice = recommend(**NONE, fraction=0.1)
    assert str(advice).startswith("Expect a journalist: promise k-map with k = 5, in classes of 3 records or more.")
    assert isinstance(advice, Recommendation)
    assert advice.to_dict()["k_prime"] == 3


def test_a_risk_of_one_is_no_promise() -> None:
    with pytest.raises(InputError, match="'risk'"):
        recommend(**NONE, risk=1.0)
