"""What a ledger records of a release on an engine: who stood in which class, and what stands for everybody's values.

Digests are made where records are masked and go along with them, never into the release. When all is masked, the
records of a class are brought together, which numbers the classes; then those of a range of people, which is a piece of
the ledger (`shoal.releases.pieces`). Pieces wait in a private folder until they are judged and recorded, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.frames import OWN
from shoal.data.scratch import Scratch
from shoal.engines.table import Batch, Table
from shoal.errors import InputError, did_you_mean
from shoal.privacy.classes import CLASS, ByClass, in_classes
from shoal.privacy.in_chunks import same_records
from shoal.releases.ledger import Ledger
from shoal.releases.pieces import InPieces
from shoal.releases.published import Published, piece_of, pieces_for, subjects_of

SUBJECT, CODE = f"{OWN}subject", f"{OWN}class"
VALUE = f"{OWN}own "  # begins the name of a column that stands for another's values


def need_subject(table: Table, ledger: Ledger, person: str | None, owner: str | None) -> None:
    """Refuses a table that does not say whom its records are about, and a ledger that counts others than the release.

    `person` is the column of the people that the release counts, `owner` that of whose whole histories it shows.
    """
    if ledger.subject not in table.schema:
        hint = did_you_mean(ledger.subject, table.schema)
        raise InputError(f"The table has no column {ledger.subject!r} to tell subjects by.{hint}")
    if ledger.person is not None:
        raise InputError(
            "Records of people are followed from release to release in memory only: use --engine memory, or give one "
            "record a person."
        )
    ledger.refuse_person(person, owner)


@dataclass(frozen=True)
class Digests:
    """What a ledger keeps of records: digests of whom they are about, and of what they hold in these columns."""

    ledger: Ledger = field(repr=False)
    columns: tuple[str, ...]
    subject: str | None = None  # the column of whom records are about, where it is not the ledger's

    @property
    def schema(self) -> pl.Schema:
        """The columns that hold them."""
        return pl.Schema(dict.fromkeys((SUBJECT, *(f"{VALUE}{name}" for name in self.columns)), pl.Binary()))

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The digests of these records, one row a record."""
        subjects = self.ledger.digested(subjects_of(frame, self.subject or self.ledger.subject, in_chunks=True))
        own = self.ledger.own(subjects, frame.select(self.columns))
        return own.rename(lambda name: f"{VALUE}{name}").insert_column(0, subjects.alias(SUBJECT))


def recorded(masked: Table, written: Table, quasi: Sequence[str], subject: str, records: int) -> InPieces:
    """The classes and the people of a masked table that still carries `Digests`; `written` is what was made of it."""
    same_records(masked, written, quasi)
    chunks = masked.chunks(records)
    own = [name for name in masked.schema if name.startswith(VALUE)]
    only = masked.select([*(name for name in masked.schema if name in quasi), SUBJECT, *own])
    by_class = only.exchange(ByClass(tuple(quasi), chunks), chunks)
    shown = _shown(by_class.map(_Shown(tuple(quasi)), _Shown.schema(quasi)))
    numbered = by_class.map(_Numbered(tuple(quasi)), _Numbered.schema(own))
    pieces = pieces_for(records)
    people = numbered.exchange(ByPiece(pieces), pieces).map(Once(subject), numbered.schema)
    kept = _Kept.of(people, pieces, shown[CODE].to_numpy())
    attributes = [name.removeprefix(VALUE) for name in own]
    return InPieces("The release", kept.records, pieces, attributes, lambda: shown.drop(CODE), kept.read)


# ---- classes


def _codes(frame: pl.DataFrame, quasi: tuple[str, ...], chunk: int) -> npt.NDArray[np.int64]:
    """A number of each record's class that no other class of the table has: its chunk, and the class in it."""
    label = in_classes(frame, quasi)[CLASS].rank("dense").cast(pl.Int64).to_numpy() - 1
    codes: npt.NDArray[np.int64] = (np.int64(chunk) << np.int64(32)) + label
    return codes


@dataclass(frozen=True)
class _Shown:
    """What each class of a chunk shows, as text, with its number."""

    quasi: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        codes = pl.Series(CODE, _codes(frame, self.quasi, chunk))
        return frame.select(self.quasi).cast(pl.String).with_columns(codes).filter(codes.is_first_distinct())

    @staticmethod
    def schema(quasi: Sequence[str]) -> pl.Schema:
        return pl.Schema({**dict.fromkeys(quasi, pl.String()), CODE: pl.Int64()})


def _shown(chunks: Table) -> pl.DataFrame:
    frames = list(chunks.frames())
    return pl.concat([pl.DataFrame(schema=chunks.schema), *frames]).sort(CODE)


@dataclass(frozen=True)
class _Numbered:
    """Who stands in which class."""

    quasi: tuple[str, ...]

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        codes = pl.Series(CODE, _codes(frame, self.quasi, chunk))
        return frame.drop(self.quasi).with_columns(codes)

    @staticmethod
    def schema(own: Sequence[str]) -> pl.Schema:
        return pl.Schema({SUBJECT: pl.Binary(), **dict.fromkeys(own, pl.Binary()), CODE: pl.Int64()})


# ---- people


@dataclass(frozen=True)
class ByPiece:
    """The piece of a record, by whom it is about."""

    pieces: int

    def __call__(self, batch: Batch) -> npt.NDArray[np.int64]:
        """Record -> its piece."""
        return piece_of(batch.frame[SUBJECT], self.pieces)


@dataclass(frozen=True)
class Once:
    """Refuses a subject of two records: her class would not be one."""

    subject: str

    def __call__(self, frame: pl.DataFrame, piece: int) -> pl.DataFrame:
        """The records as they are."""
        if frame[SUBJECT].n_unique() < frame.height:
            raise InputError(
                f"The table names somebody in {self.subject!r} in more than one record: give one record a subject, or "
                "name the column that tells subjects apart."
            )
        return frame


@dataclass(frozen=True)
class _Kept:
    """The pieces, as files."""

    scratch: Scratch = field(repr=False)
    files: dict[int, list[Path]]
    schema: pl.Schema
    records: int
    codes: npt.NDArray[np.int64] = field(repr=False)  # of all classes, ascending

    @classmethod
    def of(cls, people: Table, pieces: int, codes: npt.NDArray[np.int64]) -> _Kept:
        scratch, records = Scratch(), 0
        folder = scratch.folder()
        files: dict[int, list[Path]] = {number: [] for number in range(pieces)}
        for count, frame in enumerate(people.frames()):
            piece = piece_of(frame[SUBJECT], pieces)
            for number in np.unique(piece).tolist():
                files[number].append(folder / f"{count:06d}-{number:06d}")
                frame.filter(pl.Series(piece == number)).write_ipc(files[number][-1])
            records += frame.height
        return cls(scratch, files, people.schema, records, codes)

    def read(self, number: int) -> Published:
        frame = pl.concat([pl.DataFrame(schema=self.schema), *(pl.read_ipc(path) for path in self.files[number])])
        label = np.searchsorted(self.codes, frame[CODE].to_numpy()).astype(np.int32)
        members = pl.DataFrame({"subject": frame[SUBJECT], "class": label})
        own = frame.select(name for name in frame.columns if name.startswith(VALUE))
        return Published("", members, pl.DataFrame(), own.rename(lambda name: name.removeprefix(VALUE)))
