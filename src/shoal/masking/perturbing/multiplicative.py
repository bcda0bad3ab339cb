"""Multiplicative noise in Höhne's variant (Höhne 2004; paper 5, Section 5): values times 1 ± N(f, s), moments restored.

The sign is drawn for each cell, or once a record, so that its values move together. With f = 0, as in paper 5, factors
lie about 1; with f > 2 s, as Höhne has it, they lie about 1 - f and 1 + f and no value stays where it was. Then each
attribute is brought back to its mean and variance, y = (σ_x / σ_xa) (xa - μ_xa) + μ_x, or all together to their
covariances, by the linear map that moves them least.

Values are counted from the attribute's least (`scale="range"`: what paper 5 does by multiplying data scaled to [0, 1])
or from zero. Dates have no zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from shoal.catalogue import parameter
from shoal.data.cells import MaskedColumn
from shoal.data.microdata import Microdata
from shoal.data.schema import Kind
from shoal.errors import InputError
from shoal.masking.method import Masked, Strength
from shoal.masking.perturbing.columns import (
    ON_A_LINE,
    Numbers,
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
from shoal.masking.perturbing.moments import Standardised, is_singular, nearest_map, standardised
from shoal.privacy.model import PrivacyModel

Sign = Literal["cell", "record", "none"]
Noise = Literal["truncated", "normal", "uniform"]
Restore = Literal["marginal", "covariance", "none"]
Scale = Literal["range", "none"]


class MultiplicativeNoise(Perturbing):
    """Every value times a random factor near one, after which means and variances are restored.

    `s` is the deviation of the factors and `f` how far from 1 they are centred; the `sign` is drawn for each `cell`,
    once a `record`, or not at all. The `noise` is `truncated`, `normal` or `uniform`; `restore` is `marginal`,
    `covariance` or `none`; values count from their least (`scale` is `range`) or from zero. `whole` keeps integers
    whole, `clamp` keeps values within stated domains. What falls out of the `domain`, stated or observed, is reflected
    at its end, which moves moments a little; with `within` at `anywhere` it stays where it fell, as published.
    """

    s: float = parameter(
        "deviation of the factors, and where they are cut; half the width if uniform", default=0.1, above=0, most=1e6
    )
    f: float = parameter("how far from 1 the factors are centred", default=0.0, least=0, most=1e6)
    sign: Sign = parameter("for what a sign is drawn", default="cell")
    noise: Noise = parameter("how factors are distributed", default="truncated")
    restore: Restore = parameter("which moments are restored", default="marginal")
    scale: Scale = parameter("whether values count from their least or from zero", default="range")
    whole: bool = parameter("integers stay whole", default=False)
    clamp: bool = parameter("values stay within stated domains", default=False)
    within: Within = parameter("what falls out of the domain is reflected, or stays", default="domain")

    choose = "only to compare with: no risk of it can be promised"
    needs = ("numbers or dates",)
    strength = Strength("s", 0.001, 10.0)
    did = "Every value was multiplied by a random factor near one, and moments were restored."

    @property
    def undone(self) -> str:
        """What masking changes grows with the value and is bounded.

        Whoever knows that finds several times as many people as the attacks that are built in, which take it for alike
        everywhere.
        """
        return "whoever knows that it grows with the value finds far more people than is measured here"

    def mask(
        self, microdata: Microdata, models: Sequence[PrivacyModel], *, suppression: float = 0.0, seed: int | None = None
    ) -> Masked:
        """Every value times a factor of its own, then the moments restored that `restore` names."""
        names = treated(self.name, microdata, ON_A_LINE)
        if self.clamp:
            require_domain(self.name, microdata, names)
        if self.scale == "none":
            _refuse_dates(microdata, names)
        original = side_by_side(names, lambda name: positions(microdata, name))
        was = side_by_side(names, lambda name: standardised(name, original[name]))
        stream = streams(seed)
        signs = stream(None).choice([-1.0, 1.0], len(microdata)) if self.sign == "record" else None

        def multiply(name: str) -> Numbers:
            zero = np.nanmin(original[name]) if self.scale == "range" else 0.0
            return zero + (original[name] - zero) * self._factors(stream(name), signs, len(microdata))

        multiplied = side_by_side(names, multiply)
        if self.restore == "marginal":
            multiplied = side_by_side(names, lambda name: restored(name, multiplied[name], was[name]))
        elif self.restore == "covariance":
            multiplied = jointly_restored(multiplied, was)

        def show(name: str) -> MaskedColumn:
            kept = reflected(microdata, name, multiplied[name]) if self.within == "domain" else multiplied[name]
            return shown_numbers(microdata, name, kept, whole=self.whole, clamp=self.clamp)

        return Masked(with_gaps_moved(side_by_side(names, show), stream))

    def _factors(self, rng: np.random.Generator, signs: Numbers | None, n: int) -> Numbers:
        """1 ± (f + noise)."""
        if self.noise == "uniform":
            noise = rng.uniform(-self.s, self.s, n)
        elif self.noise == "normal":
            noise = rng.normal(0.0, self.s, n)
        else:
            noise = self.s * _truncated(rng, n)
        if self.sign == "cell":
            signs = rng.choice([-1.0, 1.0], n)
        return 1 + (self.f + noise if signs is None else signs * (self.f + noise))


def restored(name: str, changed: Numbers, was: Standardised) -> Numbers:
    """With the mean and variance of the original."""
    after = standardised(name, changed)
    return was.mean + (changed - after.mean) * (was.sigma / after.sigma)


def jointly_restored(changed: dict[str, Numbers], was: dict[str, Standardised]) -> dict[str, Numbers]:
    """With the means and covariances of the original; in units of its spreads, so that no attribute outweighs."""
    now = {name: standardised(name, numbers) for name, numbers in changed.items()}
    before = np.stack([was[name].scores for name in changed])
    after = np.stack([now[name].scores * (now[name].sigma / was[name].sigma) for name in changed])
    spread = after @ after.T
    if is_singular(spread):
        raise InputError(
            f"The {len(before[0]):,} records are too few, or too alike, for the covariances of {len(changed)} "
            "attributes to be restored: restore the marginal moments."
        )
    mapped = nearest_map(spread, before @ before.T) @ after
    return {
        name: np.where(np.isnan(numbers), np.nan, was[name].mean + was[name].sigma * row)
        for (name, numbers), row in zip(changed.items(), mapped, strict=True)
    }


def _truncated(rng: np.random.Generator, n: int) -> Numbers:
    """Standard normal, within one standard deviation."""
    from scipy.special import ndtr, ndtri

    scores: Numbers = ndtri(rng.uniform(ndtr(-1.0), ndtr(1.0), n))
    return scores


def _refuse_dates(microdata: Microdata, names: Sequence[str]) -> None:
    for name in names:
        if microdata.schema[name].kind is Kind.DATE:
            raise InputError(
                f"Column {name!r} holds dates, which have no zero to multiply from: choose scale = 'range'."
            )
