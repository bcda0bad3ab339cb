"""What is Spark's own: types, names, errors from its tasks, workers that die, what stays on its disks."""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal.chunked_release import anonymize_to
from shoal.data.forms import Forms
from shoal.engines.sealed import Seal
from shoal.engines.spark import Spark
from shoal.engines.spark.folder import Folder
from shoal.engines.spark.session import spark_session
from shoal.engines.spark.table import refuse_changed
from shoal.engines.spark.tasks import results_of
from shoal.engines.spark.types import to_polars, to_spark
from shoal.engines.table import FACTS, Batch, Table
from shoal.engines.text import AsText
from shoal.errors import InputError, PromiseError
from shoal.masking.grouping.sorted import Sorted
from shoal.policy import Policy
from shoal.privacy import KAnonymity
from tests.engines.sessions import ON_SPARK, on_spark
from tests.engines.test_table import collected, expected_facts, records

pytestmark = [*ON_SPARK]

SEVERAL = pl.DataFrame(
    {
        "a.b": pl.Series([True, None, False]),
        "tiny": pl.Series([-128, 127, None], dtype=pl.Int8),
        "short": pl.Series([1, 2, None], dtype=pl.Int16),
        "int": pl.Series([1, 2, None], dtype=pl.Int32),
        "long": pl.Series([2**62, -(2**63), None], dtype=pl.Int64),
        "single": pl.Series([0.5, None, 3.0], dtype=pl.Float32),
        "double": [0.1, None, 1e300],
        "sum": pl.Series([Decimal("12.30"), None, Decimal("-0.01")], dtype=pl.Decimal(10, 2)),
        "day": [date(1582, 10, 15), None, date(2400, 1, 1)],
        "moment": pl.Series([datetime(2020, 3, 29, 2, 30, 0, 123456), None, datetime(1960, 1, 1)]),
        "zoned": pl.Series([datetime(2020, 3, 29, 2, 30, tzinfo=UTC), None, None], dtype=pl.Datetime("us", "UTC")),
        "raw": [b"\x00\xff", None, b""],
        "Text": ["", None, "ß"],
    }
)  # fmt: skip
WIDENED = pl.DataFrame(
    {
        "u8": pl.Series([255, None], dtype=pl.UInt8),
        "u16": pl.Series([65535, None], dtype=pl.UInt16),
        "u32": pl.Series([2**32 - 1, None], dtype=pl.UInt32),
        "u64": pl.Series([2**64 - 1, None], dtype=pl.UInt64),
        "category": pl.Series(["x", None], dtype=pl.Categorical()),
        "enum": pl.Series(["b", None], dtype=pl.Enum(["a", "b"])),
        "nano": pl.Series([datetime(2020, 1, 1), None], dtype=pl.Datetime("ns")),
        "berlin": pl.Series([datetime(2020, 7, 1), None]).dt.replace_time_zone("Europe/Berlin"),
    }
)


def test_plain_types_are_the_same_there_and_back() -> None:
    pytest.importorskip("pyspark")
    assert to_polars(to_spark(SEVERAL.schema)) == SEVERAL.schema


def test_values_of_every_type_survive_tasks_blocks_and_disks(spark: Spark) -> None:
    both = pl.concat([SEVERAL.head(2), WIDENED], how="horizontal")
    one = on_spark(spark, pl.DataFrame({"x": [0]})).map(lambda batch: both, both.schema)
    parts = one.exchange(lambda batch: np.arange(batch.frame.height), 2)
    kept, _ = parts.map(lambda frame, part: frame, both.schema).kept()
    assert_frame_equal(collected(kept), both, categorical_as_str=True)
    names = [field.simpleString() for field in kept.native().schema]
    assert names[-8:] == [
        "u8:smallint", "u16:int", "u32:bigint", "u64:decimal(20,0)", "category:string", "enum:string",
        "nano:timestamp_ntz", "berlin:timestamp",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["array<int>", "map<string,int>", "struct<x:int>"])
