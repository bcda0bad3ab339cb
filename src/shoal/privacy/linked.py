"""linked: the whole released history of each person is that of at least k - 1 others.

Where rows of a person can be put together, by a pseudonym that is kept or over several tables, safe classes of single
rows are not enough: their combination may be nobody else's. Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shoal.catalogue import parameter
from shoal.data.schema import Person
from shoal.errors import InputError
from shoal.privacy.histories import WholeHistories, owners_of_classes
from shoal.privacy.model import EquivalenceClasses


class Linked(WholeHistories):
    """All rows of each person together show the same as those of at least `k` - 1 other people."""

    time: str | None = parameter(
        "column that puts a person's rows in order; if not given, they are put along a line of like rows", default=None
    )

    needs = ("person",)
    together = "person"
    owners = "people"
    kept_back = ("time",)
    leaves_open = (
        "What is no quasi-identifier may differ",
        "Confidential and insensitive columns leave with their rows: whoever knows such a value of a person, or the "
        "order of her rows and the time between them, may tell her from the others with the same history.",
    )

    @property
    def in_words(self) -> str:
        """What an intruder is left with."""
        return (
            f"All released rows of each person together show the same in all quasi-identifiers as those of at least "
            f"{self.k - 1} other people. Whoever knows every row of a person is left with at least {self.k} people."
        )

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The people of each class: no history in it can be that of more."""
        return owners_of_classes(about.people, order, starts)

    @property
    def in_order_of(self) -> tuple[str, ...]:
        """The column that says so, if one does."""
        return () if self.time is None else (self.time,)

    def in_time(self, time: str | None) -> Self:
        """The promise of rows that this column puts in order."""
        return replace(self, time=time)

    def shown_in(self, columns: Collection[str], person: Person | None) -> str:
        """The person column, in which pseudonyms stand."""
        if person is None or person.column not in columns:
            raise InputError(
                "linked is judged from the pseudonyms that a file shows: name the column that shows them (--person "
                "COLUMN), and release a file that has it."
            )
        return person.column

    def owner_of(self, about: EquivalenceClasses) -> npt.NDArray[np.int64]:
        """By the pseudonym that stands in the person column."""
        showing = () if about.showing_people is None else (about.showing_people,)
        self.shown_in(showing, None if about.schema is None else about.schema.person)
        assert about.people is not None
        return about.people
