"""Ledgers of people who may have several records: records are followed from release to release, and people are counted.

A record stands in such a ledger as 16 bytes: 8 of its person's digest, so that people can be counted without the key
and stay in one piece, and 8 of what makes it this record of hers, which is its own number or all that is shown of it.
Visits that a later release adds, or no longer shows, are then told apart from those that both show: they must be of k
people or of nobody, or whoever knows who came again would know whose they are. A record of which a value changed is
another record.

Where whole histories are promised, one row stands for all records of an owner, and her class is her history.

Defined in docs/spec.md#people-over-releases.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from shoal.data.identity import identity_text
from shoal.errors import InputError, PromiseError
from shoal.privacy.histories import same_history
from shoal.releases.pieces import Recorded
from shoal.releases.published import PERSON, Published

Follows = Literal["values", "records"]  # by what a record is known again: all that is shown of it, or its own number


def record_digests(key: bytes, people: pl.Series, records: pl.Series) -> pl.Series:
    """Of each record, by its person's digest and a text that none of her other records has."""
    own = hashlib.blake2b(key, person=b"record").digest()
    pairs = zip(people.to_list(), records.to_list(), strict=True)
    digests = [
        who[:PERSON] + hashlib.blake2b(who + text.encode(), key=own, digest_size=16 - PERSON).digest()
        for who, text in pairs
    ]
    return pl.Series("subject", digests, dtype=pl.Binary)


def texts_of(people: pl.Series, values: pl.DataFrame) -> pl.Series:
    """Of each record one text of all its values, with a number where a person has the same several times."""
    names = [str(number) for number in range(values.width)]
    columns = [identity_text(values[name]).alias(own) for own, name in zip(names, sorted(values.columns), strict=True)]
    frame = pl.DataFrame([*columns, people.alias("person")])
    again = pl.int_range(pl.len()).over("person", *names).cast(pl.String)
    cells = [pl.format("{}:{}", pl.col(name).str.len_bytes(), pl.col(name)).fill_null("-") for name in names]
    return frame.select(pl.concat_str(again, *cells, separator="|")).to_series()


def by_history(release: Published) -> Published:
    """The release with one row for all records of a subject: her class is the history that she shows."""
    members = release.members
    subjects = members["subject"].unique(maintain_order=True)
    owner = members.join(
        pl.DataFrame({"subject": subjects, "owner": np.arange(len(subjects))}), on="subject", maintain_order="left"
    )["owner"].to_numpy()
    label = same_history([(members["class"].to_numpy().astype(np.int64), owner)], len(subjects))
    first = np.unique(label, return_index=True)[1]
    rows = pl.DataFrame({"owner": owner, "class": members["class"]}).sort("owner", "class")
    of_first = pl.DataFrame({"owner": first, "label": np.arange(len(first))}).join(rows, on="owner").sort("label")
    cells = of_first.hstack(release.shown[of_first["class"]]).group_by("label", maintain_order=True)
    shown = cells.agg(pl.col(release.shown.columns).fill_null("missing").str.join(" & ")).drop("label")
    return replace(
        release,
        members=pl.DataFrame({"subject": subjects, "class": pl.Series(label, dtype=pl.Int32)}),
        shown=shown,
        values=pl.DataFrame([_of_all(release.values[name], owner) for name in release.values.columns]),
    )


def _of_all(digests: pl.Series, owner: np.ndarray) -> pl.Series:
    """What stands for all values of each owner: the same where each value is, in whatever order."""
    lists = pl.DataFrame({"owner": owner, "value": digests}).group_by("owner").agg(pl.col("value").sort()).sort("owner")
    joined = [hashlib.blake2b(b"".join(each), digest_size=8).digest() for each in lists["value"].to_list()]
    return pl.Series(digests.name, joined, dtype=pl.Binary)


# ---- what a ledger says of itself


def state_follows(connection: sqlite3.Connection, follows: Follows) -> None:
    """Says in a new ledger that people are counted, and by what their records are known again."""
    connection.execute("CREATE TABLE people (follows TEXT NOT NULL)")
    connection.execute("INSERT INTO people VALUES (?)", (follows,))


def stated_follows(connection: sqlite3.Connection) -> str | None:
    """The same of a ledger; None where every subject has one record."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'people'"
    if connection.execute(query).fetchone() is None:
        return None
    row = connection.execute("SELECT follows FROM people").fetchone()
    return None if row is None else str(row[0])


def refuse_other_follows(path: Path, stated: str | None, asked: Follows | None) -> None:
    """Refuses a ledger in which nobody would be known again, as its records are known by something else."""
    if stated == asked:
        return
    if stated is None:
        raise InputError(
            f"The ledger {str(path)!r} knows one record of each subject, and here people may have several: begin a new "
            "ledger with --person, without --incremental and --engine."
        )
    if asked is None:
        raise InputError(
            f"The ledger {str(path)!r} counts people who may have several records: name their column (--person), and "
            "release in memory, without --incremental."
        )
    by = {"values": "by what is shown of them: leave out --subject", "records": "by their own column: name it again"}
    again = " (--subject COLUMN)" if stated == "records" else ""
    raise InputError(f"The ledger {str(path)!r} knows records again {by[stated]}{again}.")


def refuse_other_columns(earlier: Sequence[Recorded], release: Recorded) -> None:
    """Refuses other columns than before where records are known again by what is shown of them."""
    for before in earlier:
        if sorted(before.attributes) != sorted(release.attributes):
            named = ", ".join(repr(name) for name in sorted({*before.attributes} ^ {*release.attributes}))
            raise PromiseError(
                f"Records of people are known again by what is shown of them, and this release and an earlier one "
                f"differ in {named}: nobody's records could be followed. Release the same columns, or begin a ledger "
                "that knows records by a column of their own (--subject COLUMN). Nothing was released."
            )
