"""What is stated of dates, amounts and missing, where a file knows its types: carried out, not ignored."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from shoal.data.files import read_table, write_table
from shoal.data.reading import Reading
from shoal.errors import InputError
from shoal.jobs import Anonymize, Check, Profile
from shoal.policy import Policy
from shoal.privacy import KAnonymity

DAYS = [dt.date(2021, 1 + place % 12, 1 + place % 12) for place in range(24)]  # nothing shows which is the month
TABLE = pl.DataFrame(
    {
        "born": ["-", *(day.strftime("%d/%m/%Y") for day in DAYS[1:])],
        "paid": [f"1.{500 + place},50 €" for place in range(24)],
        "age": [999, *range(30, 53)],
        "code": [f"{place % 3}" for place in range(24)],
    }
)
STATED = {"missing": {"*": ["-"], "age": ["999"]}, "date-format": "dd/mm/yyyy", "decimal": {"paid": ","}}


@pytest.fixture(params=["t.parquet", "t.xlsx", "t.arrow", "sqlite"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The table in a file that knows its types."""
    name = f"sqlite:///{tmp_path / 't.db'}#t" if request.param == "sqlite" else str(tmp_path / request.param)
    write_table(TABLE, name)
    return name


def test_what_is_stated_of_values_is_carried_out(source: str) -> None:
    assert read_table(source).dtypes == TABLE.dtypes  # its own types, where nothing is stated
    read = read_table(source, Reading.of(STATED))
    assert read["born"].to_list() == [None, *DAYS[1:]]
    assert read["paid"].to_list() == [1500.5 + place for place in range(24)]
    assert read["age"].to_list() == [None, *range(30, 53)]
    assert read["code"].equals(TABLE["code"])  # text of which nothing is stated is text


def test_text_that_is_to_stay_text_does(source: str) -> None:
    read = read_table(source, Reading.of(STATED), text=["born"])
    assert read["born"].to_list() == [None, *TABLE["born"][1:]]
    assert read_table(source, Reading.of(STATED), needed=["age"])["paid"].equals(TABLE["paid"])


def test_a_release_says_how_text_was_read_and_is_judged(source: str, tmp_path: Path) -> None:
    policy = Policy(
        quasi_identifiers=["born", "age"], confidential=["paid"], insensitive=["code"], models=[KAnonymity(4)],
        reading=STATED,
    )  # fmt: skip
    release = Anonymize(source, policy, tmp_path / "r.parquet", certificate=tmp_path / "c.json").run()
    assert release.schema["born"].kind == "date"
    assert any("Column 'born' is read as dates written dd/mm/yyyy" in note for note in release.notes)
    assert Check(tmp_path / "r.parquet", certificate=tmp_path / "c.json").run().holds
    assert Check(tmp_path / "r.parquet", policy).run().holds


def test_texts_that_look_like_dates_are_noted_with_what_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    days = [dt.date(1950 + place, 1 + place % 12, 1 + place % 28) for place in range(24)]
    ways = {"a b": "%d.%m.%Y", "iso": "%Y-%m-%d", "us": "%m/%d/%Y", "time": "%d.%m.%Y %H:%M"}
    doubtful = {"born": [day.strftime("%d/%m/%Y") for day in DAYS], "code": [f"{place}.1" for place in range(24)]}
    pl.DataFrame({name: [day.strftime(way) for day in days] for name, way in ways.items()} | doubtful).write_parquet(
        path
    )
    notes = Profile(path).run().notes
    options = {name: re.findall(r"--read ('[^']+'|\S+)", note) for name in (*ways, "born", "code")
               for note in notes if note.startswith(f"Column '{name}' is text that looks like dates")}  # fmt: skip
    assert [*options] == [*ways, "born"]
    assert options["born"] == ["date-format.born=dd/mm/yyyy", "date-format.born=mm/dd/yyyy"]
    for name in ways:
        key, _, form = shlex.split(options[name][0])[0].rpartition("=")
        assert read_table(path, date_format={key.partition(".")[2]: form})[name].cast(pl.Date).to_list() == days
    policy = Policy(quasi_identifiers=["us"], confidential=["iso"], models=[KAnonymity(4)])
    release = Anonymize(path, policy, tmp_path / "r.parquet").run()
    assert any("--read date-format.us=mm/dd/yyyy reads it as dates" in note for note in release.notes)


def test_what_cannot_be_read_as_stated_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"born": ["13/04/1943", "31/02/1943", "14/05/1950"]}).write_parquet(path)
    with pytest.raises(InputError, match=r"Column 'born' of .* mixes dates and text: record 2 holds '31/02/1943'"):
        read_table(path, date_format={"born": "dd/mm/yyyy"})
    with pytest.raises(InputError, match=r"has no column 'bron', of which date-format is stated"):
        read_table(path, date_format={"bron": "dd/mm/yyyy"})
    pl.DataFrame({"paid": ["1 €", "2 $", "3 €"]}).write_parquet(path)
    with pytest.raises(InputError, match=r"t\.parquet: Column 'paid' holds amounts, and its amounts are in several"):
        read_table(path, decimal={"paid": ","})
