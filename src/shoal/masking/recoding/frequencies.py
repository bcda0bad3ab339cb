"""How many records of a table of any size have each distinct row of some codes, counted by the engine.

What can be decided from distinct rows and their counts is decided where the table is not. So that they fit there, their
number is first bounded by what values occur, and where that says too little estimated by a sketch: the m-th least of
evenly hashed rows shows how close together they lie, and so how many there are (Bar-Yossef et al. 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Microdata
from shoal.engines.table import COUNTED, Batch
from shoal.engines.whole import LISTED
from shoal.errors import InputError
from shoal.masking.chunks import Attributes, WholeTable

LIMIT = 1 << 23  # distinct rows
_LEAST = 1 << 12  # hashes of a sketch: it errs by about 1.6 %

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
CodesOf = Callable[[Microdata], Mapping[str, npt.NDArray[np.generic]]]  # a record's codes, by column


def count_rows(whole: WholeTable, codes: CodesOf) -> tuple[dict[str, Ints], Ints]:
    """The distinct rows of these codes, column by column in no order, and how many records have each."""
    names = list(codes(whole.attributes.microdata(whole.summary.sample.clear())))
    keyed = whole.table.map(_Coded(whole.attributes, codes), pl.Schema(dict.fromkeys(names, pl.Int64())))
    rows = keyed.counts(names)
    return {name: rows[name].to_numpy() for name in names}, rows[COUNTED].to_numpy()


def ordered_rows(whole: WholeTable, codes: CodesOf) -> tuple[npt.NDArray[np.uint8], Ints]:
    """The distinct rows of at most 256 codes a column as one array, in the order of a table in memory; and records."""
    columns, counts = count_rows(whole, codes)
    order = np.lexsort([*columns.values()][::-1])
    return np.stack([column[order] for column in columns.values()], axis=1).astype(np.uint8), counts[order]


def how_many(whole: WholeTable, codes: CodesOf, combinations: int) -> int:
    """Distinct rows, of so many `combinations` as the values have: a bound within the limit, else an estimate."""
    most = min(whole.records, combinations)
    if most <= LIMIT:
        return most
    least = whole.table.fold(partial(_least_hashes, _Coded(whole.attributes, codes)), _least_of_both)
    assert least is not None
    return len(least) if len(least) < _LEAST else int((_LEAST - 1) * 2.0**64 / float(least[-1]))


@dataclass(frozen=True)
class _Coded:
    attributes: Attributes
    codes: CodesOf

    def __call__(self, batch: Batch) -> pl.DataFrame:
        codes = self.codes(self.attributes.microdata(batch.frame))
        return pl.DataFrame({name: column.astype(np.int64) for name, column in codes.items()})


def _least_hashes(coded: _Coded, batch: Batch) -> Keys:
    return coded(batch).hash_rows(seed=1).unique().bottom_k(_LEAST).sort().to_numpy()


def _least_of_both(left: Keys, right: Keys) -> Keys:
    return np.union1d(left, right)[:_LEAST]


def refuse_unlisted(whole: WholeTable, name: str, why: str) -> None:
    """Refuses a column whose values the whole table could not list."""
    if whole.attributes.whole[name].values is None:
        raise InputError(f"Column {name!r} has more than {LISTED:,} values, {why}")
