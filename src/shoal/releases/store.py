"""The ledger's file: a SQLite database, locked while it is open, each release in it done or pending.

Of a release it holds the classes and the people: one blob of each where they are few, further pieces of a large one
(`shoal.releases.pieces`), which are read one by one. A ledger that holds pieces has a format of its own, so that no
older Shoal takes a part of a release for all of it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from shoal.data.digests import digest
from shoal.data.pseudonym_choices import ShownPseudonyms
from shoal.errors import InputError, require
from shoal.releases.of_people import Follows, state_follows, stated_follows
from shoal.releases.pieces import InPieces, Recorded
from shoal.releases.published import Published
from shoal.releases.shown_pseudonyms import forget_kept, keep, kept_of

_OURS = 0x53484F41  # SQLite's application id: that the file is a ledger, and none else's database
_FORMAT = 2  # SQLite's user version: of what follows
_WITH_PIECES = 3  # the same, and a table of pieces
_PATIENCE = 300  # seconds to wait while another process makes its release
_ONE_BY_ONE = ("measured-risk", "purchases-in-full")  # promises of releases in which each record is its own
_SCHEMA = """
CREATE TABLE release (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'done')),
    made_at TEXT NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    k INTEGER NOT NULL,
    promises TEXT NOT NULL,
    epsilon REAL NOT NULL,
    seed TEXT,
    members BLOB NOT NULL,
    shown BLOB NOT NULL,
    own BLOB NOT NULL,
    content TEXT NOT NULL
);
CREATE TABLE key_check (digest TEXT NOT NULL);
CREATE TABLE epsilon_limit (value REAL NOT NULL);
"""
_PIECES = """
CREATE TABLE IF NOT EXISTS piece (
    release INTEGER NOT NULL,
    number INTEGER NOT NULL,
    records INTEGER NOT NULL,
    members BLOB NOT NULL,
    shown BLOB NOT NULL,
    own BLOB NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (release, number)
)
"""


@dataclass(frozen=True)
class Entry:
    """A release as the ledger holds it."""

    number: int
    state: str  # done; or pending: a killed process left it, and it counts as released
    made_at: str
    file: str
    sha256: str
    k: int
    promises: tuple[dict[str, Any], ...]
    epsilon: float  # what its private means cost; over releases of the same people it adds up
    seed: int | None = field(repr=False)
    recorded: Recorded = field(repr=False)
    pseudonyms: tuple[ShownPseudonyms, ...] = ()  # by which anybody can join it with others

    @property
    def published(self) -> Published:
        """Its classes and its people, all of them in memory."""
        return self.recorded.whole()

    @property
    def by_classes(self) -> bool:
        """Whether people are hidden in classes."""
        return _by_classes(self.k, self.promises)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        return {
            "release": self.number,
            "state": self.state,
            "made_at": self.made_at,
            "file": self.file,
            "sha256": self.sha256,
            "records": self.recorded.records,
            **({"people": self.recorded.people} if self.recorded.of_people else {}),
            "classes": self.recorded.shown.height,
            "quasi_identifiers": self.recorded.shown.columns,
            "k": self.k,
            "promises": list(self.promises),
            "epsilon": self.epsilon,
            "seed": self.seed,
            "pseudonyms": [each._asdict() for each in self.pseudonyms],
        }


@dataclass(frozen=True)
class Promised:
    """What is recorded of a release beside its classes."""

    k: int
    promises: tuple[dict[str, Any], ...] = ()
    seed: int | None = field(default=None, repr=False)
    epsilon: float = 0.0
    pseudonyms: tuple[ShownPseudonyms, ...] = ()

    @property
    def by_classes(self) -> bool:
        """Whether people are hidden in classes."""
        return _by_classes(self.k, self.promises)


def _by_classes(k: int, promises: Sequence[dict[str, Any]]) -> bool:
    """Whether people are hidden in classes; otherwise single records are masked, and no pool of them is judged."""
    return k >= 2 and all(promise["name"] not in _ONE_BY_ONE for promise in promises)


def make_ledger(path: Path, key_check: str, epsilon_limit: float | None, follows: Follows | None = None) -> None:
    """Makes an empty ledger; with `follows`, of people who may have several records."""
    if epsilon_limit is not None:
        require("the ledger", "limit", epsilon_limit, "an epsilon above 0", holds=0 < epsilon_limit < float("inf"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, transaction(connection):
        for statement in _SCHEMA.strip().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_OURS}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.execute("INSERT INTO key_check VALUES (?)", (key_check,))
        if follows is not None:
            state_follows(connection, follows)
        if epsilon_limit is not None:
            connection.execute("INSERT INTO epsilon_limit VALUES (?)", (epsilon_limit,))


@contextmanager
def existing(path: str | Path) -> Iterator[sqlite3.Connection]:
    """The ledger of that name, opened; refused where there is none."""
    if not Path(path).exists():
        raise InputError(f"There is no ledger {str(path)!r}: check its name and its folder.")
    with opened(Path(path)) as connection:
        yield connection


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The ledger, settled and locked against all others until it is closed."""
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(
            f"The ledger {str(path)!r} is empty, which a ledger never is: it was damaged. Bring it back from a copy; "
            "remove it only if nothing was ever released with it."
        )
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            with transaction(connection):
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # from now on a commit keeps the lock
                _recognise(connection, path)
                settle(connection)
            yield connection
    except UnicodeDecodeError:  # of SQLite's own words, where they quote what is damaged
        raise damaged(path) from None
    except sqlite3.OperationalError as error:
        raise InputError(f"The ledger {str(path)!r} cannot be used: {error}.") from None
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:  # its own subclasses are mistakes of ours
            raise
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise InputError(f"{str(path)!r} is not a ledger: name the file that --ledger made.") from None
        raise damaged(path) from None


