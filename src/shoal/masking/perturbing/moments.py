"""Means, spreads and covariances of attributes with gaps, and the linear maps that bring a covariance about.

A matrix has a row an attribute. Where a value is missing its score is 0, the mean: then every matrix of products is
positive semidefinite, however the gaps lie, and each attribute's spread is that of the values it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import InputError
from shoal.masking.perturbing.columns import Numbers

_ROUNDING = 1e-10


@dataclass(frozen=True)
class Standardised:
    """An attribute's values in standard deviations from its mean, and the way back."""

    mean: float
    sigma: float  # sample standard deviation
    scores: Numbers  # (x - mean) / sigma, 0 where missing


def standardised(name: str, numbers: Numbers) -> Standardised:
    """A column in standard deviations, gaps as NaN; refused where its variance is zero or has no number."""
    present = ~np.isnan(numbers)
    n = np.count_nonzero(present)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean = float(numbers.sum(where=present)) / n
        scores = np.where(present, numbers - mean, 0.0)
        sigma = float(np.sqrt(scores @ scores / (n - 1)))
    if not (np.isfinite(sigma) and sigma > 0.0):
        raise InputError(
            f"Column {name!r} varies too much, or too little beside its size, for its variance to be computed: "
            "rescale it, or take its least value off."
        )
    return Standardised(mean, sigma, scores / sigma)


def correlations(scores: Numbers) -> Numbers:
    """Pearson's, of attributes whose scores are these."""
    products: Numbers = scores @ scores.T
    length = np.sqrt(products.diagonal())
    scaled: Numbers = products / np.outer(length, length)
    return scaled


def factor(covariance: Numbers) -> Numbers:
    """Cholesky's L, L Lᵀ = covariance; one that is singular works too: what others determine gets no part of its own.

    As L is lower triangular, the first attributes' parts do not depend on those that follow.
    """
    L = np.zeros_like(covariance)
    for j, row in enumerate(covariance):
        rest = row[j:] - L[j:, :j] @ L[j, :j]
        if rest[0] > _ROUNDING * row[j]:
            L[j:, j] = rest / np.sqrt(rest[0])
    return L


def nearest_map(covariance: Numbers, wanted: Numbers) -> Numbers:
    """The linear map M with M covariance Mᵀ = wanted that moves values least (Monge's, between normals)."""
    root, back = _power(covariance, 0.5), _power(covariance, -0.5)
    nearest: Numbers = back @ _power(root @ wanted @ root, 0.5) @ back
    return nearest


def is_singular(covariance: Numbers) -> bool:
    """Whether some attribute follows from the others, as far as rounding lets one tell."""
    values = np.linalg.eigvalsh(covariance)
    return bool(values[0] <= _ROUNDING * values[-1])


def _power(covariance: Numbers, exponent: float) -> Numbers:
    values, vectors = np.linalg.eigh(covariance)
    power: Numbers = (vectors * np.maximum(values, 0.0) ** exponent) @ vectors.T
    return power
