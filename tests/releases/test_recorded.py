"""What a ledger records of a release on an engine is what it records of the same release in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.chunked_release import anonymize_to
from shoal.data.discharges import discharges
from shoal.draft import draft
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.release import write
from shoal.releases.audit import audit
from shoal.releases.ledger import Ledger, entries
from shoal.releases.pieces import InPieces

Engine = Callable[[pl.DataFrame], Table]

TABLE = (
    discharges(900, seed=3)
    .select("age_yrs", "sex", "patzip", "charge")
    .insert_column(0, pl.int_range(900, eager=True).alias("id"))
)
POLICY = shoal.Policy(
    identifiers=["id"],
    quasi_identifiers=["age_yrs", "sex", "patzip"],
    confidential=["charge"],
    method=shoal.Sorted(),
)
KEY = b"a key of more than sixteen bytes"

pytestmark = pytest.mark.each_engine(spark="slow")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.masking.chunks.CHUNK", 300)
    monkeypatch.setattr("shoal.releases.published.PIECE", 250)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", KEY, "id")


def stood(path: Path, number: int = -1) -> pl.DataFrame:
    """Of each person the cells of her class, and what stands for her values."""
    release = entries(path)[number].published
    cells = release.shown.select(sorted(release.shown.columns))[release.members["class"]]
    own = release.values.select(pl.all().name.prefix("own "))
    return release.members.select("subject").hstack(cells).hstack(own).sort("subject")


def test_the_entry_is_that_of_the_release_in_memory(engine: Engine, ledger: Ledger, tmp_path: Path) -> None:
    anonymize_to(engine(TABLE), POLICY, str(tmp_path / "r"), seed=1, ledger=ledger)
    memory = Ledger(tmp_path / "memory.db", KEY, "id")
    write(draft(TABLE, POLICY, seed=1), tmp_path / "r.parquet", ledger=memory, seed=1)
    assert stood(ledger.path).equals(stood(memory.path))
    (entry,), (expected,) = entries(ledger.path), entries(memory.path)
    assert isinstance(entry.recorded, InPieces)
    assert (entry.state, entry.k, entry.seed) == ("done", 5, 1)
    same = ("records", "classes", "promises", "epsilon")
    assert [entry.to_dict()[name] for name in same] == [expected.to_dict()[name] for name in same]
    shown = pl.read_parquet(sorted((tmp_path / "r").glob("part-*")))
    assert shown.columns == ["age_yrs", "sex", "patzip", "charge"]


def test_what_would_expose_somebody_is_refused_and_leaves_no_folder(
    engine: Engine, ledger: Ledger, tmp_path: Path
) -> None:
    write(draft(TABLE, POLICY, seed=1), tmp_path / "r.parquet", ledger=ledger, seed=1)  # in memory, then on the engine
    other = POLICY.changed(quasi_identifiers=["charge", "sex"], confidential=["age_yrs"])
    with pytest.raises(
        PromiseError, match=r"would leave .* subjects with fewer than 5 .* Nothing was released"
    ) as told:
        anonymize_to(engine(TABLE), other, str(tmp_path / "s"), seed=1, ledger=ledger)
    with pytest.raises(PromiseError) as expected:
        write(draft(TABLE, other, seed=1), tmp_path / "s.parquet", ledger=ledger, seed=1)
    assert str(told.value).partition(" (in the")[0] == str(expected.value).partition(" (in the")[0]
    assert not (tmp_path / "s").exists()
    assert len(entries(ledger.path)) == 1
    again = anonymize_to(engine(TABLE), POLICY, str(tmp_path / "t"), seed=1, ledger=ledger)
    assert not any("known to the ledger" in note for note in again.notes)
    assert audit(ledger.releases(), 5).holds


def test_a_subject_is_named_once_and_by_a_column_that_is_there(engine: Engine, ledger: Ledger, tmp_path: Path) -> None:
    def release(table: pl.DataFrame, book: Ledger = ledger) -> None:
        anonymize_to(engine(table), POLICY, str(tmp_path / "r"), seed=1, ledger=book)

    with pytest.raises(InputError, match="names somebody in 'id' in more than one record"):
        release(TABLE.with_columns(pl.col("id") // 2))
    with pytest.raises(InputError, match="does not say in 'id' whom some record is about: fill it in"):
        release(TABLE.with_columns(id=pl.when(pl.col("id") > 3).then("id")))
    with pytest.raises(InputError, match=r"has no column 'ids' to tell subjects by\. Did you mean 'id'"):
        release(TABLE, Ledger(ledger.path, KEY, "ids"))
    assert not (tmp_path / "r").exists()
    assert not ledger.path.exists() or entries(ledger.path) == []
