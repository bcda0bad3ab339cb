"""What an analyst can still do with a large release: the measures of `shoal.utility` that compare no single records.

A release is shuffled, and so information loss, which compares each record with itself, is known only where it was made
(`shoal anonymize` tells it). All else follows from what each table shows by itself: how many records have
each value, how large classes are, and sums of products over all records, which add up batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Coded, Microdata, Whole, encode
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Attribute, Kind, Schema
from shoal.engines.table import Batch, Table
from shoal.engines.whole import LISTED, Marginal, Shown, look
from shoal.errors import InputError
from shoal.measure import Measured, Pair, find_measure, measures
from shoal.parted.source import Source, prepare
from shoal.policy import Policy
from shoal.privacy.classes import class_sizes
from shoal.risk.disclosure import as_it_stands
from shoal.utility.correlations import Correlations, Products, moments_of, place_masked, standardised
from shoal.utility.discernibility import average_class_size, discernibility
from shoal.utility.marginals import bins_of, edges_of, variation_of
from shoal.utility.measure import Utility, check_columns, left_out_of, mean_shift
from shoal.utility.moments import OF_MOMENTS, Moments

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

UNPAIRED = "the records of a table on an engine are not paired with their originals; whoever masks it is told the loss"
_CELLS = 1 << 24  # of a two-way table


@dataclass(frozen=True)
class PartedUtility(Utility):
    """Of tables on an engine."""

    engine: str = ""

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {"engine": self.engine}


def compare_tables(original: Table, masked: Table, policy: Policy) -> PartedUtility:
    """What the masked table kept of the original one, over the quasi-identifiers."""
    both = _read(original, masked, policy)
    columns = [both.placed(name) for name in both.quasi]
    before, after = (_summed(table, [c[side] for c in columns]) for side, table in enumerate(both.tables))
    tables = Correlations(tuple(both.quasi), before.products.correlations(), after.products.correlations())
    sizes = class_sizes(both.masked, both.quasi, both.after.records)
    suppressed = max(0, both.source.records - both.after.records)
    return PartedUtility(
        records=both.source.records,
        suppressed=suppressed,
        paired=False,
        information_loss=None,
        attribute_loss={},
        discernibility=discernibility(sizes.size, suppressed, sizes.classes),
        average_class_size=average_class_size(sizes.size, suppressed, sizes.classes),
        mean_shift={
            name: mean_shift(both.coded(name), before.means[j], after.means[j]) for j, name in enumerate(both.quasi)
        },
        correlations=tables,
        left_out=left_out_of(UNPAIRED, tables),
        engine=masked.engine,
    )


# ---- both tables


@dataclass(frozen=True)
class _Both:
    source: Source  # the original
    masked: Table
    after: Shown

    @property
    def tables(self) -> tuple[Table, Table]:
        return self.source.table.select(self.quasi), self.masked

    @property
    def quasi(self) -> list[str]:
        return self.source.schema.quasi_identifiers

    def whole(self, name: str) -> Whole:
        return self.source.attributes.whole[name]

    def coded(self, name: str) -> Coded:
        """The attribute of the original, without its records."""
        return encode(pl.Series(name, [], self.source.table.schema[name]), self.source.schema[name], self.whole(name))

    def placed(self, name: str) -> tuple[_Column, _Column]:
        """Where the attribute's values stand in each table, a released range at its midpoint."""
        attribute, whole = self.source.schema[name], self.whole(name)
        before: _Column = _Numbers.of(attribute, whole, self.source.summary.marginals[name])
        if whole.values is not None:
            coded = self.coded(name)
            before = _Listed(attribute, whole, np.append(coded.positions, np.nan))
        cells = self._cells(name)
        if cells is None:
            return before, _Ranges(attribute, self._ends(name), *before.scale)
        return before, self._at(cells, name, _middles)

    def _cells(self, name: str) -> tuple[Attribute, Whole] | None:
        """What the masked table shows of an attribute, each once; None where that cannot be listed."""
        marginal = self.after.marginals[name]
        if marginal.counts is None:
            return None
        shown = as_it_stands(self.masked.schema[name], self.source.schema[name])
        return shown, marginal.whole(shown)

    def _at(
        self, cells: tuple[Attribute, Whole], name: str, place_of: Callable[[pl.Series, Attribute, Whole], Floats]
    ) -> _Listed:
        shown, listed = cells
        assert listed.values is not None
        used = listed.counts > 0
        place = np.full(len(used) + 1, np.nan)
        if used.any():
            original = self.whole(name)
            known = replace(original, values=self._ends(name)) if original.values is None else original
            place[:-1][used] = place_of(listed.values.filter(used), self.source.schema[name], known)
        return _Listed(shown, listed, place)

    def _ends(self, name: str) -> pl.Series:
        """Of an attribute whose values are not listed."""
        whole = self.whole(name)
        if whole.values is not None:
            return whole.values
        dtype = self.source.table.schema[name]
        ends = pl.Series(name, [whole.least, whole.greatest])
        return ends.cast(pl.Int64).cast(dtype) if dtype.is_temporal() or dtype.is_integer() else ends.cast(dtype)

    def compared(self, name: str) -> tuple[_Listed, _Listed]:
        """The same as measures of pairs have it: a wildcard at the middle of the domain, several categories nowhere."""
        whole, cells = self.whole(name), self._cells(name)
        if whole.values is None or cells is None:
            raise InputError(f"Column {name!r} has more than {LISTED:,} values: this is measured only in memory.")
        coded = self.coded(name)
        before = _Listed(self.source.schema[name], whole, np.append(coded.positions, np.nan))
        return before, self._at(cells, name, _of_pairs)


