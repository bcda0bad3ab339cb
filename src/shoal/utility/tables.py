"""What an analyst can still do with a release that comes in chunks: the measures of `shoal.utility`.

Most follow from what each table shows by itself: how many records have each value, how large classes are, and sums of
products over all records, which add up batch by batch. What compares each record with itself (information loss, SSE)
adds up as well, where both tables stand in the same order; a release is shuffled unless told otherwise. What looks at
records of both tables together, as propensity scores and the earth mover's distance do, is measured on records drawn
evenly from each, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.data.microdata import Microdata, Whole
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Kind, Schema
from shoal.engines.paired import ORIGINAL, AtRandom, records_alike, side_by_side
from shoal.engines.table import Batch, Table
from shoal.engines.whole import POSITION, SAMPLE
from shoal.errors import InputError
from shoal.measure import Measure, Measured, Pair, find_measure, measures
from shoal.privacy.classes import all_of, class_sizes
from shoal.utility.correlations import Correlations, Products, standardised
from shoal.utility.discernibility import average_class_size, discernibility
from shoal.utility.information_loss import attribute_loss, information_loss
from shoal.utility.marginals import bins_of, edges_of, variation_of
from shoal.utility.measure import Utility, left_out_of, mean_shift
from shoal.utility.moments import Moments
from shoal.utility.placed import Both, Column, Floats, Ints, Known, Listed, read_tables
from shoal.utility.separation_loss import Pairs, pairs_lost

UNPAIRED = (
    "records of these tables are not paired with their originals; whoever masks is told the loss, and tables on disk "
    "in the same order can be paired (--paired)"
)
_CELLS = 1 << 24  # of a two-way table


def compare_tables(original: Known, masked: Table, *, paired: bool = False) -> Utility:
    """What the masked table kept of the original one, over the quasi-identifiers.

    `paired` says that record i of both is the same person: of engines that keep the order of what they read.
    """
    both = read_tables(original, masked)
    quasi = both.quasi
    columns = [both.placed(name) for name in quasi]
    before, after = (_summed(table, [c[side] for c in columns]) for side, table in enumerate(both.tables))
    tables = Correlations(tuple(quasi), before.products.correlations(), after.products.correlations())
    sizes = class_sizes(both.masked, quasi, both.after.records)
    suppressed = max(0, original.records - both.after.records)
    losses, separation = _losses(both) if paired else ({}, {})
    left_out = left_out_of("" if paired else UNPAIRED, tables)
    if paired and len(separation) < len(quasi):
        left_out["separation_loss"] = "a quasi-identifier has too many values for pairs to be counted"
    return Utility(
        records=original.records,
        suppressed=suppressed,
        paired=paired,
        information_loss=losses.pop("", None),
        separation_losses=separation,
        attribute_loss=losses,
        discernibility=discernibility(sizes.size, suppressed, sizes.classes),
        average_class_size=average_class_size(sizes.size, suppressed, sizes.classes),
        mean_shift={
            name: mean_shift(both.coded(name), before.means[j], after.means[j]) for j, name in enumerate(quasi)
        },
        correlations=tables,
        left_out=left_out,
        engine=masked.engine,
    )


# ---- sums over all records


@dataclass(frozen=True)
class _Multiply:
    """The sums of a batch."""

    columns: tuple[tuple[str, Column], ...]

    def __call__(self, batch: Batch) -> Products:
        z = [standardised(column(batch.frame[name]), *column.scale) for name, column in self.columns]
        return Products.of(np.array(z))


class _Sums(NamedTuple):
    products: Products
    means: Floats


def _summed(table: Table, columns: Sequence[Column]) -> _Sums:
    """One pass."""
    work = _Multiply(tuple((column.attribute.name, column) for column in columns))
    products = table.fold(work, Products.plus)
    assert products is not None
    with np.errstate(invalid="ignore"):
        shift = np.diag(products.total) / np.diag(products.count)
    mean, deviation = np.array([column.scale for column in columns]).T
    return _Sums(products, mean + shift * np.where(deviation == 0.0, 1.0, deviation))


# ---- records beside their originals


def _paired(both: Both) -> Table:
    """Each masked record with its original; refused where the order of the tables does not tell which is which."""
    table, masked = both.tables
    return side_by_side(masked, table, records_alike(masked, table))


@dataclass(frozen=True)
class _Lost:
    """What a chunk's records lost: sums of distances, of all attributes under no name and of each; pairs of each."""

    schema: Schema
    whole: Mapping[str, Whole]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        names = self.schema.names
        own = frame.select(pl.col(f"{ORIGINAL}{name}").alias(name) for name in names)
        original = Microdata(own, self.schema, self.whole)
        cells = {name: read_cells(frame[name], self.schema[name], original[name].values) for name in names}
        lost = {"": information_loss(original, cells)}
        lost |= {name: attribute_loss(original[name], cells[name]) for name in names}
        pairs = pairs_lost(original, cells)
        rows = [(name, each * frame.height, *pairs.get(name, (None, None))) for name, each in lost.items()]
        return pl.DataFrame(rows, self.shown, orient="row")

    shown = pl.Schema({"attribute": pl.String(), **dict.fromkeys(("lost", "pairs", "apart"), pl.Float64())})


