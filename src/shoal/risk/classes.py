"""Risk that follows from class sizes alone: a random guess inside a class of f records is right once in f.

(Paper 1, "correct random reidentifications"; docs/spec.md#uniqueness.) The highest risk is that of the smallest class,
the average is sum_i 1/|class(i)| / n = classes / n. Classes are those of equal released values
(docs/spec.md#class-equality).

Classes may be given one by one, or as the sizes that occur and how many `classes` there are of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import require

Ints = npt.NDArray[np.int64]

THRESHOLDS = (0.33, 0.2, 0.09, 0.05)  # highest risks that custodians commonly accept: classes of 3, 5, 11, 20


@dataclass(frozen=True)
class ClassRisk:
    """An empty table has no smallest class and no risk: all zero."""

    records: int
    classes: int
    smallest_class: int
    highest_risk: float
    average_risk: float


def class_risk(sizes: Ints, classes: Ints | int = 1) -> ClassRisk:
    """The expected success of guessing at random, from the number of records in each class."""
    if not len(sizes):
        return ClassRisk(0, 0, 0, 0.0, 0.0)
    records, number = int((sizes * classes).sum()), int(np.broadcast_to(classes, sizes.shape).sum())
    smallest = int(sizes.min())
    return ClassRisk(records, number, smallest, 1 / smallest, number / records)


def records_at_risk(sizes: Ints, threshold: float, classes: Ints | int = 1) -> int:
    """Records in classes where a random guess succeeds more often than `threshold`."""
    require("records at risk", "threshold", threshold, "a number from 0 to 1", holds=0 <= threshold <= 1)
    return int((sizes * classes)[1 / sizes > threshold].sum())


_BANDS = (1, 2, 3, 5, 10, 20, 50, 100, 1_000)  # the least size of each


def by_class_size(*tables: Ints, classes: Ints | int = 1) -> tuple[list[str], list[list[float]]]:
    """Bands of class sizes up to the largest class; for each table the share of its records in classes of each band."""
    return _in_bands([_shares(sizes, sizes * classes) for sizes in tables])


def people_by_class_size(*tables: tuple[Ints, Ints]) -> tuple[list[str], list[list[float]]]:
    """The same of people, from the sizes of their smallest classes and how many people there are of each size."""
    return _in_bands([_shares(sizes, people) for sizes, people in tables])


def _in_bands(shares: Sequence[npt.NDArray[np.float64]]) -> tuple[list[str], list[list[float]]]:
    last = int(np.flatnonzero(np.sum(shares, axis=0)).max(initial=0)) + 1
    labels = [_band(least, below) for least, below in zip(_BANDS, [*_BANDS[1:], 0], strict=True)]
    return labels[:last], [share[:last].tolist() for share in shares]


def _shares(sizes: Ints, records: Ints) -> npt.NDArray[np.float64]:
    in_bands = np.bincount(np.searchsorted(_BANDS, sizes, "right") - 1, records, len(_BANDS))
    return np.asarray(in_bands / max(int(records.sum()), 1))


def _band(least: int, below: int) -> str:
    if below == least + 1:
        return f"{least} (unique)" if least == 1 else str(least)
    return f"{least:,} to {below - 1:,}" if below else f"{least:,} and more"
