"""Resample (Heer 1993): each attribute as the mean of samples drawn from it with replacement.

t samples of n values each are drawn, each is sorted, and the record of rank r gets the mean of their r-th values. The
fewer the samples, the farther these means scatter about the original values: with t samples their variance is 1/t of
that of one. So the parameter is what one sample weighs in the mean, 1/t, and more of it masks more. Ranks stay as they
are: against an intruder who compares ranks this protects nothing but which of equal values was whose.
"""

from __future__ import annotations

import numpy as np

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.masking.method import Strength
from shoal.masking.perturbing.columns import ON_A_LINE, in_order, positions, shown_numbers
from shoal.masking.perturbing.method import EachByItself


class Resample(EachByItself):
    """Each value gives way to the mean of values of its rank in samples drawn with replacement.

    `weight` is what one sample counts in that mean: 0.2 are five samples. `whole` keeps integers whole.
    """

    weight: float = parameter("of one sample in the mean: 1/t of t samples", default=0.2, above=0, most=1)
    whole: bool = parameter("integers stay whole", default=False)

    choose = "every record must stay apart, and the spread of each attribute is to be kept; promise a measured risk"
    needs = ("numbers or dates",)
    kinds = ON_A_LINE
    strength = Strength("weight", 0.01, 1.0)
    can_promise = ("measured-risk",)
    did = "Values were replaced by averages of samples drawn with replacement, rank by rank."

    def changed(self, microdata: Microdata, name: str, rng: np.random.Generator) -> MaskedColumn:
        """The i-th value of the table gives way to the mean of the samples' i-th values."""
        ranked = in_order(microdata, name, rng)
        resampled = positions(microdata, name).copy()
        values, n, samples = resampled[ranked], len(ranked), round(1 / self.weight)
        mean = np.zeros(n)
        for _ in range(samples):
            times = np.bincount(rng.integers(n, size=n), minlength=n)  # how often each value was drawn
            mean += np.repeat(values / samples, times)
        resampled[ranked] = mean
        return shown_numbers(microdata, name, resampled, whole=self.whole)
