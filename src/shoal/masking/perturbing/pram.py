"""PRAM, the post-randomisation method, in its invariant form (Gouweleeuw et al. 1998): categories change at random.

A category stays with probability 1 - p and is otherwise drawn anew from the attribute's own distribution π; so it goes
from a to b with probability P_ab = (1 - p) [a = b] + p π_b. As π P = π, every category is expected as often as before,
and an analyst who knows p can take the effect on any table out again by the inverse of P.
"""

from __future__ import annotations

import numpy as np

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.masking.method import Strength
from shoal.masking.perturbing.columns import CATEGORIES, shown_from
from shoal.masking.perturbing.method import EachByItself


class Pram(EachByItself):
    """Each category is drawn anew with probability `p` from the attribute's own distribution."""

    p: float = parameter("with which probability a category is drawn anew", default=0.2, above=0, most=1)

    choose = "every record must stay apart, and values are categories; promise a measured risk"
    needs = ("categories",)
    kinds = CATEGORIES
    strength = Strength("p", 0.001, 1.0)
    can_promise = ("measured-risk",)
    did = "Categories were redrawn at random so that their expected frequencies stay (PRAM)."

    def changed(self, microdata: Microdata, name: str, rng: np.random.Generator) -> MaskedColumn:
        """A category drawn from the distribution is that of a record drawn from those that have one."""
        present = np.flatnonzero(microdata[name].codes >= 0)
        changed = present[rng.random(len(present)) < self.p]
        source = np.arange(len(microdata))
        source[changed] = present[rng.integers(len(present), size=len(changed))]
        return shown_from(microdata, name, source)
