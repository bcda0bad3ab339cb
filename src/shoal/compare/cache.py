"""Numbers that were measured once: kept in a small database, so that asking again costs nothing.

A key is the digest of all that a number depends on: the data, the method at its parameter, the measure, the seed and
the code itself. It stands in the database as a keyed digest (BLAKE2b) under a random key of the folder's own, so that
nobody who gets hold of the database alone can try tables on it. Neither values of the data nor names are kept. Folder,
key and database are their owner's alone; what is damaged is left aside with a note.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from secrets import token_bytes
from threading import Lock

import shoal
from shoal.data.microdata import Microdata
from shoal.data.scratch import Unfinished, make_private
from shoal.errors import InputError

_FILE = "measured.sqlite"
_KEY = "measured.key"
_KEY_BYTES = 32
_FORMAT = 1  # SQLite's user version: rows of another are forgotten


def user_cache() -> Path:
    """The folder for what can be computed again, as the system has it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


@dataclass
class Cache:
    """Key -> number; remembered for this run alone where there is no database."""

    database: sqlite3.Connection | None = None
    secret: bytes = field(default=b"", repr=False)
    notes: list[str] = field(default_factory=list)
    in_memory: dict[str, float] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def get(self, key: str) -> float | None:
        """The number kept under this key, or None; safe to ask from several threads."""
        with self.lock:
            if key not in self.in_memory and (number := self._kept(key)) is not None:
                self.in_memory[key] = number
            return self.in_memory.get(key)

    def put(self, numbers: Mapping[str, float]) -> None:
        """Kept at once and whole: what was measured before an interruption stays."""
        with self.lock:
            self.in_memory.update(numbers)
            rows = [(self._name(key), float(number)) for key, number in numbers.items()]
            try:
                if self.database is not None:
                    with self.database:
                        self.database.executemany("INSERT OR REPLACE INTO measured VALUES (?, ?)", rows)
            except sqlite3.DatabaseError as error:
                self._leave_aside(error)

    def _kept(self, key: str) -> float | None:
        try:
            if self.database is None:
                return None
            row = self.database.execute("SELECT value FROM measured WHERE key = ?", (self._name(key),)).fetchone()
        except sqlite3.DatabaseError as error:
            self._leave_aside(error)
            return None
        return row[0] if row is not None and isinstance(row[0], float) else None

    def _name(self, key: str) -> str:
        return blake2b(key.encode(), key=self.secret, digest_size=32).hexdigest()

    def _leave_aside(self, error: object) -> None:
        self.database = None
        self.notes.append(f"The cache is left aside ({error}): what is measured now is not kept.")


@contextmanager
def opened(folder: str | Path | None) -> Iterator[Cache]:
    """The cache of a folder, which is made if need be; without one, or if it is damaged, of this run alone."""
    if folder is None:
        yield Cache()
        return
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = _secret(place)
        with suppress(FileExistsError):
            make_private(place / _FILE)
        database = sqlite3.connect(place / _FILE, timeout=60, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"The cache in {str(folder)!r} cannot be used ({error}): name another folder with --cache, or do without "
            "by --no-cache."
        ) from None
    with closing(database):
        damage = f"{_KEY} is not a key of yours alone" if secret is None else _prepared(database)
        if damage is None and secret is not None:
            yield Cache(database, secret)
        else:
            name = repr(str(place / (_KEY if secret is None else _FILE)))
            yield Cache(notes=[f"The cache {name} is left aside ({damage}): remove it to have it made anew."])


def _prepared(database: sqlite3.Connection) -> str | None:
    """Makes the table where there is none of ours; says what is wrong with a file that is not a database."""
    try:
        database.execute("PRAGMA journal_mode = WAL")  # so that keeping a number need not wait for the disk
        database.execute("PRAGMA synchronous = NORMAL")
        with database:
            if database.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                database.execute("DROP TABLE IF EXISTS measured")
                database.execute(f"PRAGMA user_version = {_FORMAT}")
            database.execute("CREATE TABLE IF NOT EXISTS measured (key TEXT PRIMARY KEY, value REAL) WITHOUT ROWID")
    except sqlite3.DatabaseError as error:
        return str(error)
    return None


def _secret(folder: Path) -> bytes | None:
    """The folder's key, made on first use; None if it is not whole, or others could read it."""
    path = folder / _KEY
    if not os.path.lexists(path):
        with Unfinished(path) as partial:
            make_private(partial)
            partial.write_bytes(token_bytes(_KEY_BYTES))
            with suppress(FileExistsError):  # another process was first
                os.link(partial, path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        secret = file.read(_KEY_BYTES + 1)
    own = about.st_uid == os.geteuid() and not about.st_mode & 0o077
    return secret if own and len(secret) == _KEY_BYTES else None


def key(*parts: object) -> str:
    """What a number depends on, and the code; it never leaves memory but as a keyed digest."""
    return sha256("\x1f".join(map(str, (_code(), *parts))).encode()).hexdigest()


def digest(microdata: Microdata) -> str:
    """Of the attributes, what is declared of them, and every value in its place."""
    declared = [
        (a.name, sorted(a.roles), a.kind, a.domain, a.weight, a.hierarchy and a.hierarchy.nodes)
        for a in microdata.schema
    ]
    values = microdata.frame.select(microdata.schema.names).rechunk().write_ipc(None)
    hashed = sha256(repr(declared).encode())
    hashed.update(values.getbuffer())
    return hashed.hexdigest()


@cache
def _code() -> str:
    """The version, and the code as it stands: while it is worked on, the version alone does not tell."""
    files = sorted(Path(shoal.__file__).parent.rglob("*.py"))
    return shoal.__version__ + sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
