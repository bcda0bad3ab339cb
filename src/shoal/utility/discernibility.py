"""Utility that follows from class sizes alone: the larger the classes, the less can be told apart.

Discernibility charges every record the size of its class, and a suppressed one the whole table (Bayardo and Agrawal,
2005; docs/spec.md#discernibility). The average class size is that of the released classes, the suppressed records
counting as one more; divided by k it is 1 where no class is larger than asked (LeFevre et al., 2006).

Classes may be given one by one, or as the sizes that occur and how many `classes` there are of each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def discernibility(sizes: Ints, suppressed: int = 0, classes: Ints | None = None) -> int:
    """DM = sum of f^2 over the classes + n x suppressed records, n counting the suppressed too."""
    size, count = np.unique(sizes, return_counts=True) if classes is None else (sizes, classes)
    squares = sum(int(f) ** 2 * int(c) for f, c in zip(size, count, strict=True))
    return squares + (int(size @ count) + suppressed) * suppressed


def average_class_size(sizes: Ints, suppressed: int = 0, classes: Ints | int = 1) -> float:
    """n / classes, n counting the suppressed records and these counting as one class; 0 of an empty table."""
    number = int(np.broadcast_to(classes, sizes.shape).sum()) + (suppressed > 0)
    return (int((sizes * classes).sum()) + suppressed) / number if number else 0.0
