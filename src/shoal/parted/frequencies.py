"""How many records of a large table have each distinct row of some attributes: keys of 64 bits, counted by the engine.

What can be decided from distinct rows and their counts is decided where the table is not. So that they fit there, their
number is first told from above by what values occur, and where that says too little by a sketch: the m-th least of
evenly hashed keys shows how close together they lie, and so how many there are (Bar-Yossef et al. 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Microdata
from shoal.engines.table import COUNTED, Batch
from shoal.parted.source import Attributes, Source

LIMIT = 1 << 23  # distinct rows
_LEAST = 1 << 12  # hashes of a sketch: it errs by about 1.6 %

Keys = npt.NDArray[np.uint64]
KeysOf = Callable[[Microdata], Keys]


class Rows(NamedTuple):
    """Distinct rows by their keys, which ascend."""

    keys: Keys
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Keyed:
    attributes: Attributes
    keys: KeysOf

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return pl.DataFrame({"@key": self.keys(self.attributes.microdata(batch.frame)).view(np.int64)})


def rows_of(source: Source, keys: KeysOf) -> Rows:
    """Counted by the engine."""
    keyed = source.table.map(_Keyed(source.attributes, keys), pl.Schema({"@key": pl.Int64()}))
    found = keyed.counts(["@key"])
    key = found["@key"].to_numpy().view(np.uint64)
    order = np.argsort(key)
    return Rows(key[order], found[COUNTED].to_numpy()[order])


def how_many(source: Source, keys: KeysOf, combinations: int) -> int:
    """Distinct rows, of so many combinations as the values have: a bound if that is within the limit, else about."""
    most = min(source.records, combinations)
    if most <= LIMIT:
        return most
    least = source.table.fold(partial(_least_hashes, source.attributes, keys), _least_of_both)
    assert least is not None
    return len(least) if len(least) < _LEAST else int((_LEAST - 1) * 2.0**64 / float(least[-1]))


def _least_hashes(attributes: Attributes, keys: KeysOf, batch: Batch) -> Keys:
    hashed = pl.Series(keys(attributes.microdata(batch.frame))).hash(seed=1)
    return hashed.unique().bottom_k(_LEAST).sort().to_numpy()


def _least_of_both(one: Keys, other: Keys) -> Keys:
    return np.union1d(one, other)[:_LEAST]
