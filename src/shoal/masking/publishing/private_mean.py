"""A class shown by a differentially private mean (paper 2, Section 3.2; docs/spec.md#aggregates).

The mean of the values, each clamped to a public domain [L, U], plus Laplace noise of scale (U - L) / (n_c epsilon) in a
class of n_c records. Who has another value changes one class alone, so all classes of an attribute together cost
epsilon; several attributes cost the sum. This holds where classes were made without looking at the attribute.

Noise is drawn by OpenDP on whole numbers, which have no gaps for an intruder to read: each value counts steps of
(U - L) / 2^32 from L, and a class's sum of steps gets discrete Laplace noise of scale 2^32 / epsilon. Divided by n_c,
which the release shows anyway, that is the scale above. No seed reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn, plain_cells
from shoal.data.microdata import MISSING, Coded
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError, extra_package, require
from shoal.kernels.threads import in_blocks
from shoal.masking.partition import Partition

STEPS = 1 << 32  # in the domain
_BLOCK = 1 << 15  # classes whose noise is drawn in one go


@dataclass(frozen=True)
class PrivateMean:
    """Epsilon and the public domain of one attribute."""

    epsilon: float
    low: float
    high: float

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)

    def sensitivity(self, size: int) -> float:
        """The most that one person moves the mean of a class of that size."""
        return (self.high - self.low) / size

    def scale(self, size: int) -> float:
        """Of the Laplace noise."""
        return self.sensitivity(size) / self.epsilon

    def deviation(self, size: int) -> float:
        """The noise's standard deviation."""
        return sqrt(2) * self.scale(size)


def refuse_several_records(name: str, told_apart_by: str | None) -> None:
    """Noise hides one record of a class; whoever has several there would stand out from it."""
    if told_apart_by is not None:
        raise InputError(
            f"The private mean of {name!r} hides one record of each class, and {told_apart_by!r} says that several may "
            "be of one person or household: show it by range, mean or median."
        )


def require_epsilon(epsilon: object) -> None:
    """Refuses an epsilon that is no number, or so small or large that noise or privacy would be nothing."""
    number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    good = number and 1e-6 <= epsilon <= 1e6  # type: ignore[operator]
    require("private-mean", "epsilon", epsilon, "a number from 0.000001 to 1,000,000", holds=good)


def private_mean(name: str, domain: tuple[object, ...] | None, epsilon: float) -> PrivateMean:
    """Of an attribute whose domain the policy states; never of one that would have to be looked up in the data."""
    remedy = f"state what is publicly possible in the policy ([attributes.{name}] domain = [0, 100000])"
    if domain is None:
        raise InputError(f"The private mean of {name!r} needs a domain that is not taken from the data: {remedy}.")
    ends = [end for end in domain if isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end)]
    if len(domain) != 2 or len(ends) != 2 or not ends[0] < ends[1] or not isfinite(ends[1] - ends[0]):
        raise InputError(f"The domain of {name!r} is no least and greatest number: {remedy}.")
    return PrivateMean(epsilon, float(ends[0]), float(ends[1]))


def publish_private_mean(
    coded: Coded, partition: Partition, index: npt.NDArray[np.int32], mean: PrivateMean
) -> tuple[MaskedColumn, tuple[str, ...]]:
    """The cells, and what the custodian should know; `index` is the partition's class of each kept record.

    A missing value counts as the middle of the domain: whether there is one stays as private as what it is.
    """
    require_number(coded.attribute)
    place = np.append(coded.positions, (mean.low + mean.high) / 2)[coded.codes[partition.order]]
    steps = np.rint((np.clip(place, mean.low, mean.high) - mean.low) * (STEPS / (mean.high - mean.low)))
    sums = np.add.reduceat(steps.astype(np.int64), partition.starts[:-1])
    noisy = with_laplace(sums, STEPS / mean.epsilon) / (partition.sizes * float(STEPS))
    shown = np.clip(mean.low + noisy * (mean.high - mean.low), mean.low, mean.high)
    cells = plain_cells(pl.Series(coded.name, shown), coded.attribute, shown)
    column = MaskedColumn(cells.attribute, index, cells.text, cells.low, cells.high, cells.size)
    return column, _counted(coded, partition, place, mean)


def require_number(attribute: Attribute) -> None:
    """Refuses an attribute that is not numeric: only of numbers is there a mean with a known sensitivity."""
    if attribute.kind is not Kind.NUMERIC:
        raise InputError(
            f"Column {attribute.name!r} is {attribute.kind}: a private mean is of numbers. "
            "Show it by range, mean or median."
        )


def opendp() -> Any:
    """The library that draws the noise."""
    dp = extra_package("opendp.prelude", "A private mean", "dp")
    dp.enable_features("contrib")
    return dp


def with_laplace(sums: npt.NDArray[np.int64], scale: float) -> npt.NDArray[np.int64]:
    """Each number with discrete Laplace noise of its own, drawn by OpenDP."""
    dp = opendp()
    noisy = np.empty_like(sums)
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    laplace = dp.m.make_laplace(domain, metric, scale=scale)

    def draw(start: int, stop: int) -> None:
        noisy[start:stop] = laplace(sums[start:stop])

    in_blocks(len(sums), _BLOCK, draw)
    return noisy


def _counted(coded: Coded, partition: Partition, place: npt.NDArray[np.float64], mean: PrivateMean) -> tuple[str, ...]:
    notes = []
    if outside := int(((place < mean.low) | (place > mean.high)).sum()):
        notes.append(
            f"{outside:,} values of {coded.name!r} lie outside its domain of {mean.low:g} to {mean.high:g} "
            "and count as the end they are beyond."
        )
    if missing := int((coded.codes[partition.order] == MISSING).sum()):
        notes.append(f"{missing:,} missing values of {coded.name!r} count as the middle of its domain.")
    return tuple(notes)


def budget(means: Mapping[str, PrivateMean], k: int) -> tuple[str, ...]:
    """What the private means of a release cost and how far they will be off, known before any record is read."""
    if not means:
        return ()
    total = sum(mean.epsilon for mean in means.values())
    parts = " + ".join(f"{mean.epsilon:g} for {name!r}" for name, mean in means.items())
    errors = (
        f"In a class of {k} records the mean of {name!r} will be off by {mean.deviation(k):,.2f} (standard deviation; "
        f"one person moves it by {mean.sensitivity(k):,.2f} at most), in one of {20 * k} by "
        f"{mean.deviation(20 * k):,.2f}."
        for name, mean in means.items()
    )
    spent = (
        f"Private means cost epsilon {total:g}{f' = {parts}' if len(means) > 1 else ''}; every further release about "
        "the same people adds its own."
    )
    return (spent, *errors)
