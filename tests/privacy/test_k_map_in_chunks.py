"""k-map on an engine: inferred of fixed cells or counted in a population, it is what it is in memory."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.chunked_release import anonymize_in_chunks
from shoal.data.discharges import discharges
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy.classes import all_of

Engine = Callable[[pl.DataFrame], Table]

TABLE = discharges(900, seed=3).select("age_yrs", "sex", "charge")
TREES = {
    "age_yrs": {"hierarchy": tuple((str(age), f"{age // 10}.", "*") for age in range(130))},
    "sex": {"hierarchy": tuple((str(sex), "*") for sex in range(10))},
}

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 300)
    monkeypatch.setattr("shoal.masking.chunks.RANDOM_CHUNK", 300)


def policy(*models: shoal.PrivacyModel, **choices: object) -> shoal.Policy:
    return shoal.Policy(quasi_identifiers=["age_yrs", "sex"], confidential=["charge"], models=models, **choices)


def test_inferred_of_fixed_cells_it_is_that_in_memory(engine: Engine) -> None:
    chosen = policy(shoal.KMap(20, fraction=0.2), method=shoal.Recode(), attributes=TREES, suppression=0.05)
    found, memory = anonymize_in_chunks(engine(TABLE), chosen, seed=1), shoal.anonymize(TABLE, chosen, seed=1)
    assert_frame_equal(all_of(found.table), memory.table, check_row_order=False)
    assert [verdict.to_dict() for verdict in found.verdicts] == [verdict.to_dict() for verdict in memory.verdicts]
    assert 1 < found.sizes.smallest < 20


def test_of_drawn_cells_it_is_not_inferred(engine: Engine) -> None:
    with pytest.raises(InputError, match="k-map cannot be inferred from the sampling fraction of what 'hilbert' shows"):
        anonymize_in_chunks(engine(TABLE), policy(shoal.KMap(20, fraction=0.2)), seed=1)


def test_people_of_a_population_are_counted(engine: Engine) -> None:
    people = pl.concat([TABLE.select("age_yrs", "sex")] * 3)
    chosen = policy(shoal.KAnonymity(2), shoal.KMap(9, population=people))
    found = anonymize_in_chunks(engine(TABLE), chosen, seed=1)
    assert found.verdicts[1].holds
    assert shoal.check(all_of(found.table), chosen)[1].achieved == found.verdicts[1].achieved >= 9
    assert found.sizes.smallest < 9