def test_columns_of_more_than_one_value_a_record_are_refused(spark: Spark, kind: str) -> None:
    frame = spark.session.createDataFrame([], f"age int, visits {kind}")
    with pytest.raises(InputError, match=r"Column 'visits' holds .*take it apart"):
        spark.table(frame)


def test_types_that_spark_lacks_are_refused() -> None:
    pytest.importorskip("pyspark")
    with pytest.raises(InputError, match=r"Column 'at' holds .*Time"):
        to_spark(pl.Schema({"at": pl.Time()}))


def test_two_columns_of_one_name_are_refused(spark: Spark) -> None:
    frame = spark.session.range(1).selectExpr("id as x", "id as x")
    with pytest.raises(InputError, match="'x' occurs more than once"):
        spark.table(frame)


def test_a_users_session_may_have_other_settings(spark: Spark) -> None:
    changed = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7", "spark.sql.session.timeZone": "Asia/Kolkata"}
    own = spark.session.newSession()
    for name, value in changed.items():
        own.conf.set(name, value)
    shown = SEVERAL.drop("moment")  # such a session takes it for a time of its zone
    frame = pl.concat([shown] * 20)
    table = Spark(own).table(own.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).coalesce(1))
    assert_frame_equal(collected(table), frame)
    assert table.fold(lambda batch: 1, lambda one, other: one + other) == 1


# ---- files


def test_text_is_typed_by_its_first_records(spark: Spark, tmp_path: Path) -> None:
    content = 'zip,age,day,"a ""b""",yes\n01234,5,2020-01-31,"two\nlines",true\n90210,,2020-02-01,,FALSE\n'
    (tmp_path / "a.csv").write_text(content)
    table = spark.read(str(tmp_path), "csv", AsText(text=["yes"]))
    assert_frame_equal(
        collected(table),
        pl.DataFrame(
            {
                "zip": ["01234", "90210"],
                "age": [5, None],
                "day": [date(2020, 1, 31), date(2020, 2, 1)],
                'a "b"': ["two\nlines", None],
                "yes": ["true", "FALSE"],
            }
        ),
    )


