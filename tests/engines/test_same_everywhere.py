"""Whatever the table, what is said to be the same in parts as in memory is the same, and so is a refusal."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shoal
from shoal.chunked_release import anonymize_in_chunks
from shoal.engines.disk import Disk
from shoal.errors import ShoalError
from shoal.masking import chunks
from shoal.masking.recoding.safe_harbor import Step
from shoal.testing import Case, cases
from tests.masking.recoding.test_in_chunks import said


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 9)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 7)


METHODS = (shoal.Coarsen(2), shoal.Coarsen(3, "width"), shoal.Recode())


quickly = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@quickly
@given(st.sampled_from(METHODS).flatmap(lambda method: cases(method)))
def test_a_table_in_parts_is_released_or_refused_as_in_memory(case: Case) -> None:
    assert_same(case.table, case.policy.model_copy(update={"models": (case.policy.models[0],)}))  # k-anonymity


@pytest.mark.slow
@quickly
@given(cases(shoal.SafeHarbor([Step("age", "suppress")])))
def test_a_ladder_is_climbed_in_parts_as_in_memory(case: Case) -> None:
    ladder = [Step(name, "suppress") for name in case.policy.quasi_identifiers]
    chosen = {"models": (case.policy.models[0],), "method": shoal.SafeHarbor(ladder)}
    assert_same(case.table, case.policy.model_copy(update=chosen))


def _of_records(notes: Sequence[str]) -> list[str]:
    """Without what is told of people with several records: only in memory are those of each class counted."""
    return [note for note in notes if " repeats: " not in note and "classes hold fewer than" not in note]


def assert_same(table: pl.DataFrame, policy: shoal.Policy) -> None:
    try:
        memory = shoal.anonymize(table, policy, seed=1)
    except ShoalError as error:
        memory, refused = None, error
    with Disk() as disk:
        if memory is None:
            with pytest.raises(type(refused)) as parts:
                anonymize_in_chunks(disk.table(table.lazy()), policy, seed=1)
            assert str(parts.value) == str(refused)
            return
        release = anonymize_in_chunks(disk.table(table.lazy()), policy, seed=1)
        in_memory = memory.table.with_columns(pl.col(pl.Enum).cast(pl.String))  # files of parts show categories as text
        assert_frame_equal(release.frame.collect(), in_memory, check_row_order=False)
    assert release.records == memory.records
    assert release.verdicts == memory.verdicts
    assert said(_of_records(release.notes)) == said(_of_records(memory.notes))
    facts = ("levels", "cost", "proven_optimal")
    assert [release.facts.get(name) for name in facts] == [memory.masked.facts.get(name) for name in facts]
