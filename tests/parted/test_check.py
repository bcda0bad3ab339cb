"""A table in parts is judged as the same table in memory, whoever made it."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.parted.check import check
from shoal.privacy.classes import class_sizes


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 150)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 110)


def policy(*models: object, **choices: object) -> shoal.Policy:
    stated = {"quasi_identifiers": ["a", "b"], "confidential": ["c"], "models": models or (shoal.KAnonymity(2),)}
    return shoal.Policy(**{**stated, **choices})


cells = st.tuples(
    st.sampled_from([None, float("nan"), 0.0, 1.5]), st.sampled_from([None, "x", "y"]), st.sampled_from([1, 2, 3])
)


@settings(deadline=None, max_examples=40)
@given(st.lists(cells, min_size=1, max_size=40))
def test_any_small_table_is_judged_as_in_memory(rows: list[tuple[float | None, str | None, int]]) -> None:
    table = pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.String, "c": pl.Int64}, orient="row")
    chosen = policy(shoal.KAnonymity(2), shoal.LDiversity(2), shoal.TCloseness(0.3))
    with pytest.MonkeyPatch.context() as patch, Disk() as disk:
        patch.setattr("shoal.engines.disk.BATCH", 7)
        patch.setattr("shoal.engines.table.CHUNK", 10)
        found = check(disk.table(table.lazy()), chosen)
    expected = shoal.check(table, chosen)
    assert [(v.model, v.holds) for v in found.verdicts] == [(v.model, v.holds) for v in expected]
    assert [v.achieved for v in found.verdicts] == pytest.approx([v.achieved for v in expected])
    assert found.shown.records == len(rows)


@pytest.mark.parametrize("values", [[None, float("nan")], [0.0, -0.0]])
def test_values_that_a_reader_can_tell_apart_make_two_classes(values: list[float | None]) -> None:
    table = pl.DataFrame({"a": values, "b": ["x", "x"], "c": [1.0, float("nan")]})
    with Disk() as disk:
        found = check(disk.table(table.lazy()), policy())
    assert [(v.achieved, v.holds) for v in found.verdicts] == [(1, False)]
    assert [(v.achieved, v.holds) for v in shoal.check(table, policy())] == [(1, False)]


def test_classes_are_counted_by_their_size_without_being_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = discharges(2000, seed=3)
    quasi = ["age_yrs", "sex"]
    by_size = table.group_by(quasi).len()["len"].value_counts().sort("len")

    def never(self: object, by: object) -> None:
        raise AssertionError("all classes at once")

    monkeypatch.setattr("shoal.engines.disk.DiskTable.counts", never)
    with Disk() as disk:
        source: Table = disk.table(table.lazy())
        for records in (2000, 5000):  # what is known beforehand may be too many
            found = class_sizes(source, quasi, records)
            assert found.size.tolist() == by_size["len"].to_list()
            assert found.classes.tolist() == by_size["count"].to_list()
    assert found.records == 2000


def test_what_cannot_be_judged_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"a": range(20), "b": range(20), "c": range(20), "name": ["n"] * 20})
    with Disk() as disk:
        source = disk.table(table.lazy())
        with pytest.raises(InputError, match=r"No quasi-identifier is named: .* \(--quasi"):
            check(source, policy(quasi_identifiers=[]))
        with pytest.raises(PromiseError, match="shows 'name', which the policy names as an identifier"):
            check(source, policy(identifiers=["name"]))
        with pytest.raises(InputError, match=r"'disk' cannot do the model 'k-map': .*--engine memory"):
            check(source, policy(shoal.KMap(5, fraction=0.1)))
        with pytest.raises(InputError, match="'disk' measures a risk only where it masks"):
            check(source, policy(shoal.MeasuredRisk(0.1)))
        monkeypatch.setattr("shoal.engines.whole.LISTED", 10)
        with pytest.raises(InputError, match=r"'c' has more than .* values"):
            check(source, policy(shoal.TCloseness(0.2)))
