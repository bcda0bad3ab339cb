"""Numbers that were measured once: kept in a small database, so that asking again costs nothing.

A key is the digest of all that a number depends on: the data, the method at its parameter, the measure, the seed and
the code itself. Neither values of the data nor names are kept, only digests and the numbers measured.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock

import shoal
from shoal.data.microdata import Microdata
from shoal.errors import InputError

_FILE = "measured.sqlite"


def user_cache() -> Path:
    """The folder for what can be computed again, as the system has it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


@dataclass(frozen=True)
class Cache:
    """Key -> number; remembered for this run alone where there is no database."""

    database: sqlite3.Connection | None = None
    found: dict[str, float] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def get(self, key: str) -> float | None:
        with self.lock:
            if key not in self.found and self.database is not None:
                row = self.database.execute("SELECT value FROM measured WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    self.found[key] = row[0]
            return self.found.get(key)

    def put(self, numbers: Mapping[str, float]) -> None:
        """Kept at once and whole: what was measured before an interruption stays."""
        with self.lock:
            self.found.update(numbers)
            if self.database is not None:
                with self.database:
                    self.database.executemany("INSERT OR REPLACE INTO measured VALUES (?, ?)", numbers.items())


@contextmanager
def opened(folder: str | Path | None) -> Iterator[Cache]:
    """The cache of a folder, which is made if need be; without one, of this run alone."""
    if folder is None:
        yield Cache()
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        database = sqlite3.connect(Path(folder) / _FILE, timeout=60, check_same_thread=False)
        database.execute("PRAGMA journal_mode = WAL")  # so that keeping a number need not wait for the disk
        database.execute("PRAGMA synchronous = NORMAL")
        with database:
            database.execute("CREATE TABLE IF NOT EXISTS measured (key TEXT PRIMARY KEY, value REAL) WITHOUT ROWID")
    except (OSError, sqlite3.Error) as error:
        raise InputError(
            f"The cache in {str(folder)!r} cannot be used ({error}): name another folder with --cache, or do without "
            "by --no-cache."
        ) from None
    with closing(database):
        yield Cache(database)


def key(*parts: object) -> str:
    return sha256("\x1f".join(map(str, (_code(), *parts))).encode()).hexdigest()


def digest(microdata: Microdata) -> str:
    """Of the attributes, what is declared of them, and every value in its place."""
    declared = [
        (a.name, sorted(a.roles), a.kind, a.domain, a.weight, a.hierarchy and a.hierarchy.nodes)
        for a in microdata.schema
    ]
    values = microdata.frame.select(microdata.schema.names).rechunk().write_ipc(None)
    found = sha256(repr(declared).encode())
    found.update(values.getbuffer())
    return found.hexdigest()


@cache
def _code() -> str:
    """The version, and the code as it stands: while it is worked on, the version alone does not tell."""
    files = sorted(Path(shoal.__file__).parent.rglob("*.py"))
    return shoal.__version__ + sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
