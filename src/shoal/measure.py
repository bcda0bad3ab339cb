"""Measures: named numbers over an original table and what was released of it.

A new measure is one function with a decorator; `shoal compare`, the report and the command line know it at once. One
that has no value for a table says why by an InputError:

    @measure("utility", "worse")
    def mean_difference(pair: Pair) -> float:
        '''How far the means moved, in standard deviations; 0 where all were kept.'''
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from shoal import events
from shoal.catalogue import ALL_PAIRS, SAME, Chunks, Registry
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import MISSING, Microdata
from shoal.data.parse_cells import exactly
from shoal.data.schema import Attribute, Kind
from shoal.errors import InputError, StoppedError
from shoal.show import Bars, Chart, Result, Series, Sheet

Matrix = npt.NDArray[np.float64]
About = Literal["risk", "utility"]
HigherIs = Literal["riskier", "safer", "better", "worse"]

OF_VALUES = Chunks("same result up to a million values")
DRAWN = Chunks("of records drawn evenly from each table")
IN_MEMORY = Chunks(instead="measure it in memory", because=ALL_PAIRS)


@dataclass(frozen=True)
class Fact:
    """A number that is always told of a table: which direction is good, and how a table in chunks has it."""

    higher_is: HigherIs
    in_chunks: Chunks = SAME


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
    linked_at_most: int = 100_000  # original records that are looked for among the masked ones
    several: Mapping[str, MaskedColumn] = field(default_factory=dict)  # nominal columns that show sets of values
    made: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # by `once`

    @classmethod
    def of(
        cls, original: Microdata, columns: Mapping[str, MaskedColumn], kept: npt.NDArray[np.int64] | None = None
    ) -> Pair:
        """The pair of a table and the masked columns of it, in those attributes that both have."""
        names = [name for name in original.schema.names if name in columns]
        before = np.column_stack([_positions(original, name) for name in names])
        after = np.column_stack([_midpoints(columns[name]) for name in names])
        if not len(after):
            raise InputError("No record is released: there is nothing to measure.")
        several = {n: exactly(columns[n], original[n].values) for n in names if (columns[n].size > 1).any()}
        return cls(tuple(original.schema[name] for name in names), before, after, kept, several=several)

    def sample(self, most: int) -> Pair:
        """At most so many of the released records, drawn at random, beside their originals."""
        n = len(self.masked)
        if n <= most and self.kept is None:
            return self
        drawn = (
            np.arange(n) if self.kept is None else np.argsort(self.kept, kind="stable")
        )  # in whatever order they come
        if n > most:
            drawn = drawn[np.sort(np.random.default_rng(0).choice(n, most, replace=False))]
        several = {name: replace(column, index=column.index[drawn]) for name, column in self.several.items()}
        return Pair(self.attributes, self.released[drawn], self.masked[drawn], several=several)

    def only(self, wanted: npt.NDArray[np.bool_]) -> Pair:
        """The pair of these attributes."""
        attributes = tuple(a for a, want in zip(self.attributes, wanted, strict=True) if want)
        return replace(self, attributes=attributes, original=self.original[:, wanted], masked=self.masked[:, wanted])

    @cached_property
    def in_order(self) -> npt.NDArray[np.bool_]:
        """Which attributes have values that stand in an order, and vary."""
        low, high = self.ends
        varies: npt.NDArray[np.bool_] = high > low
        return np.array([a.kind is not Kind.NOMINAL for a in self.attributes], np.bool_) & varies

    @cached_property
    def ordered(self) -> Pair:
        """The attributes whose values stand in an order, and vary: all that moments can be asked of."""
        wanted = self.in_order
        if not wanted.any():
            raise nothing_in_order()
        return self if wanted.all() else self.only(wanted)

    @cached_property
    def ends(self) -> tuple[Matrix, Matrix]:
        """The original's least and greatest position of each attribute; NaN where all are missing."""
        return np.fmin.reduce(self.original, axis=0), np.fmax.reduce(self.original, axis=0)

    @cached_property
    def standardised(self) -> tuple[Matrix, Matrix]:
        """The ordered attributes of both tables, in the original's standard deviations from its mean; missing: 0."""
        pair = self.ordered
        mean = np.nanmean(pair.original, axis=0)
        deviation = np.sqrt(np.nanmean((pair.original - mean) ** 2, axis=0))
        deviation[deviation == 0.0] = 1.0  # values so near that the square of their distance is none
        before, after = (np.nan_to_num((table - mean) / deviation) for table in (pair.original, pair.masked))
        return before, after

    @cached_property
    def released(self) -> Matrix:
        """The original rows of the records that were released, row by row beside `masked`."""
        return self.original if self.kept is None else self.original[self.kept]


def nothing_in_order() -> InputError:
    """The error of a table of which no moments can be asked."""
    return InputError("No attribute is numeric, ordinal or a date and varies: there is nothing to measure.")


Made = TypeVar("Made")


def once(make: Callable[[Pair], Made]) -> Callable[[Pair], Made]:
    """What several measures need of a pair: made when it is first asked for, and kept on the pair."""
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def kept(pair: Pair) -> Made:
        if name not in pair.made:
            pair.made[name] = make(pair)
        made: Made = pair.made[name]
        return made

    return kept


def _positions(original: Microdata, name: str) -> Matrix:
    coded = original[name]
    return np.append(coded.positions, np.nan)[np.where(coded.codes == MISSING, len(coded.positions), coded.codes)]


