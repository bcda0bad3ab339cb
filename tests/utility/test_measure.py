"""The utility facade: paired or not, any masks."""

from __future__ import annotations

import datetime as dt
import json
from io import StringIO

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from shoal.data.microdata import encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Role, Schema
from shoal.errors import InputError
from shoal.utility.pairing import admits
from shoal.utility.tables import assess_utility
from tests.oracles import measures as oracle

QUASI = oracle.TABLE_S2.columns[:8]


def schema_of(kinds: dict[str, Kind]) -> Schema:
    return Schema(tuple(Attribute(n, frozenset({Role.QUASI_IDENTIFIER}), k) for n, k in kinds.items()))


PATIENTS = schema_of(dict.fromkeys(QUASI, Kind.NUMERIC))


# ---- the paper's example


def test_table_s6_in_the_order_of_table_s2() -> None:
    utility = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6, PATIENTS)
    assert utility.paired
    assert utility.information_loss == pytest.approx(0.530513, abs=1e-6)
    assert utility.information_loss_rms == pytest.approx(0.530513 * 8 / np.sqrt(8), abs=1e-5)
    assert utility.discernibility == 18
    assert utility.average_class_size == 3.0
    assert utility.attribute_loss["age"] == pytest.approx(
        np.mean([10, 17, 17, 13, 13, 9]) / oracle.deviation(oracle.TABLE_S2["age"].to_list())
    )
    middles = [43.5] * 3 + [63.5] * 3
    shift = abs(np.mean(middles) - oracle.TABLE_S2["age"].mean())  # type: ignore[operator]
    assert utility.mean_shift["age"] == pytest.approx(shift / 12.76584, abs=1e-6)
    assert utility.left_out == {}


def test_correlations_are_those_of_values_and_midpoints() -> None:
    pairs = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6, PATIENTS).correlations.pairs()
    found = pairs.filter(attribute="age", other="los").row(0)
    assert found[2] == pytest.approx(oracle.pearson(oracle.TABLE_S2["age"].to_list(), oracle.TABLE_S2["los"].to_list()))
    assert found[3] == pytest.approx(-1.0)


def test_nothing_masked_nothing_lost() -> None:
    utility = assess_utility(oracle.TABLE_S2, oracle.TABLE_S2, PATIENTS)
    assert utility.information_loss == 0.0
    assert utility.correlation_agreement == pytest.approx(1.0)
    assert utility.mean_shift_average == 0.0
    assert utility.discernibility == 6


# ---- pairing


def test_a_shuffled_release_keeps_the_measures_that_need_no_pairing() -> None:
    shuffled = oracle.TABLE_S6.reverse()
    utility = assess_utility(oracle.TABLE_S2, shuffled, PATIENTS)
    paired = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6, PATIENTS)
    assert not utility.paired
    assert utility.information_loss is None
    assert utility.attribute_loss == {}
    assert "record 1 of the masked table does not admit the original 'age'" in utility.left_out["information_loss"]
    assert utility.discernibility == paired.discernibility
    assert utility.correlation_agreement == pytest.approx(paired.correlation_agreement)
    assert utility.mean_shift == pytest.approx(paired.mean_shift)


def test_suppressed_records_break_the_pairing_and_count() -> None:
    utility = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6[:3], PATIENTS)
    assert utility.suppressed == 3
    assert utility.discernibility == 9 + 6 * 3
    assert utility.average_class_size == 3.0
    assert "6 records, the masked table 3" in utility.left_out["information_loss"]


def test_the_user_may_know_better() -> None:
    noisy = oracle.TABLE_S2.with_columns(pl.col("age") + 1)
    assert assess_utility(oracle.TABLE_S2, noisy, PATIENTS).information_loss is None
    declared = assess_utility(oracle.TABLE_S2, noisy, PATIENTS, paired=True)
    assert declared.information_loss == pytest.approx(1 / 12.76584 / 8, abs=1e-6)
    undeclared = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6, PATIENTS, paired=False)
    why = "the tables were declared not to be paired"
    assert undeclared.left_out == {"information_loss": why, "separation_loss": why}
    with pytest.raises(InputError, match="cannot be paired"):
        assess_utility(oracle.TABLE_S2, oracle.TABLE_S6[:3], PATIENTS, paired=True)


NUMBER_CELLS = {
    "3": {3},
    "[2;5]": {2, 3, 4, 5},
    "{1;2;7}": {1, 2, 7},
    "{0;9}": {0, 9},
    "[10;20]": set(),
    "*": {*range(10), None},
    None: {None},
}
LABEL_CELLS = {
    "b": {"b"},
    "{a;c}": {"a", "c"},
    "{a;b;d;e}": {"a", "b", "d", "e"},
    "z": set(),
    "*": {*"abcde", None},
    None: {None},
}