def _read(original: Table, masked: Table, policy: Policy) -> _Both:
    """One pass over each table."""
    quasi = list(policy.quasi_identifiers)
    check_columns(quasi, list(original.schema), list(masked.schema))
    source = prepare(original, policy.model_copy(update={"confidential": ()}))
    masked = masked.select(source.schema.quasi_identifiers)
    after = look(masked, source.schema.quasi_identifiers)
    if not after.records:
        raise InputError("The masked table has no records: there is nothing to measure.")
    return _Both(source, masked, after)


def _middles(shown: pl.Series, attribute: Attribute, whole: Whole) -> Floats:
    placed = place_masked(read_cells(shown, attribute, whole.values))
    return placed.place[placed.index]


def _of_pairs(shown: pl.Series, attribute: Attribute, whole: Whole) -> Floats:
    assert whole.values is not None
    values = Microdata(whole.values.to_frame(), Schema((attribute,)), {attribute.name: whole})
    return Pair.of(values, {attribute.name: read_cells(shown, attribute, whole.values)}).masked[:, 0]


# ---- a column's records on a line


@dataclass(frozen=True)
class _Listed:
    """Where each value stands, missing the last, and how many records have it."""

    attribute: Attribute
    whole: Whole
    place: Floats

    def __call__(self, column: pl.Series) -> Floats:
        return self.place[encode(column, self.attribute, self.whole).codes]

    @property
    def records(self) -> Ints:
        return np.append(self.whole.counts, self.whole.missing)

    @cached_property
    def scale(self) -> tuple[float, float]:
        return moments_of(self.place, self.records)


@dataclass(frozen=True)
class _Numbers:
    """Numbers too many to list stand where they are."""

    attribute: Attribute
    whole: Whole
    scale: tuple[float, float]

    @classmethod
    def of(cls, attribute: Attribute, whole: Whole, marginal: Marginal) -> _Numbers:
        return cls(attribute, whole, (marginal.mean, float(np.sqrt(marginal.squares / max(marginal.present, 1)))))

    def __call__(self, column: pl.Series) -> Floats:
        coded = encode(column, self.attribute, self.whole)
        return np.append(coded.positions, np.nan)[coded.codes]


@dataclass(frozen=True)
class _Ranges:
    """Ranges too many to list are read batch by batch; what is open at an end reaches to the original's."""

    attribute: Attribute
    ends: pl.Series
    mean: float
    deviation: float

    def __call__(self, column: pl.Series) -> Floats:
        return _middles(column, self.attribute, Whole(self.ends, np.zeros(0, np.int64), 0))

    @property
    def scale(self) -> tuple[float, float]:
        """The original's: any that is near will do."""
        return self.mean, self.deviation


_Column = _Listed | _Numbers | _Ranges


@dataclass(frozen=True)
class _Multiply:
    """The sums of a batch."""

    columns: tuple[tuple[str, _Column], ...]

    def __call__(self, batch: Batch) -> Products:
        z = [standardised(column(batch.frame[name]), *column.scale) for name, column in self.columns]
        return Products.of(np.array(z))


class _Sums(NamedTuple):
    products: Products
    means: Floats


def _summed(table: Table, columns: Sequence[_Column]) -> _Sums:
    """One pass."""
    work = _Multiply(tuple((column.attribute.name, column) for column in columns))
    found = table.fold(work, Products.plus)
    assert found is not None
    with np.errstate(invalid="ignore"):
        shift = np.diag(found.total) / np.diag(found.count)
    mean, deviation = np.array([column.scale for column in columns]).T
    return _Sums(found, mean + shift * np.where(deviation == 0.0, 1.0, deviation))


# ---- measures by name


def measured_tables(original: Table, masked: Table, policy: Policy, names: Sequence[str] = ("all",)) -> Measured:
    """The measures of utility of these names; those that need single records are left out by name."""
    chosen = (
        list(measures("utility").values())
        if list(names) == ["all"]
        else [find_measure(name, "utility") for name in names]
    )
    both = _Compared(_read(original, masked, policy))
    values: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for each in chosen:
        try:
            if each.needs_pairs:
                raise InputError(UNPAIRED)
            values[each.name] = both.measure(each.name)
        except InputError as error:
            left_out[each.name] = str(error)
    return Measured(values, {each.name: each for each in chosen}, {}, left_out)


