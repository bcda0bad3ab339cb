"""The differencing attack: two classes that differ in one subject give away her value (paper 2, section 3.2).

What an observer can conclude about the one who stands in the larger class only, from nothing but the sizes of both
classes and how they are published. With classes of n and n - 1 subjects:

| published by | she is known to have                                                                     |
|--------------|------------------------------------------------------------------------------------------|
| range        | the end that the smaller class does not reach; otherwise any value of the range          |
| mean         | n mean - (n - 1) mean', exactly                                                          |
| median       | at least the median, n odd, or 2 median - median', n even, where the median' is less;    |
|              | at most that where it is more; nothing where both are the same                           |

For n odd the median M is a subject's own value; without one above it (or without M itself) median' is less. For n even
median' is one of the two middle values, so that 2 M - median' is the other, beyond which she must lie.

Defined in docs/spec.md#aggregates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.releases.published import Published, own_name

Numbers = npt.NDArray[np.float64]
Bounds = tuple[Numbers, Numbers]  # the least and the greatest value that each may have

_EXACT = 1e-6  # of the attribute's whole range: a value known that closely is known


@dataclass(frozen=True)
class Aggregates:
    """What is published of each of several classes."""

    n: Numbers
    least: Numbers
    greatest: Numbers
    mean: Numbers
    median: Numbers


def by_range(larger: Aggregates, smaller: Aggregates) -> Bounds:
    """What two ranges tell of her value."""
    was_least, was_greatest = smaller.least > larger.least, smaller.greatest < larger.greatest
    low = np.where(was_greatest & ~was_least, larger.greatest, larger.least)
    high = np.where(was_least & ~was_greatest, larger.least, larger.greatest)
    return low, high


def by_mean(larger: Aggregates, smaller: Aggregates) -> Bounds:
    """What two means tell of her value: all."""
    value = larger.n * larger.mean - smaller.n * smaller.mean
    return value, value


def by_median(larger: Aggregates, smaller: Aggregates) -> Bounds:
    """What two medians tell of her value."""
    beyond = np.where(larger.n % 2 == 1, larger.median, 2 * larger.median - smaller.median)
    low = np.where(smaller.median < larger.median, beyond, -np.inf)
    high = np.where(smaller.median > larger.median, beyond, np.inf)
    return low, high


PUBLISHED: dict[str, Callable[[Aggregates, Aggregates], Bounds]] = {
    "range": by_range,
    "mean": by_mean,
    "median": by_median,
}


@dataclass(frozen=True)
class Differenced:
    """What the attack achieves between two releases, if a confidential attribute is published so."""

    attribute: str
    published: str
    victims: int  # who are alone in what two classes differ by
    revealed: int  # of these, whose value is known exactly
    left_open: float  # the share of the attribute's whole range that her value may still lie in, on average

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them."""
        return asdict(self)


def differencing(
    first: Published, second: Published, overlaps: pl.DataFrame, confidential: list[str]
) -> list[Differenced]:
    """The attack on each numeric attribute that both releases hold; `overlaps` are their classes that share subjects.

    Both are attacked through the other: whoever stands in the larger of two nested classes only is a victim.
    """
    a, b = pl.col("first_others"), pl.col("second_others")
    nested = overlaps.filter(a == 1, b == 0).select(larger="first", smaller="second")
    turned = overlaps.filter(b == 1, a == 0).select(larger="second", smaller="first")
    attacks = []
    for name in confidential:
        column = own_name(name)
        if not (first.members[column].dtype.is_numeric() and second.members[column].dtype.is_numeric()):
            continue
        both = [_attack(first, second, nested, column), _attack(second, first, turned, column)]
        values, larger, smaller = (_together(parts) for parts in zip(*both, strict=True))
        everyone = pl.concat([release.members[column].cast(pl.Float64) for release in (first, second)]).drop_nulls()
        ends = (float(everyone.min()), float(everyone.max())) if len(everyone) else (0.0, 0.0)  # type: ignore[arg-type]
        for published, attack in PUBLISHED.items():
            bounds = attack(Aggregates(*larger), Aggregates(*smaller))
            attacks.append(_judge(name, published, values[0], bounds, ends))
    return attacks


def _attack(
    large: Published, small: Published, nested: pl.DataFrame, name: str
) -> tuple[list[Numbers], list[Numbers], list[Numbers]]:
    """The victims' values, and what is published of the larger and of the smaller class."""
    theirs = nested.join(large.members.select(pl.col("class").alias("larger"), "subject", value=name), on="larger")
    there = small.members.select(pl.col("class").alias("smaller"), "subject")
    victims = theirs.join(there, on=["smaller", "subject"], how="anti")
    larger, smaller = _aggregates(large, name)[victims["larger"]], _aggregates(small, name)[victims["smaller"]]
    known = larger["n"] == larger["all"]  # where values are missing, means are of fewer than the class holds
    known &= (smaller["n"] == smaller["all"]) & (smaller["n"] > 0)
    columns = ("n", "least", "greatest", "mean", "median")
    return (
        [victims.filter(known)["value"].cast(pl.Float64).to_numpy()],
        [larger.filter(known)[column].cast(pl.Float64).to_numpy() for column in columns],
        [smaller.filter(known)[column].cast(pl.Float64).to_numpy() for column in columns],
    )


def _together(parts: tuple[list[Numbers], ...]) -> list[Numbers]:
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _aggregates(release: Published, name: str) -> pl.DataFrame:
    """A row a class."""
    value = pl.col(name).cast(pl.Float64)
    return (
        release.members.group_by("class")
        .agg(
            n=value.count(),
            all=pl.len(),
            least=value.min(),
            greatest=value.max(),
            mean=value.mean(),
            median=value.median(),
        )
        .sort("class")
    )


def _judge(name: str, published: str, values: Numbers, bounds: Bounds, ends: tuple[float, float]) -> Differenced:
    low, high = (np.clip(bound, *ends) for bound in bounds)
    whole = ends[1] - ends[0] or 1.0
    close = (np.abs(low - values) <= _EXACT * whole) & (np.abs(high - values) <= _EXACT * whole)
    share = float(np.mean((high - low) / whole)) if len(values) else 1.0
    return Differenced(name, published, len(values), int(close.sum()), share)
