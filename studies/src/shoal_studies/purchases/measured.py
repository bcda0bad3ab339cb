"""What paper 4's claims and figures look up in the frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import polars as pl

from shoal.transactions.characteristics import Characteristics
from shoal.transactions.theory import expected_dummies, largest_valid_size
from shoal_studies.driver import DATA, Frames
from shoal_studies.purchases.experiment import METHOD_1, METHOD_2, SHOAL

PAPER_B, PAPER_MU = 65, 0.03  # of the paper: goods of a customer, Jaccard coefficient of two
GENERATED = "The data are generated: they are like the paper's, but not the same customers."


@dataclass(frozen=True)
class Spread:
    """A mean over the seeds and the deviation from seed to seed."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:,.0f} ± {self.deviation:,.0f}"


@dataclass(frozen=True)
class Measured:
    """The clusterings, and what is known of the histories."""

    about: Characteristics
    runs: pl.DataFrame  # a row a seed, method, c and s_min
    sweep: pl.DataFrame  # a row a seed and c
    generated: bool
    people: bool  # whether the customers' sex and country are known

    @classmethod
    def of_frames(cls, frames: Frames) -> Measured:
        (data,) = frames[DATA].to_dicts()
        (about,) = frames["about"].to_dicts()
        return cls(Characteristics(**about), frames["runs"], frames["sweep"], data["generated"], data["people"])

    def rows(self, method: str, c: int, s_min: int | None) -> pl.DataFrame:
        return self.runs.filter(method=method, c=c).filter(pl.col("s_min").eq_missing(s_min))

    def of(self, column: str, method: str, c: int, s_min: int | None) -> Spread:
        values = self.rows(method, c, s_min)[column].to_numpy()
        return Spread(float(values.mean()), float(values.std(ddof=1)))

    def row(self, column: str, c: int, s_min: int | None) -> Spread:
        """Of Table 2: Method 1, or Method 2 with an s_min."""
        return self.of(column, METHOD_1 if s_min is None else METHOD_2, c, s_min)

    def saving(self, c: int, s_min: int) -> float:
        """The share of Method 2's dummies that Shoal's clustering does without."""
        return 1 - self.of("dummies", SHOAL, c, s_min).mean / self.of("dummies", METHOD_2, c, s_min).mean

    @cached_property
    def by_c(self) -> pl.DataFrame:
        """Means over the seeds: c and the dummies of each method."""
        means = self.sweep.rename({"dummies": METHOD_2}).group_by("c", maintain_order=True)
        return means.agg(pl.col(METHOD_1, METHOD_2, SHOAL).mean())

    @property
    def swept(self) -> list[int]:
        """The numbers of clusters tried."""
        return self.by_c["c"].to_list()

    def dummies(self, method: str) -> dict[int, float]:
        """c -> mean number of dummies."""
        return dict(self.by_c["c", method].iter_rows())

    def eq_3(self, c: int) -> float:
        return expected_dummies(self.about.customers, self.about.goods_a_customer, self.about.h, c)

    @property
    def fewest_valid(self) -> int:
        """Clusters from which on Eq. 3 may be asked."""
        return ceil(self.about.customers / largest_valid_size(self.about.goods_a_customer, self.about.h))

    def otherwise(self, reason: str) -> str:
        """Why a number of the paper's own is not found."""
        return GENERATED if self.generated else reason


def decimals(values: Iterable[float]) -> str:
    """As the paper's tables show them."""
    return ", ".join(f"{value:.4f}" for value in values)
