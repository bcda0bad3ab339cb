"""The ledger: what was released, when, of whom and in which classes; the base for judging releases together.

A SQLite file, for the custodian alone. Subjects stand in it as keyed digests (BLAKE2b; the key lives elsewhere), never
by name. Of values it holds what each class showed, and of each subject's own a digest keyed with the key and with her:
so it is known whether a value changed, and nothing else. One release is one transaction before its file gets its name:

    1. lock; insert the release as pending, with the digest of the finished file; commit
    2. the file takes its name
    3. pending becomes done; commit; unlock

A process that ends, well or with an error, settles its own entry: done if the file got its name, otherwise removed. One
that was killed leaves it pending. Whoever opens the ledger next takes it for done if the file of that name has that
digest; if not, the file may have been moved since, and the entry stays pending and counts as released until the
custodian says otherwise (`confirm`, `withdraw`). The lock is held throughout, so nobody takes a release under way for
an abandoned one, and no two releases are judged against the same past.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.pseudonyms import check_key, fresh_key, read_key
from shoal.data.scratch import Unfinished, make_private
from shoal.errors import InputError, PromiseError, require
from shoal.privacy.t_closeness import TCloseness
from shoal.releases.budget import Budget, budget_of, refuse_spent
from shoal.releases.published import Published, own_text, subjects_of
from shoal.releases.refusal import Exposure, exposure, refuse_exposed, refuse_unpooled

KEY_VARIABLE = "SHOAL_LEDGER_KEY"
_OURS = 0x53484F41  # SQLite's application id: that the file is a ledger, and none else's database
_FORMAT = 2  # SQLite's user version: of what follows
_PATIENCE = 300  # seconds to wait while another process makes its release
_ONE_BY_ONE = ("measured-risk", "purchases-in-full")  # promises of releases in which each record is its own
_HARDLY = 0.1  # of a release's people known to the ledger: fewer are worth a word
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
    published: Published = field(repr=False)

    @property
    def by_classes(self) -> bool:
        return _by_classes(self.k, self.promises)

    def to_dict(self) -> dict[str, Any]:
        return {
            "release": self.number,
            "state": self.state,
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

    @property
    def by_classes(self) -> bool:
        return _by_classes(self.k, self.promises)


def _refuse_laxer(earlier: Sequence[dict[str, Any]], promises: Sequence[dict[str, Any]], release: Published) -> None:
    """What was promised of an attribute is promised again wherever it is shown again, and no less strictly."""
    for before in earlier:
        attribute = before.get("attribute")
        if attribute is None or attribute not in release.values.columns:
            continue
        same = [now["asked"] for now in promises if (now["name"], now.get("attribute")) == (before["name"], attribute)]
        less = before["name"] == TCloseness.name
        if not any(asked <= before["asked"] if less else asked >= before["asked"] for asked in same):
            raise PromiseError(
                f"An earlier release of this ledger promised {before['name']} of {attribute!r} at {before['asked']:g}: "
                "promise at least that again, or leave the column out. Nothing was released."
            )


def _by_classes(k: int, promises: Sequence[dict[str, Any]]) -> bool:
    """Whether people are hidden in classes; otherwise single records are masked, and no pool of them is judged."""
    return k >= 2 and all(promise["name"] not in _ONE_BY_ONE for promise in promises)


@dataclass(frozen=True)
class Ledger:
    """A ledger to write to: its file, its key, and the column that tells subjects apart.

    `epsilon_limit` is for a new ledger: the most that private means may cost anybody over all of its releases.
    """

    path: Path
    key: bytes = field(repr=False)
    subject: str
    epsilon_limit: float | None = None

    def __post_init__(self) -> None:
        check_key(self.key, "of the ledger")

    def digests(self, table: pl.DataFrame) -> pl.Series:
        """Whom each record is about, so that nobody without the key can tell, or try."""
        key = hashlib.blake2b(self.key).digest()
        names = subjects_of(table, self.subject)
        found = [hashlib.blake2b(name.encode(), key=key, digest_size=16).digest() for name in names]
        return pl.Series("subject", found, dtype=pl.Binary)

    def own(self, subjects: pl.Series, values: pl.DataFrame) -> pl.DataFrame:
        """Digests of the subjects' own values, each keyed with its subject and attribute.

        The same subject's can be compared from release to release; those of two subjects tell nothing.
        """
        key = hashlib.blake2b(self.key, person=b"own values").digest()

        def digest(name: str) -> pl.Series:
            of_column = hashlib.blake2b(key=hashlib.blake2b(name.encode(), key=key).digest(), digest_size=8)
            found = []
            for text, who in zip(own_text(values[name]).to_list(), subjects.to_list(), strict=True):
                one = of_column.copy()
                one.update(who if text is None else who + b"=" + text.encode())
                found.append(one.digest())
            return pl.Series(name, found, dtype=pl.Binary)

        return pl.DataFrame([digest(name) for name in values.columns])

    def releases(self) -> tuple[Published, ...]:
        """All releases so far; none where there is no ledger yet."""
        if not self.path.exists():
            return ()
        with _opened(self.path) as connection:
            self._check_key(connection)
            return tuple(entry.published for entry in _entries(connection, self.path))

    def strangers(self, table: pl.DataFrame) -> tuple[str, ...]:
        """A word of warning where hardly anybody of a table is known to a ledger that is not empty."""
        releases = self.releases()
        if not releases:
            return ()
        known = pl.concat([one.members["subject"] for one in releases]).unique()
        share = float(self.digests(table).is_in(known.implode()).mean() or 0.0)  # type: ignore[arg-type]
        if share >= _HARDLY:
            return ()
        return (
            f"Of the {table.height:,} people of this table only {share:.1%} are known to the ledger, which holds "
            f"{len(known):,}: if they are the same people, {self.subject!r} is written otherwise than before, and "
            "nothing is judged together. Compare how it is written.",
        )

    @contextmanager
    def entering(self, release: Published, what: Promised, target: str | Path, written: Path) -> Iterator[None]:
        """Records a release whose finished file, `written`, takes the target's name inside the context; or refuses."""
        self._create()
        with _opened(self.path) as connection:
            self._check_key(connection)
            earlier = _entries(connection, self.path)
            self._judge(earlier, release, what, _limit(connection))
            number = _insert(connection, "pending", release, what, os.path.realpath(target), _sha256(written))
            try:
                yield
            finally:
                with _transaction(connection):
                    _settle(connection)
                    connection.execute("DELETE FROM release WHERE id = ? AND state = 'pending'", (number,))

    @staticmethod
    def _judge(earlier: Sequence[Entry], release: Published, what: Promised, limit: float | None) -> None:
        alone = [entry.published for entry in earlier if not (what.by_classes and entry.by_classes)]
        refuse_unpooled(alone, release)
        promised = max((entry.k for entry in earlier), default=1)
        if what.k < promised:  # it would break what earlier ones promised to the same people
            raise PromiseError(
                f"Earlier releases of this ledger promised k = {promised}, this one only {what.k}: "
                f"ask for at least {promised}. Nothing was released."
            )
        _refuse_laxer([promise for entry in earlier for promise in entry.promises], what.promises, release)
        refuse_exposed([entry.published for entry in earlier], release, what.k)
        refuse_spent([(entry.published, entry.epsilon) for entry in earlier], (release, what.epsilon), limit)

    def add(self, release: Published, what: Promised, file: str | Path) -> Exposure | None:
        """Records a release that was made elsewhere; what it did to the subjects of the pool is said, not prevented."""
        self._create()
        with _opened(self.path) as connection:
            self._check_key(connection)
            found = exposure([entry.published for entry in _entries(connection, self.path)], release, what.k)
            _insert(connection, "done", release, what, os.path.realpath(file), _sha256(Path(file)))
        return found

    def _create(self) -> None:
        """A new ledger gets its name when it is whole: one that is empty was damaged."""
        if self.path.exists():
            if self.epsilon_limit is not None and limit_of(self.path) != self.epsilon_limit:
                raise InputError(
                    f"The ledger {str(self.path)!r} exists: its limit of epsilon is set by `shoal releases limit`."
                )
            return
        try:
            with Unfinished(self.path) as fresh:
                make_private(fresh)
                _found(fresh, self._check, self.epsilon_limit)
                with suppress(FileExistsError):  # another process was first
                    os.link(fresh, self.path)
        except OSError as error:
            raise InputError(f"The ledger {str(self.path)!r} cannot be made: {str(error.strerror).lower()}.") from None

    @property
    def _check(self) -> str:
        return hashlib.blake2b(b"shoal ledger", key=hashlib.blake2b(self.key).digest()).hexdigest()

    def _check_key(self, connection: sqlite3.Connection) -> None:
        """With another key nobody would be known again, and everything would seem safe."""
        known = connection.execute("SELECT digest FROM key_check").fetchone()
        if known is None or known[0] != self._check:
            raise InputError(f"The key is not that of the ledger {str(self.path)!r}: give the one it was begun with.")


