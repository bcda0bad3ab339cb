"""Individual risk and global risk of a sample with weights (docs/spec.md#individual-risk).

A record's risk is the mean of 1/F, F the people of the population who fit its class, given the f records there
(Benedetti and Franconi 1998; Franconi and Polettini 2004): `shoal.privacy.k_map.individual_risk` with the class's own
sampling share f / (sum of its weights). Summed over all records it is how many of them somebody who guesses in every
class is expected to name rightly: the global risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from shoal.privacy.k_map import individual_risk
from shoal.show import Sheet

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class IndividualRisk:
    """Of all records: the highest risk of one, and the sum of all, which is the expected re-identifications."""

    records: int
    highest: float
    expected: float
    records_above: int  # the threshold of the scenarios

    @classmethod
    def of(cls, sizes: Ints, people: Floats, threshold: float) -> Self:
        """Of classes of so many records whose weights sum up to so many people."""
        risk = risk_of_classes(sizes, people)
        above = int(sizes[risk > threshold * (1 + 1e-12)].sum())
        return cls(int(sizes.sum()), float(risk.max(initial=0.0)), float(sizes @ risk), above)

    @property
    def share(self) -> float:
        """The share of the records that is expected to be re-identified."""
        return self.expected / self.records if self.records else 0.0

    def to_dict(self) -> dict[str, object]:
        """The numbers, ready for JSON."""
        return {
            "highest": self.highest,
            "expected_reidentifications": self.expected,
            "share": self.share,
            "records_above": self.records_above,
        }

    def sheet(self, threshold: float) -> Sheet:
        """The numbers as a table."""
        rows = [
            ("highest of a record", f"{self.highest:.2%}", "E[1/F | f] of its class"),
            ("expected re-identifications", f"{self.expected:,.1f}", "the sum over all records: the global risk"),
            ("of all records", f"{self.share:.2%}", "the global risk / records"),
            (f"records above {threshold:g}", f"{self.records_above:,}", "a guess succeeds more often"),
        ]
        return Sheet("Individual risk, by sampling weights (Benedetti and Franconi)", ("", "value", "meaning"), rows)


def risk_of_classes(sizes: Ints, people: Floats) -> Floats:
    """E[1/F | f] of each class; where the weights sum up to fewer people than records, the records are the people."""
    return individual_risk(sizes, np.minimum(sizes / people, 1.0))
