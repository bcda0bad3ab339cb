"""Whole histories of a table of any size: all rows of an owner come into one chunk, drawn by lot, and are masked there.

In each chunk the histories of at least k owners are shown alike, and so they are in all chunks together. Which number
of rows is a rarity is said chunk by chunk. Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.data.fresh_numbers import fresh_numbers
from shoal.data.person import numbered
from shoal.data.schema import Person
from shoal.engines.table import Parts
from shoal.masking.chunks import WholeTable, chunks_of, with_enough
from shoal.masking.whole_histories import refuse_few
from shoal.privacy.histories_in_chunks import ByOwner
from shoal.privacy.model import PrivacyModel
from shoal.privacy.people_in_chunks import CountPeople, people_of_parts


@dataclass(frozen=True)
class FreshNumbers:
    """Numbers by lot in place of what says whose a row is; those of a chunk go on where the chunk before ends."""

    column: str
    seed: int
    before: Mapping[int, int]  # chunk -> owners of all chunks before it

    def __call__(self, kept: pl.DataFrame, chunk: int) -> pl.Series:
        """The numbers of the owners of these rows."""
        own = int(np.random.SeedSequence([self.seed, chunk]).generate_state(1, np.uint64)[0] >> 1)
        owners = numbered(kept[self.column], one_each=True)  # a gap was refused, unless each is a person
        [fresh] = fresh_numbers([owners], own)
        return pl.Series(self.column, fresh + self.before.get(chunk, 0), dtype=pl.Int64)


def by_owner(whole: WholeTable, model: PrivacyModel, owner: Person, seed: int) -> tuple[Parts, dict[int, int]]:
    """The rows in chunks that divide no owner's, k owners or more in each; and how many are in the chunks before."""
    chunks = chunks_of(whole.records)
    parts = whole.table.exchange(ByOwner(owner.column, chunks, seed), chunks)
    owners = people_of_parts(parts.map(CountPeople(owner), CountPeople.schema))
    refuse_few(sum(owners.values()), whole.k, model)
    before, so_far = {}, 0
    for part in range(chunks):
        before[part] = so_far
        so_far += owners.get(part, 0)
    return with_enough(parts, owners, whole.k), before
