"""Codes are told from numbers by the column's name and values, bands are put in their order, and each says why."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import polars as pl
import pytest

from shoal.data.bands import bands_in_order
from shoal.data.kinds import infer_kind, read_kind
from shoal.data.schema import Kind
from shoal.errors import InputError


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([1, 2], pl.Int64, Kind.NUMERIC),
        ([1, 2], pl.UInt8, Kind.NUMERIC),
        ([1.5, None], pl.Float32, Kind.NUMERIC),
        (["1.50"], pl.Decimal(10, 2), Kind.NUMERIC),
        ([True, None], pl.Boolean, Kind.NOMINAL),
        (["a"], pl.String, Kind.NOMINAL),
        (["a"], pl.Categorical, Kind.NOMINAL),
        (["low"], pl.Enum(["low", "high"]), Kind.ORDINAL),
        ([dt.date(2020, 1, 1)], pl.Date, Kind.DATE),
        ([dt.datetime(2020, 1, 1)], pl.Datetime, Kind.DATE),
        ([None], pl.Null, Kind.NOMINAL),
    ],
)
def test_kind_follows_from_type(values: Sequence[object], dtype: pl.DataType, kind: Kind) -> None:
    assert infer_kind(pl.Series(values).cast(dtype)) is kind


def test_kind_of_nested_values_is_refused_with_the_columns_name() -> None:
    with pytest.raises(InputError, match=r"'visits'.*List"):
        infer_kind(pl.Series("visits", [[1, 2], [3]]))


@pytest.mark.parametrize(
    "name",
    [
        *("zip", "patZip5", "patzip", "zip_code", "PLZ", "plz_wohnort", "code_postal", "codigo_postal", "Kod pocztowy"),
        *("postnummer", "postinumero", "PSČ", "CAP", "cep", "codice_postale"),
        *(
            "sex",
            "iSex",
            "Geschlecht",
            "sexe",
            "sexo",
            "sesso",
            "geslacht",
            "płeć",
            "kön",
            "køn",
            "sukupuoli",
            "pohlaví",
        ),
        *("race", "ethncty", "ethnicity", "etnia", "marital_status", "Familienstand", "état_civil", "stan cywilny"),
        *("county", "patcnty", "state", "region_code", "Bundesland", "département", "provincia", "województwo", "kraj"),
        *("oshpd_id", "hospital", "hospital_nr", "id_hopital", "ziekenhuis", "szpital", "sjukhus", "sairaala"),
        *("icd10", "diag_p", "dx1", "diagnosis", "Diagnose", "diagnóstico", "nace2", "naics", "sic_code", "drg"),
        *("product_no", "Artikelnummer", "order_number", "sku", "EAN", "UtilityID", "admission_type_id", "payer_code"),
        *("code", "id", "nr", "kontonr", "codigo_municipio", "koodi", "type"),
    ],
)
def test_whole_numbers_are_codes_where_the_name_says_so(name: str) -> None:
    reading = read_kind(pl.Series(name, [10234, 20345, 30456, None]))
    assert reading.kind is Kind.NOMINAL
    assert reading.reason.startswith("its name says ")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "age",
            "los",
            "charge",
            "n_children",
            "children",
            "weight",
            "education_num",
            "hours_per_week",
            "income",
            "year",
        ),
        *("hospital_charge", "hospital_beds", "time_in_hospital", "num_procedures", "number_diagnoses", "state_tax"),
        *("race_time", "id_count", "covid", "paid", "grid", "idade", "Anzahl_Diagnosen", "number", "x", "q1", "zipped"),
        *("score", "price", "product_price", "month", "adm_qtr", "population", "county_population", "cap_gain"),
    ],
)
def test_whole_numbers_without_a_sign_stay_numbers(name: str) -> None:
    assert infer_kind(pl.Series(name, [1, 2, 3, 4, 5])) is Kind.NUMERIC


def test_short_words_with_other_meanings_say_postcode_only_of_values_as_long_as_one() -> None:
    assert infer_kind(pl.Series("cp", [1, 2, 3])) is Kind.NUMERIC
    assert infer_kind(pl.Series("cp", [28001, 8002])) is Kind.NOMINAL


def test_whole_numbers_beside_missing_ones_are_codes_as_floats_and_fractions_are_none() -> None:
    assert infer_kind(pl.Series("sex", [1.0, 2.0, None, float("nan")])) is Kind.NOMINAL
    assert infer_kind(pl.Series("state", [1.5, 2.0])) is Kind.NUMERIC


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("x", ["02139", "10115", "94103"], "every value has 5 digits, some begin with 0 (1 of 3)"),
        ("x", ["E11.65", "I10", "J45.909"], "its values look like diagnoses (ICD-10)"),
        ("x", ["SW1A 1AA", "M1 1AE"], "its values look like postcodes"),
        ("diag_1", ["428", "V30", "250.83"], "its name says diagnosis"),
    ],
)
def test_codes_that_nest_are_known_by_their_values(name: str, values: list[str], reason: str) -> None:
    reading = read_kind(pl.Series(name, values))
    assert (reading.kind, reading.reason, reading.nests) == (Kind.NOMINAL, reason, True)


@pytest.mark.parametrize("name", ["nace", "NACE Rev 2", "icd9", "dx1", "procedure", "hs_code"])
def test_fractions_are_codes_where_the_name_says_codes_with_a_point(name: str) -> None:
    reading = read_kind(pl.Series(name, [46.3, 250.83, None]))
    assert (reading.kind, reading.nests) == (Kind.NOMINAL, True)
    assert infer_kind(pl.Series(name, [46.3, -250.83])) is Kind.NUMERIC
    assert infer_kind(pl.Series(f"{name} mean", [46.3, 250.83])) is Kind.NUMERIC


def test_numbers_of_two_values_are_said_to_be_masked_like_codes() -> None:
    for values in ([0, 1, 1], [0.0, 1.0, None]):
        column = pl.Series("smoker", values)
        assert read_kind(column).sentence(column) == "Number: of two values, which are masked alike as codes."


def test_numbers_that_all_have_the_check_digit_of_an_article_are_codes() -> None:
    def with_check(body: int) -> int:
        digits = [int(d) for d in str(body)][::-1]
        return body * 10 + -(3 * sum(digits[::2]) + sum(digits[1::2])) % 10

    articles = [with_check(400_638_133_000 + 7 * i) for i in range(30)]
    assert "check digit" in read_kind(pl.Series("x", articles)).reason
    assert infer_kind(pl.Series("x", [*articles, articles[0] + 1])) is Kind.NUMERIC


def test_few_whole_numbers_without_a_sign_are_numbers_that_one_should_ask_about() -> None:
    assert read_kind(pl.Series("roof", [2, 3, 4, 9, 4])).doubtful
    assert not read_kind(pl.Series("n_rooms", [2, 3, 4, 9, 4])).doubtful
    assert not read_kind(pl.Series("roof", [0, 1, 1])).doubtful
    assert not read_kind(pl.Series("roof", list(range(50)))).doubtful


@pytest.mark.parametrize(
    "bands",
    [
        ["[0-10)", "[10-20)", "[90-100)"],
        ["0-4", "5-17", "18-24", "25-64", "65+"],
        ["<18", "18-24", "25-64", "65 and over"],
        ["under 5 years", "5 to 9 years", "10 to 14 years", "15 years and over"],
        ["6-99", "100-199", "200-299", "300-499", "500+"],
    ],
)
def test_bands_are_in_an_order_by_themselves(bands: list[str]) -> None:
    shuffled = pl.Series("age", [*bands[::-1], bands[0], None])
    reading = read_kind(shuffled)
    assert (reading.kind, reading.order) == (Kind.ORDINAL, tuple(bands))


@pytest.mark.parametrize(
    "texts",
    [
        ["0-10", "5-15", "10-20"],  # overlap
        ["0-10", "11-20", "unknown"],
        ["12-34", "71-99"],  # far apart: codes
        ["80-10", "11-20"],
        ["1", "2", "3"],
        ["[24;28]", "[29;33]"],  # a release's own masks
    ],
)
def test_what_only_looks_like_bands_has_no_order(texts: list[str]) -> None:
    assert bands_in_order(pl.Series(texts)) is None


@pytest.mark.parametrize(
    "order",
    [
        ["Low", "Medium", "High"],
        ["very low", "low", "moderate", "high", "very high"],
        ["never", "sometimes", "often", "always"],
        ["None", "Mild", "Moderate", "Severe"],
        ["small", "medium", "large"],
        ["S", "M", "L", "XL"],
        ["niedrig", "mittel", "hoch"],
        ["jamais", "parfois", "toujours"],
        ["Strongly disagree", "Disagree", "Agree"],
        ["<20k", "20k-40k", "40k+"],
        ["< $20k", "$20k-$40k", "$40k-$60k", "$60k+"],
        ["20-40k", "40-60k", "60-80k"],
        ["under 500", "500-1,000", "1,000-5,000", "5,000+"],
    ],
)
def test_words_and_bands_of_a_scale_are_in_an_order_by_themselves(order: list[str]) -> None:
    reading = read_kind(pl.Series("v", [*order[::-1], order[0], None]))
    assert (reading.kind, reading.order) == (Kind.ORDINAL, tuple(order))


@pytest.mark.parametrize(
    "texts",
    [
        ["low", "high"],
        ["low", "medium", "moderate"],
        ["low", "medium", "blue"],
        ["Low", "low", "high"],
        ["No", "Up", "Down"],
    ],
)
def test_words_of_no_one_scale_have_no_order(texts: list[str]) -> None:
    assert read_kind(pl.Series("v", texts)).kind is Kind.NOMINAL