def _midpoints(column: MaskedColumn) -> Matrix:
    middle = column.low / 2 + column.high / 2  # a sum may have no number
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
    how: Callable[[Pair], str] | None = None  # says where a value is not the exact one of all records
    promised: bool = True  # whether a release may be held to it
    in_chunks: Chunks = IN_MEMORY
    of_statistics: bool = False  # asks for nothing but statistics, which tables in chunks have of all records too

    def listing(self) -> dict[str, Any]:
        """What it says of itself, for a listing."""
        needs = ["records in the original's order"] if self.needs_pairs else []
        return {
            "name": self.name, "sentence": self.meaning, "about": self.about, "higher_is": self.higher_is,
            "needs": needs, "can_be_promised": self.promised and self.about == "risk",
            "in_chunks": self.in_chunks.how or None,
        }  # fmt: skip

    def __call__(self, pair: object, **options: Any) -> float:
        """The measure's value of a pair, or of statistics; an InputError says why where it has none."""
        try:
            value = float(self.function(pair, **options))
        except (InputError, StoppedError):
            raise
        except Exception as error:  # whatever one's own measure raises
            raise InputError(f"The measure {self.name!r} fails: {type(error).__name__}: {error}") from None
        if not np.isfinite(value):
            raise InputError(f"The measure {self.name!r} has no finite value on these tables: take another.")
        return value


MEASURES: Registry[Measure] = Registry(
    "measure",
    (
        "shoal.risk.found_again",
        "shoal.risk.linkage",
        "shoal.risk.permutation",
        "shoal.risk.intervals",
        "shoal.utility.earth_movers",
        "shoal.utility.moments",
        "shoal.utility.propensity",
        "shoal.utility.marginals",
    ),
    "shoal.measure.measure(...)",
)


def measure(
    about: About,
    higher_is: HigherIs,
    *,
    needs_pairs: bool = False,
    how: Callable[[Pair], str] | None = None,
    promised: bool = True,
    in_chunks: Chunks | None = None,
    of_statistics: bool = False,
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Makes a function of a pair a measure of that name.

    Of tables in chunks a measure of utility that needs no pairs is taken of records drawn from each; `in_chunks` says
    where it is otherwise. One `of_statistics` asks its pair for nothing else (`Statistics.of` in
    `shoal.utility.statistics`): of tables in chunks it is given those of all records.
    """
    way = in_chunks or (DRAWN if about == "utility" and not needs_pairs else IN_MEMORY)

    def register(function: Callable[..., float]) -> Callable[..., float]:
        meaning = (function.__doc__ or "").strip().split("\n")[0]
        if not meaning:
            raise InputError(f"The measure {function.__name__!r} says nothing of itself: give it a line of words.")
        name = function.__name__
        made = Measure(name, about, higher_is, meaning, function, needs_pairs, how, promised, way, of_statistics)
        MEASURES.add(made, function.__module__)
        return function

    return register


def measures(about: About | None = None) -> dict[str, Measure]:
    """All measures known, ours and those that others registered."""
    return {name: known for name, known in MEASURES.loaded().items() if about in (None, known.about)}


def find_measure(name: str, about: About | None = None) -> Measure:
    """By its name, or by `module:function` for one's own."""
    return MEASURES.find(name, f"{about} measure" if about else "", lambda each: about in (None, each.about))


# ---- several at once


@dataclass(frozen=True)
class Measured(Result):
    """What the measures asked for found; `left_out` says of the others why they have no value."""

    values: Mapping[str, float]
    measures: Mapping[str, Measure]
    how: Mapping[str, str]
    left_out: Mapping[str, str]

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Each measure with its value, its meaning and how it was taken, and why others have no value."""
        measures: dict[str, object] = {}
        for name, value in self.values.items():
            which = self.measures[name]
            how = {"how": self.how[name]} if name in self.how else {}
            measures[name] = {"value": value, "meaning": which.meaning, "higher_is": which.higher_is} | how
        return {"measures": measures, "left_out": dict(self.left_out)}

    def charts(self) -> list[Chart]:
        """A bar a measure."""
        return [Bars("Measures", list(self.values), (Series("value", list(self.values.values())),), "number")]

    def sheets(self) -> list[Sheet]:
        """As tables: a row a measure, and those left out with the reason."""
        rows = []
        for name, value in self.values.items():
            how = f" ({self.how[name]})" if name in self.how else ""
            rows.append((name, f"{value:,.4f}", self.measures[name].higher_is, self.measures[name].meaning + how))
        return [
            Sheet("Measures", ("", "value", "higher is", "meaning"), rows),
            Sheet("Measures left out", ("measure", "reason"), list(self.left_out.items()), numbers=0),
        ]


def evaluate(pair: Pair, names: Sequence[str], about: About, *, unpaired: str = "") -> Measured:
    """The measures of these names, or `all`; `unpaired` says why nobody can tell which record is which."""

    def value(measure: Measure) -> float:
        if measure.needs_pairs and unpaired:
            raise InputError(unpaired)
        return measure(pair)

    return taken(names, about, value, lambda measure: measure.how(pair) if measure.how else "")


def taken(
    names: Sequence[str], about: About, value: Callable[[Measure], float], how: Callable[[Measure], str]
) -> Measured:
    """The same by what gives a measure's `value`, and says `how` it was taken where that is no matter of course."""
    chosen = measures(about).values() if list(names) == ["all"] else [find_measure(name, about) for name in names]
    values, remarks, left_out = {}, {}, {}
    for each in events.ticking(chosen):
        try:
            values[each.name] = value(each)
            if remark := how(each):
                remarks[each.name] = remark
        except InputError as error:
            left_out[each.name] = str(error)
    return Measured(values, {each.name: each for each in chosen}, remarks, left_out)
