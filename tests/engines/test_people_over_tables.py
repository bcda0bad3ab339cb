"""People counted over several tables: those of a split, and those of a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.chunked_release import anonymize_to
from shoal.chunked_split import split_to
from shoal.engines.disk import Disk
from shoal.engines.memory import MemoryTable
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.releases.ledger import Ledger
from tests.engines.test_people import VISITS, fewest, policy

KEY = b"a key of sixteen bytes"

Open = Callable[[pl.DataFrame], Table]


@pytest.fixture(params=["memory", "disk"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Tables whose order can be kept, in small chunks."""
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 150)
    with Disk() as disk:
        yield MemoryTable if request.param == "memory" else lambda frame: disk.table(frame.lazy())


@pytest.mark.parametrize("more", [shoal.LDiversity(2), shoal.TCloseness(0.4)])
def test_each_table_of_a_split_counts_people(opened: Open, more: Any, tmp_path: Path) -> None:
    visits = VISITS.with_columns(ward=pl.col("row") % 5).drop("row")
    models = [shoal.KAnonymity(5), more]
    chosen = policy(insensitive=[], confidential=["charge", "ward"], models=models)
    release = split_to(opened(visits), chosen, str(tmp_path / "r"), seed=1, keep_order=True)
    for name, made in release.tables.items():
        files = sorted((tmp_path / f"r.{name}").glob("*.parquet"))
        shown = pl.concat([pl.read_parquet(file) for file in files])
        assert shown.columns == ["age", "sex", name]
        beside = shown.with_columns(pid=visits["pid"], own=visits[name])
        counts = beside.group_by("age", "sex", name).agg(pl.col("pid").n_unique(), pl.col("own").n_unique())
        assert made.verdicts[0].achieved == counts["pid"].min() >= 5  # type: ignore[operator]
        if more.name == "l-diversity":
            assert made.verdicts[1].achieved == counts["own"].min()
        assert made.verdicts[1].holds


def test_a_ledger_of_records_does_not_take_a_release_of_people(opened: Open, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db", KEY, "row")
    chosen = policy(insensitive=[])
    for incremental in (False, True):
        with pytest.raises(InputError, match=r"counts people by 'pid', and the ledger subjects by 'row'"):
            anonymize_to(opened(VISITS), chosen, str(tmp_path / "a"), ledger=ledger, incremental=incremental)
    with pytest.raises(InputError, match=r"counts people by 'pid', and the ledger subjects by 'row'"):
        split_to(opened(VISITS), chosen, str(tmp_path / "a"), ledger=ledger)
    with pytest.raises(InputError, match="Whole histories are judged over releases by 'pid'"):
        anonymize_to(opened(VISITS), policy(models=[shoal.Linked(5)]), str(tmp_path / "a"), ledger=ledger)
    assert not list(tmp_path.glob("a*"))


def test_people_of_one_record_each_are_followed(opened: Open, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db", KEY, "pid")
    people = VISITS.unique("pid", maintain_order=True)
    anonymize_to(opened(people.head(120)), policy(), str(tmp_path / "a"), seed=1, ledger=ledger)
    later = anonymize_to(opened(people), policy(), str(tmp_path / "b"), seed=2, ledger=ledger, incremental=True)
    assert fewest(pl.read_parquet(tmp_path / "b/*.parquet")) == later.verdicts[0].achieved >= 5
    both = [pl.read_parquet(tmp_path / f"{name}/*.parquet") for name in "ab"]
    pairs = both[0].join(both[1], on="row").select("age", "sex", "age_right", "sex_right")
    assert pairs.group_by(pairs.columns).len()["len"].min() >= 5  # type: ignore[operator]


def test_a_ledger_of_people_with_several_records_is_refused(opened: Open, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db", KEY, "pid")
    for incremental in (False, True):
        with pytest.raises(InputError, match="give one record a subject"):
            anonymize_to(opened(VISITS), policy(), str(tmp_path / "a"), ledger=ledger, incremental=incremental)
    assert not list(tmp_path.glob("a*"))
