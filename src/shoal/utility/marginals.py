"""One- and two-way tables before and after masking: half the sum of the differences of their shares (total variation).

Numbers, dates and ordered values are counted in ten bins that hold equal shares of the original, or each by itself
where there are no more than ten; nominal values each by itself. A range counts at its midpoint. Missing, and a nominal
cell that shows several values, is a category of its own.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import InputError
from shoal.measure import OF_VALUES, Pair, measure
from shoal.utility.correlations import Ints
from shoal.utility.statistics import Statistics


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def marginals_1way(pair: Pair | Statistics) -> float:
    """Share of records counted elsewhere than before in the table of one attribute, on average; 0 if all were kept."""
    return float(np.mean([_variation(*counts) for counts in Statistics.of(pair).counted]))


@measure("utility", "worse", in_chunks=OF_VALUES, of_statistics=True)
def marginals_2way(pair: Pair | Statistics) -> float:
    """Share of records counted elsewhere than before in the table of two attributes, on average; 0 if all were kept."""
    statistics = Statistics.of(pair)
    if len(statistics.columns) < 2:
        raise InputError("There is only one attribute: there are no two-way tables.")
    return float(np.mean([_variation(*counts) for counts in statistics.crossed]))


def _variation(before: Ints, after: Ints) -> float:
    """Between the shares of the cells of two tables, from how many records each cell of both counts."""
    return float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)
