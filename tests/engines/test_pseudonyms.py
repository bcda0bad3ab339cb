"""Pseudonyms of a large table: the same for the same person, in every batch and every table of the same key."""

from __future__ import annotations

import hashlib
import hmac
import pickle

import polars as pl
import pytest

from shoal.engines.disk import Disk
from shoal.engines.pseudonyms import _Digests, pseudonymised
from shoal.engines.table import Batch
from shoal.errors import InputError

KEY = b"0123456789abcdef"
TABLE = pl.DataFrame({"person": [7, None, 8, 7, 9] * 3, "cost": range(15)})


def test_each_person_has_one_pseudonym_throughout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.engines.disk.BATCH", 4)
    with Disk() as disk:
        found = pseudonymised(disk.table(TABLE.lazy()), "person", KEY).kept()[0].native().collect()
    assert found.columns == TABLE.columns
    assert found["cost"].to_list() == list(range(15))
    expected = [
        None if p is None else hmac.new(KEY, str(p).encode(), hashlib.sha256).hexdigest() for p in TABLE["person"]
    ]
    assert found["person"].to_list() == expected


def test_another_key_gives_other_pseudonyms_and_text_the_same_as_numbers() -> None:
    as_text = TABLE.with_columns(pl.col("person").cast(pl.String))
    one = _Digests("person", KEY)(Batch(TABLE, 0))
    assert one.equals(pickle.loads(pickle.dumps(_Digests("person", KEY)))(Batch(as_text, 0)))
    other = _Digests("person", KEY[::-1])(Batch(TABLE, 0))
    assert not set(one["person"].drop_nulls()) & set(other["person"].drop_nulls())


def test_a_column_of_missing_values_stays_so() -> None:
    empty = TABLE.with_columns(person=pl.lit(None, pl.Int64))
    assert _Digests("person", KEY)(Batch(empty, 0))["person"].null_count() == 15


def test_the_key_is_not_printed_and_must_not_be_guessable() -> None:
    assert "0123" not in repr(_Digests("person", KEY))
    with Disk() as disk:
        with pytest.raises(InputError, match="The key has 3 bytes"):
            pseudonymised(disk.table(TABLE.lazy()), "person", b"abc")
        with pytest.raises(InputError, match=r"no column 'persn'\. Did you mean 'person'"):
            pseudonymised(disk.table(TABLE.lazy()), "persn", KEY)
