"""Customer numbers replaced by a keyed permutation: without the key nobody can tell who is who, or repeat it.

Customers are put in the order of HMAC-SHA-256(key, customer), and numbered 1, 2, ... in that order: the numbers tell
nothing of the originals, not even their order or length, and no two customers share one.
"""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.paths import check_readable
from shoal.errors import InputError

KEY_BYTES = 16  # fewer could be tried one after the other


def fresh_key() -> bytes:
    """A key that nobody has had before."""
    return secrets.token_bytes(32)


def read_key(path: str | Path) -> bytes:
    """The secret key in a file, all of its bytes."""
    check_readable(Path(path))
    return check_key(Path(path).read_bytes().strip(), f"in {path}")


def check_key(key: bytes, where: str = "") -> bytes:
    """The key, refused where it is so short that all could be tried."""
    if len(key) < KEY_BYTES:
        place = f" {where}" if where else ""
        raise InputError(f"The key{place} has {len(key)} bytes, which could be guessed: it needs at least {KEY_BYTES}.")
    return key


def pseudonyms(customers: pl.Series, key: bytes) -> pl.Series:
    """A number from 1 to n for each customer."""
    check_key(key)
    digests = [hmac.digest(key, str(customer).encode(), "sha256") for customer in customers]
    order = sorted(range(len(digests)), key=digests.__getitem__)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(1, len(order) + 1)
    return pl.Series("pseudonym", number)
