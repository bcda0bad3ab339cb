"""Free text: which columns hold it, what of it has a form, and what masking leaves (docs/spec.md#free-text)."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import InputError, Policy
from shoal.data import national_numbers as national
from shoal.data.free_text import folded, is_free_text, mask_text, patterns_in
from shoal.data.text_patterns import spans_of

SENTENCES = Path(os.environ.get("SHOAL_DATA", "data")) / "text" / "presidio_synth_v2.json.gz"

FORMS = [
    ("write to anna.b@mail.example.org today", "<EMAIL>", "anna"),
    ("or bob (at) example (dot) org", "<EMAIL>", "bob"),
    ("see https://example.org/p?id=7 there", "<URL>", "example"),
    ("IBAN DE89 3704 0044 0532 0130 00 is hers", "<IBAN>", "3704"),
    ("iban gb82west12345698765432 too", "<IBAN>", "west"),
    ("card 4111 1111 1111 1111 expired", "<CARD>", "4111"),
    ("ssn 123-45-6789 on file", "<SSN>", "6789"),
    ("from 192.168.10.7 at night", "<IP>", "192"),
    ("from 2001:db8::8a2e:370:7334 again", "<IP>", "2001"),
    ("called +49 (171) 555-1234 twice", "<PHONE>", "555"),
    ("called (415) 555-2671 x12 twice", "<PHONE>", "555"),
    ("seen 29 Apr 1943 there", "<DATE>", "1943"),
    ("seen April 29th, 1943 there", "<DATE>", "Apr"),
    ("seen 03/04/2021 14:30 there", "<DATE>", "14:30"),
    ("am 27.07.1948 geboren", "<DATE>", "1948"),
    ("le 3 février 2020 ici", "<DATE>", "vrier"),
    ("at 48.85837, 2.294481 exactly", "<PLACE>", "48."),
    ("at 48°51′30″N there", "<PLACE>", "48"),
    ("NINO QQ123456C? no, AB123456C", "<NATIONAL_ID>", "AB123456C"),
    ("CPF 529.982.247-25 dele", "<NATIONAL_ID>", "529"),
    ("account 00283746523746 closed", "<PHONE>", "002837"),
]


@pytest.mark.parametrize(("text", "label", "gone"), FORMS)
def test_what_has_a_form_is_replaced_by_what_it_is(text: str, label: str, gone: str) -> None:
    masked = mask_text(text)
    assert label in masked
    assert gone not in masked


@pytest.mark.parametrize(
    "text",
    [
        "BP 120/80, HR 72, T 37.8",
        "dose 5.5 mg twice, CRP 12,5",
        "grade 3 of 4 (see 2.1)",
        "born in 1948, aged 73",
        "x = 1e-5",
    ],
)
def test_measurements_and_years_stay(text: str) -> None:
    assert mask_text(text) == text


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (national.codice_fiscale, "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
        (national.steuer_id, "86095742719", "86095742718"),
        (national.pesel, "44051401359", "44051401358"),
        (national.personnummer, "811218-9876", "811218-9877"),
        (national.fodselsnummer, "01010750160", "01010750161"),
        (national.hetu, "131052-308T", "131052-308U"),
        (national.belgian, "85.07.30-033.28", "85.07.30-033.29"),
        (national.ahv, "756.9217.0769.85", "756.9217.0769.84"),
        (national.cpf, "529.982.247-25", "529.982.247-26"),
        (national.resident_id, "11010519491231002X", "110105194912310021"),
        (national.bsn, "111222333", "111222334"),
        (national.cpr, "070761-4285", "410761-4285"),
    ],
)
def test_national_numbers_prove_themselves(check: object, right: str, wrong: str) -> None:
    assert check(right)  # type: ignore[operator]
    assert not check(wrong)  # type: ignore[operator]


@pytest.mark.skipif(not SENTENCES.exists(), reason="the sentences are not here")
def test_what_the_patterns_find_in_presidios_sentences() -> None:
    sentences = json.loads(gzip.decompress(SENTENCES.read_bytes()))
    held: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    right = wrong = 0
    for sentence in sentences:
        text = sentence["full_text"]
        taken, labelled = bytearray(len(text)), bytearray(len(text))
        for each in sentence["spans"]:
            labelled[each["start_position"] : each["end_position"]] = b"\1" * len(each["entity_value"])
        for span in spans_of(text):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
            overlaps = 1 in labelled[span.start : span.end]
            right, wrong = right + overlaps, wrong + (not overlaps)
        for each in sentence["spans"]:
            start, end = each["start_position"], each["end_position"]
            held[each["entity_type"]] += 1
            covered[each["entity_type"]] += sum(taken[start:end]) >= 0.9 * (end - start)
    recall = {kind: covered[kind] / held[kind] for kind in held}
    assert min(recall[kind] for kind in ("EMAIL_ADDRESS", "IBAN_CODE", "US_SSN", "IP_ADDRESS", "DOMAIN_NAME")) == 1
    assert recall["CREDIT_CARD"] >= 0.98
    assert recall["PHONE_NUMBER"] >= 0.95
    assert recall["DATE_TIME"] >= 0.4
    assert recall["PERSON"] == 0  # no form: the guide says so
    assert covered.total() / held.total() >= 0.15
    assert right / (right + wrong) >= 0.99


NAMES = [
    ("Frau MUELLER rang; Müllers Tochter auch", ["Anna Müller"], "Frau <NAME> rang; <NAME> Tochter auch"),
    ("Mr. Van Der Berg left", ["Karl van der Berg"], "Mr. <NAME> left"),
    ("O'Brien and OBrien", ["Pat O'Brien"], "<NAME> and <NAME>"),
    ("Jose\u0301 came, JOSE went", ["José García"], "<NAME> came, <NAME> went"),
    ("file 00-012.345 and 12345", ["12345"], "file <ID> and <ID>"),
    ("the main road, at 12 Main Street", ["12 Main Street"], "the main road, at <ID>"),
    ("患者田中太郎は来院した", ["田中太郎"], "患者<NAME>は来院した"),
    ("Annabel is not Anna", ["Anna"], "Annabel is not <NAME>"),
    ("Marking is not Mark; Mark's is", ["Mark"], "Marking is not <NAME>; <NAME>'s is"),
]


@pytest.mark.parametrize(("text", "identifiers", "masked"), NAMES)
def test_identifiers_of_the_record_are_masked_as_whole_words(text: str, identifiers: list[str], masked: str) -> None:
    assert mask_text(text, identifiers) == masked


def test_one_name_in_several_spellings_is_one() -> None:
    assert len({folded(name) for name in ("Müller", "MUELLER", "muller", "Mu\u0308ller")}) == 1


@settings(max_examples=4 * settings().max_examples)
@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=3))
def test_masking_again_finds_nothing_new(text: str, identifiers: list[str]) -> None:
    known = [value for value in identifiers if value.upper() not in "NAME ID PHONE EMAIL DATE NUMBER URL"]
    masked = mask_text(text)
    assert mask_text(masked) == masked
    assert isinstance(mask_text(text, known), str)


def test_a_long_cell_takes_no_more_than_its_length() -> None:
    assert "<NUMBER>" in mask_text("1 2 3 4 5 6 7 " * 3_000) + "<NUMBER>"
    mask_text("a" * 100_000 + "@" + "b." * 2_000)
    mask_text("ab12 " * 20_000)


NOTES = [f"patient number {i} came with cough and fever on a {['Monday', 'Friday'][i % 2]}" for i in range(60)]


def test_notes_are_free_text_and_categories_are_not() -> None:
    assert is_free_text(pl.Series(NOTES))
    assert is_free_text(pl.Series([*NOTES, *[None] * 200]))
    assert is_free_text(pl.Series([f"患者は{i}日前から咳と発熱があり受診した" for i in range(30)]))
    assert not is_free_text(pl.Series(["Malignant neoplasm of bronchus and lung", "Essential hypertension"] * 30))
    assert not is_free_text(pl.Series([f"Anna-{i} Maria Müller" for i in range(60)]))
    assert not is_free_text(pl.Series([f"C{i}" for i in range(60)]))
    assert not is_free_text(pl.Series(range(60)))
    assert not is_free_text(pl.Series([None] * 5, dtype=pl.String))


def test_patterns_are_counted_by_cell() -> None:
    cells = pl.Series(["a@b.org and c@d.org", "call 0171 555 1234", "nothing here", None])
    assert patterns_in(cells) == {"e-mail addresses": 1, "phone numbers": 1}


def table() -> pl.DataFrame:
    notes = [f"{name.upper()} wrote from x{i}@b.org that day {i}" for i, name in enumerate(["Smith", "Garcia"] * 30)]
    people = {"name": ["Jo Smith", "Al García"] * 30, "age": [30 + i % 3 for i in range(60)], "note": notes}
    return pl.DataFrame(people)


ROLES = {"identifiers": ["name"], "quasi_identifiers": ["age"]}


@pytest.mark.parametrize("height", [999, 1_000, 1_001, 1_197, 5_000])
def test_a_thousand_cells_are_looked_at_wherever_there_are_as_many(height: int) -> None:
    cells = pl.Series("note", [f"call {i} at a@b.org" for i in range(height)])
    assert patterns_in(cells) == {"e-mail addresses": min(height, 1_000)}


def test_a_remark_copied_into_many_records_is_free_text_where_it_says_how_to_reach_somebody() -> None:
    calls = ["Anruf von Frau Müller, Tel. +49 351 1234567", "Call back Mr Hardy at bob@clinic.org please"]
    assert is_free_text(pl.Series([calls[0]] * 40))
    assert is_free_text(pl.Series(calls * 20))
    bands = ["from 01.01.2020 to 31.12.2020 at the clinic", "treated before 01.01.2020 somewhere else at home"]
    assert not is_free_text(pl.Series(bands * 20))


def test_text_has_no_role_by_itself() -> None:
    release = shoal.anonymize(table(), Policy(**ROLES, rest="insensitive"), seed=1)
    assert release.table.columns == ["age"]
    assert any(note.startswith("Free text is left out: 'note'") for note in release.notes)
    for role in ({"insensitive": ["note"]}, {"confidential": ["note"]}, {"quasi_identifiers": ["age", "note"]}):
        with pytest.raises(InputError, match="Column 'note' is free text, of which nothing can be promised"):
            shoal.anonymize(table(), Policy(**ROLES | role), seed=1)
    nominal = Policy(**ROLES, insensitive=["note"], attributes={"note": {"kind": "nominal"}})
    assert "note" in shoal.anonymize(table(), nominal, seed=1).table.columns
    stated = Policy(**ROLES, rest="insensitive", attributes={"age": {"kind": "numeric"}, "note": {"kind": "text"}})
    assert "note" not in shoal.anonymize(table(), stated, seed=1).table.columns


def test_text_is_released_or_masked_and_the_certificate_says_so() -> None:
    release = shoal.anonymize(table(), Policy(**ROLES, text={"release": ["note"]}), seed=1)
    assert release.table["note"].to_list() == table()["note"].to_list()
    assert release.certificate["text"] == {"note": "text, released as it is, no promise"}
    release = shoal.anonymize(table(), Policy(**ROLES, text={"mask": ["note"]}), seed=1)
    assert set(release.table["note"].str.replace(r"\d+$", "")) == {"<NAME> wrote from <EMAIL> that day "}
    assert release.certificate["text"] == {"note": "text, masked by patterns, no promise"}
    assert any("nothing is promised" in note for note in release.notes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ({"mask": ["notes"]}, "no column 'notes' of free text. Did you mean 'note'"),
        ({"mask": ["name"]}, "'name' is an identifier"),
        ({"mask": ["note"], "release": ["note"]}, "choose one"),
        ({"masker": "m:f"}, "no column to mask"),
        ({"mask": ["note"], "masker": "nowhere_at_all:f"}, "cannot be used"),
        ({"mask": ["note"], "masker": "json:loads"}, "masker of text 'json:loads' failed"),
        ({"mask": ["note"], "masker": "builtins:len"}, "as many texts"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(text: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        shoal.anonymize(table(), Policy(**ROLES, text=text), seed=1)


def test_a_masker_of_ones_own_gets_texts_that_are_masked_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def mask(texts):\n    assert '@' not in str(texts)\n    return [t.replace('day', '<DAY>') for t in texts]\n"
    (tmp_path / "own_masker.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    policy = Policy(**ROLES, text={"mask": ["note"], "masker": "own_masker:mask"})
    assert shoal.anonymize(table(), policy, seed=1).table["note"].str.contains("<DAY>").all()
    written = tmp_path / "p.toml"
    written.write_text(policy.to_toml())
    assert Policy.read(written).text.masker == "own_masker:mask"
    with pytest.raises(InputError, match="names the masker of text 'own_masker:mask', which is code"):
        Policy.read(written, own_code=False)
