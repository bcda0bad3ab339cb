"""What runs inside Spark's tasks: batches, blocks and results, as Arrow carries them in and out."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from shoal.engines.disk import BATCH
from shoal.engines.sealed import Seal
from shoal.engines.spark.types import stored
from shoal.engines.table import Batch, Block, unpacked
from shoal.errors import InputError, ShoalError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Arrow = Iterator["pa.RecordBatch"]

ARROW_BATCH = 1 << 17  # records that pass between Spark and a task at once: what Java holds besides its own
PLACE = 33  # bits of a record's place in its partition


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
    """Refuses Parquet files with content that no row shows; gives the names of those that were looked at."""
    import pyarrow as pa

    from shoal.data.hidden_content import inspect_parquet_bytes

    for batch in files:
        for path, content in zip(*batch.columns, strict=True):
            inspect_parquet_bytes(content.as_buffer(), path.as_py())
        yield pa.RecordBatch.from_arrays([batch.column(0).cast(pa.large_string())], ["path"])


BLOCKS = "part int, position long, records long, packed binary"


def to_blocks(blocks: Iterable[tuple[int, int, int, bytes]]) -> Arrow:
    """Each block (part, position, records, bytes) as a row of `BLOCKS`."""
    import pyarrow as pa

    types = [pa.int32(), pa.int64(), pa.int64(), pa.large_binary()]
    for block in blocks:
        arrays = [pa.array([value], kind) for value, kind in zip(block, types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, ["part", "position", "records", "packed"])


def to_results(results: Iterable[Any], seal: Seal) -> Arrow:
    """Each result pickled, compressed and sealed, so that the driver unpickles nothing but what its tasks made."""
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
            result_stream = pa.input_stream(pa.py_buffer(content), compression="zstd")
            yield pickle.load(result_stream)  # noqa: S301 (sealed by a key of this run, opened above)


def merged(results: Iterator[T], merge: Callable[[T, T], T]) -> Iterator[T]:
    """One, or none of none."""
    for first in results:
        yield reduce(merge, results, first)


def parts_of(arrow: Arrow) -> Iterator[tuple[int, pl.DataFrame]]:
    """A task's parts, mostly one, their blocks put together in order of position."""
    rows = (block for batch in arrow for block in zip(*batch.columns, strict=True))
    blocks = [Block(part.as_py(), position.as_py(), records.as_py(), p.as_py()) for part, position, records, p in rows]
    blocks.sort(key=lambda block: (block.part, block.position))
    for part, own in groupby(blocks, key=lambda block: block.part):
        yield part, unpacked([block.packed for block in own])
