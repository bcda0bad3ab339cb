"""What an analyst can still do with a masked table: information loss, discernibility, correlations, means.

(Paper 1, Eqs. 3 and 4, Tables S4 and S5; docs/spec.md#information-loss, #discernibility.) Information loss compares
each record with itself, so it needs to know which released record is which. A release is shuffled unless told
otherwise, and then only the measures that need no pairing are given, and the one left out is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.catalogue import Chunks
from shoal.data.cells import MaskedColumn, Runs
from shoal.data.microdata import MISSING, Coded, Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.schema import Kind, Schema
from shoal.errors import InputError, did_you_mean
from shoal.measure import Fact
from shoal.privacy.model import EquivalenceClasses
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.utility.correlations import Correlations, correlations, place_masked, place_original
from shoal.utility.discernibility import average_class_size, discernibility
from shoal.utility.information_loss import attribute_loss, information_loss
from shoal.utility.separation_loss import mean_share, separation_losses

FACTS = {
    "information_loss": Fact("worse", Chunks("by the release itself; on disk beside an original in the same order")),
    "separation_loss": Fact("worse", Chunks("by the release itself; on disk beside an original in the same order")),
    "discernibility": Fact("worse"),
    "average_class_size": Fact("worse"),
    "correlation_agreement": Fact("better"),
    "mean_shift": Fact("worse"),
}


@dataclass(frozen=True)
class Utility(Result):
    """What the masked table kept. A loss of None was left out, and `left_out` says why."""

    records: int  # of the original table
    suppressed: int
    paired: bool
    information_loss: float | None  # Eq. 3
    separation_losses: Mapping[str, float]  # of each attribute: of pairs that were told apart, the share no longer so
    attribute_loss: Mapping[str, float]  # the mean distance of each attribute, in its standard deviations
    discernibility: int
    average_class_size: float
    mean_shift: Mapping[str, float | None]  # |mean after - mean before| in standard deviations
    correlations: Correlations = field(compare=False)
    left_out: Mapping[str, str]
    engine: str = "memory"

    @property
    def information_loss_rms(self) -> float | None:
        """Eq. 3 divided by the root of the number of attributes instead of the number: their typical loss."""
        m = len(self.mean_shift)
        return None if self.information_loss is None else float(self.information_loss * np.sqrt(m))

    @property
    def separation_loss(self) -> float | None:
        """The share of pairs no longer told apart, on the average of all attributes; None where one is not known."""
        return mean_share(self.separation_losses, len(self.mean_shift))

    @property
    def correlation_agreement(self) -> float | None:
        """How alike the correlations are before and after; None where too few can be compared."""
        return self.correlations.agreement

    @property
    def mean_shift_average(self) -> float | None:
        """The shift of the means on the average of all attributes that have one."""
        shifts = [shift for shift in self.mean_shift.values() if shift is not None]
        return sum(shifts) / len(shifts) if shifts else None

    def to_dict(self) -> dict[str, object]:
        """All numbers, ready for JSON."""
        return {
            "records": self.records,
            "suppressed": self.suppressed,
            "paired": self.paired,
            "information_loss": self.information_loss,
            "information_loss_rms": self.information_loss_rms,
            "separation_loss": self.separation_loss,
            "separation_loss_by_attribute": dict(self.separation_losses),
            "attribute_loss": dict(self.attribute_loss),
            "discernibility": self.discernibility,
            "average_class_size": self.average_class_size,
            "correlation_agreement": self.correlation_agreement,
            "correlations": self.correlations.pairs().to_dicts(),
            "mean_shift": self.mean_shift_average,
            "mean_shift_by_attribute": dict(self.mean_shift),
            "left_out": dict(self.left_out),
            "higher_is": {name: fact.higher_is for name, fact in FACTS.items()},
            **({} if self.engine == "memory" else {"engine": self.engine}),
        }

    def sheets(self) -> list[Sheet]:
        """As tables: loss, shifted means and correlations."""
        return _sheets(self)

    def charts(self) -> list[Chart]:
        """What each attribute lost, and how far its mean moved."""
        losses = dict(sorted(self.attribute_loss.items(), key=lambda item: -item[1]))
        shifts = {name: shift for name, shift in self.mean_shift.items() if shift is not None}
        return [
            Bars("Loss, in standard deviations", [*losses], (Series("loss", [*losses.values()]),), "number"),
            Bars("Shift of the mean, in the same", [*shifts], (Series("shift", [*shifts.values()]),), "number"),
        ]


@events.apart
def assess_utility(
    original: pl.DataFrame, masked: pl.DataFrame, schema: Schema, *, paired: bool | None = None
) -> Utility:
    """What `masked` kept of `original`, over the quasi-identifiers.

    `paired` says whether row i of both is the same person. Left to us, they are paired if there are as many
    rows and every masked cell admits the original value in its row.
    """
    microdata, cells = read_both(original, masked, schema)
    quasi = schema.quasi_identifiers
    unpaired = why_unpaired(microdata, cells, masked.height, paired)
    loss = None if unpaired else information_loss(microdata, cells)
    before = {name: place_original(microdata[name]) for name in quasi}
    after = {name: place_masked(cells[name]) for name in quasi}
    tables = correlations(list(before.values()), list(after.values()))
    shown = pl.DataFrame({name: column.index for name, column in cells.items()})
    sizes = EquivalenceClasses(shown, tuple(quasi), {}).sizes
    suppressed = max(0, original.height - masked.height)
    return Utility(
        records=original.height,
        suppressed=suppressed,
        paired=not unpaired,
        information_loss=loss,
        separation_losses={} if unpaired else separation_losses(microdata, cells),
        attribute_loss={} if unpaired else {q: attribute_loss(microdata[q], cells[q]) for q in quasi},
        discernibility=discernibility(sizes, suppressed),
        average_class_size=average_class_size(sizes, suppressed),
        mean_shift={
            name: mean_shift(microdata[name], before[name].moments()[0], after[name].moments()[0]) for name in quasi
        },
        correlations=tables,
        left_out=left_out_of(unpaired, tables),
    )


def read_both(
    original: pl.DataFrame, masked: pl.DataFrame, schema: Schema
) -> tuple[Microdata, dict[str, MaskedColumn]]:
    """The original, encoded, and what the masked table shows of its quasi-identifiers."""
    check_columns(schema.quasi_identifiers, original.columns, masked.columns)
    for table, frame in {"original": original, "masked": masked}.items():
        if frame.height == 0:
            raise InputError(f"The {table} table has no records: there is nothing to measure.")
    microdata = Microdata(original, schema)
    quasi = schema.quasi_identifiers
    return microdata, {name: read_cells(masked[name], schema[name], microdata[name].values) for name in quasi}


def check_columns(quasi: Sequence[str], original: Sequence[str], masked: Sequence[str]) -> None:
    """Refuses where a quasi-identifier is missing from either table."""
    if not quasi:
        raise InputError("No quasi-identifier is named: name the columns that were masked.")
    for table, columns in {"original": original, "masked": masked}.items():
        for name in quasi:
            if name not in columns:
                hint = did_you_mean(name, columns)
                raise InputError(f"The {table} table has no column {name!r}, named as quasi-identifier.{hint}")


def mean_shift(coded: Coded, before: float, after: float) -> float | None:
    """How far the mean of the midpoints lies from the mean, in sigmas; categories without order have none."""
    if coded.is_nominal:
        return None
    shift = abs(after - before)
    if np.isnan(shift):
        return None
    return float(shift / coded.sigma) if coded.sigma else 0.0


def left_out_of(unpaired: str, tables: Correlations) -> dict[str, str]:
    """What cannot be measured, and why."""
    left_out = dict.fromkeys(("information_loss", "separation_loss"), unpaired) if unpaired else {}
    if tables.agreement is None:
        left_out["correlation_agreement"] = "it needs at least three attributes that vary in both tables"
    return left_out


# ---- which record is which


def why_unpaired(microdata: Microdata, cells: Mapping[str, MaskedColumn], released: int, paired: bool | None) -> str:
    """Why row i of both tables cannot be taken for the same person; nothing where it can."""
    if released != len(microdata):
        counts = f"the original has {len(microdata):,} records, the masked table {released:,}"
        if paired:
            raise InputError(f"The tables cannot be paired: {counts}.")
        return f"the tables cannot be paired: {counts}"
    if paired is not None:
        return "" if paired else "the tables were declared not to be paired"
    for name, column in cells.items():
        fits = admits(column, microdata[name])
        if not fits.all():
            record = int(fits.argmin()) + 1
            return (
                f"the tables cannot be paired: record {record:,} of the masked table does not admit the "
                f"original {name!r} of that row, so the records were shuffled or perturbed"
            )
    return ""


def admits(column: MaskedColumn, coded: Coded) -> npt.NDArray[np.bool_]:
    """Whether the cell of each record admits the record's original value.

    Missing is admitted by missing and by the wildcard, which admits everything.
    """
    runs = column.runs
    assert runs is not None, "cells are read from what is shown"
    first, last = _codes_of_runs(runs, coded)
    count = np.diff(runs.starts)
    least, most = np.full((2, len(count)), MISSING)
    least[count > 0], most[count > 0] = (
        first[runs.starts[:-1][count > 0]],
        last[runs.starts[1:][count > 0] - 1],
    )
    least[runs.whole], most[runs.whole] = MISSING, len(coded.values)
    fits: npt.NDArray[np.bool_] = (least[column.index] <= coded.codes) & (coded.codes <= most[column.index])
    gaps = np.flatnonzero(fits & ((count > 1) & ~runs.whole)[column.index])
    fits[gaps] = _in_some_run(column.index[gaps], coded.codes[gaps], runs, first, last)
    return fits


def _codes_of_runs(runs: Runs, coded: Coded) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first and the last code that each run admits, the last before the first where it admits none."""
    if coded.attribute.kind in (Kind.NUMERIC, Kind.DATE):
        line = coded.values.to_physical().to_numpy()
        return np.searchsorted(line, runs.low, "left"), np.searchsorted(line, runs.high, "right") - 1
    return runs.low.astype(np.int64), runs.high.astype(np.int64)


