"""What every perturbing method is: it changes values record by record, and leaves out none.

In random chunks each is distributed as the table is, and perturbed by draws of its own: noise, swapping and shuffling
look at a chunk's own moments and ranks. A column that hardly varies could be constant in one of the chunks, where
nothing of it can be perturbed: it is refused before.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import ClassVar

import numpy as np

from shoal.catalogue import INSIDE_RANDOM
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Kind
from shoal.errors import InputError, unwritten
from shoal.masking.chunks import WholeTable, chunks_of
from shoal.masking.method import Masked, Method
from shoal.masking.perturbing.columns import side_by_side, streams, treated, with_gaps_moved
from shoal.privacy.model import PrivacyModel

_SURELY = 20.0  # e^-20: how improbable a chunk that holds one value only must be


class Perturbing(Method):
    """Values changed record by record; no class is promised, and no record left out."""

    perturbs = True
    in_chunks = INSIDE_RANDOM

    def prepared(self, whole: WholeTable) -> Method:
        """The method as it is, where every chunk can be perturbed."""
        chunks = chunks_of(whole.records)
        if chunks > 1 and not self.seedless:
            for name in whole.schema.quasi_identifiers:
                _refuse_constant(whole, name, self.name, chunks)
        return self


class EachByItself(Perturbing):
    """A perturbing method that changes each attribute by itself, whatever the others hold."""

    kinds: ClassVar[tuple[Kind, ...]]  # of attributes that it can change

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Every attribute as it was changed, by draws of its own; gaps are moved among the records."""
        names = treated(self.name, microdata, self.kinds)
        stream = streams(seed)
        columns = side_by_side(names, lambda name: self.changed(microdata, name, stream(name)))
        return Masked(with_gaps_moved(columns, stream), notes=self.notes(len(microdata)))

    def changed(self, microdata: Microdata, name: str, rng: np.random.Generator) -> MaskedColumn:
        """The attribute's values as they are shown."""
        raise unwritten(self, "changed")

    def notes(self, records: int) -> tuple[str, ...]:
        """What the custodian should know of how so many records were changed."""
        return ()


def _refuse_constant(whole: WholeTable, name: str, method: str, chunks: int) -> None:
    """Others than the commonest value must be so many that no chunk is without: e^-(others / chunks) each."""
    known = whole.attributes.whole[name]
    if known.values is None:
        return
    others = int(known.counts.sum() - known.counts.max(initial=0))
    if others < chunks * (_SURELY + log(chunks)):
        raise InputError(
            f"Column {name!r} holds one value in all but {others:,} records, so that method {method!r} would find "
            f"nothing to perturb in some of {chunks:,} chunks: leave it out of the quasi-identifiers, or use the "
            "memory engine."
        )
