"""Safe-harbor masking in parts: every record climbs as far as it does in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.chunked_release import ChunkedRelease, anonymize_in_chunks
from shoal.engines import whole
from shoal.engines.disk import Disk
from shoal.errors import InputError, PromiseError
from shoal.masking import chunks
from shoal.masking.recoding import frequencies
from shoal.masking.recoding.safe_harbor import RowCodes, Step
from shoal.survey import survey

LADDER = (
    Step("age", "bands", cuts=(1, *range(5, 90, 5))),
    Step("sex", "suppress"),
    Step("age", "bands", cuts=(18, 35, 65)),
    Step("zip", "prefix", keep=3),
    Step("age", "suppress"),
    Step("zip", "suppress"),
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 400)
    monkeypatch.setattr("shoal.engines.disk.BATCH", 300)


def patients(records: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    zip_code = 93700 - 93000 * (rng.random(records) < 0.02) + np.minimum(rng.geometric(0.2, records), 40)
    columns = {
        "age": pl.Series(np.clip(rng.normal(50, 20, records), 0, 99).astype(int)),
        "zip": pl.Series(zip_code),
        "sex": pl.Series(rng.choice(["f", "m", "x*"], records, p=[0.5, 0.49, 0.01])),
        "ward": pl.Series(rng.integers(2, size=records)),
        "cost": pl.Series(rng.normal(size=records)),
    }
    return pl.DataFrame(columns).with_columns(pl.when(pl.col("age") != 33).then("age").alias("age"))


def policy(suppression: float, k: int = 2, ladder: tuple[Step, ...] = LADDER) -> shoal.Policy:
    return shoal.Policy(
        quasi_identifiers=["age", "zip", "sex", "ward"],
        insensitive=["cost"],
        models=[shoal.KAnonymity(k)],
        method=shoal.SafeHarbor(ladder),
        suppression=suppression,
    )


def released(table: pl.DataFrame, chosen: shoal.Policy) -> tuple[ChunkedRelease, pl.DataFrame]:
    with Disk() as disk:
        release = anonymize_in_chunks(disk.table(table.lazy()), chosen, seed=1)
        return release, release.frame.collect()


@pytest.mark.parametrize("k", [2, 5])
def test_each_record_climbs_as_far_as_in_memory_and_is_left_out_as_there(k: int) -> None:
    chosen = policy(0.9, k)
    memory = shoal.anonymize(patients(), chosen)
    release, found = released(patients(), chosen)
    assert_frame_equal(found, memory.table, check_row_order=False)
    assert release.notes == memory.notes
    assert release.information_loss == pytest.approx(memory.information_loss, rel=1e-12)
    assert 0 < found.height < 2000
    assert found["age"].str.contains("+", literal=True).any()
    assert found["zip"].str.contains("**", literal=True).any()
    assert release.facts["chunks"] > 3


def test_nothing_is_left_out_where_all_that_miss_are_more_than_may_be() -> None:
    for suppression in (0.0, 0.01):
        with pytest.raises(PromiseError) as memory:
            shoal.anonymize(patients(), policy(suppression))
        with pytest.raises(PromiseError) as parts:
            released(patients(), policy(suppression))
        assert str(parts.value) == str(memory.value)


def test_where_all_are_alike_nobody_climbs() -> None:
    table = patients().with_columns(age=pl.lit(30), zip=pl.lit(93701), sex=pl.lit("f"))
    release, found = released(table, policy(0.0))
    assert_frame_equal(found, shoal.anonymize(table, policy(0.0)).table, check_row_order=False)
    assert "0 of 2,000 records were masked." in release.notes


def test_too_many_distinct_rows_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "LIMIT", 50)
    rows = patients().select("age", "zip", "sex").n_unique()
    with pytest.raises(InputError, match=f"have about {rows:,} distinct rows, more than the 50"):
        released(patients(), policy(0.9))


def test_a_column_of_too_many_values_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "LISTED", 70)
    with pytest.raises(InputError, match="Column 'age' has more than"):
        released(patients(), policy(0.9))


def test_a_ladder_for_other_columns_is_refused_as_in_memory() -> None:
    with pytest.raises(InputError, match="None of the safe-harbor ladder's attributes"):
        released(patients(), policy(0.9, ladder=(Step("height", "suppress"),)))


def test_codes_come_back_from_their_key() -> None:
    table = patients(500)
    with Disk() as disk:
        source = survey(disk.table(table.lazy()), policy(0.0))
        microdata = source.attributes.microdata(table)
        codes = RowCodes(
            ("age", "zip", "sex"), tuple(len(microdata[name].values) + 1 for name in ("age", "zip", "sex"))
        )
        found = codes.of(codes.keys(microdata))
    for name, back in found.items():
        assert (back == microdata[name].codes).all()
    assert (found["age"] == -1).any()