def _losses(both: Both) -> tuple[dict[str, float], dict[str, float]]:
    """Eq. 3 under no name, and the mean distance of each attribute; and the separation loss of each."""
    known = both.original
    schema = Schema(tuple(known.schema[name] for name in both.quasi))
    chunks = both.masked.chunks(known.records)
    together = _paired(both).exchange(AtRandom(chunks), chunks)
    lost = all_of(together.map(_Lost(schema, known.whole), _Lost.shown)).group_by("attribute").agg(pl.all().sum())
    sums = {name: (distance, Pairs(*pairs)) for name, distance, *pairs in lost.iter_rows()}
    listed = [name for name in both.quasi if known.whole[name].values is not None]
    distances = {name: sums[name][0] / known.records for name in ("", *both.quasi)}
    return distances, {name: sums[name][1].share for name in listed}


class _Squares(NamedTuple):
    """Of standardised records: squared distances to their masked ones, and their squares."""

    lost: float
    total: float

    def plus(self, squares: _Squares) -> _Squares:
        return _Squares(self.lost + squares.lost, self.total + squares.total)


@dataclass(frozen=True)
class _Square:
    """The squares of a batch of records beside their originals, as `shoal.utility.moments.sse` has them."""

    columns: tuple[tuple[Listed, Listed], ...]

    def __call__(self, batch: Batch) -> _Squares:
        squares = _Squares(0.0, 0.0)
        for before, after in self.columns:
            name = before.attribute.name
            own = standardised(before(batch.frame[f"{ORIGINAL}{name}"].alias(name)), *before.scale)
            shown = np.nan_to_num(standardised(after(batch.frame[name]), *before.scale))
            known = ~np.isnan(own)
            squares = squares.plus(_Squares(float(((own - shown)[known] ** 2).sum()), float((own[known] ** 2).sum())))
        return squares


# ---- measures by name


def measured_tables(
    original: Known, masked: Table, names: Sequence[str] = ("all",), *, paired: bool = False
) -> Measured:
    """The measures of utility of these names; one that has no value on these tables is left out by name."""
    chosen = (
        list(measures("utility").values())
        if list(names) == ["all"]
        else [find_measure(name, "utility") for name in names]
    )
    both = Compared(read_tables(original, masked), paired)
    values: dict[str, float] = {}
    how: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for each in chosen:
        try:
            values[each.name] = both.measure(each)
            if remark := both.how(each):
                how[each.name] = remark
        except InputError as error:
            left_out[each.name] = str(error)
    return Measured(values, {each.name: each for each in chosen}, how, left_out)


