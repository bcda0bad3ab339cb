"""The utility of a release on an engine is the one found in memory of the same two tables, unpaired."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.assess import known_of, measured
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.table import Batch, Table
from shoal.errors import InputError
from shoal.measure import Measured
from shoal.utility import tables
from shoal.utility.measure import Utility
from shoal.utility.placed import read_tables
from shoal.utility.statistics import Multiply


def compare_tables(original: Table, masked: Table, chosen: shoal.Policy, **known: bool) -> Utility:
    return tables.compare_tables(known_of(original, chosen), masked, **known)


def measured_tables(
    original: Table, masked: Table, chosen: shoal.Policy, names: Sequence[str] = ("all",), **known: bool
) -> Measured:
    return tables.measured_tables(known_of(original, chosen), masked, names, **known)


QUASI = ["age_yrs", "sex", "patzip", "los", "admitted", "severity", "place"]
SEVERITY = ["mild", "moderate", "severe"]
MEASURED = [
    "mean_difference",
    "covariance_difference",
    "correlation_difference",
    "principal_components",
    "regression_coefficients",
    "marginals_1way",
    "marginals_2way",
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 300)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 170)


def policy(*quasi: str, **choices: object) -> shoal.Policy:
    described: dict[str, object] = {name: {"kind": "numeric"} for name in ("sex", "patzip") if name in (quasi or QUASI)}
    described |= {"severity": {"kind": "ordinal", "domain": SEVERITY}} if not quasi else {}
    stated = {"quasi_identifiers": quasi or QUASI, "confidential": ["charge"], "attributes": described}
    return shoal.Policy(**{**stated, **choices})


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Numbers, dates, ordered and other categories, and missing values."""
    drawn = np.random.default_rng(2)
    frame = discharges(1500, seed=4)
    days = drawn.integers(0, 400, len(frame))
    return frame.with_columns(
        admitted=pl.lit(dt.date(2024, 1, 1)) + pl.duration(days=pl.Series(days)),
        severity=pl.Series(drawn.choice(SEVERITY, len(frame))),
        place=pl.Series(drawn.choice(["city", "town", "rural", ""], len(frame))).replace("", None),
        los=pl.when(pl.col("los") > 9).then(None).otherwise(pl.col("los").cast(pl.Float64) * 1.5),
        age_yrs=pl.when(pl.Series(drawn.random(len(frame)) < 0.05)).then(None).otherwise("age_yrs"),
    )


def masked_by(table: pl.DataFrame, chosen: shoal.Policy, **more: object) -> pl.DataFrame:
    return shoal.anonymize(table, chosen.model_copy(update=more), seed=1).table


def same_utility(table: pl.DataFrame, masked: pl.DataFrame, chosen: shoal.Policy) -> None:
    expected = shoal.utility(table, masked, chosen, paired=False).to_dict()
    with Disk() as disk:
        found = compare_tables(disk.table(table.lazy()), disk.table(masked.lazy()), chosen).to_dict()
    assert list(found) == [*expected, "engine"]
    for name in ("records", "suppressed", "paired", "information_loss", "attribute_loss", "discernibility"):
        assert found[name] == expected[name], name
    for name in (
        "average_class_size",
        "correlation_agreement",
        "correlations",
        "mean_shift",
        "mean_shift_by_attribute",
    ):
        assert close(found[name], expected[name]), name
    assert set(found["left_out"]) == set(expected["left_out"])  # type: ignore[call-overload]


def close(found: object, expected: object) -> bool:
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        return set(found) == set(expected) and all(close(found[name], value) for name, value in expected.items())
    if isinstance(expected, list):
        assert isinstance(found, list)
        return len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-10)
    return found == expected


