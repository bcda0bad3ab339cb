"""Tables in SQL databases, named by a connection string with the table after `#`.

    duckdb:///folder/file.db#table      sqlite:///folder/file.db#table      postgresql://user@host/db#schema.table

As is usual for such strings, a path follows three slashes, so that an absolute one has four. Names are always
quoted as identifiers. A table is written under another name and renamed within one transaction: readers see
the old table or the new one, and a killed process leaves nothing.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import polars as pl

from shoal import events
from shoal.data.outputs import there_already
from shoal.data.paths import reason, same_path
from shoal.data.scratch import Scratch
from shoal.data.text_types import MixedColumnError, typed
from shoal.errors import InputError, extra_package


@dataclass(frozen=True)
class Address:
    """A connection string taken apart."""

    scheme: str
    place: str  # the path of the database file, or the URI of the server
    schema: str | None
    table: str

    def __str__(self) -> str:
        return f"The {self.scheme} table {self.table!r}"  # without the URI, which may hold a password

    def quoted(self, table: str | None = None) -> str:
        """The table, or another beside it, as an identifier."""
        parts = [part for part in (self.schema, table or self.table) if part is not None]
        return ".".join(as_identifier(part) for part in parts)


def read_sql(source: str) -> pl.DataFrame:
    """The table that a connection string names."""
    address = address_of(source)
    with opened(address, writable=False) as database:
        return database.read(address)


def refuse_mixed_storage(source: str, columns: Sequence[str]) -> None:
    """Refuses a column of SQLite whose cells are of several types, such as 5, 5.0 and '5', which readers make one."""
    address = address_of(source)
    with opened(address, writable=False) as database:
        if not isinstance(database, Sqlite):
            return
        for name in columns:
            kinds = database.storage(address, name)
            if len(kinds) > 1:
                raise InputError(
                    f"Column {name!r} of {str(address)[0].lower()}{str(address)[1:]} mixes kinds of cells "
                    f"({', '.join(kinds)}), such as 5 and '5', which a reader can tell apart: make them one kind."
                )


def write_sql(
    frame: pl.DataFrame,
    target: str,
    *,
    overwrite: bool = False,
    before_commit: Callable[[Path], object] | None = None,
) -> None:
    """Write the table in one transaction; `before_commit` gets what the database holds, as a Parquet file."""
    address = address_of(target)
    refuse_existing_table(target, overwrite=overwrite)
    partial = Address(address.scheme, address.place, address.schema, f"shoal_{secrets.token_hex(8)}_partial")
    with opened(address, writable=True) as database:
        database.create(partial, frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)))
        if before_commit:
            with Scratch() as scratch:
                database.read(partial).write_parquet(written := scratch.path / "written.parquet")
                before_commit(written)
        if overwrite:
            database.execute(f"DROP TABLE IF EXISTS {address.quoted()}")
        database.execute(f"ALTER TABLE {partial.quoted()} RENAME TO {as_identifier(address.table)}")
        database.commit()
        events.named()


def refuse_existing_table(target: str, *, overwrite: bool) -> None:
    """Refuses a table that is there already, unless it is to be replaced."""
    address = address_of(target)
    if not overwrite and exists(address):
        raise there_already(str(address))


def file_of(source: str) -> Path | None:
    """The database's own file, if it has one."""
    address = address_of(source)
    return None if address.scheme == "postgresql" else Path(address.place)


def exists(address: Address) -> bool:
    """Whether the table can be read."""
    try:
        with opened(address, writable=False) as database:
            database.execute(f"SELECT 1 FROM {address.quoted()} LIMIT 0")
    except InputError:
        return False
    return True


def same_table(a: str, b: str) -> bool:
    """Whether both connection strings name the same table."""
    left, right = address_of(a), address_of(b)
    if left.scheme != right.scheme or _name(left) != _name(right):
        return False
    return _server(left) == _server(right) if left.scheme == "postgresql" else same_path(left.place, right.place)


def _name(address: Address) -> tuple[str, str]:
    if address.scheme == "postgresql":
        return address.schema or "public", address.table
    return (address.schema or "main").lower(), address.table.lower()  # elsewhere case does not matter


def _server(address: Address) -> tuple[object, ...]:
    uri = urlsplit(address.place)
    local = uri.hostname in (None, "", "localhost", "127.0.0.1", "::1")
    return "" if local else uri.hostname, uri.port or 5432, uri.path, uri.query


