"""Grouped masking: a grouping says who stands together, publishing how each class is shown; the two are independent.

Each method of `shoal.masking.grouping` is a grouping and can be shown by ranges (by common ancestors where there is a
hierarchy), by means or by medians; unless told, those known for microaggregation by means, the others by ranges.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.catalogue import INSIDE, parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.short_sets import LONGEST, shortened_note
from shoal.engines.table import Parts
from shoal.errors import InputError, unwritten
from shoal.masking.chunks import WholeTable, at_random
from shoal.masking.enforce import enforce
from shoal.masking.method import Masked, Method, Strata, Strength, Way, beyond_size, class_size
from shoal.masking.partition import Partition
from shoal.masking.publishing.ancestor import publish_ancestor
from shoal.masking.publishing.centroid import publish_centroid
from shoal.masking.publishing.range import publish_range
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.model import PrivacyModel
from shoal.utility.information_loss import information_loss

Publishing = Literal["range", "mean", "median"]

_LOTS = 0x5712A7A  # tells what strata draw from whatever else is drawn with the same seed
_TAUGHT = (
    "Each class takes its people from all strata of the confidential values: who of a class has which can often be "
    "learnt from how values go with the quasi-identifiers. shoal attack measures it; --method kd merges neighbours "
    "instead, which tells less and loses more.",
)
_SHOWN = (
    " Each class shows the range of its numbers, dates and ordered categories, the set of its other "
    "categories (where that is too long, something shorter that holds it) or, where a hierarchy is given, their lowest "
    "common ancestor. A class that mixes missing and present shows *."
)
_CENTRED = (
    " Each class shows the {0} of its numbers and dates, the median of ordered categories and the most frequent of the "
    "others. A class that mixes missing and present shows *."
)


class Grouping(Method):
    """Classes of at least k records, each shown alike: who stands together x how a class is shown."""

    publish: Publishing | None = parameter(
        "how each class is shown; if not given, as the method is known for", default=None
    )
    longest: int = parameter("characters of a set; one that is longer is shown shorter", default=LONGEST, least=3)

    strength: ClassVar[Strength | None] = Strength("k", 2, inf, whole=True)
    seedless = True
    can_promise = ("k-anonymity", "persons", "k-map", "l-diversity", "t-closeness")
    in_chunks = INSIDE
    known_for: ClassVar[Publishing] = "range"
    by_distance: ClassVar[bool] = False  # in the order of distances to zero, in runs of k

    @classmethod
    def at(cls, strength: float, **choices: Any) -> tuple[Method, tuple[PrivacyModel, ...]]:
        """The k is the model's."""
        return cls(**choices), (KAnonymity(int(strength)),)

    @property
    def shown_by(self) -> Publishing:
        """How each class is shown."""
        return self.publish or self.known_for

    @property
    def longest_set(self) -> int:
        """Characters of the longest set that a class may show."""
        return self.longest

    @property
    def done(self) -> str:
        """What it did, who stands together and how a class is shown, in sentences of a report."""
        return self.did + (_SHOWN if self.shown_by == "range" else _CENTRED.format(self.shown_by))

    @property
    def may_show_stars(self) -> bool:
        """A centre is a plain value; a class that mixes missing and present ones has none."""
        return self.shown_by != "range"

    def chunks(self, whole: WholeTable, seed: int) -> Parts:
        """Chunks along the grouping's own line, so that near records stay together.

        Where a confidential attribute is protected they are drawn at random instead: each is then distributed as the
        whole table is, and its classes can be.
        """
        from shoal.masking.grouping.along import along_line

        if beyond_size(whole.promises) or self.looks_at_confidential:
            return at_random(whole, seed, large=True)
        return along_line(whole, by_distance=self.by_distance)

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """The classes shown, of the way that loses least where there are several (`ways`)."""
        ways = self.ways(microdata, models, suppression=suppression, seed=seed)
        tried = [_taught(way.mask(), by_strata=way.strata is not None) for way in ways]
        best = tried[0]
        if len(tried) > 1:
            best = min(tried, key=lambda masked: information_loss(microdata, masked.columns, masked.kept))
        notes = self.notes(len(microdata))
        return replace(best, notes=best.notes + notes + none_left_out(beyond_size(models), suppression))

    def ways(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Iterator[Way]:
        """By the quasi-identifiers alone, and by strata where the grouping takes some."""
        k, others = class_size(microdata, models), beyond_size(models)

        def shown(base: Partition) -> Masked:
            return publish(microdata, enforce(microdata, base, others, suppression), self.shown_by, self.longest)

        for base in self.by_quasi_identifiers(microdata, k):
            yield Way(base, None, partial(shown, base))
        strata = self.strata(microdata, k, others)
        if strata is not None:
            yield Way(None, strata, lambda: shown(next(self.by_strata(microdata, k, others, seed))))

    def groupings(
        self, microdata: Microdata, k: int, models: Sequence[PrivacyModel], seed: int | None = None
    ) -> Iterator[Partition]:
        """What to try: of several, the one that loses least is kept."""
        yield from self.by_quasi_identifiers(microdata, k)
        yield from self.by_strata(microdata, k, models, seed)

    def by_quasi_identifiers(self, microdata: Microdata, k: int) -> Iterator[Partition]:
        """The groupings to try that look at nothing else."""
        raise unwritten(self, "by_quasi_identifiers")

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
        return None

    def notes(self, records: int) -> tuple[str, ...]:
        """What the custodian should know of how so many records were grouped."""
        return ()


def _taught(masked: Masked, *, by_strata: bool) -> Masked:
    return replace(masked, notes=masked.notes + _TAUGHT) if by_strata else masked


def stratum(microdata: Microdata, models: Sequence[PrivacyModel]) -> tuple[float | None, str]:
    """The attribute to stratify by, and the t that is asked for it."""
    if not microdata.schema.confidential:
        raise InputError("Method 'stratified' needs a confidential attribute to stratify by: name one.")
    close = [(model.closeness, model.attribute) for model in models if model.closeness is not None and model.attribute]
    return min(close, default=(None, microdata.schema.confidential[0]))


def none_left_out(models: Sequence[PrivacyModel], suppression: float) -> tuple[str, ...]:
    """Why the suppression allowed is not spent on what classes hold."""
    held = dict.fromkeys(f"{model.name} of {model.attribute!r}" for model in models if model.attribute)
    if not held or suppression == 0:
        return ()
    return (
        f"Nobody was left out for {' and '.join(held)}: whoever noticed it would know what the class held. "
        "Classes that fail were merged instead.",
    )


def publish(microdata: Microdata, partition: Partition, by: Publishing = "range", longest: int = LONGEST) -> Masked:
    """Shows every class of the partition alike in every quasi-identifier; no set is longer than so many characters."""
    label = partition.class_of(len(microdata))
    kept = None if len(partition.order) == len(microdata) else np.flatnonzero(label >= 0)
    index = label if kept is None else label[kept]

    def show(name: str) -> MaskedColumn:
        coded = microdata[name]
        if by != "range":
            return publish_centroid(coded, partition, index, by)
        by_tree = coded.attribute.hierarchy is not None
        if by_tree:
            return publish_ancestor(coded, partition, index)
        return publish_range(coded, partition, index, longest)

    names = microdata.schema.quasi_identifiers
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        columns = dict(zip(names, pool.map(show, names), strict=True))
    notes = tuple(note for column in columns.values() for note in shortened_note(column, longest))
    return Masked(columns, kept, notes)
