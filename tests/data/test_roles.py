"""Roles follow from what columns are called and what their values look like."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import polars as pl
import pytest

from shoal.data.roles import Suggestion, suggest_role
from shoal.data.schema import Role
from shoal.data.signs import SIGNS, spelled

NEUTRAL = "column_7"  # a name that says nothing
IDENTIFIER, QUASI, CONFIDENTIAL = Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL


def suggested(name: str, values: Sequence[object], *, copies: int = 3) -> Suggestion:
    """The suggestion for a column that holds each value `copies` times, so that counts alone say nothing."""
    column = pl.Series(name, values, strict=False)
    uniques = len(values) if copies == 1 else 0
    return suggest_role(column, present=copies * len(values), distinct=len(values), uniques=uniques)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PatientZIP5", "patient zip 5"),
        ("patient-zip 5", "patient zip 5"),
        ("dx01", "dx 01"),
        ("Prénom", "prenom"),
        ("Straße", "strasse"),
        ("date_of.birth", "date of birth"),
        ("", ""),
        ("年齢", "年齢"),
    ],
)
def test_names_are_read_as_words(name: str, words: str) -> None:
    assert spelled(name) == words


# What its values alone give away, whatever the column is called: (HIPAA item, role, values)
BY_VALUES: dict[str, tuple[str, Role, Sequence[object]]] = {
    "names": ("A", IDENTIFIER,
        ["Mary Johnson", "John Smith", "Smith, Robert", "Zbigniew Kowalczyk", "Anna Vogel"]),
    "streets": ("B", IDENTIFIER, ["12 Main Street", "7 Oak Ave, Apt 3", "1600 Amphitheatre Blvd"]),
    "streets in German": ("B", IDENTIFIER, ["Hauptstraße 12", "Am Alten Weg 3a", "Goethestr. 7"]),
    "ZIP+4": ("B", QUASI, ["93710-1234", "02139-4307", "10001-0001"]),
    "five digits as text": ("B", QUASI, ["93710", "02139", "10001"]),
    "Canadian postal codes": ("B", QUASI, ["K1A 0B1", "M5V 3L9", "H2X1Y4"]),
    "British postcodes": ("B", QUASI, ["SW1A 1AA", "M1 1AE", "EC1A 1BB", "B33 8TH"]),
    "coordinates": ("B", QUASI, ["36.7378, -119.7871", "37.7749,-122.4194"]),
    "ISO dates": ("C", QUASI, ["1951-08-14", "2010-12-01 08:26", "1999-1-2"]),
    "American dates": ("C", QUASI, ["8/14/1951", "12/01/2010", "1/2/99"]),
    "German dates": ("C", QUASI, ["14.08.1951", "01.12.2010"]),
    "dates in words": ("C", QUASI, ["14 Aug 1951", "1-Dec-2010", "December 24, 1999"]),
    "dates as numbers": ("C", QUASI, [19510814, 20101201, 19990102]),
    "typed dates": ("C", QUASI, [dt.date(1951, 8, 14), dt.date(2010, 12, 1)]),
    "typed times": ("C", QUASI, [dt.datetime(1951, 8, 14, 7, 30), dt.datetime(2010, 12, 1)]),
    "American phones": ("D", IDENTIFIER,
        ["(559) 555-0123", "559-555-0199", "+1 559 555 0100", "559.555.0111"]),
    "European phones": ("D", IDENTIFIER,
        ["+49 30 901820", "030 / 9018 2000", "+33 1 42 92 81 00", "0171-1234567"]),
    "e-mail": ("F", IDENTIFIER, ["a.b@example.com", "mary+x@mail.example.org", "jo@uni-köln.de"]),
    "SSN": ("G", IDENTIFIER, ["219-09-9999", "078-05-1120", "457-55-5462"]),
    "MRN": ("H", IDENTIFIER, ["MRN-0012345", "MRN 99881", "mrn#123456"]),
    "NHS": ("H", IDENTIFIER, ["943 476 5919", "943-476-5870", "401 023 2137"]),
    "Medicare": ("I", IDENTIFIER, ["1EG4-TE5-MK73", "2AC1WD9KT33", "9RT4-VN8-PQ00"]),
    "IBAN": ("J", IDENTIFIER,
        ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "FR1420041010050500013M02606"]),
    "cards": ("J", IDENTIFIER, ["4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009"]),
    "cards as numbers": ("J", IDENTIFIER, [4111111111111111, 5500000000000004, 6011000000000004]),
    "prescribers": ("K", IDENTIFIER, ["AB1234563", "FM5555555", "BS1111119"]),
    "driving licences": ("K", IDENTIFIER, ["MORGA657054SM9IJ", "SMITH806121JA9XY"]),
    "VIN": ("L", IDENTIFIER, ["1M8GDM9AXKP042788", "11111111111111111", "5GZCZ43D13S812715"]),
    "MAC": ("M", IDENTIFIER, ["00:1A:2B:3C:4D:5E", "a4-5e-60-c2-11-9f"]),
    "IMEI": ("M", IDENTIFIER, [356938035643809, 353918057512341, 860123045678900]),
    "URL": ("N", IDENTIFIER, ["https://example.com/u/17", "www.example.org/me", "ftp://files.example.net/a"]),
    "IPv4": ("O", IDENTIFIER, ["192.168.0.1", "8.8.8.8", "10.0.0.255"]),
    "IPv6": ("O", IDENTIFIER, ["2001:db8::1", "fe80::1ff:fe23:4567:890a", "::1"]),
    "biometrics": ("P", IDENTIFIER, ["fingerprint_001.wsq", "left_iris_17.bin", "voice17.wav"]),
    "photographs": ("Q", IDENTIFIER, ["p0017.jpg", "faces/anna.PNG", "IMG_1234.heic"]),
    "UUID": ("R", IDENTIFIER,
        ["550e8400-e29b-41d4-a716-446655440000", "123E4567-E89B-12D3-A456-426614174000"]),
    "French numbers": ("R", IDENTIFIER, ["2 55 08 14 168 025 38", "180126955222380"]),
    "Spanish numbers": ("R", IDENTIFIER, ["12345678Z", "X1234567L", "00000000T"]),
    "British numbers": ("R", IDENTIFIER, ["AB 12 34 56 C", "JG103759A"]),
    "free text": ("", IDENTIFIER, ["Came in on a rainy day with her son and asked for help with the knee.",
                                      "Seen again a week later, the knee is better now, told her to call."]),
    "ICD-10": ("", CONFIDENTIAL, ["E11.9", "I10.0", "C50.911"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_VALUES)
def test_values_give_the_attribute_away_under_any_name(case: str) -> None:
    hipaa, role, values = BY_VALUES[case]
    suggestion = suggested(NEUTRAL, values)
    assert (suggestion.role, suggestion.hipaa) == (role, hipaa), suggestion.reason
    assert "by values" in suggestion.reason


# What the name gives away, with values that fit it but prove nothing: (HIPAA item, role, names, values)
BY_NAME: dict[str, tuple[str, Role, list[str], Sequence[object]]] = {
    "names": ("A", IDENTIFIER,
        ["name", "LastName", "patient_name", "Nachname", "prénom", "apellidos"], ["Xu", "Oyelaran"]),
    "streets": ("B", IDENTIFIER,
        ["address", "Street", "home_address", "Anschrift", "domicilio"], ["Rose Cottage"]),
    "postal codes": ("B", QUASI,
        ["zip", "ZIP5", "patzip", "Postal Code", "PLZ", "code_postal"], [93710, 2139, 10001]),
    "areas": ("B", QUASI,
        ["city", "patcnty", "County", "Gemeinde", "ville", "municipio"], ["Fresno", "Kern"]),
    "coordinates": ("B", QUASI, ["latitude", "lon", "geohash"], [36.7378, -119.7871]),
    "dates": ("C", QUASI,
        ["birth_date", "DOB", "admission_date", "date of death", "fecha_nacimiento"], ["08/1951", "12/2010"]),
    "old ages": ("C", QUASI, ["age", "AGE", "age_yrs", "edad", "Alter"], [*range(80, 95)]),
    "phones": ("D", IDENTIFIER,
        ["phone", "Telephone", "cellPhone", "home_phone_no", "Telefon"], [5595550123, 5595550199]),
    "fax": ("E", IDENTIFIER, ["fax", "FaxNumber", "telefax"], ["559-555-0123", "559-555-0199"]),
    "e-mail": ("F", IDENTIFIER,
        ["email", "E-Mail Address", "eMail", "courriel"], ["8f14e45fce", "c9f0f895fb"]),
    "SSN": ("G", IDENTIFIER, ["ssn", "SocialSecurityNumber", "social_security_no"], [219099999, 78051120]),
    "record numbers": ("H", IDENTIFIER,
        ["mrn", "medical_record_number", "case_id", "NHS number"], [1234, 77, 1234567]),
    "plan numbers": ("I", IDENTIFIER,
        ["medicare_id", "beneficiary_no", "policy_number", "health plan id"], ["X1", "X22"]),
    "accounts": ("J", IDENTIFIER,
        ["account", "AccountNumber", "iban", "credit_card_number"], ["123456789012345"]),
    "licences": ("K", IDENTIFIER, ["license_no", "Certificate Number", "passport", "npi"], ["A12", "B7"]),
    "vehicles": ("L", IDENTIFIER,
        ["vin", "license_plate", "vehicle_id", "Kennzeichen"], ["7ABC123", "FR-XY 17"]),
    "devices": ("M", IDENTIFIER, ["device_id", "SerialNumber", "imei", "mac_address"], ["SN-17", "SN-9"]),
    "links": ("N", IDENTIFIER, ["url", "Website", "web_page"], ["example.org/17", "example.org/18"]),
    "IP": ("O", IDENTIFIER, ["ip", "ip_address", "IPv4", "source_ip"], ["10.1.x.x", "10.2.x.x"]),
    "biometrics": ("P", IDENTIFIER, ["fingerprint", "voice_print", "iris_code"], ["ab12", "cd34"]),
    "photographs": ("Q", IDENTIFIER, ["photo", "face_image", "Foto"], ["scans/17", "scans/18"]),
    "other numbers": ("R", IDENTIFIER,
        ["id", "CustomerID", "patient_no", "national id", "uid"], [17, 18, 19]),
    "notes": ("", IDENTIFIER, ["notes", "Comment"], ["Her knee is better; see the letter of May.", "x" * 45]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case, (_, _, names, _) in BY_NAME.items() for name in names]
)
def test_names_give_the_attribute_away(case: str, name: str) -> None:
    hipaa, role, _, values = BY_NAME[case]
    suggestion = suggested(name, values)
    assert (suggestion.role, suggestion.hipaa) == (role, hipaa), suggestion.reason


def test_every_item_of_hipaa_is_tested_by_name_and_all_but_fax_by_values() -> None:
    letters = {sign.hipaa for sign in SIGNS if sign.hipaa}
    assert letters == set("ABCDEFGHIJKLMNOPQR")
    assert {hipaa for hipaa, *_ in BY_NAME.values()} >= letters
    assert {hipaa for hipaa, *_ in BY_VALUES.values()} >= letters - {"E"}  # a fax number looks like a phone's


def test_name_and_values_together_decide_between_look_alikes() -> None:
    numbers = ["(559) 555-0123", "559-555-0199"]
    assert suggested(NEUTRAL, numbers).hipaa == "D"
    fax = suggested("fax", numbers)
    assert (fax.hipaa, "by name and values" in fax.reason) == ("E", True)


NEAR_MISSES: dict[str, tuple[str, Sequence[object]]] = {
    "amounts of nine digits": ("amount_x", [219099999, 78051120, 457555462]),
    "amounts of ten digits": (NEUTRAL, [5595550123, 5595550199, 4155550100]),
    "nine digits as text": (NEUTRAL, ["219099999", "078051120", "457555462"]),
    "amounts of sixteen digits": (NEUTRAL, [4111111111111112, 5500000000000005, 4000000000000001]),
    "SSN in areas never issued": (NEUTRAL,
        ["000-12-3456", "666-12-3456", "912-12-3456", "123-00-4567", "123-45-0000"]),
    "IBAN with wrong check digits": (NEUTRAL, ["DE88370400440532013000", "GB81WEST12345698765432"]),
    "VIN with a wrong check digit": (NEUTRAL, ["1M8GDM9A1KP042788", "5GZCZ43D23S812715"]),
    "NHS numbers with a wrong check digit, in one block": (NEUTRAL, ["9434765918", "9434765871"]),
    "Spanish numbers with the wrong letter": (NEUTRAL, ["12345678A", "00000000B"]),
    "IP with parts over 255": (NEUTRAL, ["300.1.2.3", "1.2.3.999"]),
    "times of day": (NEUTRAL, ["12:30:45", "08:00:00"]),
    "version numbers": (NEUTRAL, ["1.2.3", "10.0.1"]),
    "kinds of phones": ("phone_type", ["home", "work", "mobile"]),
    "whether there is a phone": ("phone", ["yes", "no"]),
    "whether there is an e-mail address": ("email", [True, False]),
    "whether an address is verified": ("email_verified_at_level", ["12345", "99999x"]),
    "names of categories": (NEUTRAL, ["Blue Cross", "Self Pay", "Other Government"]),
    "American states": (NEUTRAL, ["West Virginia", "Ohio", "Utah", "Iowa", "New York", "Texas", "Maine"]),
    "file names of documents": (NEUTRAL, ["a.csv", "b.pdf"]),
    "eight digits that are no date": (NEUTRAL, [20101301, 20100001, 98765432]),
    "five digits as numbers": (NEUTRAL, [93710, 12139, 10001]),
    "account balance": ("account_balance", [12345, 99999]),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_look_alikes_are_not_taken_for_identifiers(case: str) -> None:
    name, values = NEAR_MISSES[case]
    suggestion = suggested(name, values)
    assert suggestion.role is not IDENTIFIER, suggestion.reason
    assert not suggestion.hipaa, suggestion.reason


ROLES_BY_NAME = {
    QUASI: """sex Gender Geschlecht sexe sexo race ethncty nationality marital_status Familienstand education
        occupation Beruf state region hospital oshpd_id adm_qtr los year_of_birth native-country age_group""",
    CONFIDENTIAL: """diagnosis dx01 diag_p DRG disease charge total_cost income salary-class Gehalt religion
        test_result medication hiv_status hospital_charge payor_primary procedure_code einkommen salaire""",
}


@pytest.mark.parametrize(("role", "name"), [(r, n) for r, names in ROLES_BY_NAME.items() for n in names.split()])
def test_roles_by_name(role: Role, name: str) -> None:
    suggestion = suggested(name, [1, 2, 3, 7])
    assert suggestion.role is role
    assert "by name" in suggestion.reason


def test_ages_up_to_89_are_no_hipaa_item() -> None:
    assert suggested("age", [*range(90)]).hipaa == ""
    assert suggested("age", [*range(91)]).hipaa == "C"


def test_whole_numbers_beside_missing_ones_are_read_as_whole() -> None:
    assert suggested("ssn", [219099999.0, 78051120.0]).hipaa == "G"


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([f"k{i}x" for i in range(50)], IDENTIFIER),  # texts, all different
        ([*range(1000, 1050)], IDENTIFIER),  # a run of numbers
        ([100_003 + 17_000 * i for i in range(50)], IDENTIFIER),  # numbers of one length
        ([7 * i**3 for i in range(50)], QUASI),  # amounts that happen to differ
        ([i / 7 for i in range(50)], QUASI),
        ([*range(5)], QUASI),  # too few records to tell
    ],
)
def test_record_numbers_are_told_by_counts(values: Sequence[object], role: Role) -> None:
    assert suggested(NEUTRAL, values, copies=1).role is role


def test_values_of_one_kind_tell_nobody_apart() -> None:
    assert suggest_role(pl.Series("year", [2010]), present=9, distinct=1, uniques=0).role is Role.INSENSITIVE
    assert suggest_role(pl.Series(NEUTRAL, []), present=0, distinct=1, uniques=0).role is Role.INSENSITIVE
    assert suggest_role(pl.Series("email", ["a@b.org"]), present=9, distinct=1, uniques=0).role is IDENTIFIER
    assert suggest_role(pl.Series("diagnosis", ["HIV"]), present=9, distinct=1, uniques=0).role is CONFIDENTIAL


def test_every_pattern_of_the_table_compiles() -> None:
    probe = pl.Series(["x"])
    for sign in SIGNS:
        for pattern in filter(None, (sign.shape, sign.fits)):
            probe.str.contains(f"^(?:{pattern})$")
        suggested(sign.what, ["x"])


@pytest.mark.parametrize("name", ["PTOTVAL", "INTVAL", "WSALVAL", "EMCONTRB", "RESREVENUE", "TOTSALES"])
def test_amounts_of_statistical_offices_are_money(name: str) -> None:
    assert suggested(name, [0, 120, 4500]).what == "money"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("ideathmon", "time of an event"),
        ("adm_qtr", "time of an event"),
        ("los", "length or circumstance of an event"),
        ("time_in_hospital", "length or circumstance of an event"),
    ],
)
def test_when_something_happened_is_told_from_how_long_it_took(name: str, what: str) -> None:
    assert suggested(name, [1, 2, 3]).what == what
