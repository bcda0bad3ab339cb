"""What an analyst can still do with a masked table of any size: the measures of `shoal.utility`, found once for all.

Most follow from what each table shows by itself: how many records have each value, how large classes are, and sums of
products over all records, which add up batch by batch. What compares each record with itself (information loss, SSE)
adds up as well, where both tables stand in the same order; a release is shuffled unless told otherwise. What looks at
records of both tables together, as propensity scores and the earth mover's distance do, is measured on records drawn
evenly from each, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from shoal import events
from shoal.data.microdata import Microdata, Whole
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Schema
from shoal.engines.memory import MemoryTable
from shoal.engines.paired import ORIGINAL, AtRandom, records_alike, side_by_side
from shoal.engines.table import Table
from shoal.engines.whole import POSITION, SAMPLE
from shoal.errors import InputError
from shoal.measure import About, Measure, Measured, Pair, taken
from shoal.privacy.classes import all_of, class_sizes
from shoal.utility.correlations import Correlations
from shoal.utility.discernibility import average_class_size, discernibility
from shoal.utility.information_loss import attribute_loss, information_loss
from shoal.utility.measure import Utility, left_out_of, mean_shift
from shoal.utility.pairing import read_both, why_unpaired
from shoal.utility.placed import Both, Known, read_tables
from shoal.utility.separation_loss import Pairs, pairs_lost
from shoal.utility.statistics import Statistics, summed

UNPAIRED = (
    "records of these tables are not paired with their originals; whoever masks is told the loss, and tables on disk "
    "in the same order can be paired (--paired)"
)


@events.apart
def assess_utility(
    original: pl.DataFrame, masked: pl.DataFrame, schema: Schema, *, paired: bool | None = None
) -> Utility:
    """What `masked` kept of `original`, over the quasi-identifiers.

    `paired` says whether row i of both is the same person. Left to us, they are paired if there are as many
    rows and every masked cell admits the original value in its row.
    """
    microdata, cells = read_both(original, masked, schema)
    return _compared(Known.of(microdata), MemoryTable(masked), why_unpaired(microdata, cells, masked.height, paired))


def compare_tables(original: Known, masked: Table, *, paired: bool = False) -> Utility:
    """The same of tables on an engine.

    `paired` says that record i of both is the same person: of engines that keep the order of what they read.
    """
    return _compared(original, masked, "" if paired else UNPAIRED)


def _compared(original: Known, masked: Table, unpaired: str) -> Utility:
    both = read_tables(original, masked)
    quasi = both.quasi
    columns = [both.placed(name) for name in quasi]
    sides = zip(both.tables, zip(*columns, strict=True), strict=True)
    (before, means), (after, shown) = (summed(table, own) for table, own in sides)
    tables = Correlations(tuple(quasi), before, after)
    sizes = class_sizes(both.masked, quasi, both.after.records)
    suppressed = max(0, original.records - both.after.records)
    losses, separation = ({}, {}) if unpaired else _losses(both)
    left_out = left_out_of(unpaired, tables)
    if not unpaired and len(separation) < len(quasi):
        left_out["separation_loss"] = "a quasi-identifier has too many values for pairs to be counted"
    return Utility(
        records=original.records,
        suppressed=suppressed,
        paired=not unpaired,
        information_loss=losses.pop("", None),
        separation_losses=separation,
        attribute_loss=losses,
        discernibility=discernibility(sizes.size, suppressed, sizes.classes),
        average_class_size=average_class_size(sizes.size, suppressed, sizes.classes),
        mean_shift={name: mean_shift(both.coded(name), means[j], shown[j]) for j, name in enumerate(quasi)},
        correlations=tables,
        left_out=left_out,
        engine=masked.engine,
    )


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


# ---- measures by name


def measured_tables(
    original: Known, masked: Table, names: Sequence[str] = ("all",), about: About = "utility", *, paired: bool = False
) -> Measured:
    """The measures of these names; one that has no value on these tables is left out by name."""
    both = Compared(read_tables(original, masked), paired)
    return taken(names, about, both.measure, both.how)


@dataclass(frozen=True)
class Compared:
    """Two tables in chunks, and all that measures by name are made of."""

    both: Both
    paired: bool = False

    def measure(self, measure: Measure) -> float:
        """From all records where statistics are all that it asks for, else of records that are drawn."""
        if measure.needs_pairs and not self.paired:
            raise InputError(UNPAIRED)
        if measure.of_statistics:
            return measure(self.statistics)
        if measure.needs_pairs or measure.about == "risk":
            raise InputError("It looks for each record among all others, all at once: measure it in memory.")
        return measure(self.drawn)

    def how(self, measure: Measure) -> str:
        """How a value was found, where not from all records."""
        if measure.of_statistics:
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

    @cached_property
    def statistics(self) -> Statistics:
        """Of all records of both tables."""
        columns = [self.both.compared(name) for name in self.both.quasi]
        return Statistics(columns, self.both.tables, lambda: _paired(self.both))
