"""What every masking method is: it takes microdata and the models promised, and gives masked quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Entry
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Schema
from shoal.data.short_sets import LONGEST
from shoal.engines.table import Parts
from shoal.errors import InputError, unwritten
from shoal.masking.chunks import WholeTable, at_random
from shoal.masking.partition import Lots, Partition
from shoal.privacy.model import PrivacyModel


@dataclass(frozen=True)
class Masked:
    """The quasi-identifiers as they will be shown, one cell a kept record."""

    columns: Mapping[str, MaskedColumn]
    kept: npt.NDArray[np.int64] | None = None  # the records released, ascending; None: all
    notes: tuple[str, ...] = ()  # what the custodian should know, in plain words
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else is known of the result, for machines


@dataclass(frozen=True)
class Strength:
    """The one number that says how strongly a method masks, so that it can be calibrated: more masks more."""

    name: str
    least: float
    most: float
    whole: bool = False  # only whole numbers make sense


@dataclass(frozen=True)
class Strata:
    """A grouping of strata: of which attribute, and the classes of a table whose ties fall as `lots` say."""

    attribute: str
    grouping: Callable[[Microdata, Lots], Partition]


@dataclass(frozen=True)
class Way:
    """A way that a method may have taken, for itself and for whoever runs it again.

    `base` are the classes before any was merged, where they follow from the quasi-identifiers alone; `strata` says how
    strata were grouped, where they were.
    """

    base: Partition | None
    strata: Strata | None
    mask: Callable[[], Masked]


class Method(Entry):
    """How a release is masked. What a method cannot promise by construction is judged on the finished output."""

    strength: ClassVar[Strength | None] = None  # what a comparison calibrates; None: it cannot be compared
    seedless: ClassVar[bool] = False  # draws nothing: whoever knows everybody's quasi-identifiers can run it again
    perturbs: ClassVar[bool] = False  # changes values and leaves out no record, so that no class is promised
    can_promise: ClassVar[tuple[str, ...]] = ()  # models that it brings about by itself; others are only judged
    has_frontier: ClassVar[bool] = False  # can list what it chose from (`frontier`)
    did: ClassVar[str] = ""  # what it did, in a sentence of a report
    choose: ClassVar[str] = ""  # when to choose it, for people

    @property
    def undone(self) -> str:
        """Why what it does can be undone, so that no risk of it can be promised; empty where it cannot."""
        return ""

    @property
    def looks_at_confidential(self) -> bool:
        """Whether who stands together, or what is shown, depends on confidential values."""
        return False

    @property
    def done(self) -> str:
        """What it did, in words."""
        return self.did

    @property
    def shown_by(self) -> str | None:
        """How each class is shown, of a method that groups records; None of any other."""
        return None

    @property
    def longest_set(self) -> int:
        """Characters of the longest set that a class may show."""
        return LONGEST

    def groupings(
        self, microdata: Microdata, k: int, models: Sequence[PrivacyModel], seed: int | None = None
    ) -> Iterator[Partition]:
        """The partitions that it tries, of a method that groups records; none of any other."""
        return iter(())

    def ways(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Iterator[Way]:
        """Every way that it may take to mask the table."""
        alone = self.each_by_itself(microdata, class_size(microdata, models))
        yield Way(alone, None, lambda: self.mask(microdata, models, suppression=suppression, seed=seed))

    def each_by_itself(self, microdata: Microdata, k: int) -> Partition | None:
        """The classes of at least k before any model but their size was asked, where anybody can make them again."""
        return None

    def cells_fixed(self, schema: Schema) -> bool:
        """Whether every cell it can show of these attributes was fixed before the table was seen."""
        return False

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """The quasi-identifiers as they will be shown; what it leaves to chance it draws by the seed."""
        raise unwritten(self, "mask")

    def frontier(self, microdata: Microdata, models: Sequence[PrivacyModel]) -> tuple[pl.DataFrame, str]:
        """What it chose from, the least cost for each number of suppressed records, and what that cost is."""
        raise unwritten(self, "frontier")

    # ---- on a table that is read in chunks

    def refuse_in_chunks(self, models: Sequence[PrivacyModel], suppression: float, engine: str) -> None:
        """Refuses what is asked of it and cannot be done in chunks, before anything is read."""

    def prepared(self, whole: WholeTable) -> Method:
        """The method as every chunk is masked by it, once the whole table was asked for what it needs to know."""
        return self

    def chunks(self, whole: WholeTable, seed: int) -> Parts:
        """The records that are masked together; drawn at random, so that no chunk tells anything."""
        return at_random(whole, seed)

    @property
    def may_show_stars(self) -> bool:
        """Whether a chunk may show `*` in a column of plain values, for a class that mixes missing and present."""
        return False

    # ---- in the catalogue

    @classmethod
    def abilities(cls) -> dict[str, Any]:
        """What the catalogue shows beside its parameters: when to choose it, what it can promise, whether it draws."""
        strength = None if cls.strength is None else cls.strength.name
        able = {"can_promise": list(cls.can_promise), "strength": strength, "random": not cls.seedless}
        return {"choose": cls.choose, **able}

    @classmethod
    def at(cls, strength: float, **choices: Any) -> tuple[Method, tuple[PrivacyModel, ...]]:
        """The method at a strength, all else chosen, and what is promised with it."""
        assert cls.strength is not None
        return cls(**{cls.strength.name: strength}, **choices), ()


def with_cells(
    promises: Sequence[PrivacyModel], method: Method, schema: Schema, smallest_class: int
) -> tuple[PrivacyModel, ...]:
    """The promises, each knowing whether cells are fixed; refused where that makes a difference and they are drawn."""
    fixed = method.cells_fixed(schema)
    return tuple(model.with_cells(method.name, fixed=fixed, smallest_class=smallest_class) for model in promises)


def class_size(records: Sized, models: Sequence[PrivacyModel]) -> int:
    """The k asked for; a table that cannot give one class of k is refused."""
    k = max((model.smallest_class for model in models), default=1)
    if k > len(records):
        raise InputError(
            f"k = {k} is larger than the table's {len(records)} records: ask for a smaller k or give more records."
        )
    return k


def beyond_size(models: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """The models that classes of the right size may still miss."""
    return [model for model in models if not model.by_size]
