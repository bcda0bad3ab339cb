"""The differencing attack on large releases (`shoal.releases.differencing`), class by class.

A row a subject travels twice: first to the others of the smaller class, which counts them, then to those of the larger
class. There all of both stand together wherever the one holds but one subject more than the other, and they are
attacked as in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from shoal.engines.table import Batch, Table
from shoal.privacy.classes import ByHash, all_of
from shoal.releases.differencing import ATTACKED, Differenced, Ends, attack_on, differenced, ends_of
from shoal.releases.published import own_name

_LARGE, _SMALL = "large class", "small class"
_SIZE, _KEY = "subjects of the small class", "@key"


class Side(NamedTuple):
    """The columns of one release in a table of a row a subject: her class there, and her number of each attribute."""

    label: str
    numbers: Mapping[str, str]


def differencing_tables(subjects: Table, first: Side, second: Side, chunks: int) -> tuple[Differenced, ...]:
    """The attack on each attribute whose numbers both sides have, on both releases through the other."""
    ends = _ends(subjects, {name: [first.numbers[name], second.numbers[name]] for name in first.numbers})
    ways = [_one_way(subjects, *sides, ends, chunks) for sides in ((first, second), (second, first))]
    return tuple(differenced(pl.concat(ways), list(ends)))


def _one_way(subjects: Table, large: Side, small: Side, ends: Mapping[str, Ends], chunks: int) -> pl.DataFrame:
    sides = _Sides(large, small, tuple(ends))
    by_small = subjects.map(sides, sides.schema).exchange(ByHash(chunks, _KEY), chunks)
    by_large = by_small.map(_count_smaller, sides.schema).exchange(ByHash(chunks, _KEY), chunks)
    return all_of(by_large.map(_Attack(ends), ATTACKED))


@dataclass(frozen=True)
class _Sides:
    """The subjects of a pair of releases, each on her way to the others of her smaller class."""

    large: Side
    small: Side
    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        known = {
            **{_of(_LARGE, name): self.large.numbers[name] for name in self.names},
            **{_of(_SMALL, name): self.small.numbers[name] for name in self.names},
            _LARGE: self.large.label,
            _SMALL: self.small.label,
        }
        pair = batch.frame.select(pl.col(column).alias(name) for name, column in known.items())
        there = pair.filter(pl.any_horizontal(pl.col(_LARGE, _SMALL).is_not_null()))
        travelling = there.with_columns(pl.coalesce(_SMALL, _LARGE).alias(_KEY), pl.lit(0, pl.Int64).alias(_SIZE))
        return travelling.select(list(self.schema))

    @property
    def schema(self) -> pl.Schema:
        numbers = [_of(side, name) for side in (_LARGE, _SMALL) for name in self.names]
        texts = dict.fromkeys((_LARGE, _SMALL, _KEY), pl.String())
        return pl.Schema({**texts, _SIZE: pl.Int64(), **dict.fromkeys(numbers, pl.Float64())})


def _of(side: str, name: str) -> str:
    return f"{side}: {name}"


def _count_smaller(frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
    """All of each smaller class are here; who is in no larger one has been counted, and goes no further."""
    sized = frame.with_columns(pl.len().over(_SMALL).cast(pl.Int64).alias(_SIZE), pl.col(_LARGE).alias(_KEY))
    return sized.filter(pl.col(_LARGE).is_not_null())


@dataclass(frozen=True)
class _Attack:
    """What the attack achieves in a chunk that holds all of each larger class, and all of what is nested in it."""

    ends: Mapping[str, Ends]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        frame = frame.with_columns(
            larger=pl.col(_LARGE).rank("dense").cast(pl.Int64) - 1,
            smaller=pl.col(_SMALL).rank("dense").cast(pl.Int64) - 1,
            all=pl.len().over(_LARGE),
            subject=pl.int_range(pl.len()),
        )
        shared = frame.drop_nulls("smaller").group_by("larger", "smaller").agg(pl.len(), pl.col("all", _SIZE).first())
        nested = shared.filter(pl.col("all") - pl.col("len") == 1, pl.col(_SIZE) == pl.col("len"))
        members = [self._members(frame, *side) for side in ((_LARGE, "larger"), (_SMALL, "smaller"))]
        pairs = nested.select("larger", "smaller").sort("larger", "smaller")
        return pl.concat([attack_on(members[0], members[1], pairs, name, ends) for name, ends in self.ends.items()])

    def _members(self, frame: pl.DataFrame, side: str, label: str) -> pl.DataFrame:
        numbers = [pl.col(_of(side, name)).alias(own_name(name)) for name in self.ends]
        return frame.drop_nulls(label).select("subject", pl.col(label).alias("class"), *numbers)


# ---- the whole range of each attribute


@dataclass(frozen=True)
class _Least:
    """The least and the greatest number in some columns of a batch, by name."""

    columns: Mapping[str, Sequence[str]]

    def __call__(self, batch: Batch) -> pl.DataFrame:
        return self.of({name: [batch.frame[column] for column in columns] for name, columns in self.columns.items()})

    def of(self, numbers: Mapping[str, Sequence[pl.Series]]) -> pl.DataFrame:
        everyone = {name: pl.concat([column.alias(name) for column in columns]) for name, columns in numbers.items()}
        ends = {name: [column.min(), column.max()] for name, column in everyone.items()}
        return pl.DataFrame(ends, schema=dict.fromkeys(ends, pl.Float64()))

    def merge(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        return self.of({name: [left[name], right[name]] for name in self.columns})


def _ends(subjects: Table, columns: Mapping[str, Sequence[str]]) -> dict[str, Ends]:
    """The whole range of each attribute, over both releases."""
    least = _Least(columns)
    numbers = subjects.fold(least, least.merge)
    assert numbers is not None
    return {name: ends_of([numbers[name]]) for name in columns}
