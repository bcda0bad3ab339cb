"""Which engine a table is for: frames that live in one go there, others where the caller says."""

from __future__ import annotations

import atexit
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import unquote, urlsplit

import polars as pl

from shoal.data.csv_records import WholeFile, whole_file
from shoal.data.files import FORMATS
from shoal.data.frames import to_polars
from shoal.data.paths import check_readable
from shoal.engines.memory import MemoryTable
from shoal.engines.text import AsText
from shoal.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from shoal.data.forms import Forms
    from shoal.engines.table import Table

Engine = Literal["memory", "disk", "spark"]
ENGINES = get_args(Engine)


def engine_of(frame: Any, asked: str | None = None) -> Engine:
    """As asked; a Spark frame is Spark's, a folder needs no memory, anything else is held in memory."""
    if asked is not None and asked not in ENGINES:
        known = did_you_mean(asked, ENGINES) or f" Known are {', '.join(ENGINES)}."
        raise InputError(f"There is no engine {asked!r}.{known}")
    if is_spark(frame):
        if asked not in (None, "spark"):
            raise InputError(
                f"A Spark frame is worked on by Spark, not by {asked!r}: collect it first, or leave the engine out."
            )
        return "spark"
    if asked is not None:
        return asked  # type: ignore[return-value]
    return "disk" if isinstance(frame, str | Path) and Path(frame).is_dir() else "memory"


def engine_for(frames: Sequence[Any], asked: str | None = None) -> Engine:
    """The one that can hold all of these: Spark's frames need Spark, a folder at least the disk."""
    return max((engine_of(frame, asked) for frame in frames), key=ENGINES.index)


def is_spark(frame: Any) -> bool:
    """Whether it is a frame of Spark's, told by where its type comes from: PySpark itself is not imported."""
    return type(frame).__module__.startswith("pyspark.sql")


def open_table(
    frame: Any,
    engine: str,
    *,
    master: str | None = None,
    text: Sequence[str] = (),
    as_written: Sequence[str] = (),
    masked: Sequence[str] = (),
    spelled: bool = False,
    forms: Forms | None = None,
) -> Table:
    """The frame, or what stands in a file or folder, as a table of the engine.

    Of a CSV file `text` names the columns that are read as text, for masked values are no numbers; of those read
    `as_written` not even an empty text is taken for a missing value (`shoal.data.released`). Where it is to be
    `spelled`, each column stands there as text, too. Those that may be `masked` are text with values in plain form. In
    which `forms` a CSV file writes dates and amounts is put down there.
    """
    as_text = AsText(text, as_written, masked, spelled, forms)
    if engine == "memory":
        return MemoryTable(to_polars(frame)[0])
    if engine == "spark":
        return _on_spark(frame, master, as_text)
    return _on_disk(frame, as_text)


def _on_disk(frame: Any, as_text: AsText) -> Table:
    from shoal.engines.disk import Disk
    from shoal.engines.text import HEAD

    disk = Disk()
    atexit.register(disk.close)  # what is released lies in its scratch folder: it goes with the process
    if isinstance(frame, str | Path):
        files, kind = table_files(Path(frame))
        disk.inputs = [Path(frame), *files]
        if kind == "csv":
            table, head = disk.text(_whole_files(files, as_text), HEAD)
            return as_text.typed(table, head)
        _refuse_stated(as_text, frame, "disk")
        _same_columns(files, [_schema_of(path, kind) for path in files])
        return disk.table(_scanned(files, kind))
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return disk.table(frame.lazy())
    if type(frame).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        return disk.relation(frame)
    return disk.table(to_polars(frame)[0].lazy())


def _on_spark(frame: Any, master: str | None, as_text: AsText) -> Table:
    from shoal.engines.spark import Spark

    if is_spark(frame):
        return Spark(frame.sparkSession).table(frame)
    if not isinstance(frame, str | Path):
        raise InputError("Spark reads its own frames, and folders, files or tables by name: give one of these.")
    kind = kind_of(Path(frame)) or ("table" if _names_a_table(str(frame)) else "parquet")
    if kind not in ("csv", "parquet", "table"):
        raise InputError(
            f"Spark reads Parquet and CSV, and {str(frame)!r} holds {kind}: write it as Parquet, or use --engine disk."
        )
    here = None if kind == "table" else _on_this_machine(str(frame))
    if here is not None:
        _check_for_spark(*table_files(here), as_text)
    if kind != "csv":
        _refuse_stated(as_text, frame, "spark")
    return Spark(master=master).read(str(frame), kind, as_text, whole=here is not None)


def _refuse_stated(as_text: AsText, source: Any, engine: str) -> None:
    """Refuses what is stated of how a text file is written where the source is none: nothing would be done with it."""
    if as_text.forms is None or as_text.forms.released:
        return
    for key in as_text.forms.reading.chosen():
        raise InputError(
            f"The engine {engine!r} reads text files alone as {key.replace('_', '-')} says, and {str(source)!r} is "
            "none: leave it out of --read and of the policy's [read], or give the table as CSV."
        )


def _on_this_machine(name: str) -> Path | None:
    path = Path(unquote(urlsplit(name).path) if name.startswith("file:") else name)
    return path if path.exists() else None


