"""The engine of many machines: Apache Spark. Batches and parts are worked on inside its tasks (`mapInArrow`).

What is between lies on the cluster's disks until the engine is closed: `with Spark() as spark: ...`. Records travel to
their part as blocks; a Spark task is one part. Nothing but small results comes to the driver.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN, check_names
from shoal.data.outputs import refuse_folder
from shoal.data.scratch import ASIDE, Scratch, Unfinished, sweep
from shoal.engines.disk import BATCH
from shoal.engines.sealed import Seal
from shoal.engines.table import COUNTED, FACTS, Batch, Block, Table, pack, packed, unpacked
from shoal.engines.text import HEAD, with_types
from shoal.errors import InputError, ShoalError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

T = TypeVar("T")
Arrow = Iterator["pa.RecordBatch"]

ARROW_BATCH = 1 << 17  # records that pass between Spark and a task at once: what Java holds besides its own
MERGERS = 8  # tasks at most that merge the others' results, before the driver merges theirs
PLACE = 33  # bits of a record's place in its partition

SILENT = Path(__file__).with_name("log4j2.properties").as_uri()
FOR_OUR_SESSIONS = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={SILENT}",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # Spark runs as many tasks as there are cores
}
CSV = {
    "header": "true",
    "escape": '"',  # a quote in a text is doubled
    "emptyValue": '""',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
NO_MARK = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}  # ours comes last
OUR_FILES = {"pathGlobFilter": "part-*"}  # not what stands beside
CSV_FILES = {"pathGlobFilter": "*.[cC][sS][vV]"}  # those that were looked at
READ_CSV = {
    **CSV,
    "emptyValue": "",
    "nullValue": f"\x00{token_hex(8)}",  # what an empty field is read as, and no other
    "multiLine": "true",
    "mode": "FAILFAST",  # a line of fewer or more fields
    "unescapedQuoteHandling": "RAISE_ERROR",
    "enforceSchema": "false",  # the names in each file are looked at
}


REPLACED = "\ufffd"


def spark_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session of our own."""
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("Spark is not installed: pip install 'shoal[spark]' (it needs Java 17).") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sweep()
    settings = {**FOR_OUR_SESSIONS, **(_in_scratch() if _java_is_ours() else {}), **(conf or {})}
    builder = SparkSession.builder.appName("shoal")
    if master is not None:
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with pandas_unmentioned(), _temporary_files_in_scratch():
            return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise InputError(
            "Spark cannot be started: install Java 17 or newer and let JAVA_HOME name its folder."
        ) from None


@cache
def _scratch_of_java() -> Scratch:
    """What Spark spills and keeps on this machine; Java remembers the folder, so it stays as long as the process."""
    return Scratch()


def _java_is_ours() -> bool:
    """Not yet started, or started here."""
    from pyspark import SparkContext

    return SparkContext._gateway is None or _scratch_of_java.cache_info().currsize > 0


def _in_scratch() -> dict[str, str]:
    place = _scratch_of_java().path
    options = f"{FOR_OUR_SESSIONS['spark.driver.extraJavaOptions']} -Djava.io.tmpdir={place}"
    return {"spark.local.dir": str(place), "spark.driver.extraJavaOptions": options}


@contextmanager
def _temporary_files_in_scratch() -> Iterator[None]:
    """PySpark's own, while it starts Java: a killed run would leave them for ever."""
    before = tempfile.tempdir
    if _java_is_ours():
        tempfile.tempdir = str(_scratch_of_java().path)
    try:
        yield
    finally:
        tempfile.tempdir = before