def same_measures(table: pl.DataFrame, masked: pl.DataFrame, chosen: shoal.Policy) -> shoal.measure.Measured:
    expected = measured(table, masked, chosen, "utility", MEASURED, paired=False)
    with Disk() as disk:
        found = measured_tables(disk.table(table.lazy()), disk.table(masked.lazy()), chosen, MEASURED)
    assert close(found.values, expected.values)
    assert found.left_out == expected.left_out
    return found


MASKINGS = {
    "grouped": {},
    "noise": {"method": shoal.Noise(0.3), "models": [shoal.MeasuredRisk(1.0)]},
}


@pytest.mark.parametrize("how", MASKINGS)
def test_a_release_of_every_kind_of_attribute(table: pl.DataFrame, how: str) -> None:
    chosen = policy() if how == "grouped" else policy("age_yrs", "sex", "los", "patzip")
    masked = masked_by(table, chosen, **MASKINGS[how])
    same_utility(table, masked, chosen)
    same_utility(table, masked.head(1100), chosen)  # the others suppressed
    assert len(same_measures(table, masked, chosen).values) == len(MEASURED)


def test_open_ends_wildcards_sets_and_missing_cells_count_as_in_memory() -> None:
    table = pl.DataFrame({"a": [1, 5, 80, 86, 87, 91], "b": ["x", "y", "z", "x", "y", None], "c": [1, 2, 3, 4, 5, 7]})
    masked = pl.DataFrame(
        {
            "a": ["[1;5]", "*", "85+", "85+", "[80;99]", None],
            "b": ["{x;y}", "*", "z", "x", None, "w"],
            "c": ["1", "2", "[3;4]", "[3;4]", "7", "5"],
        }
    )
    same_utility(table, masked, policy("a", "b", "c", confidential=[]))
    same_measures(table, masked, policy("a", "b", "c", confidential=[]))


@given(st.data())
def test_any_two_small_tables(data: st.DataObject) -> None:
    def drawn() -> pl.DataFrame:
        cells = st.tuples(
            st.one_of(st.none(), st.integers(-5, 40)),
            st.one_of(st.none(), st.sampled_from([0.5, 1.0, 1e6, float("nan")])),
            st.sampled_from(["u", "v", "w"]),
        )
        rows = data.draw(st.lists(cells, min_size=1, max_size=40))
        return pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Float64, "c d": pl.String}, orient="row")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.engines.disk.BATCH", 7)
        chosen = policy("a", "b", "c d", confidential=[])
        table, masked = drawn(), drawn()
        same_utility(table, masked, chosen)
        same_measures(table, masked, chosen)


