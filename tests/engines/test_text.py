"""Text typed by its first records: the same types as when all of it has been seen, or a sentence."""

from __future__ import annotations

from datetime import date, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.data.text_types import typed
from shoal.engines.disk import Disk
from shoal.engines.text import AsText
from shoal.errors import InputError
from tests.engines.test_table import collected

WORDS = pl.DataFrame(
    {
        "zip": ["01234", "90210", None],
        "age": ["5", "", " 71 "],
        "share": ["0.5", "NA", "1e3"],
        "yes": ["true", "False", None],
        "day": ["2020-01-31", "", "1999-12-31"],
        "moment": ["2020-01-31T10:00:00.5", None, "2020-01-31 10:00"],
        "word": ["NA", "", "x"],
        "nothing": [None, "", None],
    }
)


def test_a_head_that_shows_all_gives_the_types_of_the_whole() -> None:
    with Disk() as disk:
        found = collected(AsText(text=["yes"]).typed(disk.table(WORDS.lazy()), WORDS))
    expected = WORDS.select(typed(column) for column in WORDS.drop("yes", "nothing"))
    assert_frame_equal(found.select(expected.columns), expected)
    assert found["yes"].to_list() == ["true", "False", None]
    assert found["nothing"].dtype == pl.String
    assert found["day"].to_list() == [date(2020, 1, 31), None, date(1999, 12, 31)]
    assert found["moment"][0] == datetime(2020, 1, 31, 10, 0, 0, 500_000)


@pytest.mark.parametrize(
    ("name", "later"),
    [("age", "007"), ("age", "7.5"), ("share", "much"), ("yes", "maybe"), ("day", "2020-13-01"), ("moment", "noon")],
)
def test_what_turns_up_too_late_is_refused_by_name(name: str, later: str) -> None:
    words = pl.DataFrame({name: [*WORDS[name], later]})
    named = rf"^Column '{name}' holds .* and '{later}' further down \(record {len(words)}\): correct it, .*--read "
    with Disk() as disk, pytest.raises(InputError, match=named):
        collected(AsText().typed(disk.table(words.lazy()), WORDS.select(name)))


def test_two_kinds_of_things_in_the_head_are_refused() -> None:
    words = pl.DataFrame({"age": ["5", "6", "old"]})
    with Disk() as disk, pytest.raises(InputError, match="Column 'age' holds numbers, and 'old' in record 3"):
        AsText().typed(disk.table(words.lazy()), words)


def test_codes_stay_text_by_their_names_as_in_memory() -> None:
    words = pl.DataFrame({"postcode": ["90210", "3625 KM", "NA"], "icd9": ["250.00", "", "401.9"]})
    with Disk() as disk:
        table = collected(AsText().typed(disk.table(words.lazy()), words))
    assert table["postcode"].to_list() == ["90210", "3625 KM", None]
    assert table["icd9"].to_list() == ["250.00", None, "401.9"]
