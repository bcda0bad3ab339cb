"""A session of Spark: ours, or one that runs; what was put on its disks, and what it says to a user."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from shoal.data.scratch import Scratch, sweep
from shoal.engines.sealed import Seal
from shoal.engines.spark.tasks import ARROW_BATCH, Arrow, in_task, inspected
from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


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
READ_CSV = {
    **CSV,
    "emptyValue": "",
    "nullValue": f"\x00{token_hex(8)}",  # what an empty field is read as, and no other
    "multiLine": "true",
    "mode": "FAILFAST",  # a line of fewer or more fields
    "unescapedQuoteHandling": "RAISE_ERROR",
    "enforceSchema": "false",  # the names in each file are looked at
}


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


class Held:
    """A frame on the cluster's disks. When no table is made of it any more it is noted, and goes with the next sweep.

    It cannot go at once: Python may find that out in the middle of a call to Java.
    """

    def __init__(self, frame: DataFrame, unneeded: list[DataFrame]) -> None:
        self.frame = frame
        self._end = weakref.finalize(self, unneeded.append, frame)
        self._end.atexit = False

    def let_go(self) -> None:
        """Notes that it is not needed: the next sweep takes it from the cluster's disks."""
        self._end()

    def hand_out(self) -> None:
        """It is the user's from now on."""
        self._end.detach()


class Session(AbstractContextManager["Session"]):
    """A session (the one given, the one that runs, or one of our own), and what was put on disks through it."""

    def __init__(
        self,
        session: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        running = session or running_session()
        self.session = running or spark_session(master, conf)
        self._ours = running is None
        self.seal = Seal()
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()
        self._unneeded: list[DataFrame] = []
        self.read_frames: list[DataFrame] = []
        self.places: list[str] = []  # files and folders, as they were named

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
        """Puts a frame on the cluster's disks when it is first worked out, and sweeps what is there in vain."""
        from pyspark import StorageLevel

        self.sweep()
        held = Held(frame.persist(StorageLevel.DISK_ONLY), self._unneeded)
        self._held.add(held)
        return held

    def sweep(self) -> None:
        """Takes from the cluster's disks what nothing needs any more."""
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
            if sealed_error := self.seal.error_in(str(error)):
                raise sealed_error from None
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

    def inputs(self) -> list[str]:
        """The files that are read."""
        return [name for frame in self.read_frames for name in frame.inputFiles()]

    def inputs_here(self) -> list[Path]:
        """The same on this machine, and the folders they were named by."""
        names = (*self.places, *self.inputs())
        return [Path(unquote(urlsplit(name).path) if name.startswith("file:") else name) for name in names]


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
