"""Which pseudonyms a release shows, in a table of the ledger: by them anybody can join it with others.

Of a key its id alone is kept, 8 hexadecimal digits that tell keys apart.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.data.pseudonym_choices import ShownPseudonyms

if TYPE_CHECKING:
    from shoal.releases.store import Entry

_TABLE = """
CREATE TABLE IF NOT EXISTS shown_pseudonyms (
    release INTEGER NOT NULL,
    "column" TEXT NOT NULL,
    domain TEXT NOT NULL,
    form TEXT NOT NULL,
    key_id TEXT NOT NULL
)
"""


def keep(connection: sqlite3.Connection, release: int, shown: Sequence[ShownPseudonyms]) -> None:
    """Records them of a release; a ledger without any has no such table."""
    if shown:
        connection.execute(_TABLE)
        rows = [(release, *each) for each in shown]
        connection.executemany("INSERT INTO shown_pseudonyms VALUES (?, ?, ?, ?, ?)", rows)


def kept_of(connection: sqlite3.Connection, release: int) -> tuple[ShownPseudonyms, ...]:
    """Those of a release."""
    if not _there(connection):
        return ()
    query = 'SELECT "column", domain, form, key_id FROM shown_pseudonyms WHERE release = ? ORDER BY rowid'
    return tuple(ShownPseudonyms(*map(str, row)) for row in connection.execute(query, (release,)))


def forget_kept(connection: sqlite3.Connection, release: int) -> None:
    """Those of a release that never got out."""
    if _there(connection):
        connection.execute("DELETE FROM shown_pseudonyms WHERE release = ?", (release,))


def joins(earlier: Sequence[Entry], shown: Sequence[ShownPseudonyms]) -> tuple[str, ...]:
    """With which earlier releases anybody can join one that shows these, and with which it might be thought to."""
    notes = []
    for entry in earlier:
        for here in shown:
            for there in entry.pseudonyms:
                if here[1:] == there[1:]:
                    notes.append(
                        f"Release {entry.number} shows pseudonyms of the same domain {here.domain!r} and key "
                        f"{here.key_id}: anybody can join it with this one by {here.column!r}. Both are judged "
                        "together, person by person."
                    )
                elif here[1:3] == there[1:3]:
                    notes.append(
                        f"Release {entry.number} shows pseudonyms of the domain {here.domain!r} by the key "
                        f"{there.key_id}, this one by {here.key_id}: they do not join. If they should, give that key."
                    )
    return tuple(dict.fromkeys(notes))


def _there(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'shown_pseudonyms'"
    return connection.execute(query).fetchone() is not None
