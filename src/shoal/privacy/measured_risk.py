"""A measured risk as a promise: what perturbing methods can be held to, as they make no classes (paper 5).

Noise, swapping and shuffling keep every record apart; what can be promised is how many people are found again by the
best attack that is known here (`shoal.risk.found_again`), judged on the finished output. Measures that compare methods,
or carry out one attack only, are no promise: where paper 5's R is .45, nearly everybody may be found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.parse_cells import read_cells
from shoal.errors import InputError, require
from shoal.measure import Pair, find_measure
from shoal.privacy.model import EquivalenceClasses, Verdict


@dataclass(frozen=True)
class MeasuredRisk:
    """At most a share `level` of the people is found again, by the best attack; or the risk by one's own `measure`."""

    level: float
    measure: str = "found_again"
    replayed: bool = False  # made without chance: whoever runs the method again knows which rows are whose

    name: ClassVar[str] = "measured-risk"
    attribute: ClassVar[None] = None
    by_size: ClassVar[bool] = True  # no class can be judged by itself: there is nothing for a grouping to repair

    def __post_init__(self) -> None:
        good = isinstance(self.level, int | float) and not isinstance(self.level, bool) and 0 <= self.level < np.inf
        require(self.name, "level", self.level, "a number of at least 0", holds=good)
        if not find_measure(self.measure, "risk").promised:
            raise InputError(
                f"{self.measure!r} is for comparing methods: it counts one kind of attack only, and others may find "
                "nearly everybody where it looks safe. Promise the share of people found by the best attack, as "
                "--measured-risk 0.05 (found_again)."
            )
        if self.measure == MeasuredRisk.measure:
            require(self.name, "level", self.level, "a share of people, from 0 to 1", holds=self.level <= 1)

    @property
    def asked(self) -> float:
        return self.level

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        return np.full(len(starts) - 1, self.level)

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return np.ones(len(levels), np.bool_)

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        if classes.source is None:
            raise InputError("A measured risk is judged beside the original table: give that too (--original FILE).")
        measure = find_measure(self.measure, "risk")
        if measure.needs_pairs:
            classes.source.need_pairs()
        pair = _pair(classes)
        achieved = measure(pair)
        if self.replayed and self.measure == MeasuredRisk.measure:
            achieved = max(achieved, shown_alone(pair))
        holds = achieved >= self.level if measure.higher_is == "safer" else achieved <= self.level
        return Verdict(self.name, self.level, achieved, holds)


def _pair(classes: EquivalenceClasses) -> Pair:
    assert classes.source is not None
    original, rows, _ = classes.source
    shown = classes.frame.lazy().select(classes.quasi).collect()
    cells = {name: read_cells(shown[name], original.schema[name], original[name].values) for name in classes.quasi}
    return Pair.of(original, cells, rows)


def shown_alone(pair: Pair) -> float:
    """Share of people found by who knows what is shown of each of them: one of all whose rows are the same."""
    several = [column.index for column in pair.several.values()]
    rows = pl.from_numpy(np.column_stack([pair.masked, *several]))
    return float(rows.select(pl.struct(pl.all()).n_unique()).item() / rows.height)
