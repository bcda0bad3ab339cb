"""Tables of Spark: batches and parts are worked on inside its tasks (`mapInArrow`).

Records travel to their part as blocks; a Spark task is one part. Nothing but small results comes to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.engines.spark.folder import Folder
from shoal.engines.spark.session import CSV, NO_MARK, OUR_FILES, READ_CSV, Held, Session
from shoal.engines.spark.tasks import (
    BLOCKS,
    Arrow,
    batches_of,
    merged,
    parts_of,
    results_of,
    to_arrow,
    to_blocks,
    to_results,
)
from shoal.engines.spark.types import column, to_spark
from shoal.engines.table import COUNTED, FACTS, Batch, Table, chunks_of, pack, packed, unpacked
from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

T = TypeVar("T")

MERGERS = 8  # tasks at most that merge the others' results, before the driver merges theirs


@dataclass(frozen=True)
class SparkTable:
    """A frame of Spark's, worked on inside its tasks."""

    spark: Session = field(repr=False)
    frame: DataFrame = field(repr=False)
    schema: pl.Schema  # what a work sees; Spark may hold it in wider types
    persisted: Held | None = field(default=None, repr=False)  # where it has been kept
    folder: str = ""  # where it has been written
    made_of: tuple[Held, ...] = field(default=(), repr=False)

    engine = "spark"
    ordered = False  # it reads files in whatever order suits it
    whole = None

    def inputs(self) -> list[Path]:
        """The files and folders of this machine that the session reads, for all of its tables."""
        return self.spark.inputs_here()

    def chunks(self, records: int) -> int:
        """As many as keep each at `shoal.engines.table.CHUNK` records or fewer: a chunk must fit in a task."""
        return chunks_of(records)

    def _sources(self) -> tuple[Held, ...]:
        """What must stay on the disks as long as what is made of this table is asked for."""
        return self.made_of if self.persisted is None else (self.persisted,)

    def _in_tasks(self, work: Callable[[Iterator[Batch]], Arrow], schema: StructType | str) -> DataFrame:
        own = self.schema
        return self.spark.mapped(self.frame, lambda arrow: work(batches_of(arrow, own)), schema)

    def select(self, names: Sequence[str]) -> SparkTable:
        """Left to Spark, which then does not read the other columns."""
        schema = pl.Schema({name: self.schema[name] for name in names})
        return SparkTable(self.spark, self.frame.select(*map(column, names)), schema, made_of=self._sources())

    def map(self, work: Callable[[Batch], pl.DataFrame], schema: pl.Schema) -> SparkTable:
        """A step of Spark's plan: the work runs in its tasks, once what comes of it is asked for."""

        def run(batches: Iterator[Batch]) -> Arrow:
            for batch in batches:
                yield from to_arrow(work(batch), schema)

        return SparkTable(self.spark, self._in_tasks(run, to_spark(schema)), schema, made_of=self._sources())

    def like(self, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> SparkTable:
        """They wait in the driver as they travel between tasks, packed."""
        import pyarrow as pa

        some = chain([pl.DataFrame(schema=schema)], frames)
        blocks = pa.Table.from_batches(to_blocks((0, 0, frame.height, packed(frame)) for frame in some))

        def run(arrow: Arrow) -> Arrow:
            for batch in arrow:
                for block in batch.column(3):
                    yield from to_arrow(unpacked([block.as_py()]), schema)

        frame = self.spark.mapped(self.spark.session.createDataFrame(blocks), run, to_spark(schema))
        return SparkTable(self.spark, frame, schema)

    def union(self, added: Table) -> SparkTable:
        """As Spark's own: partitions of this table, then those of the other, columns in this table's order."""
        assert isinstance(added, SparkTable)
        frame = self.frame.union(added.select(list(self.schema)).frame)
        return SparkTable(self.spark, frame, self.schema, made_of=self._sources() + added._sources())

    def fold(self, work: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T | None:
        """Each task merges what its batches give, a few tasks merge theirs, the driver merges the rest."""
        seal = self.spark.seal
        results = self._in_tasks(lambda batches: to_results(merged(map(work, batches), merge), seal), "result binary")
        mergers = min(MERGERS, self.spark.session.sparkContext.defaultParallelism)
        few = self.spark.mapped(
            results.repartition(mergers),
            lambda arrow: to_results(merged(results_of(arrow, seal), merge), seal),
            "result binary",
        )
        with self.spark.sentences("The table cannot be read by Spark"):
            gathered = few.toArrow().to_batches()
        return next(merged(results_of(gathered, seal), merge), None)

    def counts(self, by: Sequence[str]) -> pl.DataFrame:
        """By Spark's own grouping; the combinations that occur come to the driver."""
        from pyspark.sql import functions

        counted = self.frame.groupBy(*map(column, by)).agg(functions.count("*").alias(COUNTED))
        with self.spark.sentences("The table cannot be read by Spark"):
            counts = pl.DataFrame(counted.toArrow())
        return counts.cast({**{name: self.schema[name] for name in by}, COUNTED: pl.Int64()})

    def exchange(self, part_of: Callable[[Batch], npt.NDArray[np.int64]], parts: int) -> SparkParts:
        """Packed blocks travel, one task then holds one part; they stay on the cluster's disks until it goes."""
        from pyspark.sql import functions

        def run(batches: Iterator[Batch]) -> Arrow:
            for batch in batches:
                yield from to_blocks(pack(batch, part_of(batch)))

        held_blocks = self.spark.persist(self._in_tasks(run, BLOCKS).repartitionById(parts, "part"))
        blocks = held_blocks.frame
        held = np.zeros(parts, np.int64)
        with self.spark.sentences("The table cannot be divided by Spark"):
            in_part = pl.DataFrame(blocks.groupBy("part").agg(functions.sum("records").alias("records")).toArrow())
        held[in_part["part"].to_numpy()] = in_part["records"].to_numpy()
        return SparkParts(self.spark, held_blocks, self.schema, held)

    def kept(self) -> tuple[SparkTable, list[str]]:
        """On the cluster's disks, worked out now; they are given back when no table is made of it any more."""
        persisted = self.spark.persist(self.frame)
        frame = persisted.frame
        schema = pl.Schema({name: dtype for name, dtype in self.schema.items() if name != FACTS})
        with self.spark.sentences("The table cannot be worked on by Spark"):
            facts: list[str] = []
            if FACTS in self.schema:
                facts = frame.select(column(FACTS)).dropna().toArrow()[FACTS].to_pylist()
            else:
                frame.count()
        return SparkTable(self.spark, frame.select(*map(column, schema)), schema, persisted), facts

    def write(
        self, folder: str, kind: str, check: Callable[[Table, list[str]], dict[str, bytes]], *, overwrite: bool = False
    ) -> SparkTable:
        """By Spark itself, into a hidden folder beside the target, read back from there to be checked, then renamed."""
        if kind == "csv" and len(set(self.schema) - {FACTS}) == 1:
            raise InputError(
                "Spark leaves out the missing values of a table of one column when it writes CSV: write it as Parquet."
            )
        target = Folder(self.spark.session, folder)
        with self.spark.sentences(f"The release cannot be written to {folder!r}"):
            target.refuse_used(overwrite=overwrite, reads=self.spark.inputs() if overwrite else ())
            table, facts = self.kept() if FACTS in self.schema else (self, [])
            try:
                with target.beside() as partial:
                    options = {**(CSV if kind == "csv" else {"compression": "zstd"}), **NO_MARK}
                    table.frame.write.format(kind).options(**options).save(partial.path)
                    if kind == "parquet":
                        self.spark.inspect(partial.path)
                    for name, content in check(written(self.spark, partial.path, kind, table.schema), facts).items():
                        partial.put(name, content)
                    target.put_aside(partial)
                    partial.rename(target)
                    target.mark_or_remove()
            finally:
                if table.persisted is not None and table is not self:
                    table.persisted.let_go()
                self.spark.sweep()
            return written(self.spark, target.path, kind, table.schema)

    def place(self, folder: str) -> Path | None:
        """The folder, if the file system that its address leads to is this machine's."""
        return Folder(self.spark.session, folder).here

    def frames(self) -> Iterator[pl.DataFrame]:
        """One partition after the other comes to the driver, packed as it is between tasks, while the next is made."""

        def run(batches: Iterator[Batch]) -> Arrow:
            yield from to_blocks((0, batch.position, batch.frame.height, packed(batch.frame)) for batch in batches)

        with self.spark.sentences("The table cannot be read by Spark"):
            for block in self._in_tasks(run, BLOCKS).select("packed").toLocalIterator(prefetchPartitions=True):
                yield unpacked([bytes(block["packed"])])

    def digests(self) -> dict[str, str]:
        """Worked out by Spark where the files are; nothing but the digests comes to the driver."""
        from pyspark.sql import functions

        files = self.spark.session.read.format("binaryFile").options(**OUR_FILES).load(self.folder)
        with self.spark.sentences(f"The files in {self.folder!r} cannot be read"):
            hashed = files.select("path", functions.sha2("content", 256).alias("digest")).toArrow()
        return dict(sorted((row["path"].rpartition("/")[2], row["digest"]) for row in hashed.to_pylist()))

    def native(self) -> DataFrame:
        """The frame, without the column of facts; what holds it on the cluster's disks is the user's from now on."""
        if self.persisted is not None:
            self.persisted.hand_out()
        self.spark.sweep()
        return self.frame.drop(FACTS)


def written(spark: Session, folder: str, kind: str, schema: pl.Schema) -> SparkTable:
    """What `SparkTable.write` has put into a folder."""
    options = {**(READ_CSV if kind == "csv" else {}), **OUR_FILES}
    reader = spark.session.read.format(kind).options(**options)
    return SparkTable(spark, reader.schema(to_spark(schema)).load(folder), schema, folder=folder)


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
    """Parts as packed blocks on the cluster's disks, one task a part; records that move travel with the work."""

    spark: Session = field(repr=False)
    blocks: Held = field(repr=False)
    schema: pl.Schema
    held: npt.NDArray[np.int64] = field(repr=False)  # records of each part
    heads: Heads | None = field(default=None, repr=False)

    def sizes(self) -> npt.NDArray[np.int64]:
        """How many records each part held when it was divided."""
        return self.held

    def moved(self, heads: npt.NDArray[np.int64], order: Callable[[pl.DataFrame], npt.NDArray[np.int64]]) -> SparkParts:
        """Only the records that move come to the driver, from which every task gets them; this can be done once."""
        assert self.heads is None, "records move once"

        def run(arrow: Arrow) -> Arrow:
            for part, frame in parts_of(arrow):
                first = order(frame)[: heads[part]]
                taken = frame[first].with_columns(pl.lit(part).alias(FROM), pl.Series(PLACE_THERE, first))
                yield from to_blocks([(part, 0, len(first), packed(taken))])

        asked = column("part").isin(np.flatnonzero(heads).tolist())
        with self.spark.sentences("The parts cannot be read by Spark"):
            rows = pl.DataFrame(self.spark.mapped(self.blocks.frame.where(asked), run, BLOCKS).toArrow()).sort("part")
        keeps = np.where(self.held > heads, np.arange(len(heads)), 0)
        keeper = np.append(0, np.maximum.accumulate(keeps)[:-1])  # the last part before that keeps some
        taken = unpacked(rows["packed"].to_list())
        return replace(self, heads=Heads(taken.with_columns(pl.Series(TO, keeper[taken[FROM].to_numpy()]))))

    def map(self, work: Callable[[pl.DataFrame, int], pl.DataFrame], schema: pl.Schema) -> SparkTable:
        """One task a part; a part whose source changed since it was divided is refused."""
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
