"""households: the members of each household together show the same as those of at least k - 1 other households.

Who lives together identifies: by age decade, sex and region hardly anybody is alone, while most households of four are.
Defined in docs/spec.md#households.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.catalogue import parameter
from shoal.data.person import numbered
from shoal.data.schema import Person
from shoal.errors import InputError
from shoal.privacy.histories import WholeHistories, owners_of_classes
from shoal.privacy.model import EquivalenceClasses, PrivacyModel

OF_MEMBERS = "none"  # where no column is the household's


class Households(WholeHistories):
    """All members of each household together show the same as those of at least `k` - 1 other households."""

    column: str | None = parameter("which household a person lives in; if not given, the policy's", default=None)
    shared: tuple[str, ...] = parameter(
        "quasi-identifiers that are the household's, or none; if not given, those that all of its members share",
        default=(),
    )
    order: tuple[str, ...] = parameter(
        "columns that put members in order, after a minus the largest first; if not given, numbers, the largest "
        "first, and then the other quasi-identifiers",
        default=(),
    )

    together = "household"
    owners = "households"
    rows = "members"
    all_or_none = True
    kept_back = ("shared", "order")
    leaves_open = (
        "Households, not everything about them",
        "Confidential and insensitive columns leave with their person: whoever knows such a value of a member may tell "
        "the household from others with the same members.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("shared", "order"):  # a policy file has lists
            stated = getattr(self, name)
            object.__setattr__(self, name, (stated,) if isinstance(stated, str) else tuple(stated))

    @property
    def in_words(self) -> str:
        """What an intruder is left with."""
        return (
            f"All members of each released household together show the same in all quasi-identifiers as those of at "
            f"least {self.k - 1} other households. Whoever knows everybody who lives together is left with at least "
            f"{self.k} households."
        )

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The households of each class: no household in it can be like more."""
        return owners_of_classes(numbered(about.frame[self.column]), order, starts)

    @property
    def in_order_of(self) -> tuple[str, ...]:
        """The columns that say so, if any do."""
        return tuple(name.removeprefix("-") for name in self.order)

    def shown_in(self, columns: Collection[str], person: Person | None) -> str:
        """The household column, in which fresh numbers stand."""
        if self.column is None or self.column not in columns:
            raise InputError(
                "households is judged from the file, which must show who lives together: name the column that does "
                "(--promise households:k=5,column=COLUMN)."
            )
        return self.column

    def owner_of(self, about: EquivalenceClasses) -> npt.NDArray[np.int64]:
        """By the number that stands in the household column."""
        frame = about.frame.lazy()
        return numbered(frame.select(self.shown_in(frame.collect_schema(), None)).collect().to_series())


def household_column(models: Sequence[PrivacyModel], stated: str | None) -> str | None:
    """Which column says who lives together: as the policy states, or as the promise does; refused where they differ."""
    promised = [model for model in models if isinstance(model, Households)]
    named = {name for name in (stated, *(model.column for model in promised)) if name is not None}
    if len(named) > 1:
        listed = " and ".join(repr(name) for name in sorted(named))
        raise InputError(f"Who lives together is said to stand in {listed}: name one column.")
    if promised and not named:
        raise InputError(
            "households needs the column that says who lives together: name it (--promise "
            "households:k=5,column=COLUMN, or household in the policy)."
        )
    return next(iter(named), None)


def with_household(models: Sequence[PrivacyModel], column: str | None) -> tuple[PrivacyModel, ...]:
    """The models, each about the column that says who lives together where it is about households."""
    return tuple(replace(model, column=column) if isinstance(model, Households) else model for model in models)
