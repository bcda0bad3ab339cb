"""Whose each record of a large release is, what she showed there and what her values were: a row a subject.

Subjects are known by two keyed hashes, classes by what they show. Of each confidential attribute a row says with which
release her value agrees first (as `shoal.releases.atoms` does), and the value itself where it is a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shoal.data.identity import identity_text
from shoal.engines.table import Batch
from shoal.errors import InputError
from shoal.privacy.classes import CLASS, in_classes, shown
from shoal.releases.differencing import is_number
from shoal.releases.published import own_text

SUBJECT = ("@who", "@whose")  # two hashes of a subject
Keys = tuple[int, int]  # of a subject's two hashes


def label_in(release: int) -> str:
    """The column that tells a subject's class in a release."""
    return f"{release} class"


def agrees_in(release: int, attribute: int) -> str:
    """The column that tells the first release with which her value in this one agrees."""
    return f"{release} agrees {attribute}"


def number_in(release: int, attribute: int) -> str:
    """The column of her value, where it is a number."""
    return f"{release} number {attribute}"


def _text(attribute: int) -> str:
    return f"@text {attribute}"


def _value(attribute: int) -> str:
    return f"@value {attribute}"


@dataclass(frozen=True)
class Signed:
    """Who each record is about, her class, and her confidential values."""

    name: str
    subject: str
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    release: int
    keys: Keys

    def __call__(self, batch: Batch) -> pl.DataFrame:
        """The batch's records, each signed."""
        subjects = identity_text(batch.frame[self.subject])
        if subjects.null_count():
            raise InputError(f"{self.name} does not say in {self.subject!r} whom some records are about: fill it in.")
        who = [
            subjects.hash(key).reinterpret(signed=True).alias(name)
            for name, key in zip(SUBJECT, self.keys, strict=True)
        ]
        release = pl.lit(self.release, pl.Int64).alias("@release")
        classes = in_classes(shown(batch.frame, self.quasi), self.quasi)
        values = [column for number in range(len(self.confidential)) for column in self._values(batch.frame, number)]
        return classes.with_columns(*who, release, *values).select(list(self.schema))

    def _values(self, frame: pl.DataFrame, number: int) -> tuple[pl.Series, pl.Series]:
        column = frame[self.confidential[number]]
        numbers = (
            column.cast(pl.Float64) if is_number(column) else pl.repeat(None, len(column), dtype=pl.Float64, eager=True)
        )
        return own_text(column).alias(_text(number)), numbers.alias(_value(number))

    @property
    def schema(self) -> pl.Schema:
        """The columns of a signed record."""
        attributes = range(len(self.confidential))
        values = {_text(each): pl.String() for each in attributes} | {_value(each): pl.Float64() for each in attributes}
        return pl.Schema({**dict.fromkeys((*SUBJECT, "@release"), pl.Int64()), CLASS: pl.String(), **values})


@dataclass(frozen=True)
class Signatures:
    """The signatures of a chunk's subjects, a row each."""

    names: tuple[str, ...]
    subject: str
    attributes: int

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        """Of all signed records of a chunk's subjects; refused where a release has two of one."""
        again = frame.filter(frame.select(*SUBJECT, "@release").is_duplicated())
        if again.height:
            raise InputError(
                f"{self.names[again['@release'][0]]} names a subject in {self.subject!r} more than once: "
                "give one record a subject, or name the column that tells subjects apart."
            )
        firsts = [
            pl.col("@release").min().over(*SUBJECT, _text(n)).alias(agrees_in(0, n)) for n in range(self.attributes)
        ]
        signature = [
            pl.col(source).filter(pl.col("@release") == release).first().alias(name)
            for release in range(len(self.names))
            for name, source in self._columns(release).items()
        ]
        return frame.with_columns(firsts).group_by(SUBJECT).agg(signature).select(list(self.schema))

    def _columns(self, release: int) -> dict[str, str]:
        """What is told of a release, and what of its record tells it."""
        agrees = {agrees_in(release, n): agrees_in(0, n) for n in range(self.attributes)}
        numbers = {number_in(release, n): _value(n) for n in range(self.attributes)}
        return {label_in(release): CLASS, **agrees, **numbers}

    @property
    def schema(self) -> pl.Schema:
        """The columns of a subject."""
        types = {CLASS: pl.String(), **{agrees_in(0, n): pl.Int64() for n in range(self.attributes)}}
        types |= {_value(n): pl.Float64() for n in range(self.attributes)}
        known = (self._columns(release).items() for release in range(len(self.names)))
        return pl.Schema({name: types[source] for columns in known for name, source in columns})
