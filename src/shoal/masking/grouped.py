"""Grouped masking: a grouping says who stands together, publishing how each class is shown; the two are independent.

| method       | grouping                                            | what it is                       |
|--------------|-----------------------------------------------------|----------------------------------|
| `hilbert`    | Hilbert order, optimal cuts, pairs divided anew     | the default                      |
| `sorted`     | distance to zero, runs of k                         | paper 1, Algorithm S2            |
| `stratified` | one record from each stratum, in order of distance  | paper 1, Algorithm S4            |
| `kd`         | space divided at the middle of the widest attribute | Mondrian                         |
| `kd-median`  | space divided at medians                            | Mondrian as first published      |
| `mdav`       | the k nearest about the farthest records            | microaggregation, paper 5        |
| `mdav+`      | the same, bettered by exchanges                     | microaggregation of less SSE     |

Each can be shown by ranges (by common ancestors where there is a hierarchy), by means or by medians; unless told, the
last two by means as they are known for, the others by ranges.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.errors import InputError, require
from shoal.masking.enforce import enforce
from shoal.masking.grouping.cheapest_first import cheapest_first
from shoal.masking.grouping.kd import kd
from shoal.masking.grouping.mdav import blocked, mdav
from shoal.masking.grouping.ordered import hilbert, zero_distance
from shoal.masking.grouping.stratified import Lots, divided, stratified
from shoal.masking.method import Masked
from shoal.masking.partition import Partition
from shoal.masking.publishing.ancestor import publish_ancestor
from shoal.masking.publishing.centroid import publish_centroid
from shoal.masking.publishing.range import publish_range
from shoal.privacy import PrivacyModel, TCloseness
from shoal.utility.information_loss import information_loss

Grouping = Literal["hilbert", "sorted", "stratified", "kd", "kd-median", "mdav", "mdav+"]
Publishing = Literal["range", "mean", "median"]

_MEANS = ("mdav", "mdav+")  # known for showing means
_LOTS = 0x5712A7A  # tells what strata draw from whatever else is drawn with the same seed
_TAUGHT = (
    "Each class takes its people from all strata of the confidential values: who of a class has which can often be "
    "learnt from how values go with the quasi-identifiers. shoal attack measures it; --method kd merges neighbours "
    "instead, which tells less and loses more.",
)


@dataclass(frozen=True)
class Grouped:
    """Classes of at least k records, each shown alike: who stands together x how a class is shown.

    `grouping` is `hilbert` (the default), `sorted`, `stratified`, `kd`, `kd-median`, `mdav` or `mdav+`. `publish` is
    `range`, `mean` or `median`; unless told, the last two groupings show means and the others ranges. `remainder` says
    what `stratified` does with left-over records: `last` is Algorithm S4 as printed.
    """

    grouping: Grouping = "hilbert"
    publish: Publishing | None = None  # None: as the grouping is known for
    remainder: Literal["central", "last"] = "central"  # of `stratified`: `last` is Algorithm S4 as printed

    name: ClassVar[str] = "grouped"
    seedless: ClassVar[bool] = True

    def __post_init__(self) -> None:
        known = get_args(Grouping)
        require("grouped", "grouping", self.grouping, f"one of {', '.join(known)}", holds=self.grouping in known)
        shown = get_args(Publishing)
        good = self.publish in (None, *shown)
        require("grouped", "publish", self.publish, f"one of {', '.join(shown)}", holds=good)
        good = self.remainder in ("central", "last")
        require("grouped", "remainder", self.remainder, "'central' or 'last'", holds=good)

    def mask(
        self,
        microdata: Microdata,
        models: Sequence[PrivacyModel],
        *,
        suppression: float = 0.0,
        seed: int | None = None,
    ) -> Masked:
        k = class_size(microdata, models)
        others = beyond_size(models)
        tried = [
            replace(publish(microdata, enforce(microdata, p, others, suppression), self.shown_by), notes=notes)
            for notes, groupings in (
                ((), self.by_quasi_identifiers(microdata, k)),
                (_TAUGHT, self.by_strata(microdata, k, others, seed)),
            )
            for p in groupings
        ]
        best = tried[0]
        if len(tried) > 1:
            best = min(tried, key=lambda masked: information_loss(microdata, masked.columns, masked.kept))
        notes = blocked(len(microdata)) if self.grouping in _MEANS else ()
        return replace(best, notes=best.notes + notes + none_left_out(others, suppression))

    @property
    def shown_by(self) -> Publishing:
        return self.publish or ("mean" if self.grouping in _MEANS else "range")

    def groupings(
        self, microdata: Microdata, k: int, models: Sequence[PrivacyModel], seed: int | None = None
    ) -> Iterator[Partition]:
        """What to try: one grouping; the default tries more where more may win, and the one that loses least is kept.

        For t-closeness: merging costs least where the confidential attribute hardly depends on the others, strata
        where it does. Where all is published by common ancestors, classes that follow the hierarchies.
        """
        yield from self.by_quasi_identifiers(microdata, k)
        yield from self.by_strata(microdata, k, models, seed)

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """The groupings to try that look at nothing else."""
        if self.grouping == "sorted":
            yield zero_distance(microdata, k)
        elif self.grouping in ("kd", "kd-median"):
            yield kd(microdata, k, by="median" if self.grouping == "kd-median" else "space")
        elif self.grouping in _MEANS:
            yield mdav(microdata, k, improve=self.grouping == "mdav+")
        elif self.grouping == "hilbert":
            yield hilbert(microdata, k)
            if all(coded.attribute.hierarchy is not None for coded in microdata.quasi):
                yield cheapest_first(microdata, k)

    def by_strata(
        self, microdata: Microdata, k: int, models: Sequence[PrivacyModel], seed: int | None = None
    ) -> Iterator[Partition]:
        """The groupings to try whose classes take records from every stratum of a confidential attribute."""
        made = self.strata(microdata, k, models)
        if made is not None:
            # Of a stream of its own: the order of the released records may be drawn with the same seed.
            dice = np.random.default_rng(None if seed is None else [seed, _LOTS])
            yield made.grouping(microdata, dice.permutation(len(microdata)))

    def strata(self, microdata: Microdata, k: int, models: Sequence[PrivacyModel]) -> Strata | None:
        """How strata would be grouped, where the grouping may take some."""
        if self.grouping == "stratified":
            t, name = _stratum(microdata, models)
            return Strata(name, lambda table, lots: stratified(table, k, t, name, lots, remainder=self.remainder))
        if self.grouping == "hilbert" and any(isinstance(model, TCloseness) for model in models):
            t, name = _stratum(microdata, models)
            return Strata(name, lambda table, lots: divided(table, k, t, name, lots))
        return None


@dataclass(frozen=True)
class Strata:
    """A grouping of strata: of which attribute, and the classes of a table whose ties fall as `lots` say."""

    attribute: str
    grouping: Callable[[Microdata, Lots], Partition]


def _stratum(microdata: Microdata, models: Sequence[PrivacyModel]) -> tuple[float | None, str]:
    """The attribute to stratify by, and the t that is asked for it."""
    if not microdata.schema.confidential:
        raise InputError("Method 'stratified' needs a confidential attribute to stratify by: name one.")
    close = [(model.t, model.attribute) for model in models if isinstance(model, TCloseness) and model.attribute]
    return min(close, default=(None, microdata.schema.confidential[0]))


def beyond_size(models: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """The models that classes of the right size may still miss."""
    return [model for model in models if not getattr(model, "by_size", False)]


def none_left_out(models: Sequence[PrivacyModel], suppression: float) -> tuple[str, ...]:
    """Why the suppression allowed is not spent on what classes hold."""
    held = dict.fromkeys(f"{model.name} of {model.attribute!r}" for model in models if model.attribute)
    if not held or suppression == 0:
        return ()
    return (
        f"Nobody was left out for {' and '.join(held)}: whoever noticed it would know what the class held. "
        "Classes that fail were merged instead.",
    )


def class_size(records: Sized, models: Sequence[PrivacyModel]) -> int:
    """The k asked for; a table that cannot give one class of k is refused."""
    k = max((getattr(model, "smallest_class", 1) for model in models), default=1)
    if k > len(records):
        raise InputError(
            f"k = {k} is larger than the table's {len(records)} records: ask for a smaller k or give more records."
        )
    return k


def publish(microdata: Microdata, partition: Partition, by: Publishing = "range") -> Masked:
    """Shows every class of the partition alike in every quasi-identifier."""
    label = partition.class_of(len(microdata))
    kept = None if len(partition.order) == len(microdata) else np.flatnonzero(label >= 0)
    index = label if kept is None else label[kept]

    def show(name: str) -> MaskedColumn:
        coded = microdata[name]
        if by != "range":
            return publish_centroid(coded, partition, index, by)
        by_tree = coded.attribute.hierarchy is not None
        return publish_ancestor(coded, partition, index) if by_tree else publish_range(coded, partition, index)

    names = microdata.schema.quasi_identifiers
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return Masked(dict(zip(names, pool.map(show, names), strict=True)), kept)
