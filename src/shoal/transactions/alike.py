"""Customers who are shown alike: by their sets of goods, or by their whole histories as some columns show them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import PromiseError
from shoal.transactions.histories import Codes, Histories, Roles, check_columns
from shoal.transactions.numbering import numbered


def same_sets(histories: Histories) -> Codes:
    """customer -> number of his set of goods, the same for all who share it: the clusters of a release, as seen.

    Sets are told apart by two sums of random 62-bit numbers, one a good: two of them agree by a chance of 2^-124.
    """
    sets = histories.sets
    sums = sets.astype(np.int64) @ _random_numbers(sets.shape[1])
    return _numbered_rows(sums)


def same_histories(histories: Histories, roles: Roles) -> Codes:
    """customer -> number of his whole history: how often each good stands there with which time, price and quantity.

    The columns are those of `roles`. Where a basket is among them, also which records share one; its number itself says
    nothing. Values are compared as the text that stands there. Histories are told apart as sets are.
    """
    check_columns(histories.table, roles)
    table = histories.table
    shown = [name for name in (roles.item, roles.time, roles.price, roles.quantity) if name is not None]
    record = numbered([table[name].cast(pl.String) for name in shown])
    numbers = _random_numbers(int(record.max()) + 1)[record]
    n = len(histories.customers)
    if roles.basket is None:
        return _numbered_rows(_sums(numbers, histories.customer, n))
    visit = numbered([pl.Series("", histories.customer), table[roles.basket]])
    whose = np.empty(int(visit.max()) + 1, np.int32)
    whose[visit] = histories.customer
    content = _numbered_rows(_sums(numbers, visit, len(whose)))
    return _numbered_rows(_sums(_random_numbers(int(content.max()) + 1)[content], whose, n))


def _random_numbers(count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng().integers(2**62, size=(count, 2))


def _sums(numbers: npt.NDArray[np.int64], of: npt.NDArray[np.integer], count: int) -> npt.NDArray[np.int64]:
    sums = np.zeros((count, 2), np.int64)
    np.add.at(sums, of, numbers)
    return sums


def _numbered_rows(rows: npt.NDArray[np.int64]) -> Codes:
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)


def alike(histories: Histories) -> npt.NDArray[np.int64]:
    """How many customers share each set of goods that occurs."""
    return np.bincount(same_sets(histories))


def wholly_alike(histories: Histories, roles: Roles) -> npt.NDArray[np.int64]:
    """How many customers share each whole history that occurs, as the columns of these roles show it."""
    return np.bincount(same_histories(histories, roles))


def refuse_distinct(histories: Histories, least: int) -> None:
    """Raises unless each set of goods is that of at least so many customers."""
    fewest = int(alike(histories).min())
    if fewest < least:
        raise PromiseError(
            f"A set of goods is that of {fewest} customer{'s' * (fewest > 1)} only, {least} were promised: "
            "nothing is released."
        )