def ledger_key(path: str | Path | None, ledger: str | Path) -> bytes:
    """The secret key of a file or of the environment; a new ledger's key file is made where it is missing."""
    if path is None:
        if not os.environ.get(KEY_VARIABLE):
            raise InputError(f"A ledger needs its key: name the file (--ledger-key FILE), or set {KEY_VARIABLE}.")
        return check_key(os.environ[KEY_VARIABLE].strip().encode(), f"in {KEY_VARIABLE}")
    if not Path(path).exists() and not Path(ledger).exists():
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InputError(f"The key {str(path)!r} cannot be made: {str(error.strerror).lower()}.") from None
        with os.fdopen(handle, "w") as file:
            file.write(fresh_key().hex())
    return read_key(path)


# ---- without the key


def entries(path: str | Path) -> list[Entry]:
    """Everything in the ledger, the first release first; no key is needed."""
    with _existing(path) as connection:
        return _entries(connection, Path(path))


def confirm(path: str | Path, number: int) -> None:
    """The pending release of that number did get out, wherever its file is now."""
    with _existing(path) as connection:
        _need_pending(connection, number)
        connection.execute("UPDATE release SET state = 'done' WHERE id = ?", (number,))


def withdraw(path: str | Path, number: int) -> None:
    """The pending release of that number never got out, and is forgotten."""
    with _existing(path) as connection:
        _need_pending(connection, number)
        connection.execute("DELETE FROM release WHERE id = ?", (number,))