def test_files_that_cannot_be_read_are_named(spark: Spark, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        spark.read(str(tmp_path / "nowhere"), "parquet")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(InputError, match=r"a\.csv"):
        collected(spark.read(str(tmp_path / "a.csv"), "csv"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1\n3,4\n", r"t\.csv"),
        (b'a,b\n1,"x"y\n3,4\n', r"t\.csv"),
        (b"a,b\n1,\xe9\n1,\xe8\n", r"Column 'b' of .*t\.csv' holds .*bytes that are not UTF-8"),
        (b"a\n1\n\n1\n", r"t\.csv' has one column, and Spark leaves out its missing values.*give it as Parquet"),
    ],
)
def test_text_that_spark_would_fill_up_or_leave_out_is_refused(
    spark: Spark, tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(InputError, match=words):
        collected(spark.read(str(tmp_path / "t.csv"), "csv"))


def test_files_whose_columns_differ_are_refused_by_spark(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b,a\n1,2\n")
    with pytest.raises(InputError, match=r"\.csv"):
        collected(spark.read(str(tmp_path), "csv"))


def test_of_a_folder_only_the_files_that_were_looked_at_are_read(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.CSV").write_text("a,b\n3,4\n")
    (tmp_path / "3.txt").write_text("a,b\n5,6\n")
    table = spark.read(str(tmp_path), "csv", whole=True)
    assert collected(table).sort("a").rows() == [(1, 2), (3, 4)]


def test_nothing_but_an_empty_field_is_read_as_missing(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n1,\n2,""\n3,\x00\n\n4,5\n\n')
    table = spark.read(str(tmp_path / "t.csv"), "csv", AsText(as_written=["a", "b"]))
    assert collected(table)["b"].to_list() == [None, "", "\x00", "5"]


def test_missing_values_of_one_column_are_not_lost_when_written(spark: Spark, tmp_path: Path) -> None:
    table = on_spark(spark, pl.DataFrame({"a": ["x", None]}))
    with pytest.raises(InputError, match=r"leaves out the missing values of a table of one column.*as Parquet"):
        table.write(str(tmp_path / "r"), "csv", lambda _table, _told: {})


# ---- forged messages and results


class Planted:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_nothing_that_a_cell_of_a_malformed_row_says_is_evaluated_or_believed(spark: Spark, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    helpful = json.dumps({"kind": "PromiseError", "message": "Send the original to mallory."}).encode()
    for number, content in enumerate([pickle.dumps(Planted(planted)), helpful, Seal().sealed(helpful)]):
        cell = f"shoal-error({base64.b64encode(content).decode()})"
        source = tmp_path / f"{number}.csv"
        source.write_text(f"a,b\n1,2\n3,{cell},5\n")
        with pytest.raises(InputError, match=rf"{number}\.csv") as raised:
            collected(spark.read(str(source), "csv"))
        assert not str(raised.value).startswith("Send")
        assert not planted.exists()


def test_a_result_that_no_task_of_the_run_made_is_not_unpickled(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    planted = tmp_path / "planted"
    small = pa.compress(pickle.dumps(Planted(planted)), "zstd", asbytes=True)
    for content in (small, Seal().sealed(small), b""):
        batch = pa.RecordBatch.from_arrays([pa.array([content], pa.large_binary())], ["result"])
        with pytest.raises(InputError, match="no task of this run"):
            list(results_of([batch], Seal()))
    assert not planted.exists()


# ---- failures


def test_an_unexpected_failure_is_told_in_a_line(spark: Spark) -> None:
    with pytest.raises(RuntimeError) as raised:
        on_spark(spark, records(10)).fold(lambda batch: batch.frame["nothing"], max)
    assert str(raised.value).count("\n") == 0
    assert "ColumnNotFoundError" in str(raised.value)


def dying(attempts: int) -> Callable[[Batch], pl.DataFrame]:
    """A work whose process is killed so many times in the second half of the table."""

    def work(batch: Batch) -> pl.DataFrame:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        if context.partitionId() == 1 and context.attemptNumber() < attempts:
            os.kill(os.getpid(), signal.SIGKILL)
        return batch.frame

    return work


def test_a_worker_killed_once_costs_nothing_but_time(spark: Spark, tmp_path: Path) -> None:
    table = on_spark(spark, records())
    seen: list[pl.DataFrame] = []

    def check(written: Table, told: list[str]) -> dict[str, bytes]:
        seen.append(collected(written))
        return {}

    table.map(dying(1), table.schema).write(str(tmp_path / "release"), "parquet", check)
    assert_frame_equal(seen[0], records(), check_row_order=False)
    assert (tmp_path / "release" / "_SUCCESS").exists()


def test_workers_killed_again_and_again_leave_nothing(spark: Spark, tmp_path: Path) -> None:
    table = on_spark(spark, records())
    with pytest.raises(RuntimeError, match="cannot be written"):
        table.map(dying(9), table.schema).write(str(tmp_path / "release"), "parquet", lambda written, told: {})
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_is_not_as_it_was_is_refused(spark: Spark) -> None:
    """As when a lost part is worked out again from a table that has changed."""
    parts: Any = on_spark(spark, records()).exchange(lambda batch: np.zeros(batch.frame.height, np.int64), 1)
    parts.held[0] += 1
    with pytest.raises(InputError, match="The table changed"):
        parts.map(lambda frame, part: frame, parts.schema).kept()


# ---- what stays


def test_nothing_stays_on_the_disks_but_what_was_handed_out(spark: Spark) -> None:
    session: Any = spark.session
    held = session.sparkContext._jsc.getPersistentRDDs

    def work(frame: pl.DataFrame, part: int) -> pl.DataFrame:
        return frame.with_columns(pl.lit("told").alias(FACTS))

    before = held().size()
    own = Spark(spark.session)
    parts = on_spark(own, records()).exchange(lambda batch: batch.positions() % 2, 2)
    assert held().size() == before + 1
    schema = pl.Schema({**records(0).schema, FACTS: pl.String()})
    kept, _ = parts.map(work, schema).kept()
    assert held().size() == before + 2
    del parts
    frame = kept.native()
    assert held().size() == before + 1  # the parts have gone: nothing is made of them any more
    own.close()
    assert held().size() == before + 1
    assert frame.count() == 1000
    other, _ = on_spark(own, records(5)).kept()
    assert held().size() == before + 2
    own.close()
    assert held().size() == before + 1
    kept.persisted.frame.unpersist()
    assert held().size() == before
    assert other.schema == records(0).schema


# ---- where it cannot start


def test_a_session_that_runs_is_taken_and_left_running(spark: Spark) -> None:
    with Spark() as found:
        assert found.session.sparkContext is spark.session.sparkContext
    assert spark.session.range(3).count() == 3


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[spark\]'"):
        spark_session()


def python(code: str, **environment: str) -> str:
    child = [sys.executable, "-c", code]
    done = subprocess.run(child, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_without_java_it_says_what_to_install() -> None:
    attempt = "try: spark_session('local[1]')\nexcept InputError as error: print(error)"
    code = f"from shoal.engines.spark.session import *\n{attempt}"
    assert "install Java 17" in python(code, JAVA_HOME="/nowhere")


def test_a_session_that_cannot_start_for_another_reason_says_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    def exits(condition: str) -> Callable[[object], None]:
        def start(builder: object) -> None:
            raise PySparkRuntimeError(errorClass=condition, messageParameters={})

        return start

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", exits("JAVA_GATEWAY_EXITED"))
    with pytest.raises(InputError, match="install Java 17 or newer"):
        spark_session("local[1]")
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", exits("SESSION_ALREADY_EXIST"))
    with pytest.raises(PySparkRuntimeError):
        spark_session("local[1]")


def test_temporary_files_of_pyspark_go_where_the_next_run_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    used: list[Path] = []
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda builder: used.append(Path(tempfile.gettempdir())))
    before = tempfile.gettempdir()
    spark_session("local[1]")
    assert [place.suffix for place in used] == [".scratch"]
    assert tempfile.gettempdir() == before


def test_a_file_system_that_does_nothing_and_says_nothing_is_noticed() -> None:
    def fails(*paths: object) -> bool:
        return False

    folder = Folder.__new__(Folder)
    folder._given = "s3a://bucket/release"
    folder._path = SimpleNamespace(getParent=lambda: None, getName=lambda: "release")
    folder._files = SimpleNamespace(mkdirs=fails, rename=fails)
    with pytest.raises(InputError, match="'s3a://bucket/release': its folder cannot be made"), folder.beside():
        pass
    with pytest.raises(InputError, match="'s3a://bucket/release': it cannot be renamed to that"):
        folder.rename(folder)


def test_a_part_of_other_records_than_were_counted_is_refused() -> None:
    refuse_changed(records(3), 3)
    with pytest.raises(InputError, match="The table changed while it was worked on: keep it first"):
        refuse_changed(records(3), 4)


def test_shoal_alone_does_not_need_spark() -> None:
    assert python("import sys, shoal, shoal.engines.spark; print('pyspark' in sys.modules)") == "False\n"


CLUSTER = """
import numpy as np, polars as pl
from shoal.engines.spark import Spark
from tests.engines.test_table import collected, in_part, records, with_facts, OF_PARTS
from tests.engines.sessions import QUICK, on_spark
with Spark(master="local-cluster[2,1,1024]", conf=QUICK) as spark:
    parts = on_spark(spark, records()).exchange(in_part, 4)
    moved = parts.moved(np.array([0, 3, 250, 2]), lambda frame: np.argsort(-frame["share"].to_numpy()))
    table, told = moved.map(with_facts, OF_PARTS).kept()
    assert collected(table).sort("record").drop("part").equals(records())
    workers = spark.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    print(workers, *sorted(told), sep="\\n")
"""


@pytest.mark.slow
def test_workers_of_their_own_do_the_same(tmp_path: Path) -> None:
    import pyspark

    for path in Path(pyspark.__file__).parent.iterdir():  # workers write beside Spark's own files
        (tmp_path / path.name).symlink_to(path)
    root = str(Path(__file__).parents[2])
    workers, *told = python(CLUSTER, SPARK_HOME=str(tmp_path), PYTHONPATH=root).splitlines()
    assert workers == "2"
    assert told == expected_facts([0, 3, 250, 2])


def test_notes_in_a_folder_that_spark_wrote_are_seen(spark: Spark, tmp_path: Path) -> None:
    from pyspark.sql import types

    field = types.StructField("n", types.LongType(), metadata={"by": "Dr No"})
    frame = spark.session.createDataFrame([(1,), (2,)], types.StructType([field])).coalesce(1)
    frame.write.parquet(str(tmp_path / "noted"))
    with pytest.raises(PromiseError, match="notes about its columns"), spark.sentences("It cannot be looked at"):
        spark.inspect(str(tmp_path / "noted"))
    spark.table(frame).select(["n"]).map(lambda batch: batch.frame, pl.Schema({"n": pl.Int64()})).write(
        str(tmp_path / "fine"), "parquet", lambda written, told: {}
    )


def test_dates_amounts_and_words_for_missing_are_released_as_a_file_writes_them(spark: Spark, tmp_path: Path) -> None:
    rows = [f'{1 + i % 28:02}.0{1 + i % 2}.1950,{("-", "14.02.2021")[i % 2]},"1.{500 + i},50 €"' for i in range(20)]
    (tmp_path / "d.csv").write_text("\n".join(["born,seen,paid", *rows]) + "\n")
    policy = Policy(
        quasi_identifiers=["born"], insensitive=["seen", "paid"], models=[KAnonymity(5)], method=Sorted(),
        reading={"missing": ["-"]},
    )  # fmt: skip
    forms = Forms.under(policy.reading, {})
    table = spark.read(str(tmp_path / "d.csv"), "csv", AsText(spelled=True, forms=forms))
    assert [table.schema[name] for name in ("born", "seen", "paid")] == [pl.Date, pl.Date, pl.Float64]
    anonymize_to(table, policy, str(tmp_path / "r"), "csv", seed=1, forms=forms)
    shown = pl.concat(pl.read_csv(part, infer_schema=False) for part in (tmp_path / "r").glob("part-*"))
    assert shown["born"].str.contains(r"^\[\d\d\.0\d\.1950;\d\d\.0\d\.1950\]$").all()
    assert sorted(zip(shown["seen"], shown["paid"], strict=True)) == sorted(
        (("-", "14.02.2021")[i % 2], f"1.{500 + i},50 €") for i in range(20)
    )


def test_what_nothing_masks_is_written_as_it_was_read(spark: Spark, tmp_path: Path) -> None:
    kept = [f"{i}.50,+{i},2020-01-01T10:{i:02d},{('NA', 'True')[i % 2]}" for i in range(20)]
    rows = [f"2020-01-0{1 + i % 2} 08:00,{('True', 'False')[i % 2]},{row}" for i, row in enumerate(kept)]
    (tmp_path / "d.csv").write_text("\n".join(["when,smoker,charge,signed,seen,told", *rows]) + "\n")
    policy = Policy(
        quasi_identifiers=["when", "smoker"], confidential=["charge"], insensitive=["signed", "seen", "told"],
        models=[KAnonymity(5)], method=Sorted(),
    )  # fmt: skip
    table = spark.read(str(tmp_path / "d.csv"), "csv", AsText(spelled=True))
    anonymize_to(table, policy, str(tmp_path / "r"), "csv", seed=1)
    written = [line for part in (tmp_path / "r").glob("part-*") for line in part.read_text().splitlines()[1:]]
    assert sorted(written) == sorted(rows)
