"""Confidential values shown alike by each class of a table in chunks: what a table in memory shows, judged as there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.chunked_release import ChunkedRelease, anonymize_in_chunks, anonymize_to
from shoal.data.discharges import discharges
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.privacy.classes import frame_of
from shoal.releases.ledger import Ledger, budget

Engine = Callable[[pl.DataFrame], Table]

QUASI = ["age_yrs", "sex", "patzip"]
TABLE = discharges(900, seed=3).with_columns(pl.int_range(900).alias("number"), pl.col("charge") // 4000)

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.table.CHUNK", 500)
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 500)
    monkeypatch.setattr("shoal.masking.chunks.RANDOM_CHUNK", 500)


def policy(**choices: Any) -> shoal.Policy:
    known = {"quasi_identifiers": QUASI, "confidential": ["charge"], "insensitive": ["number"]}
    numbers = {name: {"kind": "numeric"} for name in QUASI} | choices.pop("attributes", {})
    return shoal.Policy(**{**known, "models": [shoal.KAnonymity(5)], "attributes": numbers, **choices})


def private(epsilon: float, **choices: Any) -> shoal.Policy:
    domain = {"charge": {"domain": [0, 500]}}
    return policy(show={"charge": "private-mean"}, epsilon=epsilon, attributes=domain, **choices)


def collected(table: Table) -> pl.DataFrame:
    found = table.fold(frame_of, lambda left, right: pl.concat([left, right]))
    assert found is not None
    return found


def numbers(release: ChunkedRelease) -> Any:
    return collected(release.table).sort("number")["charge"].to_numpy()


@pytest.mark.parametrize("by", ["range", "mean", "median"])
def test_runs_of_zero_distance_show_what_they_show_in_memory(engine: Engine, by: str) -> None:
    chosen = policy(method=shoal.Sorted(), show={"charge": by})
    release, memory = anonymize_in_chunks(engine(TABLE), chosen, seed=1), shoal.anonymize(TABLE, chosen, seed=1)
    assert release.facts["chunks"] == 2
    shown, expected = (table.sort("number") for table in (collected(release.table), memory.table))
    assert_frame_equal(shown, expected, check_dtypes=False)
    assert release.verdicts == memory.verdicts
    assert release.certificate["quasi_identifiers"] == [*QUASI, "charge"]


def test_diversity_of_what_is_shown_alike_is_judged_beside_the_originals_that_went_along(
    engine: Engine, tmp_path: Path
) -> None:
    models = [shoal.KAnonymity(4), shoal.LDiversity(3)]
    chosen = policy(models=models, show={"charge": "range"})
    release = anonymize_to(engine(TABLE), chosen, str(tmp_path / "r"), seed=1)
    shown = collected(release.table)
    assert shown.columns == [name for name in TABLE.columns if name in (*QUASI, "charge", "number")]
    found = shoal.check(shown.sort("number"), chosen, original=TABLE, paired=True)
    assert [verdict.achieved for verdict in release.verdicts] == [verdict.achieved for verdict in found]
    assert all(verdict.holds for verdict in found)


def test_what_is_not_what_the_originals_went_along_with_is_refused(engine: Engine, tmp_path: Path) -> None:
    chosen = policy(models=[shoal.KAnonymity(4), shoal.LDiversity(2)], show={"charge": "range"})
    release = anonymize_in_chunks(engine(TABLE), chosen, seed=1)
    assert release.frame is not None
    other = anonymize_in_chunks(engine(TABLE.head(600)), chosen, seed=2)
    object.__setattr__(release, "table", other.table)
    with pytest.raises(PromiseError, match="not what was masked"):
        release.write(tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_private_mean_is_near_the_mean_at_a_large_epsilon_and_drawn_anew_each_time(engine: Engine) -> None:
    pytest.importorskip("opendp")
    exact = shoal.anonymize(TABLE, policy(method=shoal.Sorted(), show={"charge": "mean"})).table
    means = exact.sort("number")["charge"].cast(pl.Float64).to_numpy()
    near = anonymize_in_chunks(engine(TABLE), private(1e6, method=shoal.Sorted()), seed=1)
    np.testing.assert_allclose(numbers(near), means, atol=0.05)
    first, second = (
        numbers(anonymize_in_chunks(engine(TABLE), private(1.0, method=shoal.Sorted()), seed=1)) for _ in range(2)
    )
    assert (first != second).mean() > 0.5
    assert any(note.startswith("Private means cost epsilon 1e+06") for note in near.notes)
    with pytest.raises(InputError, match="private only where classes are made without looking"):
        anonymize_in_chunks(engine(TABLE), private(1.0, models=[shoal.KAnonymity(5), shoal.LDiversity(2)]))


def test_the_ledger_counts_what_private_means_cost(engine: Engine, tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    ledger = Ledger(tmp_path / "l.db", b"a key of thirty-two bytes or more", "number")
    anonymize_to(engine(TABLE), private(0.5, insensitive=[]), str(tmp_path / "r"), seed=1, ledger=ledger)
    assert budget(ledger.path).worst == 0.5