def running_session() -> SparkSession | None:
    """A notebook's, or that of the program that calls us."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


class Spark(AbstractContextManager["Spark"]):
    """A session (the one given, the one that runs, or one of our own), and what was put on disks through it."""

    def __init__(
        self,
        session: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        found = session or running_session()
        self.session = found or spark_session(master, conf)
        self._ours = found is None
        self.seal = Seal()
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()
        self._unneeded: list[DataFrame] = []
        self._read: list[DataFrame] = []
        self._places: list[str] = []  # files and folders, as they were named

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """What lies on the cluster's disks goes, except for what was handed out; and the session if it is ours."""
        for held in list(self._held):
            held.let_go()
        self.sweep()
        if self._ours:
            self.session.stop()

    def persist(self, frame: DataFrame) -> Held:
        from pyspark import StorageLevel

        self.sweep()
        held = Held(frame.persist(StorageLevel.DISK_ONLY), self._unneeded)
        self._held.add(held)
        return held

    def sweep(self) -> None:
        while self._unneeded:
            self._unneeded.pop().unpersist()

    @contextmanager
    def sentences(self, what: str) -> Iterator[None]:
        """Of what goes wrong in Spark, the sentence meant for a user; else its short form, without pages of Java."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import AnalysisException, PySparkException

        try:
            yield
        except AnalysisException as error:
            raise InputError(f"{what}: {_short(error)}") from None
        except (PySparkException, Py4JError) as error:
            if told := self.seal.error_in(str(error)):
                raise told from None
            if _of_files(error) or re.search(r"\[(MALFORMED|FAILED_READ|CANNOT_READ)|TextParsingException", str(error)):
                raise InputError(f"{what}: {_short(error)}") from None
            raise RuntimeError(f"{what}: {_short(error)}") from error

    def mapped(self, frame: DataFrame, work: Callable[[Arrow], Arrow], schema: StructType | str) -> DataFrame:
        """`mapInArrow`, which stumbles over points and quotes in names: the columns come by number."""
        numbered = frame.toDF(*map(str, range(len(frame.columns))))
        with pandas_unmentioned():
            return numbered.mapInArrow(in_task(work, self.seal), schema)

    def inspect(self, folder: str) -> None:
        """Looks at the bytes of what was written, in tasks: nothing may stand in them that no row shows."""
        files = self.session.read.format("binaryFile").options(**OUR_FILES).load(folder).select("path", "content")
        self.mapped(files, inspected, "path string").count()

    def table(self, frame: DataFrame) -> SparkTable:
        check_names(frame.columns, "The Spark frame")
        self._read.append(frame)
        return SparkTable(self, frame, to_polars(frame.schema))

    def inputs(self) -> list[str]:
        """The files that are read."""
        return [name for frame in self._read for name in frame.inputFiles()]

    def inputs_here(self) -> list[Path]:
        """The same on this machine, and the folders they were named by."""
        names = (*self._places, *self.inputs())
        return [Path(unquote(urlsplit(name).path) if name.startswith("file:") else name) for name in names]

    def read(
        self,
        path: str,
        kind: str,
        text: Collection[str] = (),
        as_written: Collection[str] = (),
        *,
        spelled: bool = False,
        whole: bool = False,
    ) -> Table:
        """Parquet or CSV, a file or a folder of files; or a `table` that the session's catalogue knows.

        Columns of CSV that are named in `text` or `as_written` are text; of the latter an empty text is not missing.
        Where it is to be `spelled`, each column stands there as text, too.
        Text that has been seen to be `whole` records is read as it is; else what may have been lost is refused.
        """
        reader = self.session.read
        if kind != "table":
            self._places.append(path)
        with self.sentences(f"{path!r} cannot be read"):
            if kind == "csv":
                words = self.table(reader.options(**READ_CSV, **(CSV_FILES if whole else {})).csv(path))
                words = words if whole else legible(words, path)
                head = pl.DataFrame(words.frame.limit(HEAD).toArrow())
                return with_types(words, head, text, as_written, spelled=spelled)
            return self.table(reader.table(path) if kind == "table" else reader.parquet(path))

    def written(self, folder: str, kind: str, schema: pl.Schema) -> SparkTable:
        """What `SparkTable.write` has put there."""
        options = {**(READ_CSV if kind == "csv" else {}), **OUR_FILES}
        reader = self.session.read.format(kind).options(**options)
        return SparkTable(self, reader.schema(to_spark(schema)).load(folder), schema, folder=folder)


def legible(words: SparkTable, path: str) -> SparkTable:
    """Refuses text in which records or bytes are lost: blank lines, and what stands for bytes that are not UTF-8."""
    if len(words.schema) == 1:
        raise InputError(
            f"{path!r} has one column, and Spark leaves out its missing values, which are blank lines: "
            "give it as Parquet, or with another column."
        )

    def look_at(batch: Batch) -> pl.DataFrame:
        for column in batch.frame:
            if column.str.contains(REPLACED, literal=True).any():
                raise InputError(
                    f"Column {column.name!r} of {path!r} holds {REPLACED!r}, which Spark reads for bytes that are not "
                    "UTF-8: different values would be the same. Write it as UTF-8, or as Parquet."
                )
        return batch.frame

    return words.map(look_at, words.schema)


class Held:
    """A frame on the cluster's disks. When no table is made of it any more it is noted, and goes with the next sweep.

    It cannot go at once: Python may find that out in the middle of a call to Java.
    """

    def __init__(self, frame: DataFrame, unneeded: list[DataFrame]) -> None:
        self.frame = frame
        self._end = weakref.finalize(self, unneeded.append, frame)
        self._end.atexit = False

    def let_go(self) -> None:
        self._end()

    def hand_out(self) -> None:
        """It is the user's from now on."""
        self._end.detach()


