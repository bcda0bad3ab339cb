"""What is shown of a table at one node of the lattice: every quasi-identifier at its level, small classes left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import WILDCARD, MaskedColumn
from shoal.data.microdata import Coded, Microdata
from shoal.data.node_labels import node_text
from shoal.masking.method import Masked, Method
from shoal.masking.recoding.lattice import Keys, Levels, Packing
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class Lifted:
    """A record's row at these levels, as a key; at level 0 where none are given."""

    packing: Packing
    levels: Levels = ()  # in the lattice's order

    def __call__(self, microdata: Microdata) -> dict[str, Keys]:
        """The keys as a column, for whoever counts rows on an engine."""
        return {"key": self.keys(microdata)}

    def keys(self, microdata: Microdata) -> Keys:
        """record -> its key."""
        return self.packing.lift(self.packing.pack(microdata.quasi), self.levels)


class AtLevels(Method):
    """Levels that were chosen, for every chunk alike."""

    packing: Packing
    levels: Levels  # in the order of the quasi-identifiers
    out: Keys  # the classes suppressed
    notes: tuple[str, ...]
    facts: Mapping[str, Any]

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Each attribute at its level, without the records of suppressed classes."""
        lifted = Lifted(self.packing, self.packing.in_order(self.levels)).keys(microdata)
        kept = np.flatnonzero(~among(lifted, self.out)) if len(self.out) else None
        return Masked(at_levels(microdata, self.levels, kept), kept, self.notes, self.facts)


def among(keys: Keys, some: Keys) -> npt.NDArray[np.bool_]:
    """Which of the keys are among some, which ascend."""
    if len(some) == 0:
        return np.zeros(len(keys), np.bool_)
    contained: npt.NDArray[np.bool_] = some[np.minimum(np.searchsorted(some, keys), len(some) - 1)] == keys
    return contained


def at_levels(microdata: Microdata, levels: Levels, kept: npt.NDArray[np.int64] | None) -> dict[str, MaskedColumn]:
    """The quasi-identifiers of the records kept, each at its level."""
    return {coded.name: show_level(coded, level, kept) for coded, level in zip(microdata.quasi, levels, strict=True)}


def show_level(coded: Coded, level: int, kept: npt.NDArray[np.int64] | None) -> MaskedColumn:
    """The attribute at one level of its hierarchy, missing as missing below the top."""
    hierarchy = coded.attribute.hierarchy
    assert hierarchy is not None
    node = hierarchy.ancestors[level].astype(np.int64)
    first = np.unique(node, return_index=True)[1]
    labels = node_text(coded.attribute, level)
    size = np.bincount(node).astype(np.float64)
    top = level == hierarchy.levels - 1
    text = pl.Series([*labels, WILDCARD if top else None], dtype=pl.String)
    low = np.append(first.astype(np.float64), first[0] if top else np.nan)
    high = np.append(first + size - 1, len(node) - 1 if top else np.nan)
    codes = coded.codes if kept is None else coded.codes[kept]
    index = np.append(node, len(labels))[codes].astype(np.int32)
    return MaskedColumn(coded.attribute, index, text, low, high, np.append(size, len(node) if top else np.nan))
