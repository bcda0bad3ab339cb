"""What every privacy model answers, and the classes it is judged on.

A model is asked twice, by code that shares nothing: while a method works, `levels` gives each class's level from the
encoded arrays; on the finished output, `verdict` judges the classes found by comparing what is released, text by text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Entry, parameter
from shoal.data.microdata import Microdata, declared_order
from shoal.data.person import IN_CLASS, numbered, refuse_whole_by_class, shown_person
from shoal.data.schema import Attribute, Kind, Schema
from shoal.errors import InputError, unwritten


@dataclass(frozen=True)
class Verdict:
    """What a `model` says of a finished release: the level `asked` for, the one `achieved`, and whether it `holds`.

    `note` says what that means where it means less than it seems to.
    """

    model: str
    asked: float
    achieved: float
    holds: bool
    attribute: str | None = None
    note: str = ""

    def to_dict(self) -> dict[str, object]:
        """As a table for JSON; without attribute and note where there are none."""
        about = {"attribute": self.attribute} if self.attribute else {}
        note = {"note": self.note} if self.note else {}
        return {
            "name": self.model,
            **about,
            "asked": self.asked,
            "achieved": self.achieved,
            "holds": self.holds,
            **note,
        }


class Source(NamedTuple):
    """Where a release came from: only its custodian knows."""

    original: Microdata
    rows: npt.NDArray[np.int64] | None  # released record -> original record; None: the same
    paired: bool = True  # whether `rows` is known; otherwise nothing may compare a record with itself

    def need_pairs(self) -> None:
        """Refuses where it is not known which record became which."""
        if not self.paired:
            raise InputError(
                "This is judged by comparing each record with its original: give both files in the same order and say "
                "so (--paired). A release is shuffled unless it was made with --write keep-order."
            )


@dataclass(frozen=True)
class EquivalenceClasses:
    """Records that show the same in every quasi-identifier (class equality); missing equals missing.

    Of a table in memory or, where the frame is lazy, in a file: then only what a model asks for is ever read.

    Defined in docs/spec.md#class-equality.
    """

    frame: pl.DataFrame | pl.LazyFrame
    quasi: tuple[str, ...]
    kinds: dict[str, Kind]
    schema: Schema | None = None  # what else is known of the attributes
    source: Source | None = None  # for what is judged beside the original
    whole: Mapping[str, pl.DataFrame] | None = None  # of a part of a table: each column's values (@value, @records)
    written: pl.DataFrame | pl.LazyFrame | None = None  # of a file: the quasi-identifiers as a reader tells them apart
    counted: npt.NDArray[np.int64] | None = None  # the size of each class, ascending, where an engine counted them
    suppressed: int = 0  # records of the original that are in none of them, where the source is not given

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many records each class has, ascending."""
        if self.counted is not None:
            return self.counted
        sizes = np.diff(self._listed[1]) if "_listed" in self.__dict__ else self._by_class(pl.len()).to_numpy()
        return np.sort(sizes).astype(np.int64)

    @cached_property
    def key(self) -> pl.Series:
        """A number a record, the same for all of a class and for no other record."""
        order, starts = self._listed
        key = np.empty(len(order), np.int64)
        key[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return pl.Series(key)

    @property
    def members(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Records class after class, and where each class starts."""
        return self._listed

    @property
    def showing_people(self) -> str | None:
        """The released column that tells the people of a class apart, where there is one and people are counted."""
        if self.schema is None or self.schema.person is None:
            return None
        return shown_person(self.frame.lazy().collect_schema(), self.schema.person)

    @cached_property
    def people(self) -> npt.NDArray[np.int64] | None:
        """Record -> whose it is, as a number, the same wherever she is in one class; None where records are counted.

        By what is released where that tells people apart, otherwise beside the original.
        """
        if self.schema is None or self.schema.person is None:
            return None
        if (column := self.showing_people) is not None:
            shown = self.frame.lazy().select(column).collect().to_series()
            return numbered(shown, one_each=self.schema.person.one_each)
        if self.source is None:
            raise InputError(
                f"The release does not show whose each record is ({self.schema.person.column!r} or {IN_CLASS!r}): how "
                "many people a class holds can only be judged beside the original (--original)."
            )
        self.source.need_pairs()
        people = self.source.original.people
        return people if people is None or self.source.rows is None else people[self.source.rows]

    @cached_property
    def _listed(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        records = self._by_class(pl.col("record").sort())
        records = records.gather(records.list.first().arg_sort())  # whatever the order in which classes were found
        starts = np.append(0, np.cumsum(records.list.len().to_numpy()))
        return records.explode(empty_as_null=False).to_numpy().astype(np.int64), starts.astype(np.int64)

    def _by_class(self, aggregate: pl.Expr) -> pl.Series:
        """Of each class this `aggregate` of its records: grouped by the values themselves, which no hash stands for."""
        frame = (self.frame if self.written is None else self.written).lazy()
        shown = as_told_apart(frame.collect_schema(), self.quasi) or [pl.repeat(0, pl.len())]
        cells = [str(number) for number in range(len(shown))]  # names that none of the table's own can be mistaken for
        records = frame.select(cell.alias(name) for name, cell in zip(cells, shown, strict=True))
        grouped = records.with_row_index("record").group_by(cells).agg(aggregate.alias("told"))
        return grouped.select("told").collect(engine="streaming").to_series()

    def column(self, name: str) -> pl.Series:
        """What is released of an attribute; of categories, in their declared order.

        Of one that every class shows alike, how its values differ within a class: only the original knows.
        """
        known = self._original(name) if name in self.quasi else self.frame.lazy().select(pl.col(name))
        released = known.collect().to_series()
        if self.schema is None or self.schema[name].kind not in (Kind.ORDINAL, Kind.NOMINAL):
            return released
        return in_order(released, self.schema[name])

    def told_apart(self, values: pl.Series) -> pl.LazyFrame:
        """The `@class` and `@value` of each record, by these values of the records.

        Where people are counted, of those that a person has in a class with the same value, one.
        """
        records = pl.LazyFrame({"@class": self.key, "@value": values})
        if self.people is None:
            return records
        return records.with_columns(pl.Series("@person", self.people)).unique().drop("@person")

    def distribution(self, name: str) -> pl.DataFrame:
        """How many records of the whole table (`@records`) release each value (`@value`) of an attribute; or people."""
        if self.whole is not None:
            return self.whole[name]
        values = self.column(name).alias("@value")
        if self.people is not None:
            refuse_whole_by_class(self.showing_people)
            pairs = pl.DataFrame({"@value": values, "@person": self.people}).unique()
            values = pairs["@value"]
        return values.value_counts(name="@records")

    def _original(self, name: str) -> pl.LazyFrame:
        if self.source is None:
            raise InputError(
                f"Every class shows {name!r} alike: how its values differ within a class can only be judged beside the "
                "original (--original)."
            )
        self.source.need_pairs()
        values = self.source.original.frame.select(name)
        return (values if self.source.rows is None else values[self.source.rows]).lazy()


def as_told_apart(types: Mapping[str, pl.DataType], names: Sequence[str]) -> list[pl.Expr]:
    """Columns such that equal means: shown alike. Of floats the bits: -0.0 is not shown as 0.0 is, nor NaN as missing.

    Whatever finds classes, in memory or on an engine, compares these.
    """

    def apart(name: str) -> pl.Expr:
        column = pl.col(name)
        return column.cast(pl.Float64).reinterpret(dtype=pl.UInt64) if types[name].is_float() else column

    return [apart(name) for name in names]


def in_order(column: pl.Series, attribute: Attribute) -> pl.Series:
    """A column with its categories in their declared order; refused where it holds one that the order does not list."""
    order = declared_order(column, attribute)
    if order is None:
        return column.cast(pl.String) if column.dtype == pl.Categorical else column
    text = column.cast(pl.String)
    unknown = text.filter(text.is_not_null() & ~text.is_in(order.cast(pl.String).implode()))
    if len(unknown):
        raise InputError(
            f"Column {column.name!r} holds {unknown[0]!r}, which its declared order does not list: "
            "add it there, or correct the value."
        )
    return text.cast(pl.Enum(order.cast(pl.String)))


class Maker(Protocol):
    """What a model may ask of the method that it is promised of."""

    name: ClassVar[str]
    seedless: ClassVar[bool]

    @property
    def undone(self) -> str:
        """Why what it does can be undone; empty where it cannot."""
        ...


class KnownPeople(NamedTuple):
    """What a promise tells of the people behind a table: all of them listed, or the share of them that it holds."""

    population: Any
    fraction: float | None
    alpha: float  # the significance of what is inferred from the share


class PrivacyModel(Entry):
    """A promise about every class of a release."""

    less_is_safer: ClassVar[bool] = False  # of its levels
    beside_original: ClassVar[bool] = False  # judged between both tables, not on what is released alone
    instead_of_k: ClassVar[bool] = False  # promised in place of k-anonymity, unless that is asked for as well
    prunes: ClassVar[tuple[str, ...]] = ()  # searches that leave out what provably misses it
    about_who: ClassVar[bool] = False  # tells nothing of what a class holds: one that misses it may be left out
    weighs: ClassVar[bool] = False  # its levels heed that a code may stand for several records (`Coded.weights`)
    together: ClassVar[str] = ""  # whose rows are shown alike as a whole: those of a person, or of a household
    kept_back: ClassVar[tuple[str, ...]] = ()  # parameters of how it is brought about: no certificate states them
    leaves_open: ClassVar[tuple[str, str] | None] = None  # a title and a text: what the promise does not say

    @classmethod
    def abilities(cls) -> dict[str, Any]:
        """How it is judged, and which searches may prune by it."""
        judged = "beside the original" if cls.beside_original else "from the release"
        return {"judged": judged, "prunes": list(cls.prunes)}

    if TYPE_CHECKING:

        @property
        def attribute(self) -> str | None:
            """The confidential attribute it protects, None where it is about the quasi-identifiers."""

        @property
        def weights(self) -> str | None:
            """The column of sampling weights that its level follows from, which a release need not show."""
    else:
        attribute = None
        weights = None

    @property
    def asked(self) -> float:
        """The level promised."""
        raise unwritten(self, "asked")

    @property
    def by_size(self) -> bool:
        """Whether the class size alone decides, so that a grouping has nothing to repair."""
        return False

    @property
    def smallest_class(self) -> int:
        """The least class that may be released, as far as its size alone decides."""
        return 1

    @property
    def closeness(self) -> float | None:
        """How far from the whole table the attribute may be distributed in a class, where that is promised."""
        return None

    @property
    def inferred(self) -> bool:
        """Whether it is inferred from a sampling fraction how many people fit a class."""
        return False

    @property
    def counted_in(self) -> Any:
        """The population in which people are counted, where the promise is about them."""
        return None

    @property
    def people(self) -> KnownPeople | None:
        """What it tells of the population; None where nothing is, or nothing can be inferred of the cells shown."""
        return None

    def of(self, attribute: str) -> Self:
        """The promise about this one confidential attribute."""
        chosen: dict[str, Any] = {"attribute": attribute}
        return replace(self, **chosen)

    def levels(
        self, about: Any, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The level each class reaches; `about` is the encoded attribute it protects, or all of the table."""
        raise unwritten(self, "levels")

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each level is good enough."""
        raise unwritten(self, "meets")

    def verdict(self, classes: EquivalenceClasses) -> Verdict:
        """Judges the finished output."""
        raise unwritten(self, "verdict")

    def levels_by_weights(
        self, sizes: npt.NDArray[np.int64], people: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """The level of classes of so many records whose weights add up to so many people, where it asks for weights."""
        raise unwritten(self, "levels_by_weights")

    def reached_by_weights(self, smallest: int, least: float) -> Verdict:
        """The verdict by the smallest class (0: there is none) and the least of these levels."""
        raise unwritten(self, "reached_by_weights")

    def refuse_in_chunks(self, engine: str) -> None:
        """Refuses a promise that is judged beside the original, and of which chunks tell nothing sure of the whole."""

    def held_to(self, method: Maker) -> Self:
        """The promise as this method can be held to it; refused where it cannot."""
        return self

    def of_people(self) -> PrivacyModel:
        """The promise where a column says whom each record is about: of people in place of records."""
        return self

    def with_cells(self, method: str, *, fixed: bool, smallest_class: int) -> Self:
        """The promise, knowing whether the cells shown were fixed before the table was seen."""
        return self

    def least_class(self, kind: Kind, counts: npt.NDArray[np.int64]) -> int:
        """The fewest records that a class which keeps it can have; `counts` are those of the attribute's values."""
        return 1

    @property
    def in_words(self) -> str:
        """What it means that the model holds."""
        return f"{self.name} at the level {self.asked:g}."

    @property
    def asked_in_words(self) -> str:
        """The level as the field writes it: k ≥ 5, t ≤ 0.1."""
        letter = self.name.partition("-")[0]
        sign = "≤" if self.less_is_safer else "≥"
        return f"{letter} {sign} {self.asked:g}" if len(letter) == 1 else f"{self.asked:g}"

    @property
    def advice(self) -> str:
        """What to do where it leaves hardly any classes."""
        return "Ask for less, or leave the column out."


class OfK(PrivacyModel):
    """A promise that there are at least `k` of something in each class, each with a record there."""

    k: int = parameter("least number in a class", least=2)

    @property
    def asked(self) -> float:
        """The k promised."""
        return self.k

    @property
    def smallest_class(self) -> int:
        """k of them have k records at least."""
        return self.k

    def meets(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether each class holds k."""
        return levels >= self.k

    def reached(self, fewest: int) -> Verdict:
        """The verdict by the fewest of any class; 0: there is no class, and a table without records keeps it."""
        return Verdict(self.name, self.k, fewest, fewest == 0 or fewest >= self.k)
