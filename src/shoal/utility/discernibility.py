"""Utility that follows from class sizes alone: the larger the classes, the less can be told apart.

Discernibility charges every record the size of its class, and a suppressed one the whole table (Bayardo and
Agrawal, 2005; SPEC 4.3). The average class size is that of the released classes, the suppressed records
counting as one more; divided by k it is 1 where no class is larger than asked (LeFevre et al., 2006).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import require


def discernibility(sizes: npt.NDArray[np.int64], suppressed: int = 0) -> int:
    """DM = sum of f^2 over the classes + n x suppressed records, n counting the suppressed too."""
    size, classes = np.unique(sizes, return_counts=True)
    squares = sum(int(f) ** 2 * int(count) for f, count in zip(size, classes, strict=True))
    return squares + (int(sizes.sum()) + suppressed) * suppressed


def average_class_size(sizes: npt.NDArray[np.int64], suppressed: int = 0) -> float:
    """n / classes, n counting the suppressed records and these counting as one class; 0 of an empty table."""
    classes = len(sizes) + (suppressed > 0)
    return (int(sizes.sum()) + suppressed) / classes if classes else 0.0


def normalised_average_class_size(sizes: npt.NDArray[np.int64], k: int, suppressed: int = 0) -> float:
    """The average class size in units of the k that was asked for."""
    require("the normalised average class size", "k", k, "a whole number of at least 1", holds=k >= 1)
    return average_class_size(sizes, suppressed) / k
