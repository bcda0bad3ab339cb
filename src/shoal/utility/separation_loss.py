"""Separation loss: of the pairs of records that an attribute tells apart, the share that it no longer does.

It counts records, not distances, so that it compares attributes of different kinds (docs/spec.md#separation-loss): a
birth date that is kept as text costs what it costs as a date where both stand in the same classes. Where the grouping
puts dates together more coarsely than texts it still costs less. Unlike Eq. 3 it does not see how far values lie apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded, Microdata
from shoal.data.parse_cells import read_cells

Floats = npt.NDArray[np.float64]


class Pairs(NamedTuple):
    """Ordered pairs of records that an attribute told apart, and those of them that its cells no longer do."""

    lost: float
    apart: float

    @classmethod
    def added(cls, parts: Iterable[Sequence[float]]) -> Pairs:
        """Of several parts of one table."""
        lost, apart = zip(*parts, strict=True)
        return cls(sum(lost), sum(apart))

    @property
    def share(self) -> float:
        """0 where nothing is lost, 1 where nothing is told apart any more."""
        return self.lost / self.apart if self.apart else 0.0


def mean_share(losses: Mapping[str, float], attributes: int) -> float | None:
    """On the average of so many attributes; None where the loss of one of them is not known."""
    return sum(losses.values()) / attributes if len(losses) == attributes else None


def separation_losses(
    original: Microdata, columns: Mapping[str, MaskedColumn], kept: npt.NDArray[np.int64] | None = None
) -> dict[str, float]:
    """Of each quasi-identifier whose values can be counted."""
    return {name: pairs.share for name, pairs in pairs_lost(original, columns, kept).items()}


def pairs_lost(
    original: Microdata, columns: Mapping[str, MaskedColumn], kept: npt.NDArray[np.int64] | None = None
) -> dict[str, Pairs]:
    """The same as pairs, which several parts of a table can be added by."""
    quasi = original.schema.quasi_identifiers
    pairs = {name: separation_loss(original[name], columns[name], kept) for name in quasi}
    return {name: counted for name, counted in pairs.items() if counted is not None}


def losses_of_parts(parts: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """Of a table whose parts lost these pairs."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: Pairs.added(part[name] for part in parts).share for name in names}


def separation_loss(coded: Coded, masked: MaskedColumn, kept: npt.NDArray[np.int64] | None = None) -> Pairs | None:
    """Of one attribute; suppressed records tell nothing apart. None where its values are too many to be counted."""
    if coded.unlisted is not None:
        return None
    everybody = float(coded.counts.sum() + coded.missing)
    if len(coded.counts) < 2 and (not len(coded.counts) or not coded.missing):
        return Pairs(0.0, 0.0)  # nobody was told apart
    alike = np.append(coded.counts, coded.missing).astype(np.float64)[coded.codes]  # missing is the last: code -1
    apart = float((everybody - alike).sum())
    shown = np.arange(len(coded.codes)) if kept is None else kept
    admitted = _admitted(coded, masked, coded.codes[shown], everybody)
    lost = float((admitted - alike[shown]).sum()) + apart - float((everybody - alike[shown]).sum())
    return Pairs(max(lost, 0.0), apart)


def _admitted(coded: Coded, masked: MaskedColumn, codes: npt.NDArray[np.int32], everybody: float) -> Floats:
    """Shown record -> how many records have a value that its cell admits, or that lies between it and the cell."""
    upto = np.append(0.0, np.cumsum(coded.counts, dtype=np.float64))
    first, last = _codes_of_cells(coded, masked)
    known, hidden = ~np.isnan(masked.low), masked.hidden()
    within = np.where(known, upto[last + 1] - upto[first], 0.0)
    index = masked.index
    if coded.is_nominal:
        gaps = np.flatnonzero(known & ~hidden & (masked.size > 0) & (masked.size < last - first + 1))
        within[gaps] = _of_sets(coded, masked, gaps, upto)
        outside = (codes < first[index]) | (codes > last[index])
        admitted = within[index] + np.where(outside & (codes >= 0), coded.counts[np.maximum(codes, 0)], 0.0)
    else:
        own = np.maximum(codes, 0)
        admitted = upto[np.maximum(last[index], own) + 1] - upto[np.minimum(first[index], own)]
    either = known[index] ^ (codes >= 0)  # one of both is missing: nothing is known of it
    admitted = np.where(~known[index] & (codes < 0), float(coded.missing), admitted)
    whole: Floats = np.where(either | hidden[index], everybody, admitted)
    return whole


def _codes_of_cells(coded: Coded, masked: MaskedColumn) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last code that each cell admits; of a cell between two values, the one below and above."""
    low, high = np.nan_to_num(masked.low), np.nan_to_num(masked.high)
    most = max(len(coded.positions) - 1, 0)
    first = np.searchsorted(coded.positions, low, "left")
    last = np.searchsorted(coded.positions, high, "right") - 1
    return np.clip(first, 0, most), np.clip(last, np.clip(first, 0, most) - 1, most)


def _of_sets(coded: Coded, masked: MaskedColumn, cells: npt.NDArray[np.int64], upto: Floats) -> Floats:
    """How many records have one of the values of these cells, which are sets with gaps."""
    if not len(cells):
        return np.zeros(0)
    runs = masked.runs
    if runs is None:
        listed = read_cells(masked.text.gather(cells).alias(coded.name), coded.attribute, coded.values)
        runs, cells = listed.runs, listed.index.astype(np.int64)
        assert runs is not None
    records = np.append(0.0, np.cumsum(upto[runs.high.astype(np.int64) + 1] - upto[runs.low.astype(np.int64)]))
    held: Floats = records[runs.starts[cells + 1]] - records[runs.starts[cells]]
    return held
