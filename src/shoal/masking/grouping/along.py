"""Chunks along a grouping's own line: near records stay together, and in each chunk runs the grouping of memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.table import Batch, Line, Parts
from shoal.engines.whole import POSITION
from shoal.masking.chunks import Attributes, WholeTable, chunks_of, filled, with_people
from shoal.masking.grouping.ordered import hilbert_words, zero_distance_keys

Keys = npt.NDArray[np.uint64]


def along_line(whole: WholeTable, *, by_distance: bool) -> Parts:
    """The records in chunks of a line, at least k in each: a Hilbert curve, or by distance to zero in runs of k."""
    line_keys = _LineKeys(whole.attributes, by_distance)
    chunks = chunks_of(whole.records)
    sample = whole.summary.sample
    line = Line.of(line_keys(sample), sample[POSITION].to_numpy(), chunks)
    divided = whole.table.exchange(_InChunk(line_keys, line), chunks)
    return with_people(filled(divided, whole.k, line_keys.order, exactly=by_distance), whole)


@dataclass(frozen=True)
class _LineKeys:
    """A record's place on the line."""

    attributes: Attributes
    by_distance: bool

    def __call__(self, frame: pl.DataFrame) -> Keys:
        microdata = self.attributes.microdata(frame)
        if self.by_distance:
            return zero_distance_keys(microdata)
        words: Keys = hilbert_words(microdata.rows(), microdata.least())[0]
        return words

    def order(self, frame: pl.DataFrame) -> npt.NDArray[np.int64]:
        return np.argsort(self(frame), kind="stable")


@dataclass(frozen=True)
class _InChunk:
    """The chunk in which a record's place on the line lies."""

    line_keys: _LineKeys
    line: Line

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        return self.line.part_of(self.line_keys(batch.frame), batch.positions())