def test_values_too_many_to_list_are_placed_batch_by_batch(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = policy("age_yrs", "patzip", "admitted")
    masked = masked_by(table, chosen)
    monkeypatch.setattr("shoal.engines.whole.LISTED", 60)
    same_utility(table, masked, chosen)
    with Disk() as disk:
        found = measured_tables(disk.table(table.lazy()), disk.table(masked.lazy()), chosen, MEASURED)
    assert found.values == {}
    assert "'age_yrs' has more than" in found.left_out["marginals_1way"]


def test_what_compares_single_records_is_left_out_by_name(table: pl.DataFrame) -> None:
    chosen = policy("age_yrs", "sex")
    with Disk() as disk:
        source = disk.table(table.lazy())
        found = measured_tables(source, source, chosen)
    assert set(found.values) == {*MEASURED, *DRAWN}
    assert found.left_out == {"sse": tables.UNPAIRED}
    assert max(found.values.values()) == pytest.approx(0.0, abs=1e-12)


DRAWN = ["earth_movers_distance", "pmse", "pmse_ratio"]


@pytest.mark.parametrize("how", MASKINGS)
def test_what_looks_at_records_of_both_tables_is_measured_on_some_drawn_evenly(
    table: pl.DataFrame, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = policy() if how == "grouped" else policy("age_yrs", "sex", "los", "patzip")
    masked = masked_by(table, chosen, **MASKINGS[how])
    expected = measured(table, masked, chosen, "utility", DRAWN, paired=False)
    with Disk() as disk:
        source, shown = disk.table(table.lazy()), disk.table(masked.lazy())
        all_records = measured_tables(source, shown, chosen, DRAWN)
        monkeypatch.setattr("shoal.engines.whole.SAMPLE", 600)
        monkeypatch.setattr(tables, "SAMPLE", 600)
        some = measured_tables(source, shown, chosen, DRAWN)
    assert close(all_records.values, expected.values)
    assert all_records.how == {}
    assert set(some.how.values()) == {"of 600 records of each table, drawn evenly"}
    assert some.values["pmse"] == pytest.approx(expected.values["pmse"], abs=0.05)


@pytest.mark.parametrize("how", MASKINGS)
def test_tables_in_the_same_order_are_paired_on_disk(table: pl.DataFrame, how: str) -> None:
    chosen = policy() if how == "grouped" else policy("age_yrs", "sex", "los", "patzip")
    masked = masked_by(table, chosen, **MASKINGS[how])
    expected = shoal.utility(table, masked, chosen, paired=True).to_dict()
    with Disk() as disk:
        source, shown = disk.table(table.lazy()), disk.table(masked.lazy())
        utility = compare_tables(source, shown, chosen, paired=True).to_dict()
        error = measured_tables(source, shown, chosen, ["sse"], paired=True)
        with pytest.raises(InputError, match="cannot be paired: the original has 1,500 records, the release 7"):
            compare_tables(source, disk.table(masked.head(7).lazy()), chosen, paired=True)
    for name in ("paired", "information_loss", "separation_loss_by_attribute", "attribute_loss", "left_out"):
        assert close(utility[name], expected[name]), name
    assert close(error.values, measured(table, masked, chosen, "utility", ["sse"], paired=True).values)


@pytest.mark.parametrize("how", MASKINGS)
def test_values_within_a_few_ranks_of_their_masked_ones_are_counted_beside_their_originals(
    table: pl.DataFrame, how: str
) -> None:
    chosen = policy() if how == "grouped" else policy("age_yrs", "sex", "los", "patzip")
    masked = masked_by(table, chosen, **MASKINGS[how])
    names = ["interval_disclosure", "correct_links", "rank_linkage"]
    expected = measured(table, masked, chosen, "risk", names[:1], paired=True).values
    with Disk() as disk:
        both = known_of(disk.table(table.lazy()), chosen), disk.table(masked.lazy())
        found = tables.measured_tables(*both, names, "risk", paired=True)
        unpaired = tables.measured_tables(*both, names[:1], "risk")
    assert 0.0 < expected["interval_disclosure"] < 1.0
    assert close(found.values, expected)
    why = "It looks for each record among all others, all at once: measure it in memory."
    assert found.left_out == dict.fromkeys(names[1:], why)
    assert unpaired.left_out == {"interval_disclosure": tables.UNPAIRED}


def test_tables_that_cannot_be_compared_are_refused(table: pl.DataFrame) -> None:
    with Disk() as disk:
        source, empty = disk.table(table.lazy()), disk.table(table.clear().lazy())
        with pytest.raises(InputError, match=re.escape("The masked table has no column 'sex'")):
            compare_tables(source, disk.table(table.rename({"sex": "sexes"}).lazy()), policy("sex"))
        with pytest.raises(InputError, match="The masked table has no records"):
            compare_tables(source, empty, policy("sex"))
        with pytest.raises(InputError, match="no records"):
            compare_tables(empty, source, policy("sex"))


def test_all_works_travel(table: pl.DataFrame) -> None:
    with Disk() as disk:
        source = disk.table(table.lazy())
        both = read_tables(known_of(source, policy()), source)
        columns = [both.placed(name)[1] for name in both.quasi]
        work = Multiply(tuple(columns))
    again = pickle.loads(pickle.dumps(work))(Batch(table, 0))
    assert np.array_equal(again.products, work(Batch(table, 0)).products)