@dataclass(frozen=True)
class Compared:
    """Two tables in chunks, and all that measures by name are made of."""

    both: Both
    paired: bool = False

    def measure(self, measure: Measure) -> float:
        """From all records where the measure says how, else of records that are drawn."""
        if measure.needs_pairs and not self.paired:
            raise InputError(UNPAIRED)
        if measure.of_tables is not None:
            return measure.of_tables(self)
        if measure.needs_pairs:
            raise InputError("It compares single records with their originals: measure it in memory.")
        return measure(self.drawn)

    def how(self, measure: Measure) -> str:
        """How a value was found, where not from all records."""
        if measure.of_tables is not None:
            return ""
        most = max(self.both.original.records, self.both.after.records)
        sample = f"of {SAMPLE:,} records of each table, drawn evenly" if most > SAMPLE else ""
        own = measure.how(self.drawn) if measure.how else ""
        return ", ".join(text for text in (own, sample) if text)

    @cached_property
    def drawn(self) -> Pair:
        """Some records of each table, all of them where they are few, in their order."""
        known, after = self.both.original, self.both.after
        original = known.microdata(known.summary.sample.sort(POSITION))
        shown = after.sample.sort(POSITION)
        cells = {name: read_cells(shown[name], known.schema[name], original[name].values) for name in self.both.quasi}
        return Pair.of(original, cells)

    def squared_error(self) -> float:
        """SSE in percent of SST, of records beside their originals."""
        columns = tuple(both for both in self.columns if _varies(both[0]))
        if not columns:
            raise InputError("No attribute is numeric, ordinal or a date and varies: there is nothing to measure.")
        squares = _paired(self.both).fold(_Square(columns), _Squares.plus)
        assert squares is not None
        return 100 * squares.lost / squares.total

    @cached_property
    def columns(self) -> list[tuple[Listed, Listed]]:
        """Each quasi-identifier before and after, with how many records have each value."""
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

    def _of(self, table: Table, columns: Sequence[Listed]) -> Moments:
        mean, deviation = np.array([column.scale for column in columns]).T
        return Moments(mean, deviation, np.nan_to_num(_summed(table, columns).products.correlations()))

    @cached_property
    def bins(self) -> list[tuple[Listed, Listed]]:
        """The same columns, each value at the bin that counts it."""
        return [_binned(*both) for both in self.columns]

    def one_way(self) -> float:
        """The variation between the tables of one attribute, on average."""
        return float(np.mean([variation_of(*_counts(*both)) for both in self.bins]))

    def two_way(self) -> float:
        """The variation between the tables of two attributes, on average."""
        if len(self.bins) < 2:
            raise InputError("There is only one attribute: there are no two-way tables.")
        widths = [1 + int(max(before.place.max(), after.place.max())) for before, after in self.bins]
        for i, j in combinations(range(len(widths)), 2):
            if widths[i] * widths[j] > _CELLS:
                names = (self.both.quasi[i], self.both.quasi[j])
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


def _varies(column: Listed) -> bool:
    known = column.place[:-1][column.whole.counts > 0]
    return column.attribute.kind is not Kind.NOMINAL and len(known) > 0 and bool(known.max() > known.min())


def _binned(before: Listed, after: Listed) -> tuple[Listed, Listed]:
    known = np.append(before.whole.counts > 0, False)
    edges = None
    if before.attribute.kind is not Kind.NOMINAL:
        edges = edges_of(before.place[known], before.records[known])
    before_binned, after_binned = (
        replace(column, place=bins_of(column.place, edges).astype(np.float64)) for column in (before, after)
    )
    return before_binned, after_binned


def _counts(before: Listed, after: Listed) -> tuple[Ints, Ints]:
    """Records in each bin of both tables."""
    width = 1 + int(max(before.place.max(), after.place.max()))
    counts_before, counts_after = (
        np.bincount(column.place.astype(np.int64), column.records, minlength=width) for column in (before, after)
    )
    return counts_before.astype(np.int64), counts_after.astype(np.int64)


_Cells = dict[tuple[int, int], pl.DataFrame]  # two attributes -> (cell, records)


@dataclass(frozen=True)
class _Cross:
    """The two-way tables of a batch."""

    columns: tuple[tuple[str, Listed], ...]
    widths: tuple[int, ...]

    def __call__(self, batch: Batch) -> _Cells:
        bins = [column(batch.frame[name]).astype(np.int64) for name, column in self.columns]
        return {(i, j): _counted(bins[i] * self.widths[j] + bins[j]) for i, j in combinations(range(len(bins)), 2)}


def _counted(cells: Ints) -> pl.DataFrame:
    return pl.DataFrame({"cell": cells}).group_by("cell").agg(pl.len().cast(pl.Int64).alias("records"))


def _added(left: _Cells, right: _Cells) -> _Cells:
    return {
        pair: pl.concat([cells, right[pair]]).group_by("cell").agg(pl.col("records").sum())
        for pair, cells in left.items()
    }


def _beside(before: pl.DataFrame, after: pl.DataFrame) -> tuple[Ints, Ints]:
    """The same cells of both tables in the same order."""
    both = before.join(after, on="cell", how="full", suffix=" after").fill_null(0)
    return both["records"].to_numpy(), both["records after"].to_numpy()
