"""k-anonymity: every record shares its quasi-identifiers with at least k - 1 others (Samarati & Sweeney, 1998)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.catalogue import SAME, parameter
from shoal.data.microdata import Coded
from shoal.privacy.model import EquivalenceClasses, OfK, PrivacyModel, Verdict


class KAnonymity(OfK):
    """Every record shows the same in all quasi-identifiers as at least `k` - 1 others."""

    k: int = parameter("least class size", least=2)

    in_chunks = SAME
    prunes = ("recode", "cut-points")

    @property
    def by_size(self) -> bool:
        """The size of a class decides alone."""
        return True

    def of_people(self) -> PrivacyModel:
        """As many people, who are at least as many records."""
        from shoal.privacy.persons import Persons

        return Persons(self.k)

    @property
    def in_words(self) -> str:
        """What an intruder is left with."""
        return (
            f"Every released record shows the same in all quasi-identifiers as at least {self.k - 1} others. "
            f"Whoever knows these of a person is left with at least {self.k} records, any of which may be "
            "that person's."
        )

    def levels(
        self, coded: Coded | None, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The records of each class."""
        return np.diff(starts).astype(np.float64)

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by the smallest class; a table without records keeps every promise."""
        return self.reached(int(classes.sizes.min()) if len(classes.sizes) else 0)
