"""The engine of one machine whose memory is too small: batches by Polars' streaming engine, parts in files.

What is between is kept in a scratch folder that goes with the engine: `with Disk() as disk: ...`.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.clean_copy import made_anew
from shoal.data.csv_files import scan_written, write_delimited
from shoal.data.csv_records import WholeFile, scan_text
from shoal.data.frames import OWN, check_names
from shoal.data.hidden_content import inspect_parquet
from shoal.data.ordered_categories import Orders, as_enums, orders_in_duckdb
from shoal.data.outputs import refuse_folder, refuse_within
from shoal.data.scratch import Scratch, Unfinished
from shoal.engines.table import COUNTED, FACTS, Batch, Table, chunks_of, pack, unpacked
from shoal.errors import InputError

T = TypeVar("T")
S = TypeVar("S")

BATCH = 1 << 19  # records


class Disk(AbstractContextManager["Disk"]):
    """A scratch folder, and tables that use it."""

    def __init__(self, scratch: str | Path | None = None) -> None:
        self._scratch = Scratch(scratch)
        self.inputs: list[Path] = []  # files that are read
        self.shown_as: Callable[[list[Path]], Any] = pl.scan_parquet  # how files are handed out

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the scratch folder with all that is in it; tables of this engine cannot be read after that."""
        self._scratch.close()

    def folder(self) -> Path:
        """A new one."""
        return self._scratch.folder()

    def table(self, source: pl.LazyFrame) -> DiskTable:
        """A lazy frame as a table that is read in batches, in the frame's order."""
        schema = source.collect_schema()
        check_names(schema.names(), "The table")
        return DiskTable(self, schema, partial(_read, source))

    def text(self, files: Sequence[WholeFile], head: int) -> tuple[DiskTable, pl.DataFrame]:
        """Delimited files with the same columns, all as text; and the first records."""
        source = scan_text(files, self.folder)
        schema = source.collect_schema()
        first = pl.concat([pl.DataFrame(schema=schema), *_read(source.head(head))])
        return DiskTable(self, schema, partial(_read_all, source, sum(file.records for file in files))), first

    def relation(self, relation: Any) -> DiskTable:
        """Of DuckDB; what comes of it is one, too, on a connection of its own."""
        self.shown_as = _relation_of
        orders = orders_in_duckdb(relation)
        schema = as_enums(pl.DataFrame(relation.limit(0).to_arrow_table()), orders).schema
        check_names(schema.names(), "The relation")
        return DiskTable(self, schema, partial(_read_relation, relation, orders))


def _read(source: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    try:
        yield from source.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:  # a damaged file, a line with too many fields, a frame's own query
        why = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"The table cannot be read to its end: {why}. Correct it, or write it anew.") from None


def _read_all(source: pl.LazyFrame, records: int) -> Iterator[pl.DataFrame]:
    """Refuses another number of records than the bytes of the files hold."""
    left = records
    for frame in _read(source):
        left -= frame.height
        yield frame
    if left:
        raise InputError(
            f"The table's files held {records:,} records, and now {records - left:,} were read: "
            "let nothing write to them meanwhile."
        )


def _read_relation(relation: Any, orders: Orders) -> Iterator[pl.DataFrame]:
    for batch in relation.to_arrow_reader(BATCH):
        yield as_enums(pl.DataFrame(batch), orders)


def _relation_of(files: list[Path]) -> Any:
    """On a connection of its own: whatever is made on that of the source keeps the source's query, literals and all."""
    import duckdb

    return duckdb.connect().read_parquet([str(path) for path in files])


