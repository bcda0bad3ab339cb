"""Numbers that tell the people of a class apart, and nobody from class to class: 1, 2, ... afresh in each, by lot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.person import IN_CLASS, numbered, refuse_whole_by_class
from shoal.engines.paired import ORIGINAL
from shoal.engines.table import Table
from shoal.errors import InputError
from shoal.privacy.classes import CLASS, ByClass, in_classes
from shoal.privacy.model import PrivacyModel

_LOTS = 0x9E12501  # tells what is drawn here from whatever else is drawn with the same seed


def refuse_in_class(columns: Sequence[str], person: str | None, models: Sequence[PrivacyModel]) -> None:
    """Refuses numbers of people where nobody is told apart, or where a column has their name already."""
    if person is None:
        raise InputError(
            "--write person-in-class numbers the people of each class: name their column (--person COLUMN)."
        )
    if any(model.closeness is not None for model in models):
        refuse_whole_by_class(IN_CLASS)
    if IN_CLASS in columns:
        raise InputError(f"The table has a column {IN_CLASS!r} already, the name of what numbers people: rename it.")


def numbered_in_chunks(table: Table, quasi: Sequence[str], person: str, records: int, seed: int) -> Table:
    """The same of a masked table of any size: whose each record is goes along, and each class is brought together."""
    chunks = table.chunks(records)
    schema = pl.Schema({**table.schema, IN_CLASS: pl.Int64()})
    return table.exchange(ByClass(tuple(quasi), chunks), chunks).map(_NumberPeople(tuple(quasi), person, seed), schema)


@dataclass(frozen=True)
class _NumberPeople:
    """The people of each class of a chunk, numbered; its records in an order of their own again."""

    quasi: tuple[str, ...]
    person: str
    seed: int

    def __call__(self, frame: pl.DataFrame, chunk: int) -> pl.DataFrame:
        own = int(np.random.SeedSequence([self.seed, chunk, _LOTS]).generate_state(1, np.uint64)[0] >> 1)
        key = in_classes(frame, self.quasi)[CLASS].rank("dense").cast(pl.Int64).to_numpy() - 1
        people = numbered(frame[f"{ORIGINAL}{self.person}"], one_each=True)  # a gap was refused, or is a person
        shown = frame.with_columns(person_in_class(key, people, own))
        return shown[np.random.default_rng([own, 1]).permutation(shown.height)]


def person_in_class(key: npt.NDArray[np.int64], people: npt.NDArray[np.int64], seed: int | None) -> pl.Series:
    """The number of each record's person in its class; `key` is the class, `people` whose it is."""
    pairs, which = np.unique(np.stack([key, people]), axis=1, return_inverse=True)
    dice = np.random.default_rng(None if seed is None else [seed, _LOTS])
    order = np.lexsort((dice.random(pairs.shape[1]), pairs[0]))
    first = np.flatnonzero(np.diff(pairs[0][order], prepend=-1))
    sizes = np.diff(np.append(first, len(order)))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(first, sizes) + 1
    return pl.Series(IN_CLASS, number[which.reshape(-1)])
