"""Fresh numbers in place of identifiers: rows of the same number are of one owner, and nothing else is told of him."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_LOTS = 0xF2E54  # tells what numbers draw from whatever else is drawn with the same seed


def fresh_numbers(tables: Sequence[Ints], seed: int | None = None) -> list[Ints]:
    """The owners of the rows of each table, by numbers from 1 to how many they are, drawn by lot: the same in all.

    Which number who gets tells nothing of name, place or time.
    """
    owners, which = np.unique(np.concatenate(tables), return_inverse=True)
    dice = np.random.default_rng(None if seed is None else [seed, _LOTS])
    numbers = (dice.permutation(len(owners)) + 1)[which.reshape(-1)]
    return np.split(numbers, np.cumsum([len(rows) for rows in tables])[:-1])