@dataclass(frozen=True)
class DiskTable:
    """A table that is read anew, batch by batch, each time it is asked for something."""

    disk: Disk = field(repr=False)
    schema: pl.Schema
    read: Callable[[], Iterable[pl.DataFrame]] = field(repr=False)
    files: tuple[Path, ...] = ()  # where it has been kept

    engine = "disk"
    ordered = True
    whole = None

    def inputs(self) -> list[Path]:
        """What the engine reads for all of its tables, not for this one alone."""
        return self.disk.inputs

    def chunks(self, records: int) -> int:
        """As many as keep each at `shoal.engines.table.CHUNK` records or fewer."""
        return chunks_of(records)

    def batches(self) -> Iterator[Batch]:
        """The records in the order of the input; batches without records are left out."""
        position = 0
        for frame in self.read():
            if frame.height:
                yield Batch(frame, position)
            position += frame.height

    def select(self, names: Sequence[str]) -> DiskTable:
        """Only these columns; the batches are read whole all the same."""
        schema = pl.Schema({name: self.schema[name] for name in names})
        return self.map(lambda batch: batch.frame.select(names), schema)

    def map(self, work: Callable[[Batch], pl.DataFrame], schema: pl.Schema) -> DiskTable:
        """As many batches at once as there are cores, handed on in their order."""
        return DiskTable(self.disk, schema, lambda: side_by_side(work, self.batches()))

    def like(self, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> DiskTable:
        """Each frame goes to a file of its own in the scratch folder."""
        return DiskTable(self.disk, schema, lambda: frames).kept()[0]

    def union(self, added: Table) -> DiskTable:
        """This table's records, then the others, with the columns in this table's order."""
        assert isinstance(added, DiskTable)
        both = (self, added.select(list(self.schema)))
        return DiskTable(self.disk, self.schema, lambda: chain.from_iterable(table.read() for table in both))

    def fold(self, work: Callable[[Batch], T], merge: Callable[[T, T], T]) -> T | None:
        """Merged like the carries of a binary counter: each result takes part in few merges, and few wait."""
        waiting: list[tuple[int, T]] = []
        for result in side_by_side(work, self.batches()):
            rank = 0
            while waiting and waiting[-1][0] == rank:
                result, rank = merge(waiting.pop()[1], result), rank + 1
            waiting.append((rank, result))
        while len(waiting) > 1:
            (_, last), (rank, before) = waiting.pop(), waiting.pop()
            waiting.append((rank, merge(before, last)))
        return waiting[0][1] if waiting else None

    def counts(self, by: Sequence[str]) -> pl.DataFrame:
        """Counted batch by batch: what is held are the combinations that occur, not the records."""

        def count(batch: Batch) -> pl.DataFrame:
            return batch.frame.group_by(by).agg(pl.len().cast(pl.Int64).alias(COUNTED))

        def merge(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
            return pl.concat([left, right]).group_by(by).agg(pl.col(COUNTED).sum())

        counted = self.fold(count, merge)
        empty = pl.Schema({**{name: self.schema[name] for name in by}, COUNTED: pl.Int64()})
        return pl.DataFrame(schema=empty) if counted is None else counted

    def exchange(self, part_of: Callable[[Batch], npt.NDArray[np.int64]], parts: int) -> DiskParts:
        """Each part is a file of packed blocks, to which the batches append in order of position."""
        folder = self.disk.folder()
        held: list[list[tuple[int, int]]] = [[] for _ in range(parts)]  # part -> (bytes, records) of its blocks
        targets = [(folder / f"{part:06d}").open("ab") for part in range(parts)]
        try:
            for blocks in side_by_side(lambda batch: list(pack(batch, part_of(batch))), self.batches()):
                for block in blocks:
                    targets[block.part].write(block.packed)
                    held[block.part].append((len(block.packed), block.records))
        finally:
            for target in targets:
                target.close()
        return DiskParts(self.disk, self.schema, folder, held)

    def kept(self) -> tuple[DiskTable, list[str]]:
        """As Parquet files in the scratch folder; the facts come out of the column, which is not kept."""
        return self._to_files(self.disk.folder(), "parquet")

    def _to_files(self, folder: Path, kind: str) -> tuple[DiskTable, list[str]]:
        """One file a batch, and what the works have told."""

        def write(numbered: tuple[int, pl.DataFrame]) -> tuple[Path, list[str]]:
            number, frame = numbered
            path = folder / f"part-{number:05d}.{kind}"
            facts = frame[FACTS].drop_nulls().to_list() if FACTS in frame.columns else []
            _write(frame.drop(FACTS, strict=False), path, kind)
            return path, facts

        written = list(side_by_side(write, enumerate(frame for frame in self.read() if frame.height)))
        schema = pl.Schema({name: dtype for name, dtype in self.schema.items() if name != FACTS})
        files = tuple(path for path, _ in written)
        return _of_files(self.disk, files, schema, kind), [fact for _, facts in written for fact in facts]

    def write(
        self, folder: str, kind: str, check: Callable[[Table, list[str]], dict[str, bytes]], *, overwrite: bool = False
    ) -> DiskTable:
        """One file a batch, in a folder that is hidden until it has been checked and is whole."""
        with new_folder(Path(folder), overwrite=overwrite, reads=self.disk.inputs) as partial_folder:
            written, facts = self._to_files(partial_folder, kind)
            for name, content in {**check(written, facts), "_SUCCESS": b""}.items():
                (partial_folder / name).write_bytes(content)
        return _of_files(self.disk, tuple(Path(folder, path.name) for path in written.files), written.schema, kind)

    def place(self, folder: str) -> Path | None:
        """The folder itself: it is written on this machine."""
        return Path(folder)

    def frames(self) -> Iterator[pl.DataFrame]:
        """The batches' records, in order."""
        return iter(self.read())

    def digests(self) -> dict[str, str]:
        """Of the files it has been kept in; none where it has not been."""

        def digest(path: Path) -> str:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()

        return dict(zip((path.name for path in self.files), side_by_side(digest, self.files), strict=True))

    def native(self) -> Any:
        """A lazy frame over the files it was kept in, or a relation if DuckDB's was read."""
        assert self.files, "only what has been kept can be handed out"
        return self.disk.shown_as(list(self.files))


def _write(frame: pl.DataFrame, path: Path, kind: str) -> None:
    """As what all parts can show, whatever occurs in one; nothing stands in the file that no row shows."""
    if kind == "csv":
        write_delimited(frame, path)
        return
    if any(name.startswith(OWN) for name in frame.columns):  # work between, that nobody else gets to see
        frame.write_parquet(path)
        return
    made_anew(frame.cast(_in_files(frame.schema))).write_parquet(path)
    inspect_parquet(path)


def _in_files(schema: pl.Schema) -> pl.Schema:
    """Categories as text, or each file would list those of all parts; sums of 128 bits as decimals."""

    def dtype_in_files(dtype: pl.DataType) -> pl.DataType:
        if isinstance(dtype, pl.Categorical | pl.Enum):
            return pl.String()
        return pl.Decimal(38, 0) if dtype == pl.Int128 else dtype

    return pl.Schema({name: dtype_in_files(dtype) for name, dtype in schema.items()})


def _of_files(disk: Disk, files: tuple[Path, ...], schema: pl.Schema, kind: str) -> DiskTable:
    def read_parquet(path: Path) -> pl.DataFrame:
        return pl.read_parquet(path, glob=False).cast(schema)

    def read_csv(path: Path) -> pl.DataFrame:
        return scan_written(path, schema).collect()

    read = read_parquet if kind == "parquet" else read_csv
    return DiskTable(disk, schema, lambda: side_by_side(read, files), files)


@dataclass(frozen=True)
class DiskParts:
    """Parts as files of packed blocks; records that move between parts are held in memory until they are read."""

    disk: Disk = field(repr=False)
    schema: pl.Schema
    folder: Path
    held: list[list[tuple[int, int]]] = field(repr=False)
    joined: dict[int, list[pl.DataFrame]] = field(default_factory=dict, repr=False)  # part -> records moved there
    gone: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict, repr=False)  # part -> places left there

    def sizes(self) -> npt.NDArray[np.int64]:
        """How many records the blocks of each part hold, before any moved."""
        return np.array([sum(records for _, records in blocks) for blocks in self.held])

    def moved(self, heads: npt.NDArray[np.int64], order: Callable[[pl.DataFrame], npt.NDArray[np.int64]]) -> DiskParts:
        """Reads only the parts that give up records, and holds those records; no file is written again."""
        joined: dict[int, list[pl.DataFrame]] = {}
        gone: dict[int, npt.NDArray[np.int64]] = {}
        keeper = 0
        for part, size in enumerate(self.sizes()):
            if heads[part]:
                frame = self._part(part)
                first = order(frame)[: heads[part]]
                joined.setdefault(keeper, []).append(frame[first])
                gone[part] = np.setdiff1d(np.arange(size), first)
            if size > heads[part]:
                keeper = part
        return DiskParts(self.disk, self.schema, self.folder, self.held, joined, gone)

    def map(self, work: Callable[[pl.DataFrame, int], pl.DataFrame], schema: pl.Schema) -> DiskTable:
        """As many parts at once as there are cores; a part is read when its turn comes."""

        def do(part: int) -> pl.DataFrame:
            return work(self._part(part), part)

        left = [part for part, size in enumerate(self.sizes()) if size and len(self.gone.get(part, (0,)))]
        return DiskTable(self.disk, schema, lambda: side_by_side(do, left))

    def _part(self, part: int) -> pl.DataFrame:
        with (self.folder / f"{part:06d}").open("rb") as source:
            frame = unpacked([source.read(size) for size, _ in self.held[part]])
        if part in self.gone:
            frame = frame[self.gone[part]]
        return pl.concat([frame, *self.joined[part]]) if part in self.joined else frame


def refuse_used(target: Path, *, overwrite: bool, certified: bool = True) -> None:
    """A release goes to a new folder, or replaces another release."""
    if target.is_dir():
        refuse_folder(target, os.listdir(target), overwrite=overwrite, certified=certified)
    elif os.path.exists(target):
        raise InputError(f"{str(target)!r} is a file, and a folder is to be written: name another.")


@contextmanager
def new_folder(target: Path, *, overwrite: bool, certified: bool = True, reads: Sequence[Path] = ()) -> Iterator[Path]:
    """A folder to write to, which gets its name when all is written, or goes.

    One that it replaces stays as it is until then. `certified` says that this must be a release with a certificate.
    """
    refuse_used(target, overwrite=overwrite, certified=certified)
    refuse_within(target, reads)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Unfinished(Path(os.path.realpath(target)))
        with unfinished as partial:
            partial.mkdir()
            yield partial
            refuse_used(target, overwrite=overwrite, certified=certified)  # nobody wrote to it meanwhile
            if target.is_dir():
                unfinished.put_aside()
            os.replace(partial, os.path.realpath(target))
            events.named()
    except OSError as error:
        raise InputError(f"{str(target)!r} cannot be written: {error.strerror}. Name another folder.") from None


def side_by_side(work: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """The results in order, as many worked on at once as there are cores."""
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[T]] = deque()
        work = events.carried(work)
        for done, item in enumerate(items):
            events.tick(done)
            if len(running) >= threads:
                yield running.popleft().result()
            running.append(pool.submit(work, item))
        while running:
            yield running.popleft().result()
