"""Roles proposed for tables in twelve languages, and for columns called as in the field's public tables."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from shoal.data.national_numbers import hetu, pesel
from shoal.data.roles import suggest_role
from shoal.data.schema import Role
from shoal.data.signs import word_table
from shoal.profile import Profile, profile

ID, QI, CONF = Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL
real_data = pytest.mark.skipif(
    "SHOAL_DATA" not in os.environ, reason="SHOAL_DATA does not name the folder of real data"
)

# The same columns of a made-up hospital's table: family name, birth date, sex, town, work, diagnosis, wage; more.
LANGUAGES = {
    "en": "last_name birth_date sex town occupation diagnosis wage first_name phone marital_status medication postcode",
    "de": "Nachname Geburtsdatum Geschlecht Wohnort Beruf Diagnose Gehalt Vorname Telefon Familienstand Medikament PLZ",
    "fr": "Nom Date_de_naissance Sexe Ville Profession Diagnostic Salaire Prénom Téléphone"
          " État_civil Médicament Code_postal",
    "es": "Apellidos Fecha_de_nacimiento Sexo Ciudad Ocupación Diagnóstico Sueldo Nombre Teléfono"
          " Estado_civil Medicamento"
          " Código_postal",
    "it": "Cognome Data_di_nascita Sesso Comune Professione Diagnosi Stipendio Nome Telefono Stato_civile Farmaco CAP",
    "nl": "Achternaam Geboortedatum Geslacht Woonplaats Beroep Diagnose Salaris Voornaam Telefoon Burgerlijke_staat"
          " Medicatie Postcode",
    "pt": "Sobrenome Data_de_nascimento Sexo Cidade Profissão Diagnóstico Salário Nome Telefone"
          " Estado_civil Medicamento CEP",
    "pl": "Nazwisko Data_urodzenia Płeć Miasto Zawód Rozpoznanie Wynagrodzenie Imię Telefon"
          " Stan_cywilny Leki Kod_pocztowy",
    "sv": "Efternamn Födelsedatum Kön Kommun Yrke Diagnos Lön Förnamn Telefon Civilstånd Läkemedel Postnummer",
    "da": "Efternavn Fødselsdato Køn Kommune Stilling Diagnose Løn Fornavn Telefon Civilstand Medicin Postnr",
    "fi": "Sukunimi Syntymäaika Sukupuoli Kunta Ammatti Diagnoosi Palkka Etunimi Puhelin"
          " Siviilisääty Lääke Postinumero",
    "cs": "Příjmení Datum_narození Pohlaví Obec Povolání Diagnóza Mzda Jméno Telefon Rodinný_stav Léky PSČ",
}  # fmt: skip
ROLES = (ID, QI, QI, QI, QI, CONF, CONF, ID, ID, QI, CONF, QI)
HIPAA = ("A", "C", "", "B", "", "", "", "A", "D", "", "", "B")
VALUES: tuple[Sequence[object], ...] = (
    ["Oyelaran", "Xu"], ["14.08.1951", "01.12.2010"], ["1", "2"], ["Ulm", "Bern"], ["a", "b"],
    ["a", "b"], [25_000, 31_500],
    ["Xi", "Ngozi"], ["030901820", "0171123456"], ["1", "2", "3"], ["a", "b"], ["12345", "54321"],
)  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_columns_get_their_roles_by_name_in_each_language(language: str) -> None:
    for name, values, role, hipaa in zip(LANGUAGES[language].split(), VALUES, ROLES, HIPAA, strict=True):
        suggestion = suggest_role(pl.Series(name, values), present=9, distinct=len(values), uniques=0)
        assert (suggestion.role, suggestion.hipaa) == (role, hipaa), (name, suggestion.reason)
        assert "by name" in suggestion.reason


# Of other scripts what would harm most: given name, family name, birth date, sex, diagnosis, wage
OTHER_SCRIPTS = {
    "tr": "Ad Soyadı Doğum_tarihi Cinsiyet Teşhis Maaş",
    "ru": "Имя Фамилия Дата_рождения Пол Диагноз Зарплата",
    "zh": "名字 姓名 出生日期 性别 诊断 工资",
    "ja": "名前 氏名 生年月日 性別 診断 給与",
}


@pytest.mark.parametrize("language", OTHER_SCRIPTS)
def test_names_dates_and_outcomes_are_seen_in_other_scripts_too(language: str) -> None:
    values = (["Xi", "Иван"], ["Xu", "伟"], ["14.08.1951", "01.12.2010"], [1, 2], ["a", "b"], [25_000, 31_500])
    for name, held, role in zip(OTHER_SCRIPTS[language].split(), values, (ID, ID, QI, QI, CONF, CONF), strict=True):
        suggestion = suggest_role(pl.Series(name, held), present=9, distinct=len(held), uniques=0)
        assert (suggestion.role, "by name" in suggestion.reason) == (role, True), (name, suggestion.reason)


def test_an_advertisement_is_no_turkish_name() -> None:
    assert suggest_role(pl.Series("ad_text", ["a", "b"]), present=9, distinct=2, uniques=0).role is QI


def test_what_people_are_asked_most_has_words_in_every_language() -> None:
    table = word_table()
    asked = ["personal names", "street addresses", "codes of small areas", "full dates", "phone numbers", "age"]
    asked += ["sex or gender", "family", "schooling", "work", "origin or language", "diagnoses or diseases", "money"]
    asked += [
        "treatments or drugs",
        "results or outcomes",
        "insurance",
        "beliefs or orientation",
        "crimes or punishments",
    ]
    for what in asked:
        assert set(table[what]) >= set(LANGUAGES), what


# Columns as the public tables of the field call them, each with values of the kind it has there: (role, columns)
OFTEN_USED: dict[str, list[tuple[Role, str, Sequence[object]]]] = {
    "Adult": [
        (QI, "age workclass education marital.status occupation relationship race sex native.country", ["a", "b", "c"]),
        (CONF, "capital.gain capital.loss income", [0, 2174, 99_999]),
    ],
    "German credit": [
        (CONF, "checking_status savings_status", ["< 100 DM", "100 <= ... < 500 DM", "no known savings"]),
        (CONF, "Saving accounts,savings account", ["little", "moderate", "rich"]),
        (CONF, "credit_history credit_amount existing_credits installment_commitment", [1169, 5951, 2096]),
        (QI, "duration employment personal_status residence_since", [1, 2, 4]),
        (QI, "age housing job num_dependents foreign_worker", [1, 2, 4]),
        (CONF, "class", ["good", "bad"]),
    ],
    "COMPAS": [
        (ID, "name first last", ["miguel", "kevon", "ed", "hardy", "harold"]),
        (ID, "id c_case_number", [1, 3, 4, 5]),
        (QI, "sex age age_cat race", ["Less than 25", "25 - 45", "Greater than 45"]),
        (QI, "dob c_offense_date", ["1947-04-18", "1982-01-22"]),
        (CONF, "decile_score score_text is_recid", [0, 1, 2]),
        (CONF, "two_year_recid is_violent_recid priors_count juv_fel_count", [0, 1, 2]),
        (CONF, "c_charge_degree c_charge_desc", ["(F3)", "(M1)", "Battery"]),
    ],
    "diabetes": [
        (ID, "encounter_id patient_nbr", [2278392, 149190]),
        (QI, "race gender age weight time_in_hospital medical_specialty admission_type_id", ["[0-10)", "[10-20)"]),
        (CONF, "readmitted diabetesMed insulin metformin glyburide tolbutamide rosiglitazone change", ["No", "Up"]),
        (CONF, "A1Cresult max_glu_serum", ["Norm", ">7"]),
        (CONF, "diag_1 payer_code num_lab_procedures discharge_disposition_id", ["250.83", "276"]),
    ],
    "census": [
        (CONF, "wage per hour,weekly wage", [0, 875, 1200]),
        (CONF, "dividends from stocks,stock dividends", [0, 200]),
        (CONF, "capital gains,capital losses", [0, 15_024]),
    ],
    "surveys of households": [
        (ID, "db030 ori_hid household_id", [1, 2, 3]),
        (QI, "hsize db040 rb090 pl030 pb220a urbrur roof walls water electcon relat hhcivil", [1, 2, 3]),
        (CONF, "netIncome py010n py140n expend income savings", [0, 22_675]),
        (QI, "rb050 household_weights fnlwgt", [7.8, 25.0]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("table", OFTEN_USED)
def test_columns_of_tables_often_used_get_their_roles(table: str) -> None:
    for role, names, values in OFTEN_USED[table]:
        for name in names.split(",") if "," in names else names.split():
            suggestion = suggest_role(pl.Series(name, values), present=9, distinct=len(values), uniques=0)
            assert suggestion.role is role, (name, suggestion.reason)
            assert suggestion.what, name


@pytest.mark.parametrize(
    ("values", "role", "what"),
    [
        (["carsten", "gerd", "robert", "stefan", "ralf", "jürgen"], ID, "personal names"),
        (["KATARZYNA", "Piotr", "Agnieszka", "Krzysztof"], ID, "personal names"),
        ([n for n in (f"440514{i:05}" for i in range(100)) if pesel(n)], ID, "national numbers"),
        ([n for n in (f"131052-{i:03}T" for i in range(100, 400)) if hetu(n)], ID, "national numbers"),
        (["male", "female"], QI, "sex or gender"),
        (["weiblich", "männlich"], QI, "sex or gender"),
        (["never married", "married", "divorced", "widowed"], QI, "family"),
        (["€ 12.50", "€ 1.200,00", "€ 7"], CONF, "money"),
        (["< 100 DM", "100 <= X < 500 DM", ">= 1000 DM"], CONF, "money"),
    ],
)
def test_values_tell_under_a_name_that_says_nothing(values: Sequence[str], role: Role, what: str) -> None:
    suggestion = suggest_role(pl.Series("v7", values), present=99, distinct=len(values), uniques=0)
    assert (suggestion.role, suggestion.what) == (role, what), suggestion.reason
    assert "by values" in suggestion.reason


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("doctor", ["Dr. Smith", "Dr. Jones", "Dr. Okafor"]),
        ("physician", ["Smith, J.", "Jones, A.B.", "Okafor, C."]),
        ("consultant", ["J. Smith", "A.-B. Jones", "C. Okafor"]),
        ("Arzt", ["Dr. med. Vogel", "Prof. Dr. Weiß", "Dr. Öztürk"]),
        ("attending_physician", ["Smith, MD", "Jones, MD", "Okafor, MD"]),
        ("v7", ["Mrs Smith", "Mr. Jones", "Ms Okafor"]),
    ],
)
def test_a_column_of_whom_it_names_is_an_identifier(name: str, values: list[str]) -> None:
    suggestion = suggest_role(pl.Series(name, values), present=99, distinct=len(values), uniques=0)
    assert (suggestion.role, suggestion.what, suggestion.hipaa) == (ID, "names of persons", "A"), suggestion.reason


@pytest.mark.parametrize(
    "values", [["P01", "P02", "P03"], [17, 18, 19], ["Cardiology", "Surgery", "GP"], ["yes", "no"]]
)
def test_a_doctor_who_is_not_named_is_a_place_of_care(values: Sequence[object]) -> None:
    suggestion = suggest_role(pl.Series("doctor", values), present=99, distinct=len(values), uniques=0)
    assert (suggestion.role, suggestion.what) == (QI, "place of care or service")


@pytest.mark.parametrize(
    "values", [["Drama", "Comedy", "Drills"], ["Dr", "Prof", "None"], ["MS Windows", "Linux", "Mac"]]
)
def test_words_that_begin_like_titles_are_no_names(values: list[str]) -> None:
    assert suggest_role(pl.Series("v7", values), present=99, distinct=3, uniques=0).role is QI


def test_eleven_digits_that_pass_a_check_by_chance_are_no_national_numbers() -> None:
    numbers = [str(20_000_000_000 + 7_654_321 * i) for i in range(200)]
    assert suggest_role(pl.Series("v7", numbers), present=999, distinct=200, uniques=0).role is QI


# Position ------------------------------------------------------------------------------------------------

PEOPLE = {"age": [20 + i % 40 for i in range(60)], "sex": ["f", "m"] * 30}


def roles(frame: pl.DataFrame) -> dict[str, Role | None]:
    return {a.name: a.role for a in profile(frame, sets=0).attributes}


def reason(shown: Profile, name: str) -> str:
    return next(a.reason for a in shown.attributes if a.name == name)


def test_few_values_without_a_sign_in_the_last_column_are_an_outcome() -> None:
    frame = pl.DataFrame({**PEOPLE, "x1": [0, 1, 2] * 20, "x2": [0, 0, 1] * 20})
    assert roles(frame) == {"age": QI, "sex": QI, "x1": QI, "x2": CONF}
    assert "Stands last" in reason(profile(frame, sets=0), "x2")


def test_the_last_column_keeps_its_role_where_it_has_a_sign_many_values_or_no_table_of_people() -> None:
    assert roles(pl.DataFrame({**PEOPLE, "race": [0, 0, 1] * 20}))["race"] is QI
    assert roles(pl.DataFrame({**PEOPLE, "x2": [i % 20 for i in range(60)]}))["x2"] is QI
    assert roles(pl.DataFrame({"x1": [0, 1] * 30, "x2": [0, 0, 1] * 20}))["x2"] is QI


def test_numbers_that_count_up_in_the_first_column_are_those_of_households() -> None:
    households = [i // 2 for i in range(60)]
    frame = pl.DataFrame({"x0": households, **PEOPLE})
    assert roles(frame)["x0"] is ID
    (note,) = profile(frame, sets=0).notes  # a household is no person: who lives together is proposed, not --person
    assert "60 records of 30 households" in note
    assert "--promise households:k=5,column=x0" in note
    assert "--person" not in note
    long = pl.Series([2**63 - 9 + number for number in households], dtype=pl.UInt64)
    assert roles(pl.DataFrame({"x0": long, **PEOPLE}))["x0"] is ID
    assert roles(pl.DataFrame({"x0": long[::-1], **PEOPLE}))["x0"] is QI
    assert roles(pl.DataFrame({"x0": households[::-1], **PEOPLE}))["x0"] is QI
    assert roles(pl.DataFrame({**PEOPLE, "x0": households}))["x0"] is QI


WEIGHTS = [3.123456 + i / 7 for i in range(60)]


@pytest.mark.parametrize(
    "name", ["weight", "wgt", "pweight", "rb050", "db090", "Gewicht", "poids", "fnlwgt", "hh_weight", "weights", "peso"]
)
def test_sampling_weights_are_the_weights_and_have_no_role(name: str) -> None:
    shown = profile(pl.DataFrame({**PEOPLE, name: WEIGHTS}), sets=0)
    assert roles(pl.DataFrame({**PEOPLE, name: WEIGHTS}))[name] is None
    assert shown.searched == 2
    stated = tomllib.loads(shown.policy_toml())
    assert stated["weights"] == name
    assert stated["quasi_identifiers"] == ["age", "sex"]
    assert any(row[0] == "weights" for row in shown.sheets()[1].rows)


def test_of_several_weights_those_of_persons_are_taken_and_the_others_left_out() -> None:
    shown = profile(pl.DataFrame({"db090": WEIGHTS, **PEOPLE, "rb050": WEIGHTS}), sets=0)
    assert tomllib.loads(shown.policy_toml())["weights"] == "rb050"
    assert [a.name for a in shown.attributes if a.role is None] == ["db090", "rb050"]


def test_weights_of_bodies_and_what_can_be_no_weights_keep_a_role() -> None:
    kilograms = [50 + i % 40 for i in range(60)]
    assert roles(pl.DataFrame({**PEOPLE, "weight": kilograms}))["weight"] is QI
    assert roles(pl.DataFrame({"height": [170, 180] * 30, "weight": WEIGHTS, **PEOPLE}))["weight"] is QI
    assert roles(pl.DataFrame({"pweight": [0.0, *WEIGHTS[1:]], **PEOPLE}))["pweight"] is QI
    assert roles(pl.DataFrame({"pweight": [None, *WEIGHTS[1:]], **PEOPLE}))["pweight"] is QI
    visits = pl.DataFrame({"patient_id": [i // 2 for i in range(60)], **PEOPLE, "pweight": WEIGHTS})
    assert "weights" not in tomllib.loads(profile(visits, sets=0).policy_toml())


def test_words_beside_given_names_are_family_names() -> None:
    letters = "bcdfghklmnprst"
    family = [f"{a}o{b}ak".title() for a in letters for b in letters][:30] * 2
    given = ["Anna", "Peter", "Maria", "Paul"] * 15
    assert roles(pl.DataFrame({"x1": given, "x2": family, **PEOPLE}))["x2"] is ID
    assert roles(pl.DataFrame({"x2": family, **PEOPLE, "x1": given}))["x2"] is QI  # not beside them
    assert roles(pl.DataFrame({"x1": given, "x2": family[:3] * 20, **PEOPLE}))["x2"] is QI  # three categories


@real_data
def test_encounters_and_households_get_sensible_roles() -> None:
    folder = Path(os.environ["SHOAL_DATA"])
    encounters = roles(pl.read_parquet(folder / "encounters" / "diabetes130.parquet", n_rows=5_000))
    assert {n for n, r in encounters.items() if r is ID} == {"encounter_id", "patient_nbr"}
    assert {n for n, r in encounters.items() if r is QI} == {
        "race", "gender", "age", "weight", "admission_type_id", "admission_source_id", "time_in_hospital",
        "medical_specialty",
    }  # fmt: skip
    survey = roles(pl.read_csv(folder / "households" / "eusilcS.csv"))
    assert {n for n, r in survey.items() if r is ID} == {"db030"}
    assert {n for n, r in survey.items() if r is CONF} == {
        "netIncome",
        *(f"py{i:03}n" for i in (10, 50, 90, *range(100, 150, 10))),
    }
    testdata = roles(pl.read_csv(folder / "households" / "sdcmicro_testdata.csv"))
    assert {n for n, r in testdata.items() if r is ID} == {"ori_hid"}
    assert {n for n, r in testdata.items() if r is CONF} == {"expend", "income", "savings"}