# ---- types


STORED: dict[pl.DataType, pl.DataType] = {
    pl.UInt8(): pl.Int16(),
    pl.UInt16(): pl.Int32(),
    pl.UInt32(): pl.Int64(),
    pl.UInt64(): pl.Decimal(20, 0),
    pl.Int128(): pl.Decimal(38, 0),
    pl.Null(): pl.String(),
}


def stored(dtype: pl.DataType) -> pl.DataType:
    """As what Spark holds it, wide enough."""
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", dtype.time_zone and "UTC")
    return STORED.get(dtype, dtype)


def to_spark(schema: pl.Schema) -> StructType:
    from pyspark.sql import types

    plain: dict[pl.DataType, DataType] = {
        pl.Boolean(): types.BooleanType(),
        pl.Int8(): types.ByteType(),
        pl.Int16(): types.ShortType(),
        pl.Int32(): types.IntegerType(),
        pl.Int64(): types.LongType(),
        pl.Float32(): types.FloatType(),
        pl.Float64(): types.DoubleType(),
        pl.String(): types.StringType(),
        pl.Binary(): types.BinaryType(),
        pl.Date(): types.DateType(),
        pl.Datetime("us"): types.TimestampNTZType(),
        pl.Datetime("us", "UTC"): types.TimestampType(),
    }

    def spark_type(name: str, dtype: pl.DataType) -> DataType:
        if isinstance(dtype, pl.Decimal):
            return types.DecimalType(dtype.precision, dtype.scale)
        if dtype not in plain:
            raise InputError(f"Column {name!r} holds {dtype}, which Spark has no plain type for: leave it out.")
        return plain[dtype]

    return types.StructType(
        [types.StructField(name, spark_type(name, stored(dtype))) for name, dtype in schema.items()]
    )


def to_polars(schema: StructType) -> pl.Schema:
    plain: dict[str, pl.DataType] = {
        "boolean": pl.Boolean(),
        "byte": pl.Int8(),
        "short": pl.Int16(),
        "integer": pl.Int32(),
        "long": pl.Int64(),
        "float": pl.Float32(),
        "double": pl.Float64(),
        "string": pl.String(),
        "binary": pl.Binary(),
        "date": pl.Date(),
        "timestamp_ntz": pl.Datetime("us"),
        "timestamp": pl.Datetime("us", "UTC"),
    }

    def polars_type(name: str, dtype: Any) -> pl.DataType:
        kind = dtype.typeName()
        if kind == "decimal":
            return pl.Decimal(dtype.precision, dtype.scale)
        if kind not in plain:
            raise InputError(
                f"Column {name!r} holds {dtype.simpleString()}, not one plain value a record: "
                "leave it out, or take it apart into columns first."
            )
        return plain[kind]

    return pl.Schema({field.name: polars_type(field.name, field.dataType) for field in schema})