def address_of(source: str) -> Address:
    """A connection string taken apart; refused where it names no known database or no table."""
    scheme, _, rest = source.partition("://")
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    if scheme not in DATABASES:
        raise InputError(f"{scheme}:// is not known: give duckdb:///, sqlite:/// or postgresql://, or a file.")
    rest, _, table = rest.rpartition("#")
    if not rest or not table:
        raise InputError(f"Name the table after the {scheme} connection string, as in ...#table.")
    schema: str | None = None
    if "." in table and scheme != "sqlite":
        schema, _, table = table.partition(".")
    place = f"postgresql://{rest}" if scheme == "postgresql" else rest.removeprefix("/")
    return Address(scheme, place, schema, table)


def as_identifier(name: str) -> str:
    """A name quoted as SQL quotes identifiers."""
    return '"' + name.replace('"', '""') + '"'


def as_literal(text: str) -> str:
    """A text quoted as SQL quotes values."""
    return "'" + text.replace("'", "''") + "'"


# Databases


class Database(ABC):
    """An open database; nothing is kept before `commit`."""

    connection: Any

    @abstractmethod
    def __init__(self, driver: Any, place: str, writable: bool) -> None:
        """Connects by the `driver` to the database file or server at `place`."""

    @abstractmethod
    def read(self, address: Address) -> pl.DataFrame:
        """Reads a table."""

    @abstractmethod
    def create(self, address: Address, frame: pl.DataFrame) -> None:
        """Makes the table of this frame."""

    def execute(self, statement: str) -> None:
        """Carries out a statement that gives nothing back."""
        self.connection.execute(statement)

    def commit(self) -> None:
        """Keeps what was done."""
        self.connection.commit()

    def close(self) -> None:
        """Lets go of the database."""
        self.connection.close()


@contextmanager
def opened(address: Address, *, writable: bool) -> Iterator[Database]:
    """The database behind an address; whatever its driver complains of becomes one sentence.

    A database file that was not there before goes again if nothing comes of it.
    """
    kind, package = DATABASES[address.scheme]
    driver = extra_package(package, f"Using {address.scheme} databases", "sql")
    new = address.scheme != "postgresql" and not Path(address.place).is_file()
    if new and not writable:
        raise InputError(f"There is no database file {address.place!r}: check its path.")
    try:
        database = kind(driver, address.place, writable)
        try:
            yield database
        finally:
            database.close()
    except BaseException as error:
        if new and Path(address.place).is_file():
            Path(address.place).unlink()
        if not isinstance(error, driver.Error):
            raise
        raise InputError(f"{address} cannot be {'written' if writable else 'read'}: {reason(error)}.") from error


class DuckDb(Database):
    """DuckDB, by its own driver."""

    def __init__(self, driver: Any, place: str, writable: bool) -> None:
        self.connection = driver.connect(place, read_only=not writable)
        self.connection.begin()

    def read(self, address: Address) -> pl.DataFrame:
        """The table, in DuckDB's own types."""
        frame: pl.DataFrame = self.connection.sql(f"SELECT * FROM {address.quoted()}").pl()
        return frame

    def create(self, address: Address, frame: pl.DataFrame) -> None:
        """Makes the table straight from Arrow."""
        self.connection.register("shoal_frame", frame.to_arrow())
        self.connection.execute(f"CREATE TABLE {address.quoted()} AS SELECT * FROM shoal_frame")
        self.connection.unregister("shoal_frame")


