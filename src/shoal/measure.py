"""Measures: named numbers over an original table and what was released of it.

A new measure is one function with a decorator; `shoal compare`, the report and the command line know it at once:

    @measure("utility", "worse")
    def mean_difference(pair: Pair) -> float:
        '''How far the means moved, in standard deviations; 0 where all were kept.'''
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.data.masked import MaskedColumn
from shoal.data.microdata import MISSING, Microdata
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError, did_you_mean

Matrix = npt.NDArray[np.float64]
About = Literal["risk", "utility"]
HigherIs = Literal["riskier", "safer", "better", "worse"]

_HOMES = (
    "shoal.risk.linkage",
    "shoal.risk.permutation",
    "shoal.risk.intervals",
    "shoal.utility.earth_movers",
    "shoal.utility.moments",
    "shoal.utility.propensity",
    "shoal.utility.marginals",
)


@dataclass(frozen=True)
class Pair:
    """An original table and what was released of it, a column an attribute.

    Numbers, dates and ordered categories stand at their positions, a range at its midpoint. A nominal value stands at
    its code; where several are shown there is no telling which: NaN, as for missing values.
    """

    attributes: tuple[Attribute, ...]
    original: Matrix  # n x m
    masked: Matrix  # n' x m
    kept: npt.NDArray[np.int64] | None = None  # masked row i is original row kept[i]; None: all, in their order

    @classmethod
    def of(
        cls, original: Microdata, columns: Mapping[str, MaskedColumn], kept: npt.NDArray[np.int64] | None = None
    ) -> Pair:
        names = [name for name in original.schema.names if name in columns]
        before = np.column_stack([_positions(original, name) for name in names])
        after = np.column_stack([_midpoints(columns[name]) for name in names])
        return cls(tuple(original.schema[name] for name in names), before, after, kept)

    def only(self, wanted: npt.NDArray[np.bool_]) -> Pair:
        """The pair of these attributes."""
        attributes = tuple(a for a, want in zip(self.attributes, wanted, strict=True) if want)
        return Pair(attributes, self.original[:, wanted], self.masked[:, wanted], self.kept)

    @cached_property
    def ordered(self) -> Pair:
        """The attributes whose values stand in an order, and vary: all that distances and moments can be asked of."""
        in_order = np.array([a.kind is not Kind.NOMINAL for a in self.attributes], np.bool_)
        low, high = np.nanmin(self.original, axis=0), np.nanmax(self.original, axis=0)
        wanted = in_order & (high > low)
        if not wanted.any():
            raise InputError("No attribute is numeric, ordinal or a date and varies: there is nothing to measure.")
        return self if wanted.all() else self.only(wanted)

    @cached_property
    def released(self) -> Matrix:
        """The original rows of the records that were released, row by row beside `masked`."""
        return self.original if self.kept is None else self.original[self.kept]


def _positions(original: Microdata, name: str) -> Matrix:
    coded = original[name]
    return np.append(coded.positions, np.nan)[np.where(coded.codes == MISSING, len(coded.positions), coded.codes)]


def _midpoints(column: MaskedColumn) -> Matrix:
    middle = (column.low + column.high) / 2
    if column.attribute.kind is Kind.NOMINAL:
        middle = np.where(column.size == 1, column.low, np.nan)
    return middle[column.index]


@dataclass(frozen=True)
class Measure:
    """A named number: `meaning` is its function's first line, `higher_is` which direction is good."""

    name: str
    about: About
    higher_is: HigherIs
    meaning: str
    function: Callable[..., float]
    needs_pairs: bool = False  # compares each record with itself: not defined on a shuffled release

    def __call__(self, pair: Pair, **options: Any) -> float:
        return float(self.function(pair, **options))


MEASURES: dict[str, Measure] = {}


def measure(
    about: About, higher_is: HigherIs, *, needs_pairs: bool = False
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Makes a function of a pair a measure of that name."""

    def register(function: Callable[..., float]) -> Callable[..., float]:
        meaning = (function.__doc__ or "").strip().split("\n")[0]
        if not meaning:
            raise InputError(f"The measure {function.__name__!r} says nothing of itself: give it a line of words.")
        MEASURES[function.__name__] = Measure(function.__name__, about, higher_is, meaning, function, needs_pairs)
        return function

    return register


def measures(about: About | None = None) -> dict[str, Measure]:
    """All measures known, ours and those that others registered."""
    for home in _HOMES:
        import_module(home)
    return {name: found for name, found in MEASURES.items() if about in (None, found.about)}


def find_measure(name: str, about: About | None = None) -> Measure:
    """By its name, or by `module:function` for one's own."""
    known = measures(about)
    if name in known:
        return known[name]
    if ":" in name:
        own = import_own(name, "measure")
        known = measures(about)
        if own.__name__ in known:
            return known[own.__name__]
        raise InputError(f"{name!r} is no measure of {about}: decorate it with @shoal.measure.measure({about!r}, ...).")
    hint = did_you_mean(name, known) or f" Known are {', '.join(known)}."
    raise InputError(f"There is no {about or ''} measure {name!r}.{hint}")


def import_own(path: str, what: str) -> Any:
    """A user's own function, as `module:function`."""
    module, _, attribute = path.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ImportError as error:
        raise InputError(f"The {what} {path!r} cannot be imported: {error}.") from None
    except AttributeError:
        raise InputError(f"The {what} {path!r} cannot be found: module {module!r} has no {attribute!r}.") from None
