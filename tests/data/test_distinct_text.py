"""Who masks a column of texts that nearly all differ is told, and how to have it read otherwise."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import shoal
from shoal.engines.disk import Disk
from shoal.profile import profile
from shoal.survey import survey

SAYS = "Nearly every record has a value of its own in born"


def born(records: int, values: int) -> pl.DataFrame:
    days = [dt.date(1940, 1, 1) + dt.timedelta(days=9 * (row % values)) for row in range(records)]
    return pl.DataFrame({"born": [day.strftime("%Y/%m/%d") for day in days], "sex": ["f", "m"] * (records // 2)})


@pytest.mark.parametrize(("values", "warned"), [(200, True), (185, True), (170, False)])
def test_texts_that_nearly_all_differ_are_warned_of(values: int, warned: bool) -> None:
    table, policy = born(200, values), shoal.Policy(quasi_identifiers=["born", "sex"])
    with Disk() as disk:
        chunked = survey(disk.table(table.lazy()), policy).notes
    for notes in (shoal.anonymize(table, policy).notes, chunked, profile(table).notes):
        assert any(note.startswith(SAYS) for note in notes) is warned


def test_dates_and_few_records_are_not_warned_of() -> None:
    policy = shoal.Policy(quasi_identifiers=["born"])
    dates = born(200, 200).with_columns(pl.col("born").str.to_date("%Y/%m/%d"))
    for table in (dates, born(90, 90)):
        assert not any(note.startswith(SAYS[:20]) for note in shoal.anonymize(table, policy).notes)
