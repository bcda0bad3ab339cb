"""Roles and kinds of columns as well-known public tables have them, on a few made-up records."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.data.schema import Role
from shoal.profile import Profile, profile

IDENTIFIER, QUASI, CONFIDENTIAL = Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL
RECORDS = 60
TABLES: dict[str, dict[Role, dict[str, list[object]]]] = {
    "court": {
        IDENTIFIER: {
            "name": ["miguel hernandez", "kevon dixon", "harold brown", "ann hardy"],
            "first": ["miguel", "kevon", "harold", "ann"],
            "last": ["hernandez", "dixon", "brown", "hardy", "salazar"],
            "c_case_number": [f"1300{i:04}CF10A" for i in range(RECORDS)],
        },
        QUASI: {
            "sex": ["Male", "Female"],
            "dob": [f"19{i}-04-18" for i in range(47, 97)],
            "age_cat": ["25 - 45", "Greater than 45", "Less than 25"],
            "race": ["Other", "Caucasian", "Hispanic"],
        },
        CONFIDENTIAL: {
            "juv_fel_count": [0, 1, 2],
            "priors_count": [0, 3, 14],
            "c_charge_degree": ["F", "M"],
            "is_recid": [0, 1],
            "decile_score": [1, 5, 10],
            "two_year_recid": [0, 1],
        },
    },
    "loans": {
        QUASI: {
            "employment_since": ["< 1 year", "1 <= ... < 4 years", "4 <= ... < 7 years", ">= 7 years"],
            "age": [19, 33, 67],
            "housing": ["own", "rent", "for free"],
            "foreign_worker": ["yes", "no"],
            "telephone": ["none", "yes"],
        },
        CONFIDENTIAL: {
            "checking_account": ["< 0 DM", "0 <= ... < 200 DM", ">= 200 DM", "no checking account"],
            "savings_account": ["< 100 DM", "100 <= ... < 500 DM", "unknown"],
            "credit_amount": [1169, 5951, 2096],
            "other_debtors": ["none", "guarantor"],
            "credit_risk": ["good", "bad"],
        },
    },
    "encounters": {
        IDENTIFIER: {"patient_nbr": [8222157 + i // 2 for i in range(RECORDS)]},
        QUASI: {"age": ["[60-70)", "[70-80)", "[80-90)"], "gender": ["Female", "Male"], "time_in_hospital": [1, 3, 9]},
        CONFIDENTIAL: {
            "diag_1": ["250.83", "276", "V57"],
            "metformin": ["No", "Steady", "Up"],
            "acarbose": ["No", "Up"],
            "insulin": ["No", "Down"],
            "max_glu_serum": ["None", ">300"],
            "readmitted": ["NO", ">30", "<30"],
        },
    },
    "census": {
        QUASI: {
            "class_of_worker": ["Private", "Local government"],
            "marital": ["single", "married"],
        },
        None: {"instance_weight": [1700.09, 1053.55, 991.95]},  # a weight of the survey's, which a policy names as that
        CONFIDENTIAL: {
            "wage_per_hour": [0, 1200, 876],
            "capital_gains": [0, 5178],
            "dividends_from_stocks": [0, 400],
            "income_50k": ["- 50000.", "50000+."],
        },
    },
    "marketing": {
        QUASI: {"job": ["admin.", "services"], "month": ["may", "jun"]},
        CONFIDENTIAL: {"balance": [-4, 910, 77], "poutcome": ["failure", "success"], "y": ["no", "yes"]},
    },
    "pupils": {
        QUASI: {"famsize": ["GT3", "LE3"], "Medu": [0, 1, 4], "Fjob": ["teacher", "health"]},
        CONFIDENTIAL: {"health": [1, 3, 5], "failures": [0, 1, 2]},
    },
    "wages": {
        IDENTIFIER: {"vorname": ["Miguel", "Harold", "Ann"], "nachname": ["Hernandez", "Hardy", "Brown", "Salazar"]},
        QUASI: {"altersgruppe": ["18-29", "30-49", "50+"]},
        CONFIDENTIAL: {
            "lohn": [2100, 3400, 5000],
            "sparkonto": ["unter 100 EUR", "100 bis 500 EUR"],
            "rueckfall": ["ja", "nein"],
            "medikament": ["A", "B"],
        },
    },
}


def profiled(table: str) -> Profile:
    columns = {name: values for group in TABLES[table].values() for name, values in group.items()}
    repeated = {name: [values[i % len(values)] for i in range(RECORDS)] for name, values in columns.items()}
    return profile(pl.DataFrame(repeated), sets=0)


@pytest.mark.parametrize("table", TABLES)
def test_columns_of_public_tables_get_their_roles_by_what_they_are(table: str) -> None:
    wanted = {name: role for role, columns in TABLES[table].items() for name in columns}
    attributes = profiled(table).attributes
    assert {a.name: a.role for a in attributes} == wanted
    unsigned = [a.name for a in attributes if not a.what]
    assert unsigned == (["telephone"] if table == "loans" else [])  # whether there is one, not which: nothing says so


@pytest.mark.parametrize(
    ("table", "column", "lowest"),
    [
        ("court", "age_cat", "Less than 25"),
        ("loans", "employment_since", "< 1 year"),
        ("encounters", "age", "[60-70)"),
        ("wages", "altersgruppe", "18-29"),
    ],
)
def test_bands_are_in_an_order_by_themselves(table: str, column: str, lowest: str) -> None:
    attribute = next(a for a in profiled(table).attributes if a.name == column)
    assert attribute.kind == "ordinal"
    domain = attribute.choice["domain"]
    assert isinstance(domain, list)
    assert domain[0] == lowest


def test_two_open_bands_alone_are_no_order() -> None:
    found = profile(pl.DataFrame({"readmitted": ["NO", ">30", "<30"] * 4, "wait": ["less than 5", "over 5"] * 6}))
    assert {a.name: a.kind for a in found.attributes} == {"readmitted": "nominal", "wait": "nominal"}
