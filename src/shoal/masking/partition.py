"""A partition: who stands together. Nothing else; everything per class is a segmented reduction over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Labels = npt.NDArray[np.int32]  # record -> its class, or ABSENT
Lots = npt.NDArray[np.int64]  # all records in the order in which those of the same value are dealt to strata

ABSENT = -1


@dataclass(frozen=True)
class Partition:
    """`order` lists the records, class after class; class c is order[starts[c]:starts[c + 1]].

    Neighbouring classes are near each other in the grouping's own sense, so merging neighbours is always a
    sensible repair. A record that `order` does not list is suppressed.
    """

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]  # one more than there are classes; the last is len(order)

    @classmethod
    def of_labels(cls, label: npt.NDArray[np.int64]) -> Partition:
        """Records of the same label, 0, 1, ..., make a class."""
        return cls(np.argsort(label, kind="stable"), np.append(0, np.cumsum(np.bincount(label))))

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many records each class has."""
        return np.diff(self.starts)

    def class_of(self, records: int) -> npt.NDArray[np.int32]:
        """record -> class, -1 where suppressed."""
        label = np.full(records, -1, np.int32)
        label[self.order] = np.repeat(np.arange(self.classes, dtype=np.int32), self.sizes)
        return label


def together(labels: Sequence[Labels]) -> Labels:
    """The classes of those who stand together in every one of these partitions, numbered 0, 1, ..."""
    label = np.zeros(len(labels[0]), np.int32)
    for further in labels:
        label = divide(label, further)
    return label


def divide(label: Labels, further: Labels) -> Labels:
    """Classes divided by a further partition, numbered anew."""
    pair = label.astype(np.int64) * (further.max(initial=ABSENT) + 2) + further + 1
    return (pl.Series(pair).rank("dense").cast(pl.Int32) - 1).to_numpy()
