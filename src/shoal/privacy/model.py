"""What every privacy model answers, and the classes it is judged on.

A model is asked twice, by code that shares nothing: while a method works, `levels` gives each class's level from the
encoded arrays; on the finished output, `verdict` judges the classes found by comparing what is released, text by text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.schema import Kind, Schema


@dataclass(frozen=True)
class Verdict:
    """What a model says of a finished release."""

    model: str
    asked: float
    achieved: float
    holds: bool
    attribute: str | None = None

    def to_dict(self) -> dict[str, object]:
        about = {"attribute": self.attribute} if self.attribute else {}
        return {
            "name": self.model,
            **about,
            "asked": self.asked,
            "achieved": self.achieved,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class EquivalenceClasses:
    """Records that show the same in every quasi-identifier (class equality, SPEC 1.4); missing equals missing."""

    frame: pl.DataFrame
    quasi: tuple[str, ...]
    kinds: dict[str, Kind]
    schema: Schema | None = None  # what else is known of the attributes

    @cached_property
    def keys(self) -> pl.DataFrame:
        """The quasi-identifiers under names that no other column of a query has; where there are none, all is alike."""
        shown = [self.frame[name].alias(f"@{i}") for i, name in enumerate(self.quasi)]
        return pl.DataFrame(shown or [pl.repeat(0, self.frame.height, eager=True).alias("@0")])

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        counts = self.keys.lazy().group_by(self.keys.columns).agg(pl.len()).select("len").collect(engine="streaming")
        return counts["len"].to_numpy().astype(np.int64)

    @cached_property
    def members(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Records class after class, and where each class starts."""
        lists = self.keys.with_row_index("@row").group_by(self.keys.columns).agg("@row")["@row"]
        starts = np.append(0, np.cumsum(lists.list.len().to_numpy().astype(np.int64)))
        return lists.explode(empty_as_null=False).to_numpy().astype(np.int64), starts


class PrivacyModel(Protocol):
    """A promise about every class of a release."""

    name: ClassVar[str]

    @property
    def asked(self) -> float: ...

    @property
    def attribute(self) -> str | None:
        """The confidential attribute it protects, None where it is about the quasi-identifiers."""
        ...

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The level each class reaches; `about` is the encoded attribute it protects, or all of the table."""
        ...

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each level is good enough."""
        ...

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges the finished output."""
        ...