@dataclass(frozen=True)
class _Compared:
    both: _Both

    def measure(self, name: str) -> float:
        if name in OF_MOMENTS:
            return OF_MOMENTS[name](*self.moments)
        if name == "marginals_1way":
            return self._one_way()
        if name == "marginals_2way":
            return self._two_way()
        raise InputError("It compares single records of both tables: measure it in memory.")

    @cached_property
    def columns(self) -> list[tuple[_Listed, _Listed]]:
        return [self.both.compared(name) for name in self.both.quasi]

    @cached_property
    def moments(self) -> tuple[Moments, Moments]:
        """Of the attributes whose values stand in an order, and vary in the original."""
        ordered = [both for both in self.columns if _varies(both[0])]
        if not ordered:
            raise InputError("No attribute is numeric, ordinal or a date and varies: there is nothing to measure.")
        before, after = (
            self._of(table, [both[side] for both in ordered]) for side, table in enumerate(self.both.tables)
        )
        return before, after

    def _of(self, table: Table, columns: Sequence[_Listed]) -> Moments:
        mean, deviation = np.array([column.scale for column in columns]).T
        return Moments(mean, deviation, np.nan_to_num(_summed(table, columns).products.correlations()))

    @cached_property
    def bins(self) -> list[tuple[_Listed, _Listed]]:
        """The same columns, each value at the bin that counts it."""
        return [_binned(*both) for both in self.columns]

    def _one_way(self) -> float:
        return float(np.mean([variation_of(*_counts(*both)) for both in self.bins]))

    def _two_way(self) -> float:
        if len(self.bins) < 2:
            raise InputError("There is only one attribute: there are no two-way tables.")
        widths = [1 + int(max(one.place.max(), other.place.max())) for one, other in self.bins]
        for one, other in combinations(range(len(widths)), 2):
            if widths[one] * widths[other] > _CELLS:
                names = (self.both.quasi[one], self.both.quasi[other])
                raise InputError(
                    f"The two-way table of {' and '.join(names)} has more than {_CELLS:,} cells: measure it in memory."
                )
        before, after = (
            table.fold(_Cross(tuple((c[side].attribute.name, c[side]) for c in self.bins), tuple(widths)), _added)
            for side, table in enumerate(self.both.tables)
        )
        assert before is not None
        assert after is not None
        return float(np.mean([variation_of(*_beside(before[pair], after[pair])) for pair in before]))


def _varies(column: _Listed) -> bool:
    known = column.place[:-1][column.whole.counts > 0]
    return column.attribute.kind is not Kind.NOMINAL and len(known) > 0 and bool(known.max() > known.min())


def _binned(before: _Listed, after: _Listed) -> tuple[_Listed, _Listed]:
    known = np.append(before.whole.counts > 0, False)
    edges = None
    if before.attribute.kind is not Kind.NOMINAL:
        edges = edges_of(before.place[known], before.records[known])
    one, other = (replace(column, place=bins_of(column.place, edges).astype(np.float64)) for column in (before, after))
    return one, other


def _counts(before: _Listed, after: _Listed) -> tuple[Ints, Ints]:
    """Records in each bin of both tables."""
    width = 1 + int(max(before.place.max(), after.place.max()))
    one, other = (
        np.bincount(column.place.astype(np.int64), column.records, minlength=width) for column in (before, after)
    )
    return one.astype(np.int64), other.astype(np.int64)


_Cells = dict[tuple[int, int], pl.DataFrame]  # two attributes -> (cell, records)


@dataclass(frozen=True)
class _Cross:
    """The two-way tables of a batch."""

    columns: tuple[tuple[str, _Listed], ...]
    widths: tuple[int, ...]

    def __call__(self, batch: Batch) -> _Cells:
        bins = [column(batch.frame[name]).astype(np.int64) for name, column in self.columns]
        return {
            (one, other): _counted(bins[one] * self.widths[other] + bins[other])
            for one, other in combinations(range(len(bins)), 2)
        }


def _counted(cells: Ints) -> pl.DataFrame:
    return pl.DataFrame({"cell": cells}).group_by("cell").agg(pl.len().cast(pl.Int64).alias("records"))


def _added(one: _Cells, other: _Cells) -> _Cells:
    return {
        pair: pl.concat([cells, other[pair]]).group_by("cell").agg(pl.col("records").sum())
        for pair, cells in one.items()
    }


def _beside(before: pl.DataFrame, after: pl.DataFrame) -> tuple[Ints, Ints]:
    """The same cells of both tables in the same order."""
    both = before.join(after, on="cell", how="full", suffix=" after").fill_null(0)
    return both["records"].to_numpy(), both["records after"].to_numpy()
