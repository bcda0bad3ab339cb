"""Amounts in the forms of files: recognised, read as numbers, and written again."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.amount_forms import _NEGATIVES, AmountForm, Doubt, recognised

KNOWN = {  # texts of a column -> the numbers that they are
    ("1,234.50", "12.00"): ("1234.50", "12.00"),
    ("1.234,50", "12,00"): ("1234.50", "12.00"),
    ("1 234,50", "-12,00"): ("1234.50", "-12.00"),
    ("1\u202f234,50", "12,00"): ("1234.50", "12.00"),
    ("1'234.50", "12.00"): ("1234.50", "12.00"),
    ("$1,234", "$12"): ("1234", "12"),
    ("-$1,234.50", "$12.00"): ("-1234.50", "12.00"),
    ("€ 1.234", "€ 12"): ("1234", "12"),
    ("12,50 €", "1.234,00 €"): ("12.50", "1234.00"),
    ("1234.50 EUR", "12.00 EUR"): ("1234.50", "12.00"),
    ("12.5%", "100.0%"): ("12.5", "100.0"),
    ("1,234,567", "12"): ("1234567", "12"),
    ("12,5", "0,25"): ("12.5", "0.25"),
    ("83.12-", "12.00"): ("-83.12", "12.00"),
    ("1.234,50-", "12,00"): ("-1234.50", "12.00"),
    ("12,50- €", "1.234,00 €"): ("-12.50", "1234.00"),
    ("12,50 €-", "1.234,00 €"): ("-12.50", "1234.00"),
    ("(1,234.50)", "12.00"): ("-1234.50", "12.00"),
    ("($1,234.50)", "$12.00"): ("-1234.50", "12.00"),
    ("$(1,234.50)", "$12.00"): ("-1234.50", "12.00"),
    ("(12.5%)", "3.0%"): ("-12.5", "3.0"),
}


@pytest.mark.parametrize("texts", KNOWN, ids=" ".join)
def test_a_usual_form_is_recognised_read_and_written_again(texts: tuple[str, ...]) -> None:
    form = recognised(pl.Series(texts))
    assert isinstance(form, AmountForm)
    assert tuple(form.plain(pl.Series(texts))) == KNOWN[texts]
    assert tuple(form.written(plain) for plain in KNOWN[texts]) == texts


@given(
    st.builds(
        AmountForm,
        before=st.sampled_from(["", "$", "€ "]),
        behind=st.just(""),
        decimal=st.just(","),
        thousands=st.sampled_from(["", ".", " ", "'"]),
        decimals=st.integers(0, 3),
        negative=st.sampled_from(sorted(_NEGATIVES)),
    ),
    st.lists(st.decimals(-(10**9), 10**9, places=4), min_size=1, max_size=8),
)
def test_what_a_form_writes_it_reads_back(form: AmountForm, numbers: list[object]) -> None:
    plain = [f"{number:f}" for number in numbers]
    texts = [form.written(text) for text in plain]
    assert None not in texts
    back = form.plain(pl.Series(texts, dtype=pl.String))
    assert back.cast(pl.Float64).to_list() == [float(text) for text in plain]


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        (["1,234", "5,678"], "nothing shows whether '1,234' is a thousand or a fraction"),
        (["1", "2-", "2", "3-", "3"], "nothing shows whether '2-' is below nothing"),  # grades
        (["$1,234.50", "€12.00"], "its amounts are in several units ($, €)"),
    ],
)
def test_what_nothing_shows_is_in_doubt(texts: list[str], doubt: str) -> None:
    form = recognised(pl.Series(texts))
    assert isinstance(form, Doubt)
    assert form.doubt == doubt


@pytest.mark.parametrize(("mark", "number"), [(".", "1234"), (",", "1.234")])
def test_a_stated_mark_decides(mark: str, number: str) -> None:
    form = recognised(pl.Series(["1,234"]), mark)
    assert isinstance(form, AmountForm)
    assert form.plain(pl.Series(["1,234"])).to_list() == [number]


def test_marks_in_large_numbers_alone_part_thousands() -> None:
    texts = pl.Series(["950", "120", "1,250", "2,500", "3,125", "4,000", "12,125"])
    form = recognised(texts)
    assert isinstance(form, AmountForm)
    assert form.plain(texts).to_list() == ["950", "120", "1250", "2500", "3125", "4000", "12125"]


@pytest.mark.parametrize(
    "texts",
    [
        ["10.0.0.1", "192.168.1.7"], ["732 829 320", "404 833 048"], ["030 123 456", "040 222 333"],
        ["114 55", "118 72"],
        ["(212)", "(415)"], ["12", "13", "14-"], ["(12.50", "13.50)", "(1.50-"],
        ["Oslo", "Bergen"], ["4111 1111 1111 1111", "5500 0000 0000 0004"], ["1-2", "3-4"],
    ],
)  # fmt: skip
def test_numbers_of_firms_telephones_and_computers_are_no_amounts(texts: list[str]) -> None:
    assert recognised(pl.Series(texts)) is None
