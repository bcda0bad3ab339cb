"""Grouping in parts: a line through all records, cut into parts; in each part the very grouping of a table in memory.

A union of k-anonymous parts is k-anonymous. Parts lie along the grouping's own order, so that near records stay
together; where a confidential attribute is protected they are drawn at random instead: then each part is distributed
as the whole table is, and classes can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.table import Batch, Line, Parts, heads
from shoal.engines.whole import POSITION
from shoal.masking.grouped import Grouping
from shoal.masking.grouping.ordered import hilbert_words, zero_distance_keys
from shoal.masking.method import beyond_size
from shoal.parted.source import Attributes, Source

PART = 1 << 19  # records
RANDOM_PART = 1 << 20  # where parts are drawn at random, larger ones lose less

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Along:
    """A record's place on the grouping's line."""

    attributes: Attributes
    zero_distance: bool

    def keys(self, frame: pl.DataFrame) -> Keys:
        microdata = self.attributes.microdata(frame)
        if self.zero_distance:
            return zero_distance_keys(microdata)
        words: Keys = hilbert_words(microdata.rows(), microdata.least())[0]
        return words

    def order(self, frame: pl.DataFrame) -> npt.NDArray[np.int64]:
        return np.argsort(self.keys(frame), kind="stable")


@dataclass(frozen=True)
class InPart:
    """The part in which a record's place on the line lies."""

    along: Along
    line: Line

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return self.line.part_of(self.along.keys(batch.frame), batch.positions())


@dataclass(frozen=True)
class AtRandom:
    """Parts drawn evenly; the same record comes to the same part however often it is asked."""

    parts: int
    seed: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        drawn = pl.Series(batch.positions()).hash(seed=self.seed)
        return (drawn % self.parts).cast(pl.Int64).to_numpy()


def in_parts(source: Source, method: Grouping, seed: int) -> Parts:
    """The records brought together as the grouping asks, at least k in each part."""
    if beyond_size(source.promises) or method.looks_at_confidential:
        return at_random(source, seed, RANDOM_PART)
    along = Along(source.attributes, method.by_distance)
    parts = -(-source.records // PART)
    sample = source.summary.sample
    line = Line.of(along.keys(sample), sample[POSITION].to_numpy(), parts)
    divided = source.table.exchange(InPart(along, line), parts)
    return _filled(divided, source.k, along.order, exactly=method.by_distance)


def at_random(source: Source, seed: int, size: int = PART) -> Parts:
    parts = -(-source.records // size)
    divided = source.table.exchange(AtRandom(parts, seed), parts)
    return _filled(divided, source.k, _as_it_stands)


def _as_it_stands(frame: pl.DataFrame) -> npt.NDArray[np.int64]:
    return np.arange(frame.height)


def _filled(
    parts: Parts, k: int, order: Callable[[pl.DataFrame], npt.NDArray[np.int64]], *, exactly: bool = False
) -> Parts:
    taken = heads(parts.sizes(), k, exactly=exactly)
    return parts.moved(taken, order) if taken.any() else parts
