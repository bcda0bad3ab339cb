"""A measured risk as a promise: what perturbing methods can be held to, as they make no classes (paper 5).

Noise, swapping and shuffling keep every record apart; what can be promised is how many people are found again by the
best attack that is known here (`shoal.risk.found_again`), judged on the finished output. Measures that compare methods,
or carry out one attack only, are no promise: where paper 5's R is .45, nearly everybody may be found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Chunks, parameter
from shoal.data.parse_cells import read_cells
from shoal.errors import InputError, require
from shoal.measure import Pair, find_measure
from shoal.privacy.model import EquivalenceClasses, Maker, PrivacyModel, Verdict


class MeasuredRisk(PrivacyModel):
    """At most a share `level` of the people is found again, by the best attack; or the risk by one's own `measure`."""

    level: float = parameter("share of the people whom the best attack may find, or the risk by the measure", least=0)
    measure: str = parameter("what is measured", default="found_again")
    replayed: bool = parameter(
        "made without chance: whoever runs the method again knows which rows are whose", default=False
    )

    needs = ("a method that perturbs",)
    in_chunks = Chunks("people found again, in random chunks")
    beside_original = True
    instead_of_k = True
    leaves_open = (
        "A measure is not a crowd",
        "Perturbed records stand apart: an intruder who knows more, or links otherwise than the measure does, may find "
        "more people than it says; and who is found is not found at random: people unlike all others are found first.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not find_measure(self.measure, "risk").promised:
            raise InputError(
                f"{self.measure!r} is for comparing methods: it counts one kind of attack only, and others may find "
                "nearly everybody where it looks safe. Promise the share of people found by the best attack, as "
                "--promise measured-risk:level=0.05 (found_again)."
            )
        if self.measure == MeasuredRisk.measure:
            require(self.name, "level", self.level, "a share of people, from 0 to 1", holds=self.level <= 1)

    @property
    def asked(self) -> float:
        """The highest risk accepted."""
        return self.level

    @property
    def by_size(self) -> bool:
        """No class can be judged by itself: there is nothing for a grouping to repair."""
        return True

    def held_to(self, method: Maker) -> Self:
        """Of a method that can be undone no figure of the attacks that are built in means anything: it is refused.

        One that draws nothing (`seedless`) is run again by whoever knows everybody's quasi-identifiers.
        """
        if method.undone:
            raise InputError(
                f"No measured risk of {method.name!r} can be promised: {method.undone}. Compare with it, and release "
                "by another method, as noise, swap (in two rounds) or shuffle."
            )
        return replace(self, replayed=method.seedless)

    def of_people(self) -> PrivacyModel:
        """Refused: whoever has several records is found where one of them is, and counted once for each."""
        raise InputError(
            f"{self.name} is a share of records, not of people, who are found where one record of theirs is: promise "
            "persons or linked, or leave out whom a record is about (--person)."
        )

    def refuse_in_chunks(self, engine: str) -> None:
        """Who is found among all is found in a chunk too; of other measures nothing of the kind is known."""
        if self.measure != MeasuredRisk.measure:
            raise InputError(
                f"The engine {engine!r} cannot promise the measured risk {self.measure!r}: what it is in chunks tells "
                f"nothing sure of the whole. Use the memory engine, or {MeasuredRisk.measure}."
            )

    @property
    def asked_in_words(self) -> str:
        """The measure, and the bound on it."""
        safer = find_measure(self.measure, "risk").higher_is == "safer"
        return f"{self.measure} {'≥' if safer else '≤'} {self.level:g}"

    @property
    def in_words(self) -> str:
        """What the measure says of people, in words."""
        measure = find_measure(self.measure, "risk")
        if measure.name == MeasuredRisk.measure:
            return (
                f"At most {self.level:.1%} of the people are found again by the best of the attacks that Shoal knows, "
                "carried out beside the original: by ranks, by distance, one to one, by values and gaps that survived. "
                "No record hides in a class: against an attack that nobody thought of, nothing is promised."
            )
        side = "at least" if measure.higher_is == "safer" else "at most"
        return (
            f"Measured between the original table and what is released, {measure.name.replace('_', ' ')} is {side} "
            f"{self.level:g}. {measure.meaning} No record hides in a class: by this measure alone is it hard to link."
        )

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The level promised for every class: it is measured on the finished output alone."""
        return np.full(len(starts) - 1, self.level)

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """True of every class, since none is judged by itself."""
        return np.ones(len(levels), np.bool_)

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges by measuring the risk between the original and the release."""
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
