"""Grouping in parts keeps what grouping in memory keeps; in runs of k it gives the very same classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shoal
from shoal.chunked_release import CERTIFICATE, ChunkedRelease, anonymize_in_chunks, anonymize_to
from shoal.data.discharges import discharges
from shoal.engines.disk import Disk
from shoal.masking import chunks

QUASI = ["age_yrs", "sex", "patzip", "los"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 500)
    monkeypatch.setattr(chunks, "RANDOM_CHUNK", 1500)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 700)


def policy(method: str = "hilbert", *models: object, **choices: object) -> shoal.Policy:
    return shoal.Policy(
        quasi_identifiers=choices.pop("quasi_identifiers", QUASI),
        confidential=["charge"],
        models=[shoal.KAnonymity(5), *models],
        method=shoal.METHODS.find(method)(),
        **choices,
    )


def released(disk: Disk, table: pl.DataFrame, chosen: shoal.Policy) -> tuple[ChunkedRelease, pl.DataFrame]:
    release = anonymize_in_chunks(disk.table(table.lazy()), chosen, seed=1)
    return release, release.frame.collect()


def same_records(one: pl.DataFrame, other: pl.DataFrame) -> None:
    assert_frame_equal(one, other, check_row_order=False)


@pytest.mark.parametrize("rows", [4999, 5000, 5001, 5004])
def test_runs_of_k_are_the_same_in_parts_as_in_memory(rows: int) -> None:
    table = discharges(rows, seed=3)
    with Disk() as disk:
        release, found = released(disk, table, policy("sorted"))
        whole = shoal.anonymize(table, policy("sorted"))
        same_records(found, whole.table)
        assert release.information_loss == pytest.approx(whole.information_loss, rel=1e-12)
        assert release.separation_loss == pytest.approx(whole.separation_loss, rel=1e-12)
        assert release.facts["chunks"] > 5


def test_runs_of_k_are_the_same_where_most_records_tie() -> None:
    table = discharges(4000, seed=3).with_columns(age_yrs=pl.lit(30), patzip=pl.lit(90001), los=pl.lit(1))
    with Disk() as disk:
        release, found = released(disk, table, policy("sorted"))
        same_records(found, shoal.anonymize(table, policy("sorted")).table)
        assert release.facts["chunks"] == 8  # ties are divided by position


@pytest.mark.parametrize("method", ["hilbert", "kd", "kd-median", "mdav", "mdav+"])
def test_every_grouping_keeps_k_in_parts(method: str) -> None:
    table = discharges(3000, seed=4)
    with Disk() as disk:
        release, found = released(disk, table, policy(method))
        assert release.sizes.smallest >= 5
        assert found.height == 3000
        verdicts = shoal.check(found, policy(method))
        assert [v.achieved for v in verdicts] == [v.achieved for v in release.verdicts]
        assert sorted(found["charge"]) == sorted(table["charge"])


def test_the_loss_is_near_that_of_the_whole_table() -> None:
    table = discharges(20_000, seed=5)
    with Disk() as disk:
        release, _ = released(disk, table, policy())
    assert release.information_loss < 1.15 * shoal.anonymize(table, policy()).information_loss


@pytest.mark.parametrize(
    "model", [shoal.TCloseness(0.2), shoal.TCloseness(0.3, distance="equal"), shoal.LDiversity(3)], ids=str
)
def test_confidential_values_are_judged_against_the_whole_table(model: object) -> None:
    table = discharges(4000, seed=6).with_columns(pl.col("charge") // 5000)
    with Disk() as disk:
        release, found = released(disk, table, policy("hilbert", model))
        verdicts = shoal.check(found, policy("hilbert", model))
        assert [v.holds for v in release.verdicts] == [True, True]
        assert [v.achieved for v in verdicts] == pytest.approx([v.achieved for v in release.verdicts])
        assert release.facts["chunks"] == 3


def test_missing_values_texts_and_dates_come_through() -> None:
    rng = np.random.default_rng(1)
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2022, 12, 31), eager=True)
    table = pl.DataFrame(
        {
            "day": days.gather(rng.integers(0, len(days), 3000)),
            "town": pl.Series(rng.choice(["Aa", "b;c", "d*", "é"], 3000)),
            "weight": pl.Series(rng.normal(70, 10, 3000)).round(1),
            "charge": rng.integers(0, 100, 3000),
        }
    ).with_columns(pl.when(pl.col("charge") % 7 > 0).then(pl.col("day", "town", "weight")).name.keep())
    chosen = policy("sorted", quasi_identifiers=["day", "town", "weight"])
    with Disk() as disk:
        _, found = released(disk, table, chosen)
        same_records(found, shoal.anonymize(table, chosen).table)


def test_numbers_too_many_to_list_are_coded_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.whole.LISTED", 100)
    table = discharges(3000, seed=8)
    chosen = policy(attributes={"patzip": {"kind": "numeric"}, "oshpd_id": {"kind": "numeric"}})
    with Disk() as disk:
        release, _ = released(disk, table, chosen)
        assert release.sizes.smallest >= 5
        whole = shoal.anonymize(table, chosen)
        assert release.information_loss < 1.25 * whole.information_loss


def test_categories_too_many_to_list_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.whole.LISTED", 100)
    table = discharges(3000, seed=8)
    chosen = policy(attributes={"patzip": {"kind": "nominal"}})
    with Disk() as disk, pytest.raises(shoal.InputError, match="'patzip' has more than 100 categories"):
        anonymize_in_chunks(disk.table(table.lazy()), chosen)


def test_a_folder_gets_its_name_with_its_certificate_and_marker(tmp_path: Path) -> None:
    table = discharges(3000, seed=9)
    target = tmp_path / "out"
    with Disk() as disk:
        release = anonymize_to(disk.table(table.lazy()), policy(), str(target), seed=2)
    assert release.records == 3000
    names = sorted(path.name for path in target.iterdir())
    assert names[:2] == ["_SUCCESS", CERTIFICATE]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    found = pl.read_parquet(target / "*.parquet")
    assert shoal.check(found, policy())[0].achieved == release.sizes.smallest
    stated = shoal.report.certificate.read_certificate(target / CERTIFICATE, target)
    stated.verify(found, shoal.check(found, policy()))


def test_a_broken_promise_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = discharges(2000, seed=9)

    def shows_all(self: object, microdata: object, k: int):  # type: ignore[no-untyped-def]
        yield shoal.masking.partition.Partition(np.arange(len(microdata)), np.arange(len(microdata) + 1))

    monkeypatch.setattr(shoal.Hilbert, "by_quasi_identifiers", shows_all)
    with Disk() as disk, pytest.raises(shoal.PromiseError, match="does not keep k-anonymity"):
        anonymize_to(disk.table(table.lazy()), policy(), str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@given(st.integers(10, 400), st.integers(2, 9), st.integers(0, 9))
def test_any_size_holds(rows: int, k: int, seed: int) -> None:
    table = discharges(rows, seed=seed)
    chosen = shoal.Policy(quasi_identifiers=QUASI[:2], models=[shoal.KAnonymity(k)], method=shoal.Sorted())
    with pytest.MonkeyPatch.context() as patch, Disk() as disk:
        patch.setattr(chunks, "CHUNK", 7)
        patch.setattr("shoal.engines.disk.BATCH", 50)
        _, found = released(disk, table, chosen)
        same_records(found, shoal.anonymize(table, chosen).table)