def limit_of(path: str | Path) -> float | None:
    """The most that private means may cost anybody over all releases; None where nothing was said."""
    with _existing(path) as connection:
        return _limit(connection)


def set_limit(path: str | Path, epsilon: float) -> None:
    """Sets what private means may cost anybody over all releases."""
    require("the ledger", "limit", epsilon, "an epsilon above 0", holds=0 < epsilon < float("inf"))
    with _existing(path) as connection, _transaction(connection):
        connection.execute("DELETE FROM epsilon_limit")
        connection.execute("INSERT INTO epsilon_limit VALUES (?)", (epsilon,))


def budget(path: str | Path) -> Budget:
    """What private means cost so far, all together and whom they cost most."""
    with _existing(path) as connection:
        costs = [(entry.published, entry.epsilon) for entry in _entries(connection, Path(path))]
        return budget_of(costs, _limit(connection))


def _need_pending(connection: sqlite3.Connection, number: int) -> None:
    row = connection.execute("SELECT state FROM release WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise InputError(f"The ledger holds no release {number}: see `shoal releases list`.")
    if row[0] != "pending":
        raise InputError(
            f"Release {number} got its name: it is out, and what is out cannot be taken back. Only a pending release "
            "can be settled."
        )


# ---- the file


def _found(path: Path, key_check: str, epsilon_limit: float | None) -> None:
    """Makes an empty ledger."""
    if epsilon_limit is not None:
        require("the ledger", "limit", epsilon_limit, "an epsilon above 0", holds=0 < epsilon_limit < float("inf"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, _transaction(connection):
        for statement in _SCHEMA.strip().split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_OURS}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.execute("INSERT INTO key_check VALUES (?)", (key_check,))
        if epsilon_limit is not None:
            connection.execute("INSERT INTO epsilon_limit VALUES (?)", (epsilon_limit,))


@contextmanager
def _existing(path: str | Path) -> Iterator[sqlite3.Connection]:
    if not Path(path).exists():
        raise InputError(f"There is no ledger {str(path)!r}: check its name and its folder.")
    with _opened(Path(path)) as connection:
        yield connection


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The ledger, settled and locked against all others until it is closed."""
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(
            f"The ledger {str(path)!r} is empty, which a ledger never is: it was damaged. Bring it back from a copy; "
            "remove it only if nothing was ever released with it."
        )
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            with _transaction(connection):
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # from now on a commit keeps the lock
                _recognise(connection, path)
                _settle(connection)
            yield connection
    except UnicodeDecodeError:  # of SQLite's own words, where they quote what is damaged
        raise _damaged(path) from None
    except sqlite3.OperationalError as error:
        raise InputError(f"The ledger {str(path)!r} cannot be used: {error}.") from None
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:  # its own subclasses are mistakes of ours
            raise
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise InputError(f"{str(path)!r} is not a ledger: name the file that --ledger made.") from None
        raise _damaged(path) from None


def _damaged(path: Path) -> InputError:
    return InputError(
        f"The ledger {str(path)!r} is damaged, and nothing can be judged beside what it held: bring back a copy."
    )


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
    if connection.execute("PRAGMA application_id").fetchone()[0] != _OURS:
        raise InputError(f"{str(path)!r} is a database, but not a ledger: name the file that --ledger made.")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != _FORMAT:
        raise InputError(
            f"The ledger {str(path)!r} was made by another version of Shoal (format {found}, not {_FORMAT}): "
            "go on with that version, or begin a new ledger and `shoal releases add` what was released."
        )


def _settle(connection: sqlite3.Connection) -> None:
    """What is pending is done if its file got its name; otherwise nobody here can tell whether it ever had it."""
    pending = connection.execute("SELECT id, file, sha256 FROM release WHERE state = 'pending'").fetchall()
    for number, file, sha256 in pending:
        if Path(file).is_file() and _sha256(Path(file)) == sha256:
            connection.execute("UPDATE release SET state = 'done' WHERE id = ?", (number,))


def _limit(connection: sqlite3.Connection) -> float | None:
    row = connection.execute("SELECT value FROM epsilon_limit").fetchone()
    return None if row is None else float(row[0])


def _insert(
    connection: sqlite3.Connection, state: str, release: Published, what: Promised, file: str, sha256: str
) -> int:
    """The number that the release gets."""
    made_at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    order = release.members["subject"].arg_sort()  # the file's order is nobody's business
    members = release.members.select("subject", "class")[order]
    own = release.values[order] if release.values.width else release.values
    blobs = _packed(members), _packed(release.shown), _packed(own)
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
        _content(blobs),
    )
    with _transaction(connection):
        made = connection.execute(
            "INSERT INTO release "
            "(state, made_at, file, sha256, k, promises, epsilon, seed, members, shown, own, content) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        assert made.lastrowid is not None
        return made.lastrowid


# Of the columns of a release; SQLite keeps in a column whatever stands there.
_KINDS = (int, str, str, str, str, int, str, int | float, str | None, bytes, bytes, bytes, str)


def _entries(connection: sqlite3.Connection, path: Path) -> list[Entry]:
    rows: Sequence[Any] = connection.execute(
        "SELECT id, state, made_at, file, sha256, k, promises, epsilon, seed, members, shown, own, content "
        "FROM release ORDER BY id"
    ).fetchall()
    for row in rows:
        if not all(isinstance(value, kind) for value, kind in zip(row, _KINDS, strict=True)):
            raise _damaged(path)
    try:
        return [_entry(path, *row) for row in rows]
    except ValueError:  # of numbers and JSON
        raise _damaged(path) from None


def _entry(
    path: Path, number: int, state: str, made_at: str, file: str, sha256: str, k: int, promises: str, epsilon: float,
    seed: str | None, members: bytes, shown: bytes, own: bytes, content: str,
) -> Entry:  # fmt: skip
    if _content((members, shown, own)) != content:
        raise _damaged(path)
    release = Published(
        f"{number} {Path(file).name}", pl.read_parquet(members), pl.read_parquet(shown), pl.read_parquet(own)
    )
    what = tuple(json.loads(promises))
    return Entry(number, state, made_at, file, sha256, k, what, epsilon, None if seed is None else int(seed), release)


def _content(blobs: tuple[bytes, ...]) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(blob).digest() for blob in blobs)).hexdigest()


def _packed(frame: pl.DataFrame) -> bytes:
    packed = io.BytesIO()
    frame.write_parquet(packed)
    return packed.getvalue()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
