"""Individual ranking (paper 5, Section 5): each attribute by itself in groups of at least k alike values.

Groups have the least SSE there is (Hansen and Mukherjee, 2003), and each value gives way to the centre of its group.
The attributes of each of `subsets` are grouped together, over their records (MDAV; Domingo-Ferrer and Torra, 2005);
`mdav` groups all of them so. Only one group of all attributes gives k-anonymity, which is judged like any promise. A
value that is missing stays missing, and the centre is that of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import MISSING, Coded, Microdata
from shoal.errors import InputError, did_you_mean, require
from shoal.masking.grouping.mdav import blocked, microaggregate, places
from shoal.masking.method import Masked, Strength
from shoal.masking.partition import Partition
from shoal.masking.perturbing.columns import IN_ORDER, ON_A_LINE, require_domain, shown_numbers
from shoal.masking.perturbing.method import Perturbing
from shoal.masking.publishing.centroid import centres, centroids
from shoal.privacy.model import PrivacyModel


class IndividualRanking(Perturbing):
    """Each value gives way to the centre of a group of at least `k` alike values, attribute by attribute.

    The attributes of each of `subsets` are grouped together instead, over their records. `whole` keeps integers whole,
    `clamp` keeps values within stated domains.
    """

    k: int = parameter("least size of a group", default=5, least=2)
    subsets: tuple[tuple[str, ...], ...] = parameter("attributes that are grouped together", default=())
    whole: bool = parameter("integers stay whole", default=False)
    clamp: bool = parameter("values stay within stated domains", default=False)

    choose = "numbers must stay numbers without a promise of classes: attributes apart, or in groups"
    strength = Strength("k", 2, inf, whole=True)
    seedless = True
    did = (
        "Values were grouped with their nearest, attribute by attribute, and show the centre of their group: means of "
        "numbers, medians of ordered categories, the most frequent of others."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "subsets", tuple(tuple(subset) for subset in self.subsets))
        named = [name for subset in self.subsets for name in subset]
        require(self.name, "subsets", self.subsets, "sets that share no attribute", holds=len(named) == len(set(named)))

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Each attribute, or subset of them, grouped by itself and shown by its groups' centres."""
        names = microdata.schema.quasi_identifiers
        if self.k > len(microdata):
            raise InputError(
                f"k = {self.k} is larger than the table's {len(microdata)} records: "
                "ask for a smaller k or give more records."
            )
        if self.clamp:
            require_domain(self.name, microdata, names)
        columns: dict[str, MaskedColumn] = {}
        notes: list[str] = []
        for together in self._subsets(names):
            attributes = [microdata[name] for name in together]
            partition = self._ranked(attributes[0]) if len(together) == 1 else self._grouped(attributes)
            for coded in attributes:
                columns[coded.name] = self._shown(microdata, coded, partition)
                notes += _of_few(coded, partition, self.k)
        if self.subsets:
            notes += blocked(len(microdata))
        return Masked({name: columns[name] for name in names}, notes=tuple(notes))

    def _subsets(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The attributes to be treated together; each that no subset names is one by itself."""
        named = [name for subset in self.subsets for name in subset]
        for name in named:
            if name not in names:
                hint = did_you_mean(name, names) or f" These are {', '.join(map(repr, names))}."
                raise InputError(f"A subset of {self.name} names {name!r}, which is no quasi-identifier.{hint}")
        alone = ((name,) for name in names if name not in named)
        return [subset for subset in (*self.subsets, *alone) if subset]

    def _grouped(self, attributes: Sequence[Coded]) -> Partition:
        return microaggregate(places(attributes), self.k)

    def _ranked(self, coded: Coded) -> Partition:
        """Individual ranking: the records that have a value, ascending, in the best groups of k to 2k - 1."""
        from shoal.kernels.microaggregation import least_squares_cuts
        from shoal.kernels.sorting import argsort_keys

        if coded.attribute.kind not in IN_ORDER:
            raise InputError(
                f"Method {self.name!r} cannot treat column {coded.name!r} by itself, which is {coded.attribute.kind}: "
                "leave it out of the quasi-identifiers, group it with others (subsets), or take mdav."
            )
        order = argsort_keys((coded.codes.astype(np.int64) + 1).astype(np.uint64))[np.sum(coded.codes == MISSING) :]
        if 0 < len(order) < self.k:
            raise InputError(
                f"Column {coded.name!r} holds only {len(order)} values, fewer than k = {self.k}: "
                "ask for a smaller k, or leave it out of the quasi-identifiers."
            )
        line = places([coded])[order, 0]
        return Partition(order, least_squares_cuts(line, self.k))

    def _shown(self, microdata: Microdata, coded: Coded, partition: Partition) -> MaskedColumn:
        """Each record shows its group's centre, unless its own value is missing."""
        group = partition.class_of(len(microdata))
        there = coded.codes != MISSING
        if coded.attribute.kind in ON_A_LINE:
            numbers = np.full(len(microdata), np.nan)
            numbers[there] = centres(coded, partition)[group[there]]
            return shown_numbers(microdata, coded.name, numbers, whole=self.whole, clamp=self.clamp)
        cells = centroids(coded, partition)
        none = partition.classes  # one more cell, for what is missing
        return replace(
            cells,
            index=np.where(there, group, none).astype(np.int32),
            text=cells.text.clone().extend_constant(None, 1),
            low=np.append(cells.low, np.nan),
            high=np.append(cells.high, np.nan),
            size=np.append(cells.size, np.nan),
        )


def _of_few(coded: Coded, partition: Partition, k: int) -> list[str]:
    """Where most of a group is missing, the centre of the others is that of few."""
    there = coded.codes[partition.order] != MISSING
    if there.all() or partition.classes == 0:
        return []
    with_value = np.add.reduceat(there, partition.starts[:-1], dtype=np.int64)
    few = int(with_value[with_value < k].sum())
    if few == 0:
        return []
    return [f"In {coded.name!r} {few:,} values are centres of fewer than {k}: the others of their groups are missing."]
