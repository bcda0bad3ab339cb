"""A table that comes in chunks is judged as the same table in memory, whoever made it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.check import check_table
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.measure import MEASURES, Measure
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


@given(st.lists(cells, min_size=1, max_size=40))
def test_any_small_table_is_judged_as_in_memory(rows: list[tuple[float | None, str | None, int]]) -> None:
    table = pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.String, "c": pl.Int64}, orient="row")
    chosen = policy(shoal.KAnonymity(2), shoal.LDiversity(2), shoal.TCloseness(0.3))
    with pytest.MonkeyPatch.context() as patch, Disk() as disk:
        patch.setattr("shoal.engines.disk.BATCH", 7)
        patch.setattr("shoal.engines.table.CHUNK", 10)
        found = check_table(disk.table(table.lazy()), None, chosen)
    expected = shoal.check(table, chosen)
    assert [(v.model, v.holds) for v in found.verdicts] == [(v.model, v.holds) for v in expected]
    assert [v.achieved for v in found.verdicts] == pytest.approx([v.achieved for v in expected])
    assert found.shown.records == len(rows)


@pytest.mark.parametrize("values", [[None, float("nan")], [0.0, -0.0]])
def test_values_that_a_reader_can_tell_apart_make_two_classes(values: list[float | None]) -> None:
    table = pl.DataFrame({"a": values, "b": ["x", "x"], "c": [1.0, float("nan")]})
    with Disk() as disk:
        found = check_table(disk.table(table.lazy()), None, policy())
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
            check_table(source, None, policy(quasi_identifiers=[]))
        with pytest.raises(PromiseError, match="shows 'name', which the policy names as an identifier"):
            check_table(source, None, policy(identifiers=["name"]))
        with pytest.raises(InputError, match=r"A measured risk can only be judged beside the original: .*--paired"):
            check_table(source, None, policy(shoal.MeasuredRisk(0.1)))
        with pytest.raises(InputError, match=r"record by record: give both in the same order and say so \(--paired\)"):
            check_table(source, None, policy(shoal.MeasuredRisk(0.1)), original=source)
        with pytest.raises(InputError, match="original has 19 records, the release 20"):
            check_table(source, None, policy(), original=disk.table(table.head(19).lazy()), paired=True)
        with pytest.raises(InputError, match=r"Every class shows 'c' alike: .* beside the original"):
            check_table(source, None, policy(shoal.LDiversity(2), quasi_identifiers=["a", "c"]))
        monkeypatch.setattr("shoal.engines.whole.LISTED", 10)
        with pytest.raises(InputError, match=r"'c' has more than .* values"):
            check_table(source, None, policy(shoal.TCloseness(0.2)))


@pytest.mark.parametrize("masked", [False, True])
def test_k_map_is_judged_by_people_counted_in_a_population_of_any_size(tmp_path: Path, masked: bool) -> None:
    table, quasi = discharges(600, seed=3), ["age_yrs", "sex"]
    chosen = policy(quasi_identifiers=quasi, confidential=["charge"], models=[shoal.KAnonymity(2)])
    shown = shoal.anonymize(table, chosen, seed=1).table if masked else table
    people = pl.concat([table, discharges(900, seed=4)]).select(quasi)
    (tmp_path / "people").mkdir()
    for number, part in enumerate(people.iter_slices(500)):
        part.write_parquet(tmp_path / "people" / f"{number}.parquet")
    people.write_parquet(tmp_path / "people.parquet")
    for k in (1, 3):
        for name in ("people", "people.parquet"):
            model = shoal.KMap(max(k, 2), population=str(tmp_path / name))
            counted = chosen.model_copy(update={"models": (model,)})
            with Disk() as disk:
                checked = check_table(disk.table(shown.lazy()), None, counted)
            assert checked.verdicts == shoal.check(shown, counted)


def test_k_map_is_inferred_from_the_sampling_fraction_as_in_memory() -> None:
    table = pl.DataFrame({"a": [1, 2] * 6, "b": ["x"] * 12, "c": range(12)})
    for fixed in (False, True):
        chosen = policy(shoal.KMap(7, fraction=0.1, cells_fixed=fixed), shoal.KAnonymity(2))
        with Disk() as disk:
            source = disk.table(table.lazy())
            if fixed:
                assert check_table(source, None, chosen).verdicts == shoal.check(table, chosen)
                continue
            with pytest.raises(InputError, match="only if its cells were fixed"):
                check_table(source, None, chosen)


def test_values_that_classes_show_alike_are_judged_beside_the_original() -> None:
    table = pl.DataFrame({"a": [i // 8 for i in range(400)], "c": [i * 7 % 50 for i in range(400)]})
    means = table.with_columns(pl.col("c").mean().over("a"))
    models = [shoal.KAnonymity(4), shoal.LDiversity(3), shoal.TCloseness(0.4)]
    chosen = shoal.Policy(quasi_identifiers=["a", "c"], confidential=["c"], models=models)
    with Disk() as disk:
        released, original = disk.table(means.lazy()), disk.table(table.lazy())
        checked = check_table(released, None, chosen, original=original, paired=True)
    expected = shoal.check(means, chosen, original=table, paired=True)
    assert [(v.model, v.holds) for v in checked.verdicts] == [(v.model, v.holds) for v in expected]
    assert [v.achieved for v in checked.verdicts] == pytest.approx([v.achieved for v in expected])


def test_a_measured_risk_of_a_finished_release_is_the_mean_of_random_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = discharges(900, seed=3).select("age_yrs", "charge", "los")
    quasi = table.columns
    noisy = table.with_columns(pl.col("charge") + 1, pl.col("age_yrs") + pl.int_range(pl.len()) % 2)
    chosen = shoal.Policy(quasi_identifiers=quasi, models=[shoal.MeasuredRisk(0.05)])
    with Disk() as disk:
        released, original = disk.table(noisy.lazy()), disk.table(table.lazy())
        verdict = check_table(released, None, chosen, original=original, paired=True).verdicts[0]
    whole = shoal.check(noisy, chosen, original=table, paired=True)[0]
    assert not verdict.holds
    assert verdict.achieved >= whole.achieved - 0.05
    assert "is the mean of 6 random chunks" in verdict.note
    own = Measure("own", "risk", "riskier", "One's own.", lambda pair: 0.0)
    monkeypatch.setitem(MEASURES, "own", own)
    rank = shoal.Policy(quasi_identifiers=quasi, models=[shoal.MeasuredRisk(0.05, measure="own")])
    with Disk() as disk, pytest.raises(InputError, match="tells nothing sure of the whole"):
        check_table(disk.table(noisy.lazy()), None, rank, original=disk.table(table.lazy()), paired=True)
