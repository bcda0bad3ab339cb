"""A split release on an engine is that in memory: over shared classes, named together, linked by nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal import jobs
from shoal.chunked_split import ChunkedSplitRelease, split_in_chunks, split_to
from shoal.engines.disk import Disk, DiskTable
from shoal.engines.spark import Spark
from shoal.engines.table import Table
from shoal.errors import InputError, PromiseError
from shoal.jobs.ledger import LedgerFile
from shoal.releases.ledger import Ledger, entries
from shoal.split import SplitRelease, split_draft
from tests.engines.sessions import on_spark
from tests.releases.test_recorded import KEY, stood

Engine = Callable[[pl.DataFrame], Table]

NAMES = ["charge", "days", "ward"]


def people(n: int = 240) -> pl.DataFrame:
    """Few ages, so that classes of the same cells come from several chunks."""
    random = np.random.default_rng(5)
    charge = random.lognormal(9, 1, n).round()
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "age": random.integers(20, 32, n),
            "charge": charge,
            "sex": random.choice(["f", "m"], n),
            "days": pl.Series((charge / 3_000 + random.random(n)).round()).set(
                pl.Series(random.random(n) < 0.05), None
            ),
            "ward": random.choice(["a", "b", "c"], n),
            "memo": random.integers(0, 9, n),
        }
    )


TABLE = people()


def policy(**choices: Any) -> shoal.Policy:
    known = {"identifiers": ["id"], "quasi_identifiers": ["age", "sex", "charge"], "confidential": NAMES}
    return shoal.Policy(**{**known, "models": [shoal.KAnonymity(5)], **choices})


@pytest.fixture
def tiny_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("engines.table.CHUNK", "masking.chunks.CHUNK", "masking.chunks.RANDOM_CHUNK"):
        monkeypatch.setattr(f"shoal.{name}", 60)


def collected(table: Table) -> pl.DataFrame:
    return pl.concat(list(table.frames()))


def assert_same(release: ChunkedSplitRelease, memory: SplitRelease) -> None:
    assert memory.merged is not None
    assert list(release.tables) == list(memory.tables)
    both = [(release.merged, memory.merged), *zip(release.tables.values(), memory.tables.values(), strict=True)]
    for one, expected in both:
        shown = expected.table.with_columns(pl.col(pl.Enum).cast(pl.String))
        assert_frame_equal(collected(one.table), shown, check_row_order=False, check_dtypes=False)
        assert one.verdicts == expected.verdicts
        assert one.information_loss == pytest.approx(expected.information_loss)
    assert release.notes == memory.notes
    assert release.dependence == memory.dependence
    assert release.sheets() == memory.sheets()


@pytest.mark.each_engine(spark="slow")
@pytest.mark.parametrize("by", ["range", "mean", "median"])
def test_in_one_chunk_it_is_that_in_memory(engine: Engine, by: str) -> None:
    chosen = policy(models=[shoal.KAnonymity(5), shoal.LDiversity(2)], show=dict.fromkeys(NAMES, by))
    assert_same(split_in_chunks(engine(TABLE), chosen, seed=1).judged(), shoal.split(TABLE, chosen, seed=1))


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.each_engine(spark="slow")
@pytest.mark.parametrize("suppression", [0.0, 0.4])
def test_where_all_chunks_are_recoded_alike_classes_are_those_of_the_whole_table(
    engine: Engine, suppression: float
) -> None:
    method = shoal.Coarsen(12 if suppression else 3)
    chosen = policy(method=method, suppression=suppression, models=[shoal.KAnonymity(8)])
    release = split_in_chunks(engine(TABLE), chosen, seed=1).judged()
    assert (release.merged.records < TABLE.height) is bool(suppression)
    assert_same(release, shoal.split(TABLE, chosen, seed=1))


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.each_engine(spark="slow")
def test_folders_share_their_classes_and_hold_by_themselves(engine: Engine, tmp_path: Path) -> None:
    chosen = policy(models=[shoal.KAnonymity(5), shoal.LDiversity(2)])
    release = split_to(engine(TABLE), chosen, str(tmp_path / "r"), merge=True, certificate=tmp_path / "c.json", seed=1)
    folders = ["r", *(f"r.{name}" for name in NAMES)]
    papers = ["c.json", *(f"c.{name}.json" for name in NAMES)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*folders, *papers])
    merged = collected(release.merged.table)
    assert merged.columns == ["age", "charge", "sex", "days", "ward"]
    assert merged.group_by(merged.columns).len()["len"].min() >= 5
    for name in NAMES:
        shown = collected(release.tables[name].table)
        assert shown.columns == [column for column in merged.columns if column in ("age", "sex", name)]
        assert shown.unique().height == shown.select("age", "sex").unique().height  # one cell a class
        assert_frame_equal(shown, merged.select(shown.columns), check_row_order=False)
        assert [verdict.attribute for verdict in release.tables[name].verdicts] == [None, name]
        paper = (tmp_path / f"c.{name}.json").read_text()
        assert paper == (tmp_path / f"r.{name}" / "_certificate.json").read_text()
        assert json.loads(paper)["record_order"] == "shuffled"


@pytest.mark.usefixtures("tiny_chunks")
def test_laid_side_by_side_by_position_tables_tell_no_more_than_their_classes(tmp_path: Path) -> None:
    """The intruder takes row i of each table for one person."""
    with Disk() as disk:
        split_to(disk.table(TABLE.lazy()), policy(), str(tmp_path / "r"), seed=1)
    files = {name: sorted((tmp_path / f"r.{name}").glob("part-*")) for name in NAMES}
    assert len(files["charge"]) > 2
    rows = {name: pl.concat([pl.read_parquet(path) for path in paths]) for name, paths in files.items()}
    for name in NAMES:
        assert rows[name].unique().height == rows[name].select("age", "sex").unique().height
        # So whoever knows the class knows the cell, and no position adds to it. Nor does one find the class again:
    classes = {name: rows[name].select(pl.concat_str("age", "sex")).to_series() for name in NAMES}
    sizes = [pl.read_parquet(path).group_by("age", "sex").len()["len"] for path in files["charge"]]
    chance = sum(float((size**2).sum() / size.sum()) for size in sizes) / TABLE.height
    for one, other in combinations(NAMES, 2):
        assert abs((classes[one] == classes[other]).mean() - chance) < 0.1  # type: ignore[operator]


def test_the_order_of_the_input_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    with Disk() as disk:
        release = split_in_chunks(disk.table(TABLE.lazy()), policy(), seed=1, keep_order=True).judged()
        memory = shoal.split(TABLE, policy(), seed=1)
        for name in NAMES:
            expected = memory.tables[name].table.with_columns(pl.col(pl.Enum).cast(pl.String))
            assert_frame_equal(collected(release.tables[name].table), expected)
            assert release.tables[name].certificate["record_order"] == "as in the source"


@pytest.mark.usefixtures("tiny_chunks")
def test_a_private_mean_is_drawn_once_and_shown_by_all_tables_alike(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    chosen = policy(
        quasi_identifiers=["age", "sex"], confidential=["charge", "days"], epsilon=1.0,
        show={"charge": "private-mean", "days": "private-mean"},
        attributes={"charge": {"domain": [0, 100_000]}, "days": {"domain": [0, 50]}},
    )  # fmt: skip
    ledger = Ledger(tmp_path / "l.db", KEY, "id")
    with Disk() as disk:
        release = split_to(
            disk.table(TABLE.lazy()), chosen.changed(identifiers=()), str(tmp_path / "r"), merge=True, ledger=ledger
        )
        merged, charge = collected(release.merged.table), collected(release.tables["charge"].table)
    assert_frame_equal(charge, merged.select(charge.columns), check_row_order=False)
    assert any("epsilon 1 = 0.5 for 'charge' + 0.5 for 'days'" in note for note in release.notes)
    assert [entry.epsilon for entry in entries(ledger.path)] == [1.0]


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize("merge", [False, True])
def test_the_ledger_records_what_it_records_in_memory(tmp_path: Path, merge: bool) -> None:
    chosen = policy(method=shoal.Coarsen(3), identifiers=())
    on_disk, in_memory = (Ledger(tmp_path / f"{name}.db", KEY, "id") for name in ("disk", "memory"))
    with Disk() as disk:
        split_to(disk.table(TABLE.lazy()), chosen, str(tmp_path / "r"), merge=merge, seed=1, ledger=on_disk)
    split_draft(TABLE, chosen, seed=1).write(tmp_path / "m.parquet", merge=merge, seed=1, ledger=in_memory)
    assert stood(on_disk.path).equals(stood(in_memory.path))
    finer = chosen.changed(method=shoal.Sorted(), models=[shoal.KAnonymity(8)])
    with Disk() as disk, pytest.raises(PromiseError, match="Nothing was released"):
        split_to(disk.table(TABLE.lazy()), finer, str(tmp_path / "s"), seed=1, ledger=on_disk)
    assert not list(tmp_path.glob("s*"))


# ---- all get their names, or none


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_on_spark_a_new_split_takes_the_names_of_an_old_one(spark: Spark, tmp_path: Path) -> None:
    for name in ("charge", "ward"):
        (tmp_path / f"r.{name}").mkdir()
        (tmp_path / f"r.{name}" / "_certificate.json").write_text("old")
    chosen = policy(confidential=["charge", "ward"])
    release = split_to(on_spark(spark, TABLE), chosen, str(tmp_path / "r"), seed=1, overwrite=True)
    assert sorted(folders_of(tmp_path)) == ["r.charge", "r.ward"]
    assert "old" not in folders_of(tmp_path).values()
    expected = shoal.split(TABLE, chosen, seed=1).tables["ward"].table.with_columns(pl.col(pl.Enum).cast(pl.String))
    assert_frame_equal(collected(release.tables["ward"].table), expected, check_row_order=False)


def folders_of(place: Path) -> dict[str, str]:
    """The certificate of each folder, hidden ones too."""
    return {path.name: (path / "_certificate.json").read_text() for path in place.iterdir()}


@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_where_one_folder_cannot_get_its_name_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replacing: bool, fails: int
) -> None:
    place, output = tmp_path / "out", str(tmp_path / "out" / "r")
    place.mkdir()
    with Disk() as disk:
        table = disk.table(TABLE.lazy())
        if replacing:
            split_to(table, policy(), output, seed=1)
        before = folders_of(place)
        rename, named = os.replace, []

        def fail_once(source: Path, target: Path) -> None:
            named.append(target)
            if len(named) == fails + 1:
                raise OSError(28, "No space left on device")
            rename(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail_once)
            with pytest.raises(InputError, match="cannot be written"):
                split_to(table, policy(models=[shoal.KAnonymity(7)]), output, seed=2, overwrite=True)
    assert len(named) > fails
    assert folders_of(place) == before


def test_a_broken_promise_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    def refuse_third(verdicts: Any) -> None:
        judged.append("")
        if len(judged) == 3:
            raise PromiseError("Broken.")

    monkeypatch.setattr("shoal.chunked_release.refuse_broken", refuse_third)
    with Disk() as disk, pytest.raises(PromiseError, match="Broken"):
        split_to(disk.table(TABLE.lazy()), policy(), str(tmp_path / "r"))
    assert list(tmp_path.iterdir()) == []


# ---- the doors


def test_from_python_a_lazy_frame_is_split_on_disk() -> None:
    release = shoal.split(TABLE.lazy(), policy(), engine="disk", seed=1)
    assert_same(release, shoal.split(TABLE, policy(), seed=1))
    assert isinstance(release.tables["ward"].frame, pl.LazyFrame)
    with pytest.raises(InputError, match="'disk' never has: leave out independent"):
        shoal.split(TABLE.lazy(), policy(), engine="disk", independent=True)


def test_from_a_folder_of_text_to_folders_of_text_in_its_own_spelling(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    money = TABLE.with_columns(pl.format("{}.50", pl.col("charge").cast(pl.Int64)).alias("charge"))
    money.write_csv(tmp_path / "in" / "d.csv")
    choices = {"merge": True, "certificate": tmp_path / "c.json", "seed": 1}
    on_disk = jobs.Split(tmp_path / "in", policy(), tmp_path / "r", **choices)
    on_disk.refuse()
    release = on_disk.run()
    assert sorted(path.name for path in tmp_path.glob("r*")) == ["r", "r.charge", "r.days", "r.ward"]
    jobs.Split(tmp_path / "in" / "d.csv", policy(), tmp_path / "m.csv", merge=True, seed=1).run()
    for name in ["", *(f".{name}" for name in NAMES)]:
        (part,) = (tmp_path / f"r{name}").glob("part-*.csv")
        written, expected = (sorted(path.read_text().splitlines()) for path in (part, tmp_path / f"m{name}.csv"))
        assert written == expected
    assert set(release.to_dict()) == {"tables", "merged", "dependence", "notes"}
    with pytest.raises(InputError, match="is there already"):
        on_disk.refuse()
    with pytest.raises(InputError, match=r"c.charge.json' is the certificate of .*have both replaced .*c.json"):
        replace(on_disk, certificate=None, overwrite=True).refuse()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"independent": True}, "classes of their own.*over all records at once.*'disk'.*leave out independent"),
        ({"report": Path("r.html")}, "A report compares.*'disk'.*leave out --report"),
        ({"output": "hdfs://host/r"}, "get their names together.*cannot be taken back: name a folder of this machine"),
        ({"policy": policy(confidential=["a b", "a/b"])}, "one file"),
    ],
)
def test_what_it_cannot_do_is_refused_before_any_work(tmp_path: Path, choices: dict[str, Any], words: str) -> None:
    (tmp_path / "in").mkdir()
    TABLE.write_parquet(tmp_path / "in" / "d.parquet")
    asked = {"source": tmp_path / "in", "policy": policy(), "output": tmp_path / "r", **choices}
    with pytest.raises(InputError, match=words):
        jobs.Split(**asked).refuse()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"confidential": []}, "none is named"),
        ({"quasi_identifiers": ["charge"]}, "none is left"),
        ({"show": {"age": "mean"}}, "'age' is to be shown class by class, but is no confidential column"),
        ({"models": [shoal.KAnonymity(5), shoal.MeasuredRisk(0.1)]}, "cannot promise the measured-risk of several"),
    ],
)
def test_policies_that_cannot_be_split_are_refused(tmp_path: Path, choices: dict[str, Any], words: str) -> None:
    with Disk() as disk, pytest.raises(InputError, match=words):
        split_to(disk.table(TABLE.lazy()), policy(**choices), str(tmp_path / "r"))


def test_where_no_name_can_be_taken_back_a_split_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiskTable, "place", lambda *_: None)
    with Disk() as disk, pytest.raises(InputError, match="a name cannot be taken back"):
        split_to(disk.table(TABLE.lazy()), policy(), str(tmp_path / "r"))
    assert not list(tmp_path.iterdir())


def test_a_ledger_of_a_job_is_that_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    TABLE.write_parquet(tmp_path / "in" / "d.parquet")
    (tmp_path / "key").write_bytes(KEY)
    book = LedgerFile(tmp_path / "l.db", "id", tmp_path / "key")
    jobs.Split(tmp_path / "in", policy(), tmp_path / "r", ledger=book).run()
    assert [entry.k for entry in entries(tmp_path / "l.db")] == [5]
