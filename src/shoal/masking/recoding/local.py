"""Local recoding of a table in chunks: distinct rows are grouped here, and each record shows what its row's class does.

Where class size alone is promised, a record's class follows from its row, and the classes are those of the table in
memory. Other models divide large rows among classes, and of too many distinct rows none is counted: then every chunk,
drawn at random and so distributed as the table is, is recoded by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded, Microdata
from shoal.masking.chunks import WholeTable
from shoal.masking.grouping.cheapest_first import cheapest_rows
from shoal.masking.method import Masked, Method, beyond_size
from shoal.masking.partition import Partition
from shoal.masking.publishing.ancestor import publish_ancestor
from shoal.masking.recoding.lattice import Keys, Mean, lattice_from, packing_of
from shoal.masking.recoding.levels import Lifted
from shoal.masking.recoding.searched import distinct_rows, fits
from shoal.privacy.model import PrivacyModel


class ByRow(Method):
    """Classes of distinct rows, for every chunk alike."""

    lifted: Lifted
    keys: Keys  # the distinct rows, ascending
    class_of_row: npt.NDArray[np.int32]
    columns: Mapping[str, MaskedColumn]  # what each class shows
    facts: Mapping[str, Any]

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Each record as the class of its row shows it."""
        index = self.class_of_row[np.searchsorted(self.keys, self.lifted.keys(microdata))]
        return Masked({name: replace(cells, index=index) for name, cells in self.columns.items()}, facts=self.facts)


class InsideChunks(Method):
    """A method by which every chunk is masked by itself: what it knows of one says nothing of the whole table."""

    method: Method

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """As the method masks a table that is no larger than the chunk."""
        masked = self.method.mask(microdata, models, suppression=suppression, seed=seed)
        return replace(masked, notes=(*masked.notes, "Recoded inside chunks that were drawn at random."), facts={})


def locally(whole: WholeTable, method: Method, mean: Mean) -> Method:
    """The method as each chunk is recoded by it; `mean` is that of the cost."""
    packing = packing_of(whole.sample.quasi)
    if beyond_size(whole.promises) or not fits(whole, packing):
        return InsideChunks(method)
    keys, counts = distinct_rows(whole, packing)
    label = cheapest_rows(lattice_from(packing, keys, counts), whole.k)
    partition, class_of_row = Partition.of_labels(label), label.astype(np.int32)
    rows = [replace(coded, codes=codes) for coded, codes in zip(whole.sample.quasi, packing.leaves(keys), strict=True)]
    columns = {coded.name: publish_ancestor(coded, partition, class_of_row) for coded in rows}
    loss = share_loss(rows, columns, whole.records, mean, counts)
    return ByRow(Lifted(packing), keys, class_of_row, columns, {"cost": loss})


def share_loss(
    quasi: Sequence[Coded],
    columns: Mapping[str, MaskedColumn],
    records: int,
    mean: Mean,
    weights: npt.NDArray[np.int64] | None = None,
) -> float:
    """The cost `loss` of any table published by hierarchies: what share of its domain each value shown admits.

    Suppressed are those of all `records` that no cell is shown of; a cell may be that of several (`weights`).
    """
    losses = []
    for coded in quasi:
        column, values = columns[coded.name], len(coded.values)
        shown = np.bincount(column.index, weights, len(column.size))
        admitted = float(np.nan_to_num(column.size, nan=1.0) / values @ shown) + records - float(shown.sum())
        least = 1 / values
        losses.append(max(0.0, (admitted / records - least) / (1 - least)) if values > 1 else 0.0)
    if mean == "arithmetic":
        return float(np.mean(losses))
    return float(np.expm1(np.mean(np.log1p(losses))))
