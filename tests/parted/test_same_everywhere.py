"""Whatever the table, what is said to be the same in parts as in memory is the same, and so is a refusal."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import shoal
from shoal.engines.disk import Disk
from shoal.errors import ShoalError
from shoal.parted import grouped
from shoal.parted.release import anonymize
from shoal.testing import Case, cases


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "PART", 9)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 7)


METHODS = (shoal.Coarsened(2), shoal.Coarsened(3, "width"), shoal.GlobalRecoding())


@settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(METHODS).flatmap(lambda method: cases(method)))
def test_a_table_in_parts_is_released_or_refused_as_in_memory(case: Case) -> None:
    policy = case.policy.model_copy(update={"models": (case.policy.models[0],)})  # k-anonymity
    try:
        memory = shoal.anonymize(case.table, policy, seed=1)
    except ShoalError as error:
        memory, refused = None, error
    with Disk() as disk:
        table = disk.table(case.table.lazy())
        if memory is None:
            with pytest.raises(type(refused)) as parts:
                anonymize(table, policy, seed=1)
            assert str(parts.value) == str(refused)
            return
        release = anonymize(table, policy, seed=1)
        assert_frame_equal(release.frame.collect(), memory.table, check_row_order=False)
    assert release.records == memory.records
    assert release.verdicts == memory.verdicts
    assert {name: release.facts.get(name) for name in ("levels", "cost", "proven_optimal")} == {
        name: memory.masked.facts.get(name) for name in ("levels", "cost", "proven_optimal")
    }
