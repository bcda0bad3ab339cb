"""What every perturbing method is: it changes values record by record, and leaves out none.

In random chunks each is distributed as the table is, and perturbed by draws of its own: noise, swapping and shuffling
look at a chunk's own moments and ranks. A column that hardly varies could be constant in one of the chunks, where
nothing of it can be perturbed: it is refused before.
"""

from __future__ import annotations

from math import log

from shoal.catalogue import INSIDE_RANDOM
from shoal.errors import InputError
from shoal.masking.chunks import WholeTable, chunks_of
from shoal.masking.method import Method

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
