"""Added noise (Kim 1986; paper 5, Section 5): Y = X + N(0, γ Σ), Σ the covariance of the data.

The covariance of what is released is (1 + γ) Σ, so correlations stay as they are. Kim's correction, which shrinks the
result about the mean by √(1 + γ), keeps means and covariances too. Uncorrelated noise has γ Σ's diagonal only:
correlations weaken, and the correction keeps means and variances alone.

An incomplete record gets noise on what it has, and lacks something else: left so, it would be the easiest to find.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.masking.method import Masked, Strength
from shoal.masking.perturbing.columns import (
    ON_A_LINE,
    Within,
    positions,
    reflected,
    require_domain,
    shown_numbers,
    side_by_side,
    streams,
    treated,
    with_gaps_moved,
)
from shoal.masking.perturbing.method import Perturbing
from shoal.masking.perturbing.moments import correlations, factor, standardised
from shoal.privacy.model import PrivacyModel


class Noise(Perturbing):
    """Normal noise of variance `gamma` times each attribute's own, added to every value.

    `correlated` gives it the covariance of the data, so that correlations stay; `keep_moments` shrinks the result to
    the original means and covariances. `whole` keeps integers whole, `clamp` keeps values within stated domains. What
    falls out of the `domain`, stated or observed, is reflected at its end, which moves moments a little; with `within`
    at `anywhere` it stays where it fell, as the method was published.
    """

    gamma: float = parameter("variance of the noise, as a share of the attribute's", default=0.1, above=0, most=1e6)
    correlated: bool = parameter("noise has the covariance of the data", default=True)
    keep_moments: bool = parameter("shrink to the original means and covariances", default=False)
    whole: bool = parameter("integers stay whole", default=False)
    clamp: bool = parameter("values stay within stated domains", default=False)
    within: Within = parameter("what falls out of the domain is reflected, or stays", default="domain")

    choose = "every record must stay apart, and moments are to be kept; promise a measured risk"
    needs = ("numbers or dates",)
    strength = Strength("gamma", 0.0001, 100.0)
    can_promise = ("measured-risk",)
    did = "Random noise was added to every value, correlated as the values are unless said otherwise."

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Every value with noise of variance `gamma` times its attribute's; gaps are moved among the records."""
        names = treated(self.name, microdata, ON_A_LINE)
        if self.clamp:
            require_domain(self.name, microdata, names)
        original = side_by_side(names, lambda name: positions(microdata, name))
        standard = side_by_side(names, lambda name: standardised(name, original[name]))
        stream = streams(seed)
        drawn = side_by_side(names, lambda name: stream(name).standard_normal(len(microdata)))
        noise = np.stack(list(drawn.values()))
        if self.correlated:
            noise = factor(correlations(np.stack([standard[name].scores for name in names]))) @ noise
        error = dict(zip(names, noise, strict=True))
        shrink = np.sqrt(1 + self.gamma) if self.keep_moments else 1.0

        def show(name: str) -> MaskedColumn:
            mean, sigma = standard[name].mean, standard[name].sigma
            noisy = original[name] + np.sqrt(self.gamma) * sigma * error[name]
            kept = noisy if shrink == 1.0 else mean + (noisy - mean) / shrink
            if self.within == "domain":
                kept = reflected(microdata, name, kept)
            return shown_numbers(microdata, name, kept, whole=self.whole, clamp=self.clamp)

        return Masked(with_gaps_moved(side_by_side(names, show), stream))
