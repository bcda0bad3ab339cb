"""Curves smoothed by local lines (Cleveland, 1979)."""

from __future__ import annotations

from math import ceil

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SPAN = 2 / 3  # of the points that each value is fitted to, Cleveland's own default


def lowess(x: Floats, y: Floats, at: Floats, span: float = SPAN) -> Floats:
    """At each place the line fitted to its nearest points, weighted by the tricube of their distance."""
    near = min(len(x), max(2, ceil(span * len(x))))
    return np.array([_local_line(x, y, place, near) for place in at])


def _local_line(x: Floats, y: Floats, place: float, near: int) -> float:
    distance = np.abs(x - place)
    reach = np.sort(distance)[near - 1] * (1 + 1e-6)  # so that the farthest of them still counts
    weight = np.clip(1 - (distance / reach) ** 3, 0, None) ** 3 if reach else (distance == 0).astype(np.float64)
    weight = weight / weight.sum()
    mean_x, mean_y = weight @ x, weight @ y
    spread = weight @ (x - mean_x) ** 2
    if spread <= 1e-12 * max(1.0, float(np.ptp(x)) ** 2):
        return float(mean_y)
    slope = weight @ ((x - mean_x) * (y - mean_y)) / spread
    return float(mean_y + slope * (place - mean_x))
