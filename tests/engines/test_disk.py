"""What is the disk's own: order, few batches in memory at once, a scratch folder that goes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.engines.disk import Disk, side_by_side
from shoal.engines.table import FACTS
from tests.engines.test_table import collected, records


def test_results_come_in_order_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(40):
            taken += 1
            yield item

    for given, result in enumerate(side_by_side(lambda item: item * item, items())):
        assert result == given * given
        assert taken - given <= 4


def test_work_goes_on_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    both = threading.Barrier(2, timeout=20)  # passed only by two at once
    assert sorted(side_by_side(lambda _: both.wait(), range(4))) == [0, 0, 1, 1]


def test_what_is_between_goes_with_the_engine(tmp_path: Path) -> None:
    with Disk(tmp_path) as disk:
        table, _ = disk.table(records().lazy()).kept()
        table.exchange(lambda batch: batch.positions() % 3, 3)
        assert_frame_equal(table.native().collect(), records())
        assert len(list(tmp_path.rglob("part-*.parquet"))) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_facts_come_in_order_of_the_parts() -> None:
    def work(frame: pl.DataFrame, part: int) -> pl.DataFrame:
        return pl.DataFrame({FACTS: [str(part)]})

    with Disk() as disk:
        parts = disk.table(records().lazy()).exchange(lambda batch: batch.positions() % 20, 20)
        _, told = parts.map(work, pl.Schema({FACTS: pl.String()})).kept()
    assert told == [str(part) for part in range(20)]


def test_a_relation_of_duckdb_is_read_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr("shoal.engines.disk.BATCH", 2048)
    frame = pl.DataFrame({"x": np.arange(5000), "word": ["é", None] * 2500})
    with Disk() as disk:
        table = disk.relation(duckdb.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest())))
        assert table.schema == frame.schema
        assert table.fold(lambda batch: [batch.position], lambda one, other: one + other) == [0, 2048, 4096]
        assert_frame_equal(collected(table), frame)
