"""Whose histories are shown alike, judged from what is released: the multiset of shown rows of each owner.

Rows are put together by the pseudonym that the file shows. Two owners are alike if each shows what the other shows, as
often. Compared are the classes of the rows, which the values themselves make: no hash stands for any of them.

Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.catalogue import INSIDE_RANDOM, parameter
from shoal.data.person import numbered, people_of_classes
from shoal.data.schema import Person
from shoal.errors import unwritten
from shoal.privacy.model import EquivalenceClasses, OfK, PrivacyModel, Verdict

Ints = npt.NDArray[np.int64]


def same_history(tables: Sequence[tuple[Ints, Ints]], owners: int) -> Ints:
    """Owner -> a number, the same for all who show the same rows; `tables` are (row -> class, row -> owner).

    Owners are told apart by how many rows they have, then by the first of these, sorted by their classes, then by the
    second, and so on: whoever has no more rows is done with, so that each row is looked at once.
    """
    label = np.zeros(owners, np.int64)
    for shown, owner in tables:
        count = np.bincount(owner, minlength=owners)
        order, starts = np.lexsort((shown, owner)), np.cumsum(count) - count
        label, there = _divided(label, count), np.arange(owners)
        labels = owners  # at most as many are in use
        for place in range(int(count.max(initial=0))):
            there = there[count[there] > place]
            further = _divided(label[there], shown[order[starts[there] + place]])
            label[there] = further + labels
            labels += len(there)
    return _divided(label, np.zeros_like(label))


def _divided(label: Ints, sign: Ints) -> Ints:
    """Labels told apart further, numbered anew from 0."""
    number = np.unique(label, return_inverse=True)[1].reshape(-1)
    return np.unique(number * (sign.max(initial=0) + 1) + sign, return_inverse=True)[1].reshape(-1)


def alike(tables: Sequence[tuple[Ints, Ints]], owners: int) -> Ints:
    """Owner -> how many, he among them, show the same history."""
    label = same_history(tables, owners)
    return np.bincount(label)[label] if owners else label


class WholeHistories(OfK):
    """A promise about all rows of each owner together: a person's or a household's."""

    k: int = parameter("least number of owners with the same history", least=2)

    in_chunks = INSIDE_RANDOM
    instead_of_k = True
    owners: ClassVar[str]  # whose rows they are, in the plural
    rows: ClassVar[str] = "history"  # what the rows of an owner are together
    all_or_none: ClassVar[bool] = False  # whether all rows of an owner are shown, or none

    if TYPE_CHECKING:

        @property
        def column(self) -> str | None:
            """The column that says whose each row is; None: the person column."""

        @property
        def time(self) -> str | None:
            """The column that puts an owner's rows in order, where one does."""

        @property
        def order(self) -> tuple[str, ...]:
            """The columns that do, after a minus the largest first."""

        @property
        def shared(self) -> tuple[str, ...]:
            """The quasi-identifiers that are the owner's; none: those in which all of his rows agree."""
    else:
        column, time, order, shared = None, None, (), ()

    @property
    def asked_in_words(self) -> str:
        """The level as people say it."""
        return f"k ≥ {self.k} {self.owners} with the same {self.rows}"

    @property
    def in_order_of(self) -> tuple[str, ...]:
        """The columns that put the rows of an owner in order, whether they are released or not."""
        return ()

    def in_time(self, time: str | None) -> Self:
        """The promise of rows that this column puts in order."""
        raise unwritten(self, "in_time")

    def shown_in(self, columns: Collection[str], person: Person | None) -> str:
        """The column of a released table that shows whose each row is; refused where there is none."""
        raise NotImplementedError

    def owner_of(self, about: EquivalenceClasses) -> Ints:
        """Released row -> whose it is, by what the file shows."""
        raise NotImplementedError

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the history that fewest show; a table without records keeps every promise."""
        return self.judged([(classes.key.to_numpy(), self.owner_of(classes))])

    def judged(self, tables: Sequence[tuple[Ints, Ints]]) -> Verdict:
        """The same of several tables, whose owners have the same numbers in all of them."""
        owners = max((int(owner.max(initial=-1)) for _, owner in tables), default=-1) + 1
        present = np.zeros(owners, np.bool_)
        for _, owner in tables:
            present[owner] = True
        fewest = alike(tables, owners)[present]
        return self.reached(int(fewest.min()) if len(fewest) else 0)


def in_order_of(models: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """The columns that put rows in order where whole histories are promised."""
    return tuple(name for model in models if isinstance(model, WholeHistories) for name in model.in_order_of)


def shown_together(classes: EquivalenceClasses, columns: Sequence[str]) -> dict[str, int]:
    """Column -> the owners of the history that fewest show, where rows are put together by what the column shows.

    A row that shows nothing there is put together with no other.
    """
    fewest = {}
    for name in columns:
        owner = numbered(classes.frame.lazy().select(name).collect()[name], one_each=True)
        shared = alike([(classes.key.to_numpy(), owner)], int(owner.max(initial=-1)) + 1)
        fewest[name] = int(shared.min(initial=len(owner)))
    return fewest


def notes_together(fewest: Mapping[str, int], k: int) -> list[str]:
    """What that means beside classes of k."""
    return [
        f"Rows with the same {name!r} can be put together by anybody, and all of them together show what is shown of "
        f"{count:,} in all, at the least: linked holds at {count:,}"
        + (f", below k = {k}; promise it to have k (--person {name} --promise linked:k={k})." if count < k else ".")
        for name, count in fewest.items()
    ]


def owners_of_classes(owner: Ints, order: Ints, starts: Ints) -> npt.NDArray[np.float64]:
    """The owners of each class: no history in it can be that of more."""
    return people_of_classes(owner, order, starts).astype(np.float64)
