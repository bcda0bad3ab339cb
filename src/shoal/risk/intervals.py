"""Interval disclosure by ranks: whoever knows a masked value knows the original one to within a few ranks.

(Pagliuca & Seri 1999, Domingo-Ferrer & Torra 2001.) Around each masked value lies the interval of those masked values
whose ranks differ by at most p percent of the records; the measure is the share of original values that lie in theirs,
averaged over p = 1, ..., 10 as those authors do. Cells where either value is missing disclose nothing to within ranks
and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, require
from shoal.measure import Pair, measure
from shoal.risk.spaces import ranks

_PERCENT = tuple(range(1, 11))


@measure("risk", "riskier", needs_pairs=True, promised=False)
def interval_disclosure(pair: Pair, *, percent: Sequence[float] = _PERCENT) -> float:
    """Share of values that lie within a few percent of ranks around their masked value (mean of 1 % to 10 %)."""
    good = bool(percent) and all(0 <= p <= 100 for p in percent)
    require("interval_disclosure", "percent", percent, "numbers from 0 to 100", holds=good)
    ordered = pair.ordered
    columns = zip(ordered.released.T, ordered.masked.T, strict=True)
    inside = [_inside(x, y, percent) for x, y in columns]
    cells = np.concatenate(inside, axis=1)
    if not cells.size:
        raise InputError("No value is shown both before and after masking: there are no intervals to look into.")
    return float(cells.mean())


def _inside(
    original: npt.NDArray[np.float64], masked: npt.NDArray[np.float64], percent: Sequence[float]
) -> npt.NDArray[np.bool_]:
    """Whether each value lies in the interval around its masked one, a row for every width."""
    both = ~(np.isnan(original) | np.isnan(masked))
    x, y = original[both], masked[both]
    rank = ranks(y[:, None], len(y)).ravel()
    line, place = np.sort(y), np.sort(rank)
    inside = np.empty((len(percent), len(y)), np.bool_)
    for row, p in enumerate(percent):
        reach = p / 100 * len(y)
        low = line[np.searchsorted(place, rank - reach, "left")]
        high = line[np.searchsorted(place, rank + reach, "right") - 1]
        inside[row] = (low <= x) & (x <= high)
    return inside
