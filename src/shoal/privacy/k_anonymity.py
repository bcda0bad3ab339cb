"""k-anonymity: every record shares its quasi-identifiers with at least k - 1 others (Samarati & Sweeney, 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Coded
from shoal.errors import require
from shoal.privacy.model import EquivalenceClasses, Verdict


@dataclass(frozen=True)
class KAnonymity:
    """Every record shows the same in all quasi-identifiers as at least `k` - 1 others."""

    k: int

    name: ClassVar[str] = "k-anonymity"
    attribute: ClassVar[None] = None

    def __post_init__(self) -> None:
        good = isinstance(self.k, int) and not isinstance(self.k, bool) and self.k >= 2
        require(self.name, "k", self.k, "a whole number of at least 2", holds=good)

    by_size: ClassVar[bool] = True  # the class size alone decides

    @property
    def asked(self) -> float:
        return self.k

    @property
    def smallest_class(self) -> int:
        """The least class that may be released."""
        return self.k

    def levels(
        self, coded: Coded | None, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        return np.diff(starts).astype(np.float64)

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return levels >= self.k

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        smallest = int(classes.sizes.min(initial=np.iinfo(np.int64).max))
        achieved = smallest if len(classes.sizes) else 0
        return Verdict(self.name, self.k, achieved, len(classes.sizes) == 0 or smallest >= self.k)