def column(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


# ---- inside a task


def in_task(work: Callable[[Arrow], Arrow], seal: Seal) -> Callable[[Arrow], Arrow]:
    """What is told to the user there is told to the user here: `sentences` finds it in what Spark makes of it."""

    def run(batches: Arrow) -> Arrow:
        try:
            yield from work(batches)
        except ShoalError as error:
            raise RuntimeError(seal.as_text(error)) from None

    return run


def batches_of(arrow: Arrow, schema: pl.Schema) -> Iterator[Batch]:
    """Spark's small batches put together, and the place of each in the table."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    position = context.partitionId() << PLACE
    for frame in _gathered(arrow):
        frame.columns = schema.names()
        yield Batch(frame.cast(schema), position)
        position += frame.height


def _gathered(arrow: Arrow) -> Iterator[pl.DataFrame]:
    waiting: list[pa.RecordBatch] = []
    records = 0
    for batch in arrow:
        waiting.append(batch)
        records += batch.num_rows
        if records >= BATCH:
            yield _together(waiting)
            waiting, records = [], 0
    if records:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pl.DataFrame:
    import pyarrow as pa

    return pl.DataFrame(pa.Table.from_batches(batches)).rechunk()


def to_arrow(frame: pl.DataFrame, schema: pl.Schema) -> Arrow:
    """As Spark takes it: the schema's columns, in its order."""
    shown = frame.select(pl.col(name).cast(stored(dtype)) for name, dtype in schema.items())
    yield from shown.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches(ARROW_BATCH)


def inspected(files: Arrow) -> Arrow:
    import pyarrow as pa

    from shoal.data.unseen import inspect_parquet_bytes

    for batch in files:
        for path, content in zip(*batch.columns, strict=True):
            inspect_parquet_bytes(content.as_buffer(), path.as_py())
        yield pa.RecordBatch.from_arrays([batch.column(0).cast(pa.large_string())], ["path"])


BLOCKS = "part int, position long, records long, packed binary"


def to_blocks(blocks: Iterable[tuple[int, int, int, bytes]]) -> Arrow:
    import pyarrow as pa

    types = [pa.int32(), pa.int64(), pa.int64(), pa.large_binary()]
    for block in blocks:
        arrays = [pa.array([value], kind) for value, kind in zip(block, types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, ["part", "position", "records", "packed"])


def to_results(results: Iterable[Any], seal: Seal) -> Arrow:
    import pyarrow as pa
    from pyspark import cloudpickle

    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    for result in results:
        small = seal.sealed(pa.compress(dumps(result), "zstd", asbytes=True))
        yield pa.RecordBatch.from_arrays([pa.array([small], pa.large_binary())], ["result"])


def results_of(arrow: Iterable[pa.RecordBatch], seal: Seal) -> Iterator[Any]:
    """What tasks of this run worked out, and nothing else: a pickle could be anything."""
    import pyarrow as pa

    for batch in arrow:
        for result in batch.column(0):
            content = seal.opened(memoryview(result.as_buffer()))
            if content is None:
                raise InputError(
                    "Spark handed back a result that no task of this run made: run it again, "
                    "and see who else can write to the cluster's disks."
                )
            yield pickle.load(pa.input_stream(pa.py_buffer(content), compression="zstd"))


def merged(results: Iterator[T], merge: Callable[[T, T], T]) -> Iterator[T]:
    """One, or none of none."""
    for first in results:
        yield reduce(merge, results, first)


# ---- on the driver


def _of_files(error: Exception) -> bool:
    """Raised by a file system itself."""
    java = getattr(error, "java_exception", None)
    return java is not None and java.getClass().getName().startswith(("java.io.", "org.apache.hadoop."))


def _short(error: Exception) -> str:
    """Of a Python traceback inside, the last line; else the first line that says more than that something failed."""
    text = next(text for text in _messages(error) if not text.startswith(("Exception thrown in", "Job aborted")))
    raised = re.findall(r"^([\w.]+(?:Error|Exception|Interrupt)\b.*)$", text, re.MULTILINE)
    return (raised[-1] if "Traceback" in text and raised else text.split("\n")[0]).strip()


def _messages(error: Exception) -> Iterator[str]:
    """Its own, and those of what caused it in Java."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        yield str(error).strip()
    while java is not None:
        yield str(java.getMessage()).strip()
        java = java.getCause()
    yield type(error).__name__


@contextmanager
def pandas_unmentioned() -> Iterator[None]:
    """PySpark warns of pandas 3 wherever it might use it; nothing here does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@dataclass(frozen=True)
class SparkTable:
    spark: Spark = field(repr=False)
    frame: DataFrame = field(repr=False)
    schema: pl.Schema  # what a work sees; Spark may hold it in wider types
    persisted: Held | None = field(default=None, repr=False)  # where it has been kept
    folder: str = ""  # where it has been written
    made_of: tuple[Held, ...] = field(default=(), repr=False)

    engine = "spark"
    ordered = False  # it reads files in whatever order suits it

    def inputs(self) -> list[Path]:
        return self.spark.inputs_here()

    def _sources(self) -> tuple[Held, ...]:
        """What must stay on the disks as long as what is made of this table is asked for."""
        return self.made_of if self.persisted is None else (self.persisted,)

    def _in_tasks(self, work: Callable[[Iterator[Batch]], Arrow], schema: StructType | str) -> DataFrame:
        own = self.schema
        return self.spark.mapped(self.frame, lambda arrow: work(batches_of(arrow, own)), schema)

    def select(self, names: Sequence[str]) -> SparkTable:
        schema = pl.Schema({name: self.schema[name] for name in names})
        return SparkTable(self.spark, self.frame.select(*map(column, names)), schema, made_of=self._sources())

    def map(self, work: Callable[[Batch], pl.DataFrame], schema: pl.Schema) -> SparkTable:
        def run(batches: Iterator[Batch]) -> Arrow:
            for batch in batches:
                yield from to_arrow(work(batch), schema)

        return SparkTable(self.spark, self._in_tasks(run, to_spark(schema)), schema, made_of=self._sources())

    def union(self, other: Table) -> SparkTable:
        assert isinstance(other, SparkTable)
        frame = self.frame.union(other.select(list(self.schema)).frame)
        return SparkTable(self.spark, frame, self.schema, made_of=self._sources() + other._sources())

    def fold(self, work: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T | None:
        seal = self.spark.seal
        results = self._in_tasks(lambda batches: to_results(merged(map(work, batches), merge), seal), "result binary")
        mergers = min(MERGERS, self.spark.session.sparkContext.defaultParallelism)
        few = self.spark.mapped(
            results.repartition(mergers),
            lambda arrow: to_results(merged(results_of(arrow, seal), merge), seal),
            "result binary",
        )
        with self.spark.sentences("The table cannot be read by Spark"):
            found = few.toArrow().to_batches()
        return next(merged(results_of(found, seal), merge), None)

    def counts(self, by: Sequence[str]) -> pl.DataFrame:
        from pyspark.sql import functions

        counted = self.frame.groupBy(*map(column, by)).agg(functions.count("*").alias(COUNTED))
        with self.spark.sentences("The table cannot be read by Spark"):
            found = pl.DataFrame(counted.toArrow())
        return found.cast({**{name: self.schema[name] for name in by}, COUNTED: pl.Int64()})

    def exchange(self, part_of: Callable[[Batch], npt.NDArray[np.int64]], parts: int) -> SparkParts:
        from pyspark.sql import functions

        def run(batches: Iterator[Batch]) -> Arrow:
            for batch in batches:
                yield from to_blocks(pack(batch, part_of(batch)))

        held_blocks = self.spark.persist(self._in_tasks(run, BLOCKS).repartitionById(parts, "part"))
        blocks = held_blocks.frame
        held = np.zeros(parts, np.int64)
        with self.spark.sentences("The table cannot be divided by Spark"):
            found = pl.DataFrame(blocks.groupBy("part").agg(functions.sum("records").alias("records")).toArrow())
        held[found["part"].to_numpy()] = found["records"].to_numpy()
        return SparkParts(self.spark, held_blocks, self.schema, held)

    def kept(self) -> tuple[SparkTable, list[str]]:
        persisted = self.spark.persist(self.frame)
        frame = persisted.frame
        schema = pl.Schema({name: dtype for name, dtype in self.schema.items() if name != FACTS})
        with self.spark.sentences("The table cannot be worked on by Spark"):
            told: list[str] = []
            if FACTS in self.schema:
                told = frame.select(column(FACTS)).dropna().toArrow()[FACTS].to_pylist()
            else:
                frame.count()
        return SparkTable(self.spark, frame.select(*map(column, schema)), schema, persisted), told

    def write(
        self, folder: str, kind: str, check: Callable[[Table, list[str]], dict[str, bytes]], *, overwrite: bool = False
    ) -> SparkTable:
        if kind == "csv" and len(set(self.schema) - {FACTS}) == 1:
            raise InputError(
                "Spark leaves out the missing values of a table of one column when it writes CSV: write it as Parquet."
            )
        target = Folder(self.spark.session, folder)
        with self.spark.sentences(f"The release cannot be written to {folder!r}"):
            target.refuse_used(overwrite=overwrite, reads=self.spark.inputs() if overwrite else ())
            table, told = self.kept() if FACTS in self.schema else (self, [])
            try:
                with target.beside() as partial:
                    options = {**(CSV if kind == "csv" else {"compression": "zstd"}), **NO_MARK}
                    table.frame.write.format(kind).options(**options).save(partial.path)
                    if kind == "parquet":
                        self.spark.inspect(partial.path)
                    for name, content in check(self.spark.written(partial.path, kind, table.schema), told).items():
                        partial.put(name, content)
                    target.put_aside(partial)
                    partial.rename(target)
                    target.mark_or_remove()
            finally:
                if table.persisted is not None and table is not self:
                    table.persisted.let_go()
                self.spark.sweep()
            return self.spark.written(target.path, kind, table.schema)

    def digests(self) -> dict[str, str]:
        from pyspark.sql import functions

        files = self.spark.session.read.format("binaryFile").options(**OUR_FILES).load(self.folder)
        with self.spark.sentences(f"The files in {self.folder!r} cannot be read"):
            found = files.select("path", functions.sha2("content", 256).alias("digest")).toArrow()
        return dict(sorted((row["path"].rpartition("/")[2], row["digest"]) for row in found.to_pylist()))

    def native(self) -> DataFrame:
        if self.persisted is not None:
            self.persisted.hand_out()
        self.spark.sweep()
        return self.frame.drop(FACTS)


class Folder:
    """A folder in any file system that the session reaches: file:, hdfs:, s3a: ..."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        context: Any = session.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop.fs
        given = self._hadoop.Path(path)
        self._files = given.getFileSystem(context._jsc.hadoopConfiguration())
        self._path = self._files.makeQualified(given)
        self._given = path

    @property
    def path(self) -> str:
        return str(self._path.toString())

    def refuse_used(self, *, overwrite: bool, reads: Sequence[str] = ()) -> None:
        """Refuses all but a new folder, an empty one, and a release to be replaced that is not what is read."""
        if not self._files.exists(self._path):
            return
        if self._files.isFile(self._path):
            raise InputError(f"{self._given!r} is a file, and a folder is to be written: name another.")
        held = [status.getPath().getName() for status in self._files.listStatus(self._path)]
        refuse_folder(self._given, held, overwrite=overwrite, certified=True)
        qualified = (self._files.makeQualified(self._hadoop.Path(name)).toString() for name in reads)
        if held and any(name.startswith(f"{self.path}/") for name in qualified):
            raise InputError(f"The output {self._given!r} is what is read: name another folder, it is never changed.")

    def put_aside(self, partial: Folder) -> None:
        """What has this name now, into the hidden folder in which the new one waits."""
        if not self._files.exists(self._path):
            return
        if not len(self._files.listStatus(self._path)):
            self._files.delete(self._path, False)  # else what is renamed to it would come to lie in it
            return
        replaced = self._replaced(partial._path.getParent())
        if not self._files.mkdirs(replaced.getParent()) or not self._files.rename(self._path, replaced):
            raise self._refused("what is there cannot be put aside")

    def _put_back(self, hidden: Folder) -> None:
        """What was put aside, unless the new one has its name."""
        replaced = self._replaced(hidden._path)
        if self._files.exists(replaced) and not self._files.exists(self._path):
            self._files.rename(replaced, self._path)

    def _replaced(self, hidden: Any) -> Any:
        return self._hadoop.Path(hidden, f"{ASIDE}/{self._path.getName()}")

    @contextmanager
    def beside(self) -> Iterator[Folder]:
        """A new one of this name in a hidden folder of the same parent, which goes with all that is left in it.

        Where there are no locks, as in HDFS and object stores, what a killed run leaves has the same kind of name but
        is not swept: nobody could tell it from a run under way.
        """
        parent, name = self._path.getParent(), self._path.getName()
        if not self._files.mkdirs(parent):
            raise self._refused("its folder cannot be made")
        if self._files.getScheme() == "file":
            try:
                with Unfinished(Path(parent.toUri().getPath(), name)) as partial:
                    yield Folder(self._session, f"file:{partial}")
            except OSError as error:
                raise self._refused(str(error.strerror).lower()) from None
            return
        hidden = Folder(self._session, f"{parent.toString()}/.shoal-{token_hex(4)}.partial")
        self._files.mkdirs(hidden._path, self._hadoop.permission.FsPermission("700"))
        try:
            yield Folder(self._session, f"{hidden.path}/{name}")
        finally:
            self._put_back(hidden)
            hidden.remove()

    def _refused(self, why: str) -> InputError:
        return InputError(f"The release cannot be written to {self._given!r}: {why}.")

    def put(self, name: str, content: bytes) -> None:
        stream = self._files.create(self._hadoop.Path(self._path, name))
        try:
            stream.write(content)
        finally:
            stream.close()

    def rename(self, target: Folder) -> None:
        if not self._files.rename(self._path, target._path):
            raise target._refused("it cannot be renamed to that")

    def mark_or_remove(self) -> None:
        """The marker that it is whole, or no folder: only one that has just been given its name is taken back."""
        try:
            self.put("_SUCCESS", b"")
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        self._files.delete(self._path, True)


FROM, PLACE_THERE, TO = (f"{OWN}{name}" for name in ("from", "place", "to"))


@dataclass(frozen=True)
class Heads:
    """Records on their way from the beginning of one part into another: `FROM`, `PLACE_THERE` and `TO`."""

    frame: pl.DataFrame

    def applied(self, part: int, frame: pl.DataFrame) -> pl.DataFrame:
        """The part's own without those that leave it, then those that join it, in order."""
        gone = self.frame.filter(pl.col(FROM) == part)[PLACE_THERE].to_numpy()
        joining = self.frame.filter(pl.col(TO) == part).select(frame.columns)
        left = frame[np.setdiff1d(np.arange(frame.height), gone)] if len(gone) else frame
        return pl.concat([left, joining]) if joining.height else left


@dataclass(frozen=True)
class SparkParts:
    spark: Spark = field(repr=False)
    blocks: Held = field(repr=False)
    schema: pl.Schema
    held: npt.NDArray[np.int64] = field(repr=False)  # records of each part
    heads: Heads | None = field(default=None, repr=False)

    def sizes(self) -> npt.NDArray[np.int64]:
        return self.held

    def moved(self, heads: npt.NDArray[np.int64], order: Callable[[pl.DataFrame], npt.NDArray[np.int64]]) -> SparkParts:
        assert self.heads is None, "records move once"

        def run(arrow: Arrow) -> Arrow:
            for part, frame in parts_of(arrow):
                first = order(frame)[: heads[part]]
                taken = frame[first].with_columns(pl.lit(part).alias(FROM), pl.Series(PLACE_THERE, first))
                yield from to_blocks([(part, 0, len(first), packed(taken))])

        asked = column("part").isin(np.flatnonzero(heads).tolist())
        with self.spark.sentences("The parts cannot be read by Spark"):
            found = pl.DataFrame(self.spark.mapped(self.blocks.frame.where(asked), run, BLOCKS).toArrow()).sort("part")
        keeps = np.where(self.held > heads, np.arange(len(heads)), 0)
        keeper = np.append(0, np.maximum.accumulate(keeps)[:-1])  # the last part before that keeps some
        taken = unpacked(found["packed"].to_list())
        return replace(self, heads=Heads(taken.with_columns(pl.Series(TO, keeper[taken[FROM].to_numpy()]))))

    def map(self, work: Callable[[pl.DataFrame, int], pl.DataFrame], schema: pl.Schema) -> SparkTable:
        held, heads = self.held, self.heads

        def run(arrow: Arrow) -> Arrow:
            for part, frame in parts_of(arrow):
                refuse_changed(frame, held[part])
                left = heads.applied(part, frame) if heads else frame
                if left.height:
                    yield from to_arrow(work(left, part), schema)

        return SparkTable(
            self.spark, self.spark.mapped(self.blocks.frame, run, to_spark(schema)), schema, made_of=(self.blocks,)
        )


def refuse_changed(frame: pl.DataFrame, held: int) -> None:
    """A part is read once more to be worked on; its source may have been written to in between."""
    if frame.height != held:
        raise InputError("The table changed while it was worked on: keep it first (write it, or df.persist()).")


def parts_of(arrow: Arrow) -> Iterator[tuple[int, pl.DataFrame]]:
    """A task's parts, mostly one, their blocks put together in order of position."""
    found = (block for batch in arrow for block in zip(*batch.columns, strict=True))
    blocks = [Block(part.as_py(), position.as_py(), records.as_py(), p.as_py()) for part, position, records, p in found]
    blocks.sort(key=lambda block: (block.part, block.position))
    for part, own in groupby(blocks, key=lambda block: block.part):
        yield part, unpacked([block.packed for block in own])
