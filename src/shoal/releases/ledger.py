"""The ledger: what was released, when, of whom and in which classes; the base for judging releases together.

A SQLite file, for the custodian alone. Subjects stand in it as keyed digests (BLAKE2b; the key lives elsewhere), never
by name, and of values only what each class showed. One release is one transaction before its file gets its name:

    1. lock; insert the release as pending, with the digest of the finished file; commit
    2. the file takes its name
    3. pending becomes done; commit; unlock

Whoever opens the ledger next settles what a killed process left pending: done if the file of that name has that digest,
otherwise removed. The lock is held throughout, so nobody takes a release under way for an abandoned one, and no two
releases are judged against the same past.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, PromiseError
from shoal.releases.published import Published, subjects_of
from shoal.releases.refusal import Exposure, exposure, refuse_exposed
from shoal.transactions.pseudonyms import fresh_key, read_key

KEY_VARIABLE = "SHOAL_LEDGER_KEY"
_OURS = 0x53484F41  # SQLite's application id: that the file is a ledger, and none else's database
_PATIENCE = 300  # seconds to wait while another process makes its release
_SCHEMA = """
CREATE TABLE release (
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('pending', 'done')),
    made_at TEXT NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    k INTEGER NOT NULL,
    promises TEXT NOT NULL,
    epsilon REAL NOT NULL,
    seed TEXT,
    members BLOB NOT NULL,
    shown BLOB NOT NULL
);
CREATE TABLE key_check (digest TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Entry:
    """A release as the ledger holds it."""

    number: int
    made_at: str
    file: str
    sha256: str
    k: int
    promises: tuple[dict[str, Any], ...]
    epsilon: float  # what its private means cost; over releases of the same people it adds up
    seed: int | None = field(repr=False)
    published: Published = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "release": self.number,
            "made_at": self.made_at,
            "file": self.file,
            "sha256": self.sha256,
            "records": self.published.members.height,
            "classes": self.published.shown.height,
            "quasi_identifiers": self.published.shown.columns,
            "k": self.k,
            "promises": list(self.promises),
            "epsilon": self.epsilon,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Promised:
    """What is recorded of a release beside its classes."""

    k: int
    promises: tuple[dict[str, Any], ...] = ()
    seed: int | None = field(default=None, repr=False)
    epsilon: float = 0.0


@dataclass(frozen=True)
class Ledger:
    """A ledger to write to: its file, its key, and the column that tells subjects apart."""

    path: Path
    key: bytes = field(repr=False)
    subject: str

    def digests(self, table: pl.DataFrame) -> pl.Series:
        """Whom each record is about, so that nobody without the key can tell, or try."""
        key = hashlib.blake2b(self.key).digest()
        names = subjects_of(table, self.subject)
        found = [hashlib.blake2b(name.encode(), key=key, digest_size=16).digest() for name in names]
        return pl.Series("subject", found, dtype=pl.Binary)

    def releases(self) -> tuple[Published, ...]:
        """All releases so far; none where there is no ledger yet."""
        if not self.path.exists():
            return ()
        with _opened(self.path) as connection:
            self._check_key(connection)
            return _releases(connection)

    @contextmanager
    def entering(self, release: Published, what: Promised, target: str | Path, written: Path) -> Iterator[None]:
        """Records a release whose finished file, `written`, takes the target's name inside the context; or refuses."""
        _create(self.path)
        with _opened(self.path) as connection:
            self._check_key(connection)
            _refuse_less(connection, what.k)
            refuse_exposed(_releases(connection), release, what.k)
            _insert(connection, "pending", release, what, os.path.realpath(target), _sha256(written))
            try:
                yield
            finally:
                with _transaction(connection):
                    _settle(connection)

    def add(self, release: Published, what: Promised, file: str | Path) -> Exposure | None:
        """Records a release that was made elsewhere; what it did to the subjects of the pool is said, not prevented."""
        _create(self.path)
        with _opened(self.path) as connection:
            self._check_key(connection)
            found = exposure(_releases(connection), release, what.k)
            _insert(connection, "done", release, what, os.path.realpath(file), _sha256(Path(file)))
        return found

    def _check_key(self, connection: sqlite3.Connection) -> None:
        """With another key nobody would be known again, and everything would seem safe."""
        check = hashlib.blake2b(b"shoal ledger", key=hashlib.blake2b(self.key).digest()).hexdigest()
        known = connection.execute("SELECT digest FROM key_check").fetchone()
        if known is None:
            connection.execute("INSERT INTO key_check VALUES (?)", (check,))
        elif known[0] != check:
            raise InputError(f"The key is not that of the ledger {str(self.path)!r}: give the one it was begun with.")


def ledger_key(path: str | Path | None, ledger: str | Path) -> bytes:
    """The secret key of a file or of the environment; a new ledger's key file is made where it is missing."""
    if path is None:
        if not os.environ.get(KEY_VARIABLE):
            raise InputError(f"A ledger needs its key: name the file (--ledger-key FILE), or set {KEY_VARIABLE}.")
        return os.environ[KEY_VARIABLE].encode()
    if not Path(path).exists() and not Path(ledger).exists():
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InputError(f"The key {str(path)!r} cannot be made: {str(error.strerror).lower()}.") from None
        with os.fdopen(handle, "w") as file:
            file.write(fresh_key().hex())
    return read_key(path)


def entries(path: str | Path) -> list[Entry]:
    """Everything in the ledger, the first release first; no key is needed."""
    if not Path(path).exists():
        raise InputError(f"There is no ledger {str(path)!r}: check its name and its folder.")
    with _opened(Path(path)) as connection:
        rows = connection.execute(
            "SELECT id, made_at, file, sha256, k, promises, epsilon, seed, members, shown FROM release ORDER BY id"
        ).fetchall()
    return [
        Entry(
            number, made_at, file, sha256, k, tuple(json.loads(promises)), epsilon, None if seed is None else int(seed),
            _published(number, file, members, shown),
        )
        for number, made_at, file, sha256, k, promises, epsilon, seed, members, shown in rows
    ]  # fmt: skip


# ---- the file


def _create(path: Path) -> None:
    try:
        path.touch(mode=0o600)
    except OSError as error:
        raise InputError(f"The ledger {str(path)!r} cannot be made: {str(error.strerror).lower()}.") from None


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The ledger, settled and locked against all others until it is closed."""
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # a commit keeps the lock
        with _transaction(connection):
            _recognise(connection, path)
            _settle(connection)
        yield connection
    except sqlite3.OperationalError as error:
        raise InputError(f"The ledger {str(path)!r} cannot be used: {error}.") from None
    except sqlite3.DatabaseError:
        raise InputError(f"{str(path)!r} is not a ledger: name the file that --ledger made.") from None
    finally:
        connection.close()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _recognise(connection: sqlite3.Connection, path: Path) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables == 0:
        for statement in _SCHEMA.strip().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_OURS}")
    elif connection.execute("PRAGMA application_id").fetchone()[0] != _OURS:
        raise InputError(f"{str(path)!r} is a database, but not a ledger: name the file that --ledger made.")


def _settle(connection: sqlite3.Connection) -> None:
    """What is pending is done if its file got its name, and never was otherwise."""
    pending = connection.execute("SELECT id, file, sha256 FROM release WHERE state = 'pending'").fetchall()
    for number, file, sha256 in pending:
        if Path(file).is_file() and _sha256(Path(file)) == sha256:
            connection.execute("UPDATE release SET state = 'done' WHERE id = ?", (number,))
        else:
            connection.execute("DELETE FROM release WHERE id = ?", (number,))


def _insert(
    connection: sqlite3.Connection, state: str, release: Published, what: Promised, file: str, sha256: str
) -> None:
    made_at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    members = release.members.select("subject", "class").sort("subject")  # the file's order is nobody's business
    blobs = _packed(members), _packed(release.shown)
    row = (
        state,
        made_at,
        file,
        sha256,
        what.k,
        json.dumps(what.promises),
        what.epsilon,
        None if what.seed is None else str(what.seed),
        *blobs,
    )
    with _transaction(connection):
        connection.execute(
            "INSERT INTO release (state, made_at, file, sha256, k, promises, epsilon, seed, members, shown) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def _refuse_less(connection: sqlite3.Connection, k: int) -> None:
    """A later release at a smaller k would break what earlier ones promised to the same people."""
    promised = int(connection.execute("SELECT coalesce(max(k), 1) FROM release").fetchone()[0])
    if k < promised:
        raise PromiseError(
            f"Earlier releases of this ledger promised k = {promised}, this one only {k}: ask for at least {promised}. "
            "Nothing was released."
        )


def _releases(connection: sqlite3.Connection) -> tuple[Published, ...]:
    rows: Sequence[Any] = connection.execute("SELECT id, file, members, shown FROM release ORDER BY id").fetchall()
    return tuple(_published(*row) for row in rows)


def _published(number: int, file: str, members: bytes, shown: bytes) -> Published:
    return Published(f"{number} {Path(file).name}", pl.read_parquet(members), pl.read_parquet(shown))


def _packed(frame: pl.DataFrame) -> bytes:
    packed = io.BytesIO()
    frame.write_parquet(packed)
    return packed.getvalue()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
