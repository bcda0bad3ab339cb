"""Attribute disclosure, Eq. 5."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.schema import Attribute, Kind, Role
from shoal.errors import InputError
from shoal.risk.disclosure import attribute_disclosure, condition_family, disclosure_by_value
from tests.oracles import measures as oracle

QUASI = ["age", "sex", "ethnicity", "race", "zip", "county", "quarter", "los"]


def confidential(name: str, kind: Kind) -> Attribute:
    return Attribute(name, frozenset({Role.CONFIDENTIAL}), kind)


# ---- the paper's examples (docs/spec.md#attribute-disclosure)


@pytest.mark.parametrize(
    ("condition", "risk"),
    [
        ("charge > 100000", 0.75),
        ("diagnosis like '%Cancer'", 1.0),
        ("diagnosis in ('Breast Cancer', 'Kidney Cancer', 'Stomach Cancer')", 1.0),
        ("diagnosis = 'Pneumonia'", 0.0),
        ("charge > 100000 and diagnosis like '%Cancer'", 0.0),
    ],
)
def test_table_s6(condition: str, risk: float) -> None:
    assert attribute_disclosure(oracle.TABLE_S6, QUASI, condition).risk == risk


def test_on_unmasked_data_every_unique_record_is_exposed() -> None:
    assert attribute_disclosure(oracle.TABLE_S2, QUASI, "charge > 100000").risk == 1.0


def test_a_condition_that_nobody_satisfies_has_no_risk_and_says_so() -> None:
    found = attribute_disclosure(oracle.TABLE_S6, QUASI, "charge > 9000000")
    assert found.risk == 0.0
    assert found.nobody
    assert not attribute_disclosure(oracle.TABLE_S6, QUASI, "diagnosis = 'Necrosis'").nobody


# ---- against the definition

records = st.lists(
    st.tuples(
        st.sampled_from(["[1;2]", "3", None]),
        st.sampled_from([1.0, float("nan"), None]),
        st.one_of(st.none(), st.just(float("nan")), st.integers(0, 6).map(float)),
        st.sampled_from(["a", "b'c", None]),
    ),
    min_size=1,
    max_size=25,
)


def table(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    schema = {"q": pl.String, "r": pl.Float64, "charge": pl.Float64, "diag": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row", strict=False)


def missing_as_none(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [tuple(None if value != value else value for value in row) for row in rows]


@given(records, st.integers(-1, 6))
def test_a_condition_counts_whole_classes_only_and_missing_satisfies_none(
    rows: list[tuple[object, ...]], limit: int
) -> None:
    found = attribute_disclosure(table(rows), ["q", "r"], f"charge > {limit}")
    plain = missing_as_none(rows)
    holds = [row[2] is not None and float(str(row[2])) > limit for row in plain]
    assert (found.records, found.exposed) == oracle.disclosure([row[:2] for row in plain], holds)


@given(records, st.integers(1, 8))
def test_every_condition_of_a_family_gives_the_same_when_asked_alone(
    rows: list[tuple[object, ...]], bands: int
) -> None:
    frame = table(rows)
    for name, kind in {"charge": Kind.NUMERIC, "diag": Kind.NOMINAL}.items():
        family = disclosure_by_value(frame, ["q", "r"], confidential(name, kind), bands).family
        alone = [attribute_disclosure(frame, ["q", "r"], condition) for condition in family["condition"]]
        assert [(a.records, a.exposed, a.risk) for a in alone] == family.drop("condition").rows()
        assert family["records"].sum() == sum(
            row[frame.columns.index(name)] is not None for row in missing_as_none(rows)
        )


# ---- values and bands


def test_each_category_and_the_worst_of_them() -> None:
    frame = pl.DataFrame({"q": [1, 1, 2, 2, 3], "diag": ["flu", "flu", "flu", "hiv", "hiv"]})
    found = disclosure_by_value(frame, ["q"], confidential("diag", Kind.NOMINAL))
    assert found.family.rows() == [("diag = 'flu'", 3, 2, 2 / 3), ("diag = 'hiv'", 2, 1, 0.5)]
    assert found.maximum == 2 / 3
    assert found.worst is not None
    assert found.worst.condition == "diag = 'flu'"


def test_bands_of_numbers_hold_about_equally_many_and_keep_ties_together() -> None:
    frame = pl.DataFrame({"q": list(range(100)), "charge": [0] * 40 + list(range(1, 61))})
    family = disclosure_by_value(frame, ["q"], confidential("charge", Kind.NUMERIC), 5).family
    assert family["condition"].to_list() == [
        "charge = 0",
        "charge between 1 and 20",
        "charge between 21 and 40",
        "charge between 41 and 60",
    ]
    assert family["records"].to_list() == [40, 20, 20, 20]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([dt.date(2020, 1, 1), dt.date(2020, 5, 1), dt.date(2021, 1, 1)], Kind.DATE),
        ([dt.datetime(2020, 1, 1, 3, 4, 5, 6), dt.datetime(2020, 5, 1), None], Kind.DATE),
        ([True, False, None], Kind.NOMINAL),
        ([2**53, 2**53 + 1, 2**62], Kind.NUMERIC),
        (["[1;2]", "*", "3"], Kind.NUMERIC),
    ],
)
def test_values_of_every_type_can_be_asked_for_again(values: list[object], kind: Kind) -> None:
    for name in ("order", 'a "name" of mine', "x"):
        frame = pl.DataFrame({"q": [1, 1, 2], name: values})
        for bands in (1, 3):
            family = disclosure_by_value(frame, ["q"], confidential(name, kind), bands).family
            for condition, count, exposed, _ in family.iter_rows():
                found = attribute_disclosure(frame, ["q"], condition)
                assert (found.records, found.exposed) == (count, exposed)


def test_a_column_of_nothing_but_missing_discloses_nothing() -> None:
    frame = pl.DataFrame({"q": [1, 1], "charge": pl.Series([None, None], dtype=pl.Int64)})
    found = disclosure_by_value(frame, ["q"], confidential("charge", Kind.NUMERIC))
    assert (found.family.height, found.maximum, found.worst) == (0, 0.0, None)


# ---- conditions that cannot be used


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("chrage > 100000", "no such column. Did you mean 'charge'?"),
        ("payer = 'x'", "no such column. The columns are age,"),
        ("charge > ", "cannot be used"),
        ("charge > 100,000", "cannot be used"),
        ("", "cannot be used"),
        ("charge > 'much'", "cannot be used"),
        ("charge + 1", "does not say of each record whether it holds"),
        ("sum(charge) > 1", "does not say of each record whether it holds"),
        ("1 = 1", "does not say of each record whether it holds"),
        ("age > 30", "cannot be used"),
    ],
)
def test_a_bad_condition_is_refused_in_one_sentence(condition: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        attribute_disclosure(oracle.TABLE_S6, QUASI, condition)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_identifier_is_never_released_so_no_condition_can_use_it() -> None:
    frame = pl.DataFrame({"name": ["Ann"], "charge": [3]})
    with pytest.raises(InputError, match="identifier, which is never released"):
        condition_family(frame, "name = 'Ann'", hidden=["name"])


def test_classes_need_a_quasi_identifier() -> None:
    with pytest.raises(InputError, match="at least one column"):
        attribute_disclosure(oracle.TABLE_S6, [], "charge > 1")