class Adbc(Database):
    """What SQLite and PostgreSQL have in common: Arrow in and out by their ADBC drivers."""

    def execute(self, statement: str) -> None:
        """Carries out a statement by a cursor, as these drivers ask for."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def query(self, statement: str, **options: int) -> pl.DataFrame:
        """What a SELECT gives; `options` go to the driver."""
        with self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**options)
            cursor.execute(statement)
            frame = pl.from_arrow(cursor.fetch_arrow_table())
        assert isinstance(frame, pl.DataFrame)
        return frame


class Sqlite(Adbc):
    """SQLite has neither truths nor dates: they are 0 and 1 and text in columns declared as such."""

    def __init__(self, driver: Any, place: str, writable: bool) -> None:
        self.connection = driver.connect(f"file:{quote(place)}?mode={'rwc' if writable else 'ro'}")

    def read(self, address: Address) -> pl.DataFrame:
        """The table; columns have the types that they were declared with."""
        rows = self.query(f"SELECT count(*) AS rows FROM {address.quoted()}").item()
        whole = {"adbc.sqlite.query.batch_rows": max(rows, 1)}  # types are inferred from the first batch
        frame = self.query(f"SELECT * FROM {address.quoted()}", **whole)
        info = self.query(f"SELECT name, type FROM pragma_table_info({as_literal(address.table)})")
        declared = {name: kind.upper() for name, kind in info.iter_rows()}
        return frame.with_columns(declared_type(column, declared.get(column.name, "")) for column in frame)

    def storage(self, address: Address, column: str) -> list[str]:
        """The storage classes of a column's cells."""
        cell = as_identifier(column)
        kinds = self.query(
            f"SELECT DISTINCT typeof({cell}) FROM {address.quoted()} WHERE {cell} IS NOT NULL ORDER BY 1"
        )
        return kinds.to_series().to_list()

    def create(self, address: Address, frame: pl.DataFrame) -> None:
        """Makes the table with declared types, then fills it."""
        columns = ", ".join(f"{as_identifier(c.name)} {sqlite_type(c.dtype)}" for c in frame)
        self.execute(f"CREATE TABLE {address.quoted()} ({columns})")
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(address.table, frame.to_arrow(), mode="append")


def sqlite_type(kind: pl.DataType) -> str:
    """The type that SQLite is told of a column."""
    named = {pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.Datetime: "DATETIME"}
    if kind.is_integer():
        return "INTEGER"
    return "REAL" if kind.is_float() else named.get(kind.base_type(), "TEXT")


def declared_type(column: pl.Series, declared: str) -> pl.Series:
    """A column of SQLite as the type that it was declared with."""
    if declared.startswith("BOOL") and column.dtype == pl.Int64 and column.is_between(0, 1).all():
        return column.cast(pl.Boolean)
    if declared.startswith(("DATE", "TIMESTAMP")) and column.dtype == pl.String:
        return typed_or_text(column)
    return column


def typed_or_text(column: pl.Series) -> pl.Series:
    """The column typed by what it holds, or as text where that is of several kinds."""
    try:
        return typed(column)
    except MixedColumnError:
        return column


class Postgres(Adbc):
    """Decimals of any length come as text and are typed like it; types that Polars lacks stay text."""

    NATIVE = frozenset({"int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar", "bpchar", "name"})
    NATIVE |= {"date", "timestamp", "timestamptz"}
    DECIMAL = frozenset({"numeric", "money"})

    def __init__(self, driver: Any, place: str, writable: bool) -> None:
        self.connection = driver.connect(place)

    def read(self, address: Address) -> pl.DataFrame:
        """The table; what the driver has no type for comes as text."""
        table = as_literal(address.quoted())
        attributes = self.query(
            "SELECT attname::text, coalesce(base.typname, own.typname)::text FROM pg_attribute"
            " JOIN pg_type own ON own.oid = atttypid LEFT JOIN pg_type base ON base.oid = own.typbasetype"
            f" WHERE attrelid = {table}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        types: dict[str, str] = dict(attributes.iter_rows())
        columns = ", ".join(self.selected(name, kind) for name, kind in types.items())
        frame = self.query(f"SELECT {columns} FROM {address.quoted()}")
        return frame.with_columns(typed_or_text(frame[n]) for n, kind in types.items() if kind in self.DECIMAL)

    def selected(self, name: str, kind: str) -> str:
        """A column as it stands in a SELECT: as it is, or as text where the driver has no type for it."""
        column = as_identifier(name)
        if kind in self.NATIVE:
            return column
        return f"{column}{'::numeric' if kind in self.DECIMAL else ''}::text AS {column}"

    def create(self, address: Address, frame: pl.DataFrame) -> None:
        """Makes and fills the table."""
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(address.table, frame.to_arrow(), mode="create", db_schema_name=address.schema)


DATABASES: dict[str, tuple[type[Database], str]] = {
    "duckdb": (DuckDb, "duckdb"),
    "sqlite": (Sqlite, "adbc_driver_sqlite.dbapi"),
    "postgresql": (Postgres, "adbc_driver_postgresql.dbapi"),
}