def damaged(path: Path) -> InputError:
    """The error of a ledger whose content is not what was written."""
    return InputError(
        f"The ledger {str(path)!r} is damaged, and nothing can be judged beside what it held: bring back a copy."
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """What is done inside is kept as a whole, or not at all."""
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _recognise(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != _OURS:
        raise InputError(f"{str(path)!r} is a database, but not a ledger: name the file that --ledger made.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in (_FORMAT, _WITH_PIECES):
        raise InputError(
            f"The ledger {str(path)!r} was made by another version of Shoal (format {version}, not {_FORMAT}): "
            "go on with that version, or begin a new ledger and `shoal releases add` what was released."
        )


def settle(connection: sqlite3.Connection) -> None:
    """Takes what is pending for done if its file got its name; otherwise nobody here can tell whether it had it."""
    pending = connection.execute("SELECT id, file, sha256 FROM release WHERE state = 'pending'").fetchall()
    for number, file, sha256 in pending:
        place = Path(file)
        if (place.is_file() or place.is_dir()) and digest(place) == sha256:
            connection.execute("UPDATE release SET state = 'done' WHERE id = ?", (number,))


def forget(connection: sqlite3.Connection, number: int) -> None:
    """A pending release that never got out, with its pieces."""
    gone = connection.execute("DELETE FROM release WHERE id = ? AND state = 'pending'", (number,)).rowcount
    if gone:
        forget_kept(connection, number)
    if gone and connection.execute("PRAGMA user_version").fetchone()[0] == _WITH_PIECES:
        connection.execute("DELETE FROM piece WHERE release = ?", (number,))


def limit(connection: sqlite3.Connection) -> float | None:
    """The most that private means may cost anybody; None where nothing was said."""
    row = connection.execute("SELECT value FROM epsilon_limit").fetchone()
    return None if row is None else float(row[0])


def insert(
    connection: sqlite3.Connection, state: str, release: Recorded, what: Promised, file: str, sha256: str
) -> int:
    """Records a release, piece by piece; the number that it gets."""
    made_at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    seed = None if what.seed is None else str(what.seed)
    row = (state, made_at, file, sha256, what.k, json.dumps(what.promises), what.epsilon, seed)
    with transaction(connection):
        first = _blobs(release, 0)
        made = connection.execute(
            "INSERT INTO release "
            "(state, made_at, file, sha256, k, promises, epsilon, seed, members, shown, own, content) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, *first.blobs, first.content),
        )
        assert made.lastrowid is not None
        keep(connection, made.lastrowid, what.pseudonyms)
        if release.pieces > 1:
            _insert_pieces(connection, made.lastrowid, release, first.content)
        return made.lastrowid


def _insert_pieces(connection: sqlite3.Connection, release: int, recorded: Recorded, first: str) -> None:
    """All pieces but the first; the release's content then is that of all of them."""
    connection.execute(_PIECES)
    connection.execute(f"PRAGMA user_version = {_WITH_PIECES}")
    contents = [first]
    for number in range(1, recorded.pieces):
        piece = _blobs(recorded, number)
        row = (release, number, piece.records, *piece.blobs, piece.content)
        connection.execute("INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        contents.append(piece.content)
    connection.execute("UPDATE release SET content = ? WHERE id = ?", (_of_all(contents), release))


class _Blobs(NamedTuple):
    """A piece as it stands in the file: its people, some of the classes, and what stands for people's own values."""

    records: int
    blobs: tuple[bytes, bytes, bytes]

    @property
    def content(self) -> str:
        return _content(self.blobs)


def _blobs(release: Recorded, number: int) -> _Blobs:
    of = release.pieces
    piece, shown = release.piece(number, of), release.shown
    order = piece.members["subject"].arg_sort()  # the file's order is nobody's business
    members = piece.members.select("subject", "class")[order]
    own = piece.values[order] if piece.values.width else piece.values
    begin, end = (shown.height * place // of for place in (number, number + 1))
    return _Blobs(members.height, (_packed(members), _packed(shown[begin:end]), _packed(own)))


# Of the columns of a release; SQLite keeps in a column whatever stands there.
_KINDS = (int, str, str, str, str, int, str, int | float, str | None, bytes, bytes, bytes, str)


def entries_of(connection: sqlite3.Connection, path: Path) -> list[Entry]:
    """All releases, the first one first; large ones are read when they are asked for."""
    rows: Sequence[Any] = connection.execute(
        "SELECT id, state, made_at, file, sha256, k, promises, epsilon, seed, members, shown, own, content "
        "FROM release ORDER BY id"
    ).fetchall()
    for row in rows:
        if not all(isinstance(value, kind) for value, kind in zip(row, _KINDS, strict=True)):
            raise damaged(path)
    try:
        return [_entry(connection, path, *row) for row in rows]
    except ValueError:  # of numbers and JSON
        raise damaged(path) from None


def _entry(
    connection: sqlite3.Connection, path: Path, number: int, state: str, made_at: str, file: str, sha256: str, k: int,
    promises: str, epsilon: float, seed: str | None, members: bytes, shown: bytes, own: bytes, content: str,
) -> Entry:  # fmt: skip
    name, first = f"{number} {Path(file).name}", (members, shown, own)
    pieces = _pieces_of(connection, number)
    if _of_all([_content(first), *(piece_content for _, piece_content in pieces)]) != content:
        raise damaged(path)
    frames, of_people = (pl.read_parquet(members), pl.read_parquet(shown), pl.read_parquet(own)), _counts(connection)
    recorded: Recorded = Published(name, *frames, of_people)
    if pieces:
        reader = _Reader(connection, path, number, of_people)
        records = recorded.records + sum(records for records, _ in pieces)
        recorded = InPieces(
            name, records, len(pieces) + 1, recorded.attributes, reader.shown, reader.people, of_people=of_people
        )
    what = tuple(json.loads(promises))
    drawn, shown_by = None if seed is None else int(seed), kept_of(connection, number)
    return Entry(number, state, made_at, file, sha256, k, what, epsilon, drawn, recorded, shown_by)


def _counts(connection: sqlite3.Connection) -> bool:
    return stated_follows(connection) is not None


def _pieces_of(connection: sqlite3.Connection, release: int) -> list[tuple[int, str]]:
    """Records and content of each piece of a release but the first."""
    if connection.execute("PRAGMA user_version").fetchone()[0] != _WITH_PIECES:
        return []
    query = "SELECT records, content FROM piece WHERE release = ? ORDER BY number"
    return connection.execute(query, (release,)).fetchall()


@dataclass(frozen=True)
class _Reader:
    """Reads the pieces of one release, also when the ledger has been closed meanwhile."""

    connection: sqlite3.Connection
    path: Path
    release: int
    of_people: bool

    def people(self, number: int) -> Published:
        members, _, own = self._piece(number)
        return Published("", pl.read_parquet(members), pl.DataFrame(), pl.read_parquet(own), self.of_people)

    def shown(self) -> pl.DataFrame:
        numbers = [0, *(number for (number,) in self._rows("SELECT number FROM piece WHERE release = ?"))]
        return pl.concat([pl.read_parquet(self._piece(number)[1]) for number in sorted(numbers)])

    def _piece(self, number: int) -> tuple[bytes, bytes, bytes]:
        if number == 0:
            members, shown, own = self._rows("SELECT members, shown, own FROM release WHERE id = ?")[0]
            return members, shown, own  # judged when it was listed
        query = f"SELECT members, shown, own, content FROM piece WHERE release = ? AND number = {int(number)}"
        for *blobs, content in self._rows(query):
            if all(isinstance(blob, bytes) for blob in blobs) and _content(tuple(blobs)) == content:
                return blobs[0], blobs[1], blobs[2]
        raise damaged(self.path)

    def _rows(self, query: str) -> list[Any]:
        try:
            return self.connection.execute(query, (self.release,)).fetchall()
        except sqlite3.ProgrammingError:  # closed
            with opened(self.path) as connection:
                return connection.execute(query, (self.release,)).fetchall()


def _of_all(contents: Sequence[str]) -> str:
    """The content of a release by those of its pieces."""
    return contents[0] if len(contents) == 1 else hashlib.sha256("".join(contents).encode()).hexdigest()


def _content(blobs: tuple[bytes, ...]) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(blob).digest() for blob in blobs)).hexdigest()


def _packed(frame: pl.DataFrame) -> bytes:
    packed = io.BytesIO()
    frame.write_parquet(packed)
    return packed.getvalue()
