"""Numbers that tell the people of a class apart, and nobody from class to class: 1, 2, ... afresh in each, by lot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.person import IN_CLASS
from shoal.errors import InputError

_LOTS = 0x9E12501  # tells what is drawn here from whatever else is drawn with the same seed


def refuse_in_class(columns: Sequence[str], person: str | None) -> None:
    """Refuses numbers of people where nobody is told apart, or where a column has their name already."""
    if person is None:
        raise InputError(
            "--write person-in-class numbers the people of each class: name their column (--person COLUMN)."
        )
    if IN_CLASS in columns:
        raise InputError(f"The table has a column {IN_CLASS!r} already, the name of what numbers people: rename it.")


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