@pytest.mark.parametrize(
    ("cells", "values", "kind"),
    [(NUMBER_CELLS, list(range(10)), Kind.NUMERIC), (LABEL_CELLS, list("abcde"), Kind.NOMINAL)],
)
@given(data=st.data())
def test_a_cell_admits_just_the_values_of_its_set(
    cells: dict[str | None, set[object]], values: list[object], kind: Kind, data: st.DataObject
) -> None:
    """Also where some values do not occur in the original, so that a set has gaps or nothing to admit."""
    pair = st.tuples(st.sampled_from([*values, None]), st.sampled_from(list(cells)))
    pairs = data.draw(st.lists(pair, min_size=1, max_size=20))
    dtype = pl.Int64 if kind is Kind.NUMERIC else pl.String
    attribute = Attribute("x", frozenset(), kind)
    coded = encode(pl.Series("x", [value for value, _ in pairs], dtype=dtype), attribute)
    column = read_cells(pl.Series("x", [cell for _, cell in pairs], dtype=pl.String), attribute, coded.values)
    assert admits(column, coded).tolist() == [value in cells[cell] for value, cell in pairs]


def test_dates_and_neighbouring_64_bit_numbers_are_told_apart() -> None:
    big = 2**60
    original = pl.DataFrame(
        {"born": [dt.date(2000, 1, 1), dt.date(2001, 1, 1)], "number": [big, big + 1], "ok": [True, False]}
    )
    schema = schema_of({"born": Kind.DATE, "number": Kind.NUMERIC, "ok": Kind.NOMINAL})
    release = pl.DataFrame(
        {"born": ["[1999-12-31;2000-01-01]", "2001-01-01"], "number": [big, big + 1], "ok": ["true", "*"]}
    )
    assert assess_utility(original, release, schema).paired
    swapped = release.with_columns(pl.col("number").reverse())
    assert not assess_utility(original, swapped, schema).paired


# ---- everyday tables


def test_two_attributes_have_no_agreement_and_the_reason_is_given() -> None:
    utility = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6, schema_of({"age": Kind.NUMERIC, "los": Kind.NUMERIC}))
    assert utility.correlation_agreement is None
    assert "three attributes" in utility.left_out["correlation_agreement"]


def test_categories_without_order_have_no_mean() -> None:
    frame = pl.DataFrame({"c": ["a", "b", "a"], "x": [1, 2, 9]})
    utility = assess_utility(frame, frame, schema_of({"c": Kind.NOMINAL, "x": Kind.NUMERIC}))
    assert utility.mean_shift == {"c": None, "x": 0.0}


def test_an_attribute_that_is_wiped_out_has_no_mean_left() -> None:
    frame = pl.DataFrame({"x": [1, 2, 9], "y": [1, 1, 1]})
    wiped = pl.DataFrame({"x": ["*"] * 3, "y": ["1"] * 3})
    utility = assess_utility(frame, wiped, schema_of({"x": Kind.NUMERIC, "y": Kind.NUMERIC}))
    assert utility.paired
    assert utility.mean_shift == {"x": None, "y": 0.0}
    assert utility.information_loss is not None
    assert utility.information_loss > 0


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="No quasi-identifier is named"):
        assess_utility(oracle.TABLE_S2, oracle.TABLE_S6, Schema(()))
    with pytest.raises(InputError, match="The masked table has no column 'age'"):
        assess_utility(oracle.TABLE_S2, oracle.TABLE_S6.drop("age"), PATIENTS)
    with pytest.raises(InputError, match="The original table has no records"):
        assess_utility(oracle.TABLE_S2.clear(), oracle.TABLE_S6, PATIENTS)
    with pytest.raises(InputError, match="'oops'"):
        assess_utility(oracle.TABLE_S2, oracle.TABLE_S6.with_columns(age=pl.lit("oops")), PATIENTS)


# ---- showing


def test_it_prints_within_80_columns_and_is_json() -> None:
    utility = assess_utility(oracle.TABLE_S2, oracle.TABLE_S6.reverse(), PATIENTS)
    console = Console(width=80, record=True, file=StringIO())
    console.print(utility)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "Left out" in text
    assert "<table>" in utility._repr_html_()
    again = json.loads(json.dumps(utility.to_dict(), allow_nan=False))
    assert again["information_loss"] is None
    assert len(again["correlations"]) == 28
    assert again["higher_is"]["correlation_agreement"] == "better"
