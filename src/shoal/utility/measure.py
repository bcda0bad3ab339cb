"""What an analyst can still do with a masked table: information loss, discernibility, correlations, means.

(Paper 1, Eqs. 3 and 4, Tables S4 and S5; docs/spec.md#information-loss, #discernibility.) Information loss compares
each record with itself, so it needs to know which released record is which. A release is shuffled unless told
otherwise, and then only the measures that need no pairing are given, and the one left out is named. How they are found,
of tables of any size: `shoal.utility.tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shoal.catalogue import Chunks
from shoal.data.microdata import Coded
from shoal.measure import Fact
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.utility.correlations import Correlations
from shoal.utility.separation_loss import mean_share

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
