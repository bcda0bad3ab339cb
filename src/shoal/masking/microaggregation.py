"""Microaggregation (paper 5, Section 5): each value gives way to the centre of a group of at least k alike records.

| by           | groups                                                                         |
|--------------|--------------------------------------------------------------------------------|
| `mdav`       | of records, over all attributes together (Domingo-Ferrer and Torra, 2005)      |
| `mdav+`      | the same, bettered by exchanges: less SSE                                      |
| `individual` | of values, each attribute by itself: the least SSE (Hansen and Mukherjee, 2003) |

Attributes named in `subsets` are grouped apart from the rest; only one group of all attributes gives k-anonymity, which
is judged like any promise. A value that is missing stays missing, and the centre is that of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Literal

import numpy as np

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import MISSING, Coded, Microdata
from shoal.errors import InputError, did_you_mean, require
from shoal.masking.grouping.mdav import blocked, microaggregate, places
from shoal.masking.method import Masked, Parameter
from shoal.masking.partition import Partition
from shoal.masking.perturbing.columns import IN_ORDER, ON_A_LINE, require_domain, require_flags, shown_numbers
from shoal.masking.publishing.centroid import centres, centroids
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class Microaggregated:
    """Each value gives way to the centre of a group of at least `k` records that are alike.

    `by` is `mdav`, `mdav+` (less squared error) or `individual` (each attribute by itself). The attributes of each of
    `subsets` are grouped apart from the others. Distances are in standard deviations (`sigma`) or ranges. `whole`
    keeps integers whole, `clamp` keeps values within stated domains.
    """

    k: int = 5
    by: Literal["mdav", "mdav+", "individual"] = "mdav"
    subsets: tuple[tuple[str, ...], ...] = ()  # attributes that are grouped together, apart from the others
    scale: Literal["sigma", "range"] = "sigma"  # distances in standard deviations or, as in paper 5, in ranges
    whole: bool = False
    clamp: bool = False

    name: ClassVar[str] = "microaggregation"
    seedless: ClassVar[bool] = True
    parameter: ClassVar[Parameter] = Parameter("k", 2, inf, whole=True)

    def __post_init__(self) -> None:
        whole = isinstance(self.k, int) and not isinstance(self.k, bool)
        require(self.name, "k", self.k, "a whole number of at least 2", holds=whole and self.k >= 2)
        ways = ("mdav", "mdav+", "individual")
        require(self.name, "by", self.by, f"one of {', '.join(ways)}", holds=self.by in ways)
        require(self.name, "scale", self.scale, "'sigma' or 'range'", holds=self.scale in ("sigma", "range"))
        require_flags(self.name, whole=self.whole, clamp=self.clamp)
        object.__setattr__(self, "subsets", tuple(tuple(subset) for subset in self.subsets))
        named = [name for subset in self.subsets for name in subset]
        require(self.name, "subsets", self.subsets, "sets that share no attribute", holds=len(named) == len(set(named)))
        alone = self.by != "individual" or not named
        require(self.name, "subsets", self.subsets, "left out where each attribute is treated by itself", holds=alone)

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
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
            partition = self._ranked(attributes[0]) if self.by == "individual" else self._grouped(attributes)
            for coded in attributes:
                columns[coded.name] = self._shown(microdata, coded, partition)
                notes += _of_few(coded, partition, self.k)
        if self.by != "individual":
            notes += blocked(len(microdata))
        return Masked({name: columns[name] for name in names}, notes=tuple(notes))

    def _subsets(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The attributes to be treated together; those that no subset names are one more."""
        if self.by == "individual":
            return [(name,) for name in names]
        named = [name for subset in self.subsets for name in subset]
        for name in named:
            if name not in names:
                hint = did_you_mean(name, names) or f" These are {', '.join(map(repr, names))}."
                raise InputError(f"A subset of {self.name} names {name!r}, which is no quasi-identifier.{hint}")
        rest = tuple(name for name in names if name not in named)
        return [subset for subset in (*self.subsets, rest) if subset]

    def _grouped(self, attributes: Sequence[Coded]) -> Partition:
        return microaggregate(places(attributes, self.scale), self.k, improve=self.by == "mdav+")

    def _ranked(self, coded: Coded) -> Partition:
        """Individual ranking: the records that have a value, ascending, in the best groups of k to 2k - 1."""
        from shoal.kernels.microaggregation import least_squares_cuts
        from shoal.kernels.sorting import argsort_keys

        if coded.attribute.kind not in IN_ORDER:
            raise InputError(
                f"Method {self.name!r} by individual ranking cannot treat column {coded.name!r}, which is "
                f"{coded.attribute.kind}: leave it out of the quasi-identifiers, or group by mdav."
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
    found = np.add.reduceat(there, partition.starts[:-1], dtype=np.int64)
    few = int(found[found < k].sum())
    if few == 0:
        return []
    return [f"In {coded.name!r} {few:,} values are centres of fewer than {k}: the others of their groups are missing."]
