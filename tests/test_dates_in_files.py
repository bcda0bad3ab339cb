"""Dates in a file's own form: read as dates, and released, judged and read back in that form."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_series_equal

from shoal.data.files import read_table
from shoal.data.forms import Forms
from shoal.data.reading import Reading
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check, Layout, Profile
from shoal.policy import Policy
from shoal.privacy import KAnonymity

DAYS = [dt.date(1943, 1, 1) + dt.timedelta(days=37 * place) for place in range(40)]
WRITTEN = {
    "dd.mm.yyyy": "%d.%m.%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "dd mmm yyyy": "%d %b %Y",
    "mmmm dd, yyyy": "%B %d, %Y",
    "yyyymmdd": "%Y%m%d",
    "dd.mm.yy": "%d.%m.%y",
    "dd.mm.yyyy hh:mm": "%d.%m.%Y 14:05",
}
SIGNS = {"%d": r"\d\d", "%m": r"\d\d", "%Y": r"\d{4}", "%y": r"\d\d", "%b": "[A-Z][a-z]{2}", "%B": "[A-Z][a-z]+"}
POLICY = Policy(quasi_identifiers=["born"], confidential=["ill"], insensitive=["seen"], models=[KAnonymity(4)])


def table(folder: Path, way: str, days: list[dt.date] = DAYS) -> Path:
    """A file of people with a date written this way twice: once to be masked, once as it is."""
    rows = [(day.strftime(way), day.strftime(way), place % 3) for place, day in enumerate(days)]
    random.Random(1).shuffle(rows)
    pl.DataFrame(rows, schema=["born", "seen", "ill"], orient="row").write_csv(folder / "people.csv")
    return folder / "people.csv"


@pytest.mark.parametrize("format_", WRITTEN)
def test_dates_leave_in_the_form_in_which_they_came_and_are_read_back(format_: str, tmp_path: Path) -> None:
    way, target, paper = WRITTEN[format_], tmp_path / "r.csv", tmp_path / "c.json"
    release = Anonymize(table(tmp_path, way), POLICY, target, certificate=paper).run()
    assert any(f"Column 'born' is read as dates written {format_}" in note for note in release.notes)
    assert release.schema["born"].kind == "date"
    shown = pl.read_csv(target, infer_schema=False)
    day = re.sub(r"%.", lambda sign: SIGNS[sign[0]], way.replace(".", r"\."))
    assert shown["born"].str.contains(rf"^\[{day};{day}\]$").all()
    assert sorted(shown["seen"]) == sorted(day.strftime(way) for day in DAYS)
    assert Check(target, certificate=paper).run().holds
    assert Check(target, POLICY).run().holds
    assert not Check(target, POLICY.changed(models=[KAnonymity(41)])).run().holds


AMBIGUOUS = [dt.date(2021, month, day) for month in range(1, 5) for day in range(1, 11)]


def test_day_and_month_that_nothing_tells_apart_are_asked_for(tmp_path: Path) -> None:
    source = table(tmp_path, "%m/%d/%Y", AMBIGUOUS)
    with pytest.raises(InputError, match=r"Column 'born' holds dates, and nothing shows whether '../../2021' is "):
        Anonymize(source, POLICY, tmp_path / "r.csv").run()
    with pytest.raises(InputError, match=r"--read date-format\.born=dd/mm/yyyy, or .* \(--read text=born\)\.$"):
        read_table(source)
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("stated", ["mm/dd/yyyy", {"born": "mm/dd/yyyy", "seen": "mm/dd/yyyy"}])
def test_what_is_stated_of_dates_goes_into_policy_and_certificate(stated: str | dict[str, str], tmp_path: Path) -> None:
    source, target, paper = table(tmp_path, "%m/%d/%Y", AMBIGUOUS), tmp_path / "r.csv", tmp_path / "c.json"
    policy = POLICY.changed(reading={"date-format": stated})
    Anonymize(source, policy, target, certificate=paper).run()
    shown = pl.read_csv(target, infer_schema=False)
    assert shown["born"].str.contains(r"^\[\d\d/\d\d/2021;\d\d/\d\d/2021\]$").all()
    assert set(json.loads(paper.read_text())["read"]["date_format"]) >= {"born", "seen"}
    assert Check(target, certificate=paper).run().holds
    assert Check(target, policy).run().holds
    assert read_table(source, date_format=stated)["born"].is_in(AMBIGUOUS).all()
    assert Policy.read(_saved(policy, tmp_path)) == policy


def _saved(policy: Policy, folder: Path) -> Path:
    (folder / "shoal.toml").write_text(policy.to_toml(), encoding="utf-8")
    return folder / "shoal.toml"


def test_several_forms_in_a_column_are_read_and_masked_values_are_in_the_commonest(tmp_path: Path) -> None:
    way = ["%d.%m.%Y", "%Y-%m-%d", "%d.%m.%Y"]
    texts = [day.strftime(way[place % 3]) for place, day in enumerate(DAYS)]
    pl.DataFrame({"born": texts, "seen": texts, "ill": [1] * 40}).write_csv(tmp_path / "people.csv")
    release = Anonymize(tmp_path / "people.csv", POLICY, tmp_path / "r.csv").run()
    assert any("dates written dd.mm.yyyy and yyyy-mm-dd" in note for note in release.notes)
    shown = pl.read_csv(tmp_path / "r.csv", infer_schema=False)
    assert shown["born"].str.contains(r"^\[\d\d\.\d\d\.19\d\d;\d\d\.\d\d\.19\d\d\]$").all()
    assert sorted(shown["seen"]) == sorted(texts)
    assert read_table(tmp_path / "people.csv")["born"].to_list() == DAYS


def test_a_profile_says_how_dates_are_read_and_what_is_in_doubt(tmp_path: Path) -> None:
    profiled = Profile(table(tmp_path, "%d.%m.%Y")).run()
    assert {a.name: a.kind for a in profiled.attributes}["born"] == "date"
    assert profiled.reading.date_format == {"born": "dd.mm.yyyy", "seen": "dd.mm.yyyy"}
    doubtful = Profile(table(tmp_path, "%m/%d/%Y", AMBIGUOUS)).run()
    assert any("nothing shows whether" in note and "looked at as text here" in note for note in doubtful.notes)


def test_a_column_declared_to_be_categories_or_text_is_no_date(tmp_path: Path) -> None:
    source = table(tmp_path, "%m/%d/%Y", AMBIGUOUS)
    assert Layout(text=("born", "seen")).read(source)["born"].dtype == pl.String
    kinds = POLICY.changed(attributes={"born": {"kind": "nominal"}, "seen": {"kind": "nominal"}})
    assert Layout().read(source, kinds)["born"].dtype == pl.String


def test_a_date_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("born\n13.04.1943\n31.02.1943\n14.05.1950\n")
    with pytest.raises(InputError, match=r"Column 'born' mixes dates and text: line 3 holds '31\.02\.1943'\. "):
        read_table(path)


def test_a_format_of_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no column 'bron', of which date-format is stated\. Did you mean 'born'"):
        read_table(table(tmp_path, "%d.%m.%Y"), date_format={"bron": "dd.mm.yyyy"})


def test_eight_digits_of_a_column_named_as_dates_are_dates_and_others_may_be(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("dob,lot\n19480727,19480727\n19481231,19481231\n")
    forms = Forms(Reading())
    read = read_table(path, forms=forms)
    assert read["dob"].to_list() == [dt.date(1948, 7, 27), dt.date(1948, 12, 31)]
    assert read["lot"].to_list() == [19480727, 19481231]
    assert any("Column 'lot' holds numbers such as 19480727, which may be dates" in note for note in forms.notes)


def test_a_released_number_of_thirty_digits_is_no_date(tmp_path: Path) -> None:
    numbers = pl.Series("age", ["9" * 30, "[20;30]", "41"])
    assert_series_equal(Forms(Reading()).cells(numbers), numbers)
