"""persons: every class holds records of at least k different people ((X, Y)-anonymity, Wang & Fung, 2006).

k records are not k people where somebody has several: a class of five stays of one patient shows all of hers. Defined
in docs/spec.md#persons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import SAME, parameter
from shoal.data.person import people_of_classes
from shoal.errors import InputError
from shoal.privacy.model import EquivalenceClasses, OfK, PrivacyModel, Verdict


class Persons(OfK):
    """Every class holds records of at least `k` different people."""

    k: int = parameter("least number of people in a class", least=2)

    needs = ("person",)
    about_who = True
    in_chunks = SAME
    leaves_open = (
        "One record's worth of knowledge",
        "Whoever knows the quasi-identifiers of one record of a person is left with k people. Whoever knows those of "
        "several of her records, and can tell that they are of one person, may be left with fewer.",
    )

    @property
    def asked_in_words(self) -> str:
        """The level as people say it."""
        return f"k ≥ {self.k} people"

    @property
    def in_words(self) -> str:
        """What an intruder is left with."""
        return (
            f"Each released record is shared by at least {self.k} people: records of {self.k - 1} others or more show "
            f"the same in all quasi-identifiers. Whoever knows these of one record of a person is left with at least "
            f"{self.k} people."
        )

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The people of each class."""
        people = about.people
        if people is None:
            raise _nobody()
        return people_of_classes(people, order, starts).astype(np.float64)

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the class of fewest people; a table without records keeps every promise."""
        if classes.people is None:
            raise _nobody()
        records = pl.LazyFrame({"@class": classes.key, "@person": classes.people})
        counts = records.group_by("@class").agg(pl.col("@person").n_unique().cast(pl.Int64)).collect()
        people = counts["@person"].to_numpy()
        return self.reached(int(people.min()) if len(people) else 0)


def counting_people(models: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """The models where people are counted: k of k-anonymity is k people, and no number of them is promised twice."""
    counted: list[PrivacyModel] = []
    for model in (model.of_people() for model in models):
        if not (isinstance(model, Persons) and model in counted):
            counted.append(model)
    return counted


def _nobody() -> InputError:
    return InputError("persons counts people: name the column that tells them apart (--person COLUMN).")
