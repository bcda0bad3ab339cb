"""Pairwise correlations before and after masking, and their agreement as one number (paper 1, Tables S4, S5).

A value counts by its position: the number, the day, the rank of an ordered category, the code of another. A
released interval or set counts by the midpoint of what it admits. Missing values and wildcards say nothing:
the pairs of a record that they touch are left out, as the paper does for Table S4. The agreement is the
Pearson correlation of the two sets of pairwise correlations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Coded

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 1 << 15  # records whose products are summed together: a block of a few attributes stays in cache


@dataclass(frozen=True)
class Placed:
    """One attribute on a line: each record points to a place; NaN where nothing is known."""

    name: str
    index: npt.NDArray[np.int32]
    place: Floats  # -1, the code of missing, points to the last

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation of what is known; NaN where nothing is."""
        count = np.bincount(self.index + 1, minlength=len(self.place) + 1)[1:]
        count[-1] += int((self.index == -1).sum())
        return moments_of(self.place, count)


def moments_of(place: Floats, records: Ints) -> tuple[float, float]:
    """Mean and standard deviation of the places that are known, so many records at each; NaN where none is."""
    known = ~np.isnan(place)
    records, place = records[known], place[known]
    if not records.sum():
        return float("nan"), float("nan")
    mean = np.average(place, weights=records)
    return float(mean), float(np.sqrt(np.average((place - mean) ** 2, weights=records)))


@dataclass(frozen=True)
class Correlations:
    """Tables S4 and S5: NaN where an attribute does not vary."""

    names: tuple[str, ...]
    before: Floats
    after: Floats

    @property
    def agreement(self) -> float | None:
        """How alike the correlations are before and after; None where too few can be compared."""
        return agreement(self.before, self.after)

    def pairs(self) -> pl.DataFrame:
        """One row a pair of attributes: (attribute, other, before, after)."""
        row, column = np.triu_indices(len(self.names), 1)
        name = np.array(self.names, dtype=object)
        return pl.DataFrame(
            {
                "attribute": pl.Series(name[row], dtype=pl.String),
                "other": pl.Series(name[column], dtype=pl.String),
                "before": pl.Series(self.before[row, column], nan_to_null=True),
                "after": pl.Series(self.after[row, column], nan_to_null=True),
            }
        )


def place_original(coded: Coded) -> Placed:
    """Where the values of an original attribute stand."""
    return Placed(coded.name, coded.codes, np.append(coded.positions, np.nan))


def place_masked(column: MaskedColumn) -> Placed:
    """Each cell at the midpoint of what it admits."""
    middle = column.low + (column.high - column.low) / 2
    middle[column.hidden()] = np.nan
    return Placed(column.attribute.name, column.index, middle)


def correlations(before: Sequence[Placed], after: Sequence[Placed]) -> Correlations:
    """Of the same attributes in the original and in the masked table; the records need not be paired."""
    names = tuple(column.name for column in before)
    return Correlations(names, correlation_table(before), correlation_table(after))


def correlation_table(columns: Sequence[Placed]) -> Floats:
    """Pearson's correlation of every two columns over the records where both are known."""
    standard = [standardised(column.place, *column.moments()) for column in columns]
    sums = Products.of(np.zeros((len(columns), 0)))
    for block in blocks(len(columns[0].index) if columns else 0):
        sums = sums.plus(Products.of(np.array([p[c.index[block]] for p, c in zip(standard, columns, strict=True)])))
    return sums.correlations()


def blocks(records: int) -> Iterator[slice]:
    """Runs of records whose products are summed together."""
    return (slice(start, start + _BLOCK) for start in range(0, records, _BLOCK))


def standardised(place: Floats, mean: float, deviation: float) -> Floats:
    """Places around 0 and of the order of 1, so that sums of squares stay exact enough."""
    return (place - mean) / (deviation or 1.0)


@dataclass(frozen=True)
class Products:
    """Of every two standardised columns, over the records where both are known; those of more records add up."""

    count: Floats
    total: Floats  # of x
    squares: Floats  # of x^2
    products: Floats  # of x y

    @classmethod
    def of(cls, z: Floats) -> Products:
        """A row an attribute, NaN where it is not known."""
        known = ~np.isnan(z)
        z = np.where(known, z, 0.0)
        there = known.astype(np.float64)
        return cls(there @ there.T, z @ there.T, (z * z) @ there.T, z @ z.T)

    def plus(self, products: Products) -> Products:
        """The sums over both."""
        return Products(
            self.count + products.count,
            self.total + products.total,
            self.squares + products.squares,
            self.products + products.products,
        )

    def correlations(self) -> Floats:
        """Attribute x attribute -> their correlation; NaN where one does not vary."""
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = self.products - self.total * self.total.T / self.count
            variance = self.squares - self.total**2 / self.count
            variance[variance <= 1e-12 * self.squares] = np.nan  # rounding of a column that is constant here
            table: Floats = covariance / np.sqrt(variance * variance.T)
        return np.clip(table, -1.0, 1.0)


def agreement(before: Floats, after: Floats) -> float | None:
    """The correlation of the two sets of pairwise correlations, the diagonal left out.

    A pair that varied before and no longer does has lost its correlation: it counts as 0 after. None where
    fewer than two pairs vary, or all correlate alike: then agreement has no meaning.
    """
    upper = np.triu_indices(len(before), 1)
    old, new = before[upper], after[upper]
    varied = ~np.isnan(old)
    old, new = old[varied], np.nan_to_num(new[varied])
    if len(old) < 2 or np.ptp(old) == 0.0 or np.ptp(new) == 0.0:
        return None
    return float(np.clip(np.corrcoef(old, new)[0, 1], -1.0, 1.0))
