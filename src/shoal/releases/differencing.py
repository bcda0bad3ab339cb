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

from collections.abc import Callable, Iterable, Sequence
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


Ends = tuple[float, float]  # an attribute's least and greatest value, of both releases

ATTACKED = pl.Schema(
    {
        "attribute": pl.String(), "published": pl.String(),
        "victims": pl.Int64(), "revealed": pl.Int64(), "left_open": pl.Float64(),
    }
)  # fmt: skip


def differencing(
    first: Published, second: Published, overlaps: pl.DataFrame, confidential: list[str]
) -> list[Differenced]:
    """The attack on each numeric attribute that both releases hold; `overlaps` are their classes that share subjects.

    Both are attacked through the other: whoever stands in the larger of two nested classes only is a victim.
    """
    a, b = pl.col("first_others"), pl.col("second_others")
    nested = overlaps.filter(a == 1, b == 0).select(larger="first", smaller="second")
    turned = overlaps.filter(b == 1, a == 0).select(larger="second", smaller="first")
    names = [name for name in confidential if all(is_number(each.members[own_name(name)]) for each in (first, second))]
    attacks = [pl.DataFrame(schema=ATTACKED)]
    for name in names:
        ends = ends_of(each.members[own_name(name)] for each in (first, second))
        attacks.append(attack_on(first.members, second.members, nested, name, ends))
        attacks.append(attack_on(second.members, first.members, turned, name, ends))
    return differenced(pl.concat(attacks), names)


def is_number(column: pl.Series) -> bool:
    """Whether an attribute can be published by range, mean or median."""
    return column.dtype.is_numeric()


def ends_of(columns: Iterable[pl.Series]) -> Ends:
    """The least and the greatest of all these values; of none, 0."""
    everyone = pl.concat([column.cast(pl.Float64) for column in columns]).drop_nulls()
    return (float(everyone.min()), float(everyone.max())) if len(everyone) else (0.0, 0.0)  # type: ignore[arg-type]


def attack_on(large: pl.DataFrame, small: pl.DataFrame, nested: pl.DataFrame, name: str, ends: Ends) -> pl.DataFrame:
    """What it achieves (`ATTACKED`) on the members of one release through those of another, by how it is published.

    `nested` has the classes of which the `larger` holds one subject more than the `smaller`. What is left open is
    summed.
    """
    values, larger, smaller = _victims(large, small, nested, own_name(name))
    rows = []
    for published, attack in PUBLISHED.items():
        low, high = (np.clip(bound, *ends) for bound in attack(larger, smaller))
        whole = ends[1] - ends[0] or 1.0
        close = (np.abs(low - values) <= _EXACT * whole) & (np.abs(high - values) <= _EXACT * whole)
        rows.append((name, published, len(values), int(close.sum()), float(((high - low) / whole).sum())))
    return pl.DataFrame(rows, schema=ATTACKED, orient="row")


def differenced(attacks: pl.DataFrame, names: Sequence[str]) -> list[Differenced]:
    """All that was achieved on these attributes, put together."""
    together = attacks.group_by("attribute", "published").agg(pl.col("victims", "revealed", "left_open").sum())
    sums = {(name, published): numbers for name, published, *numbers in together.iter_rows()}
    return [
        Differenced(name, published, victims, revealed, left_open / victims if victims else 1.0)
        for name in names
        for published in PUBLISHED
        for victims, revealed, left_open in [sums[name, published]]
    ]


def _victims(
    large: pl.DataFrame, small: pl.DataFrame, nested: pl.DataFrame, column: str
) -> tuple[Numbers, Aggregates, Aggregates]:
    """The victims' values, and what is published of the larger and of the smaller class."""
    theirs = nested.join(large.select(pl.col("class").alias("larger"), "subject", value=column), on="larger")
    there = small.select(pl.col("class").alias("smaller"), "subject")
    victims = theirs.join(there, on=["smaller", "subject"], how="anti")
    larger, smaller = _aggregates(large, column)[victims["larger"]], _aggregates(small, column)[victims["smaller"]]
    known = larger["n"] == larger["all"]  # where values are missing, means are of fewer than the class holds
    known &= (smaller["n"] == smaller["all"]) & (smaller["n"] > 0)

    def published(classes: pl.DataFrame) -> Aggregates:
        columns = ("n", "least", "greatest", "mean", "median")
        return Aggregates(*(classes.filter(known)[each].cast(pl.Float64).to_numpy() for each in columns))

    return victims.filter(known)["value"].cast(pl.Float64).to_numpy(), published(larger), published(smaller)


def _aggregates(members: pl.DataFrame, name: str) -> pl.DataFrame:
    """A row a class."""
    value = pl.col(name).cast(pl.Float64)
    return (
        members.group_by("class")
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
