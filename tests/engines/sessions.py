"""The engines under test. A test marked `each_engine` runs on each; there `engine(frame)` is a table.

Where pyspark or Java is missing, what runs on Spark is skipped. A process has one session for all its tests.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec

import polars as pl
import pytest

from shoal.engines.disk import Disk
from shoal.engines.memory import MemoryTable
from shoal.engines.spark import Spark
from shoal.engines.table import Table

QUICK = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}


def needs_spark() -> None:
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")


@cache
def the_spark() -> Spark:
    """One session for all tests of this process; a task that fails is tried once more."""
    spark = Spark(master="local[2,2]", conf=QUICK)
    atexit.register(spark.close)
    return spark


@pytest.fixture
def spark() -> Spark:
    needs_spark()
    return the_spark()


def on_spark(spark: Spark, frame: pl.DataFrame) -> Table:
    arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return spark.table(spark.session.createDataFrame(arrow))


ON_SPARK = (pytest.mark.engine, pytest.mark.xdist_group("spark"))  # one session for all of them


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`each_engine(spark="slow")`: on Spark by `make test-all` only; what runs there is what runs on disk."""
    if marker := metafunc.definition.get_closest_marker("each_engine"):
        slow = [pytest.mark.slow] if marker.kwargs.get("spark") == "slow" else []
        on_spark = pytest.param("spark", marks=[*ON_SPARK, *slow])
        metafunc.parametrize("engine", ["memory", "disk", on_spark], indirect=True)


@pytest.fixture
def engine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[pl.DataFrame], Table]]:
    if request.param == "spark":
        spark: Spark = request.getfixturevalue("spark")
        yield lambda frame: on_spark(spark, frame)
    elif request.param == "memory":
        yield MemoryTable
    else:
        monkeypatch.setattr("shoal.engines.disk.BATCH", 300)
        with Disk() as disk:
            yield lambda frame: disk.table(frame.lazy())
