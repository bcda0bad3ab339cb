"""The budget of private means over several releases: epsilons add up for whoever is in them (sequential composition).

A private mean protects one person's value within her class, so a release costs those who are in it and nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import PromiseError
from shoal.releases.pieces import Recorded, side_by_side
from shoal.releases.published import Published

Cost = tuple[Recorded, float]  # a release, and the epsilon of its private means

_ROUNDING = 1e-9  # three times 0.1 is not more than 0.3


@dataclass(frozen=True)
class Budget:
    """What private means cost over releases."""

    total: float  # of all releases, whoever is in them
    worst: float  # the most that they cost one person
    subjects: int  # how many they cost that much
    limit: float | None  # the most that they may cost anybody

    @property
    def holds(self) -> bool:
        """Whether nobody pays more than the limit."""
        return self.limit is None or self.worst <= self.limit + _ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        return {"total": self.total, "worst": self.worst, "subjects": self.subjects, "limit": self.limit}


def budget_of(costs: Sequence[Cost], limit: float | None = None) -> Budget:
    """The sum over all releases, and that of the person who is in the most costly ones."""
    spent = [piece["epsilon"].value_counts() for piece, _ in _spent(costs)]
    paid = pl.concat(spent) if spent else pl.DataFrame(schema={"epsilon": pl.Float64, "count": pl.UInt32})
    worst = float(paid["epsilon"].max() or 0.0)  # type: ignore[arg-type]
    subjects = int(paid.filter(pl.col("epsilon") >= worst - _ROUNDING)["count"].sum()) if worst else 0
    return Budget(sum(epsilon for _, epsilon in costs), worst, subjects, limit)


def _spent(costs: Sequence[Cost]) -> Iterator[tuple[pl.DataFrame, Published]]:
    """`subject`, `epsilon`: what her releases cost together. Some people at a time, with the last release of these."""
    paid = [(release, float(cost)) for release, cost in costs if cost]
    for side in side_by_side([release for release, _ in paid]) if paid else ():
        each = (
            piece.members.select("subject", epsilon=pl.lit(cost)) for piece, (_, cost) in zip(side, paid, strict=True)
        )
        yield pl.concat(each).group_by("subject").agg(pl.col("epsilon").sum()), side[-1]


def refuse_spent(earlier: Sequence[Cost], release: Cost, limit: float | None) -> None:
    """Raises where a release with private means would cost somebody more than the ledger's limit."""
    if limit is None or not release[1]:
        return
    beyond = [
        spent.filter(pl.col("epsilon") > limit + _ROUNDING).join(now.members, on="subject", how="semi")["epsilon"]
        for spent, now in _spent([*earlier, release])
    ]
    if people := sum(map(len, beyond)):
        most = max(float(epsilon.max()) for epsilon in beyond if len(epsilon))  # type: ignore[arg-type]
        raise PromiseError(
            f"With this release's epsilon of {release[1]:g} private means would cost {people:,} people up to "
            f"{most:g}, and the ledger's limit is {limit:g}. Nothing was released: ask for a smaller "
            "epsilon, leave these people out, or show another summary than a private mean."
        )