def _in_some_run(
    cell: npt.NDArray[np.int32],
    code: npt.NDArray[np.int32],
    runs: Runs,
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """For codes between the ends of their cell: whether the run that begins next before them holds them."""
    owner = np.repeat(np.arange(len(runs.starts) - 1), np.diff(runs.starts))
    width = int(max(first.max(initial=0), code.max(initial=0))) + 1
    run = np.searchsorted(owner * width + first, cell.astype(np.int64) * width + code, "right") - 1
    return code <= last[run]


# ---- showing


def _sheets(utility: Utility) -> list[Sheet]:
    kept = [
        ("information loss", _number(utility.information_loss), "Eq. 3; lower is better"),
        ("separation loss", _number(utility.separation_loss), "pairs no longer told apart; 0 is best"),
        ("discernibility", f"{utility.discernibility:,}", "lower is better"),
        ("average class size", _number(utility.average_class_size), "lower is better"),
        ("correlation agreement", _number(utility.correlation_agreement), "1 is best"),
        ("shift of means", _number(utility.mean_shift_average), "in standard deviations; 0 is best"),
    ]
    lost, apart = utility.attribute_loss, utility.separation_losses
    rows = [
        (name, _number(apart.get(name)), _number(lost.get(name)), _number(shift))
        for name, shift in utility.mean_shift.items()
    ]
    suppressed = f", {utility.suppressed:,} suppressed" if utility.suppressed else ""
    return [
        Sheet(f"Utility of {utility.records:,} records{suppressed}", ("", "value", "meaning"), kept),
        Sheet("By attribute", ("attribute", "separation loss", "loss in sigmas", "shift of mean"), rows, numbers=3),
        Sheet("Left out", ("measure", "reason"), list(utility.left_out.items()), numbers=0),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4f}"
