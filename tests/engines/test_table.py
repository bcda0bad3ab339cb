"""What every engine promises of a table, tested on each; and how a line of records is divided."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shoal.engines.table import COUNTED, FACTS, Batch, Line, Table, heads, pack, selected, unpacked
from shoal.errors import InputError, PromiseError

Engine = Callable[[pl.DataFrame], Table]
ROWS = 1000


def records(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    number = pl.Series("number", draw.integers(0, 40, rows))
    return pl.DataFrame(
        {
            "record": np.arange(rows),
            "number": number.set(number > 36, None),
            "a `word`, in \"quotes\".": pl.Series(["plain", "", None, 'it "is"', "two\nlines", " spaces ", "a,b", "\\"])
            .gather(draw.integers(0, 8, rows)),
            "share": draw.random(rows),
            "day": pl.Series([date(2020, 2, 29), None, date(1931, 1, 1)]).gather(draw.integers(0, 3, rows)),
            "yes": draw.random(rows) < 0.5,
        }
    )  # fmt: skip


def collected(table: Table) -> pl.DataFrame:
    """All records in order of position."""

    def seen(batch: Batch) -> pl.DataFrame:
        return batch.frame.with_columns(pl.Series("@position", batch.positions()))

    found = table.fold(seen, lambda one, other: pl.concat([one, other]))
    if found is None:
        return pl.DataFrame(schema=table.schema)
    assert found["@position"].is_unique().all()
    return found.sort("@position").drop("@position")


@pytest.mark.each_engine
def test_every_record_is_seen_once_and_its_position_is_its_place(engine: Engine) -> None:
    table = engine(records())
    assert table.schema == records().schema
    assert_frame_equal(collected(table), records())


@pytest.mark.each_engine
def test_of_no_records_nothing_is_folded_counted_or_divided(engine: Engine) -> None:
    table = engine(records().clear())
    assert table.fold(lambda batch: batch.frame.height, max) is None
    assert table.counts(["number", "yes"]).schema == {"number": pl.Int64, "yes": pl.Boolean, COUNTED: pl.Int64}
    assert table.exchange(lambda batch: np.zeros(batch.frame.height, np.int64), 2).sizes().tolist() == [0, 0]


@pytest.mark.each_engine
def test_a_batch_becomes_what_its_work_makes_of_it(engine: Engine) -> None:
    def work(batch: Batch) -> pl.DataFrame:
        some = batch.frame.filter(pl.col("number") > 3)
        return some.select("number", big=pl.col("record").cast(pl.UInt64) + 2**63, kind=pl.lit("x"))

    schema = pl.Schema({"number": pl.Int64(), "big": pl.UInt64(), "kind": pl.String()})
    table = engine(records()).map(work, schema)
    assert table.schema == schema
    assert_frame_equal(collected(table), work(Batch(records(), 0)))


@pytest.mark.each_engine
def test_columns_are_chosen_by_name(engine: Engine) -> None:
    names = ['a `word`, in "quotes".', "record"]
    assert_frame_equal(collected(selected(engine(records()), names)), records().select("record", names[0]))


@pytest.mark.each_engine
def test_tables_of_the_same_columns_are_put_together(engine: Engine) -> None:
    both = engine(records()).union(engine(records(7).select(reversed(records().columns))))
    assert_frame_equal(collected(both), pl.concat([records(), records(7)]))


@pytest.mark.each_engine
def test_records_from_elsewhere_come_to_the_same_engine(engine: Engine) -> None:
    table, frames = engine(records()), (records()[begin : begin + 3] for begin in range(0, 8, 3))
    assert_frame_equal(collected(table.union(table.like(frames, table.schema))), pl.concat([records(), records()[:9]]))
    assert collected(table.like([], table.schema)).equals(records().clear())


@pytest.mark.each_engine
def test_missing_values_are_counted_like_any_other(engine: Engine) -> None:
    by = ['a `word`, in "quotes".', "number"]
    expected = records().group_by(by).agg(pl.len().cast(pl.Int64).alias(COUNTED))
    assert_frame_equal(engine(records()).counts(by), expected, check_row_order=False)


def in_part(batch: Batch) -> npt.NDArray[np.int64]:
    return batch.frame["record"].to_numpy() * 7 % 4


def with_facts(frame: pl.DataFrame, part: int) -> pl.DataFrame:
    facts = [f"{part}: {frame['record'].to_list()}", *[None] * (frame.height - 1)]
    return frame.with_columns(pl.Series(FACTS, facts, dtype=pl.String), part=pl.lit(part))


OF_PARTS = pl.Schema({**records(0).schema, FACTS: pl.String(), "part": pl.Int32()})


@pytest.mark.each_engine
def test_a_part_has_its_records_in_order_and_tells_of_them(engine: Engine) -> None:
    parts = engine(records()).exchange(in_part, 6)
    assert parts.sizes().tolist() == [250, 250, 250, 250, 0, 0]
    table, told = parts.map(with_facts, OF_PARTS).kept()
    assert FACTS not in table.schema
    assert sorted(told) == [f"{part}: {[r for r in range(ROWS) if r * 7 % 4 == part]}" for part in range(4)]
    found = collected(table)
    assert_frame_equal(found.drop("part"), records(), check_row_order=False)
    assert (found["record"] * 7 % 4 == found["part"]).all()


@pytest.mark.each_engine
@pytest.mark.parametrize("taken", [[0, 3, 250, 2, 0], [0, 0, 0, 250, 0]])
def test_heads_join_the_last_part_before_that_keeps_some(engine: Engine, taken: list[int]) -> None:
    parts = engine(records()).exchange(in_part, 5)
    moved = parts.moved(np.array(taken), lambda frame: np.argsort(-frame["share"].to_numpy(), kind="stable"))
    _, told = moved.map(with_facts, OF_PARTS).kept()
    assert sorted(told) == expected_facts(taken)


def expected_facts(taken: list[int]) -> list[str]:
    frame = records()
    left: dict[int, list[int]] = {}
    keeper = 0
    for part, count in enumerate(taken):
        own = frame.filter(pl.col("record") * 7 % 4 == part)
        head = own.sort("share", descending=True)["record"].head(count).to_list()
        left.setdefault(keeper, []).extend(head)
        if own.height > count:
            left[part] = [record for record in own["record"] if record not in head]
            keeper = part
    return [f"{part}: {kept}" for part, kept in sorted(left.items())]


@pytest.mark.each_engine
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_is_written_is_what_was_checked_and_stands_there(engine: Engine, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "new" / "release"
    digests: dict[str, str] = {}

    def check(written: Table, told: list[str]) -> dict[str, bytes]:
        assert not target.exists()
        assert len(told) == 4
        assert_frame_equal(collected(written).drop("part"), records(), check_row_order=False)
        digests.update(written.digests())
        return {"certificate.json": b"{}"}

    stands = engine(records()).exchange(in_part, 6).map(with_facts, OF_PARTS).write(str(target), kind, check)
    assert_frame_equal(collected(stands).drop("part"), records(), check_row_order=False)
    assert stands.digests() == digests
    assert [path.name for path in target.parent.iterdir()] == ["release"]
    files = {path.name: path for path in target.iterdir() if not path.name.startswith(".")}
    assert files.pop("_SUCCESS").read_bytes() == b""
    assert files.pop("certificate.json").read_bytes() == b"{}"
    assert digests == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    assert all(name.startswith("part-") and name.endswith(kind) for name in files)
    read = pl.read_parquet if kind == "parquet" else pl.read_csv
    found = pl.concat([read(path, columns=["record", "part"]) for path in files.values()])
    assert found["record"].sort().to_list() == list(range(ROWS))
    assert (found["record"] * 7 % 4 == found["part"]).all()


@pytest.mark.each_engine
def test_what_fails_its_check_is_never_there(engine: Engine, tmp_path: Path) -> None:
    def check(written: Table, told: list[str]) -> dict[str, bytes]:
        raise PromiseError("It does not hold.")

    with pytest.raises(PromiseError, match=r"^It does not hold\.$"):
        engine(records()).write(str(tmp_path / "release"), "parquet", check)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.each_engine
def test_nothing_is_written_over(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for used, why in ((tmp_path, "is there already"), (tmp_path / "notes.txt", "is a file")):
        with pytest.raises(InputError, match=why):
            engine(records()).write(str(used), "parquet", lambda table, told: {})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    engine(records()).write(str(tmp_path / "empty"), "parquet", lambda table, told: {})
    assert (tmp_path / "empty" / "_SUCCESS").exists()


@pytest.mark.each_engine
def test_a_folder_that_cannot_be_made_is_named(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        engine(records()).write(str(tmp_path / "file" / "release"), "parquet", lambda table, told: {})


def refused(batch: Batch) -> pl.DataFrame:
    raise InputError("Column 'été' holds “x”: remove it.")


def broken(frame: pl.DataFrame, part: int) -> pl.DataFrame:
    raise PromiseError("k = 5 does not hold: suppress more.")


@pytest.mark.each_engine
def test_what_a_work_says_to_the_user_is_heard(engine: Engine) -> None:
    table = engine(records())
    with pytest.raises(InputError, match=r"^Column 'été' holds “x”: remove it\.$"):
        table.fold(refused, lambda one, other: one)
    with pytest.raises(PromiseError, match=r"^k = 5 does not hold: suppress more\.$"):
        table.exchange(in_part, 4).map(broken, table.schema).kept()


# ---- blocks and lines, on no engine


def test_blocks_of_a_part_hold_its_records_in_order() -> None:
    part = np.array([2, 0, 2, 2, 1, 0])
    frame = pl.DataFrame({"x": np.arange(6), "at": [datetime(2020, 1, 1)] * 6})
    blocks = list(pack(Batch(frame, 40), part))
    assert [(block.part, block.position, block.records) for block in blocks] == [(0, 40, 2), (1, 40, 1), (2, 40, 3)]
    assert unpacked([block.packed for block in blocks])["x"].to_list() == [1, 5, 4, 0, 2, 3]


keys = st.lists(st.integers(0, 6), min_size=1, max_size=60)


@given(keys, st.integers(1, 8), st.randoms(use_true_random=False))
def test_a_line_is_cut_by_key_and_among_equals_by_position(drawn: list[int], parts: int, random: object) -> None:
    key, position = np.array(drawn, np.uint64), np.arange(len(drawn))
    sample = np.flatnonzero(np.array([random.random() < 0.7 for _ in drawn]))  # type: ignore[attr-defined]
    line = Line.of(key[sample], position[sample], parts)
    cuts = list(zip(line.key.tolist(), line.position.tolist(), strict=True))
    expected = [sum(cut <= (k, p) for cut in cuts) for k, p in zip(drawn, position.tolist(), strict=True)]
    assert line.part_of(key, position).tolist() == expected
    assert len(cuts) == (parts - 1 if len(sample) else 0)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.integers(1, 7), st.booleans())
def test_every_part_left_has_k_records_and_the_line_stays_in_order(sizes: list[int], k: int, exactly: bool) -> None:
    taken = heads(np.array(sizes), k, exactly=exactly)
    n, left = sum(sizes), moved_by_hand(sizes, taken.tolist())
    assert [record for part in left for record in part] == list(range(n))
    filled = [len(part) for part in left if part]
    assert all(size >= min(k, n) for size in filled)
    if exactly:
        assert all(size % k == 0 for size in filled[:-1])


def moved_by_hand(sizes: list[int], taken: list[int]) -> list[list[int]]:
    """Records are numbered along the line; each part's first join the last part before it that keeps some."""
    starts = np.cumsum([0, *sizes])
    left: list[list[int]] = [[] for _ in sizes]
    keeper = 0
    for part, (size, head) in enumerate(zip(sizes, taken, strict=True)):
        own = list(range(starts[part], starts[part] + size))
        left[keeper] += own[:head]
        if size > head:
            left[part] += own[head:]
            keeper = part
    return left
