"""The engine of many machines: Apache Spark.

What is between lies on the cluster's disks until the engine is closed: `with Spark() as spark: ...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from shoal.data.frames import check_names
from shoal.engines.spark.session import READ_CSV, Session
from shoal.engines.spark.table import SparkTable
from shoal.engines.spark.types import to_polars
from shoal.engines.table import Batch, Table
from shoal.engines.text import HEAD, AsText
from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REPLACED = "\ufffd"
CSV_FILES = {"pathGlobFilter": "*.[cC][sS][vV]"}  # those that were looked at


class Spark(Session):
    """A session of Spark, and tables of it."""

    def table(self, frame: DataFrame) -> SparkTable:
        """A frame of Spark's as a table; its types must be ones that Polars has, too."""
        check_names(frame.columns, "The Spark frame")
        self.read_frames.append(frame)
        return SparkTable(self, frame, to_polars(frame.schema))

    def read(
        self,
        path: str,
        kind: str,
        as_text: AsText | None = None,
        *,
        whole: bool = False,
    ) -> Table:
        """Parquet or CSV, a file or a folder of files; or a `table` that the session's catalogue knows.

        How columns of CSV are typed is said by `as_text`. Text that has been seen to be `whole` records is read as it
        is; else what may have been lost is refused.
        """
        reader = self.session.read
        if kind != "table":
            self.places.append(path)
        with self.sentences(f"{path!r} cannot be read"):
            if kind == "csv":
                words = self.table(reader.options(**READ_CSV, **(CSV_FILES if whole else {})).csv(path))
                words = words if whole else legible(words, path)
                head = pl.DataFrame(words.frame.limit(HEAD).toArrow())
                return (as_text or AsText()).typed(words, head)
            return self.table(reader.table(path) if kind == "table" else reader.parquet(path))


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
