"""Risk that follows from class sizes alone: a random guess inside a class of f records is right once in f.

(Paper 1, "correct random reidentifications"; SPEC 2.3.) The highest risk is that of the smallest class, the
average is sum_i 1/|class(i)| / n = classes / n. Classes are those of equal released values (SPEC 1.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import require


@dataclass(frozen=True)
class ClassRisk:
    """An empty table has no smallest class and no risk: all zero."""

    records: int
    classes: int
    smallest_class: int
    highest_risk: float
    average_risk: float


def class_risk(sizes: npt.NDArray[np.int64]) -> ClassRisk:
    """The expected success of guessing at random, from the number of records in each class."""
    records, classes = int(sizes.sum()), len(sizes)
    if not classes:
        return ClassRisk(0, 0, 0, 0.0, 0.0)
    smallest = int(sizes.min())
    return ClassRisk(records, classes, smallest, 1 / smallest, classes / records)


def records_at_risk(sizes: npt.NDArray[np.int64], threshold: float) -> int:
    """Records in classes where a random guess succeeds more often than `threshold`."""
    require("records at risk", "threshold", threshold, "a number from 0 to 1", holds=0 <= threshold <= 1)
    return int(sizes[1 / sizes > threshold].sum())


def class_size_histogram(sizes: npt.NDArray[np.int64]) -> pl.DataFrame:
    """How many classes and records there are of each class size, the smallest first."""
    size, classes = np.unique(sizes, return_counts=True)
    return pl.DataFrame({"size": size, "classes": classes, "records": size * classes})
