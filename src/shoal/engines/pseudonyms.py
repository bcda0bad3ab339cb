"""An identifier of a large table replaced by keyed digests, batch by batch: HMAC-SHA-256(key, value), in hexadecimal.

The same value gets the same pseudonym in every table that uses the same key, so that tables still join; without the key
nobody can tell who is who, or try values one after the other. Who must not be found again across tables uses a new key.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

import polars as pl

from shoal.data.pseudonyms import check_key
from shoal.engines.table import Batch, Table
from shoal.errors import InputError, did_you_mean


@dataclass(frozen=True)
class _Digests:
    column: str
    key: bytes = field(repr=False)

    def __call__(self, batch: Batch) -> pl.DataFrame:
        text = batch.frame[self.column].cast(pl.String)
        people = text.drop_nulls().unique()
        digests = [hmac.digest(self.key, person.encode(), "sha256").hex() for person in people]
        return batch.frame.with_columns(text.replace_strict(people, digests, default=None, return_dtype=pl.String))


def pseudonymised(table: Table, column: str, key: bytes) -> Table:
    """The table with the column as digests, missing as missing; nothing is done before it is asked for."""
    if column not in table.schema:
        raise InputError(f"The table has no column {column!r}.{did_you_mean(column, table.schema)}")
    check_key(key)
    schema = pl.Schema({**table.schema, column: pl.String()})
    return table.map(_Digests(column, key), schema)
