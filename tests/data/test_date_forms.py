"""Dates in the forms of files: recognised, read, and written again to the letter."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.date_forms import DateForm, recognised
from shoal.data.month_names import all_names, month_words
from shoal.errors import InputError

KNOWN = {  # texts of a column -> their format and the dates that they are
    ("29.04.1943", "01.03.1943"): ("dd.mm.yyyy", "1943-04-29", "1943-03-01"),
    ("1.3.1943", "12.10.1999"): ("d.m.yyyy", "1943-03-01", "1999-10-12"),
    ("1.3.43", "12.10.99"): ("d.m.yy", "1943-03-01", "1999-10-12"),
    ("13/04/2021", "05/06/2021"): ("dd/mm/yyyy", "2021-04-13", "2021-06-05"),
    ("04/13/2021", "05/06/2021"): ("mm/dd/yyyy", "2021-04-13", "2021-05-06"),
    ("4/13/21", "12/6/21"): ("m/d/yy", "2021-04-13", "2021-12-06"),
    ("13-04-2021", "05-06-2021"): ("dd-mm-yyyy", "2021-04-13", "2021-06-05"),
    ("2021/04/03", "2020/12/31"): ("yyyy/mm/dd", "2021-04-03", "2020-12-31"),
    ("29 Apr 1943", "1 May 1950"): ("d mmm yyyy", "1943-04-29", "1950-05-01"),
    ("April 29, 1943", "May 1, 1950"): ("mmmm d, yyyy", "1943-04-29", "1950-05-01"),
    ("29. April 1943", "1. Mai 1950"): ("d. mmmm yyyy", "1943-04-29", "1950-05-01"),
    ("29-APR-43", "01-FEB-99"): ("dd-mmm-yy", "1943-04-29", "1999-02-01"),
    ("1 janv. 2020", "4 mai 2022"): ("d mmm yyyy", "2020-01-01", "2022-05-04"),
    ("29 de abril de 1943", "1 de mayo de 1950"): ("d 'de' mmmm 'de' yyyy", "1943-04-29", "1950-05-01"),
    ("3 maggio 2020", "12 giugno 2021"): ("d mmmm yyyy", "2020-05-03", "2021-06-12"),
    ("3 mrt 2020", "12 okt 2021"): ("d mmm yyyy", "2020-03-03", "2021-10-12"),
    ("29.04.1943 14:05", "01.03.1943 09:30"): ("dd.mm.yyyy hh:mm", "1943-04-29T14:05:00", "1943-03-01T09:30:00"),
    ("4/29/1943 2:05 PM", "4/2/1943 12:30 AM"): (
        "m/d/yyyy h:mm AM", "1943-04-29T14:05:00", "1943-04-02T00:30:00",
    ),
    ("29.04.1943 14:05:06.123", "30.04.1943 00:00:00.000"): (
        "dd.mm.yyyy hh:mm:ss.fff", "1943-04-29T14:05:06.123", "1943-04-30T00:00:00.000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("texts", KNOWN, ids=" ".join)
def test_a_usual_form_is_recognised_read_and_written_again(texts: tuple[str, ...]) -> None:
    forms = recognised(pl.Series(texts))
    assert forms is not None
    assert [form.format for form in forms.forms] == [KNOWN[texts][0]]
    plain = forms.plain(pl.Series(texts)).to_list()
    assert tuple(plain) == KNOWN[texts][1:]
    assert tuple(forms.written(text) for text in plain) == texts


FORMATS = [
    "dd.mm.yyyy", "d.m.yyyy", "mm/dd/yyyy", "m/d/yyyy", "yyyy/mm/dd", "yyyymmdd", "ddmmyyyy", "dd mmm yyyy",
    "mmmm d, yyyy", "dd.mm.yyyy hh:mm", "m/d/yyyy h:mm AM", "yyyy/mm/ddThh:mm:ss.ffffff", "d 'de' mmmm 'de' yyyy",
]  # fmt: skip


@given(
    st.sampled_from(FORMATS),
    st.sampled_from(all_names()),
    st.lists(st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 12, 31)), min_size=1, max_size=8),
)
def test_what_a_form_writes_it_reads_back(format_: str, names: tuple[str, ...], moments: list[dt.datetime]) -> None:
    form = DateForm(format_, names if "mmm" in format_ else ())
    unit = {"days": not form.timed, "minutes": form.timed and "ss" not in format_}
    if unit["days"]:
        moments = [dt.datetime.combine(moment, dt.time()) for moment in moments]
    elif unit["minutes"]:
        moments = [moment.replace(second=0, microsecond=0) for moment in moments]
    texts = [form.written(moment.isoformat()) for moment in moments]
    assert None not in texts
    plain = form.plain(pl.Series(texts, dtype=pl.String))
    assert [dt.datetime.fromisoformat(text) for text in plain] == moments


@given(st.dates(dt.date(1930, 1, 1), dt.date(2029, 12, 31)), st.sampled_from(["dd.mm.yy", "m/d/yy", "yymmdd"]))
def test_two_digits_of_a_year_lie_within_the_stated_hundred(day: dt.date, format_: str) -> None:
    text = DateForm(format_).written(day.isoformat())
    assert DateForm(format_).plain(pl.Series([text])).to_list() == [day.isoformat()]
    later = day.replace(year=day.year + 100, day=min(day.day, 28))
    assert DateForm(format_).written(later.isoformat()) is None


def test_two_digits_of_a_year_may_be_stated_to_begin_elsewhere() -> None:
    forms = recognised(pl.Series(["13.01.25", "14.01.24"]), pivot=1925)
    assert forms is not None
    assert forms.plain(pl.Series(["13.01.25", "14.01.24"])).to_list() == ["1925-01-13", "2024-01-14"]
    assert "one from 1925 to 2024" in forms.sentence


def test_a_column_may_hold_several_forms_and_is_written_in_the_commonest() -> None:
    texts = pl.Series(["2021-03-04", "04.03.2021", "05.03.2021", "5 mars 2021"])
    forms = recognised(texts)
    assert forms is not None
    assert forms.plain(texts).to_list() == ["2021-03-04", "2021-03-04", "2021-03-05", "2021-03-05"]
    assert forms.written("2021-03-05") == "05.03.2021"


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        (["03/04/2021", "05/06/2021"], "nothing shows whether '03/04/2021' is dd/mm/yyyy or mm/dd/yyyy"),
        (["3-4-21"], "nothing shows whether '3-4-21' is dd-mm-yy or mm-dd-yy"),
        (["13/04/2021", "05/16/2021"], "the day comes first in '13/04/2021' and the month in '05/16/2021'"),
    ],
)
def test_day_and_month_are_not_guessed(texts: list[str], doubt: str) -> None:
    forms = recognised(pl.Series(texts))
    assert forms is not None
    assert (forms.doubt, forms.forms) == (doubt, ())


@pytest.mark.parametrize(("stated", "day"), [("dd/mm/yyyy", "2021-04-03"), ("mm/dd/yyyy", "2021-03-04")])
def test_what_is_stated_decides_and_a_time_changes_nothing(stated: str, day: str) -> None:
    for text, plain in (("03/04/2021", day), ("03/04/2021 10:30", f"{day}T10:30:00")):
        forms = recognised(pl.Series([text]), [stated])
        assert forms is not None
        assert forms.plain(pl.Series([text])).to_list() == [plain]


@pytest.mark.parametrize("stated", ["dd/mm", "yyyy-dd-dd", "day/month/year", ""])
def test_a_format_that_is_none_is_refused(stated: str) -> None:
    with pytest.raises(InputError, match=r"such as dd/mm/yyyy or mm-dd-yy\.$"):
        recognised(pl.Series(["03/04/2021"]), [stated])


def test_eight_digits_are_dates_only_where_the_name_or_the_spread_says_so() -> None:
    few = pl.Series(["19480727", "19481231"])
    many = pl.Series([f"1948{month:02d}{day:02d}" for month in (7, 8) for day in range(1, 12)])
    assert recognised(few) is None
    assert recognised(few, speaks=True) is not None
    assert recognised(many) is not None
    for wrong in ("19480231", "17480727", "21480727"):
        assert recognised(pl.concat([many, pl.Series([wrong])]), speaks=True) is None


@pytest.mark.parametrize(
    "texts", [["Oslo", "Bergen"], ["12", "34"], ["1.2.3.4", "10.0.0.1"], ["31.12", "01.01"], ["2.13.99", "1.2.10"]]
)
def test_other_texts_are_no_dates(texts: list[str]) -> None:
    assert recognised(pl.Series(texts)) is None


def test_no_month_s_name_means_two_months() -> None:
    places: dict[str, set[int]] = {}
    for names in all_names():
        for place, name in enumerate(names):
            places.setdefault(name, set()).add(place)
    assert {name for name, months in places.items() if len(months) > 1} == set()
    assert {"März", "févr.", "agosto", "MEI", "sept", "gennaio"} <= month_words()