def _check_for_spark(files: Sequence[Path], kind: str, as_text: AsText) -> None:
    """Refuses what Spark would misread: it fills up what a file lacks, and leaves out what it has beyond the first."""
    if kind != "csv":
        _same_columns(files, [_schema_of(path, kind) for path in files])
        return
    for file in _whole_files(files, as_text):
        if file.blank_records:
            raise InputError(
                f"{file.path} has blank lines, which Spark would leave out: "
                "write the missing values of the only column as a word, or the table as Parquet."
            )
        if file.mixed_ends:
            raise InputError(
                f"Some lines of {file.path} end in a carriage return and a line feed, others in a line feed, "
                "which Spark would take for part of the last field: end all lines alike."
            )


def table_files(path: Path) -> tuple[list[Path], str]:
    """A file, or all files of a folder, and of which kind they are."""
    kind = kind_of(path)
    if kind is None:
        what = (
            "holds no Parquet, CSV or Arrow files"
            if path.is_dir()
            else "is no Parquet, CSV or Arrow file, nor a folder"
        )
        raise InputError(f"{str(path)!r} {what}: the engines 'disk' and 'spark' read these.")
    if not path.is_dir():
        check_readable(path)
        return [path], kind
    for file in _named_like_files(path):
        if not file.is_file():
            raise InputError(
                f"{str(file)!r} is named like a file of the table, but no plain file stands behind it: remove it or "
                "write it anew."
            )
        check_readable(file)
    return files_of(path), kind


def _whole_files(paths: Sequence[Path], as_text: AsText) -> list[WholeFile]:
    """Refuses text that is not all whole records of the same columns, and of which none is there."""
    from shoal.engines.disk import side_by_side

    names = None if as_text.forms is None else as_text.forms.reading.names
    files = list(side_by_side(lambda path: whole_file(path, names), paths))
    _same_columns(paths, [pl.Schema(dict.fromkeys(file.names, pl.String())) for file in files])
    if not any(file.records for file in files):
        raise InputError(f"{paths[0]} holds no records, only column names: give a table with records.")
    return files


def _same_columns(files: Sequence[Path], schemas: Sequence[pl.Schema]) -> None:
    """Refuses a table of several files where one has other columns than the first."""
    first, expected = files[0], schemas[0]
    for path, schema in zip(files[1:], schemas[1:], strict=True):
        if schema == expected:
            continue
        where = f"The files of {str(path.parent)!r} differ: {path.name!r}"
        if list(schema) != list(expected):
            lacking = [f"lacks the column {name!r}" for name in expected if name not in schema]
            beyond = [f"has a column {name!r} of its own" for name in schema if name not in expected]
            what = (lacking + beyond or ["has its columns in another order"])[0]
            raise InputError(f"{where} {what}, compared with {first.name!r}: give all files the same columns.")
        name = next(name for name in expected if schema[name] != expected[name])
        raise InputError(
            f"{where} holds {schema[name]} in column {name!r}, {first.name!r} holds {expected[name]}: "
            "write all files with the same types."
        )


def _schema_of(path: Path, kind: str) -> pl.Schema:
    """Refuses a damaged file."""
    try:
        return _scanned([path], kind).collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{str(path)!r} cannot be read as {kind}: {why}. Fetch it or write it anew.") from None


def _scanned(files: list[Path], kind: str) -> pl.LazyFrame:
    scan = FORMATS[kind].scan
    assert scan is not None
    return scan(files)


def _names_a_table(name: str) -> bool:
    """As the catalogue has them: `warehouse.discharges`."""
    return bool(re.fullmatch(r"\w+(\.\w+){0,2}", name)) and not Path(name).exists()


def kind_of(path: Path) -> str | None:
    """The format of a file, or of the files of a folder, that is read in chunks; None where there is none."""
    return kind_of_folder(path) if path.is_dir() else kind_of_file(path)


def kind_of_file(path: Path) -> str | None:
    """The format of a file that is read in chunks, by how its name ends; None where it is not read so."""
    suffix = path.suffix.lower()
    return next((known.name for known in FORMATS.loaded().values() if suffix in known.suffixes_in_chunks), None)


def files_of(folder: Path) -> list[Path]:
    """The files of a table, also in folders of folders; names that begin with _ or . are notes about it."""
    return [path for path in _named_like_files(folder) if path.is_file()]


def _named_like_files(folder: Path) -> list[Path]:
    """Links that lead nowhere and pipes too, but no folders."""
    paths = (path for path in sorted(folder.rglob("*")) if kind_of_file(path) and not path.is_dir())
    return [path for path in paths if not any(part[0] in "_." for part in path.relative_to(folder).parts)]


def kind_of_folder(folder: Path) -> str | None:
    """The format of the files of a table in a folder, None where there are none; several are refused."""
    kinds = {str(kind_of_file(path)) for path in files_of(folder)} if folder.is_dir() else set()
    if len(kinds) > 1:
        raise InputError(f"{str(folder)!r} holds files of several kinds ({', '.join(sorted(kinds))}): a table has one.")
    return kinds.pop() if kinds else None
