"""How many people are unique in the population, estimated from a sample (paper 3's references 96 to 101).

Known are the sample's n records in u classes, s_j of them of j records, and the sampling fraction n/N. Three estimates:

- Zayatz (1991): Bayes' rule for a class of one record, class sizes being distributed as in the sample.
- Pitman (Hoshino, 2001): class sizes follow Pitman's sampling formula with theta and a, fitted by maximum likelihood.
- SNB, slide negative binomial (Chen & Keller-McNulty, 1998): a class has 1 + a negative binomial number of people;
  records enter the sample independently; the two parameters give the u classes and the s_1 uniques that were found.

None is good everywhere. Dankar et al. (2012) choose: up to a fraction of 0.1 Pitman, above it the lesser of Zayatz and
SNB. After k-anonymization there are no unique records to infer from, and every estimate is 0.

Defined in docs/spec.md#population-uniqueness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, require

_SMALL_FRACTION = 0.1  # Dankar et al.'s rule


@dataclass(frozen=True)
class PopulationUniques:
    """The estimates of how many people are unique; None where a model does not fit the sample at all."""

    people: float  # N = n / fraction
    zayatz: float
    pitman: float | None
    negative_binomial: float | None
    chosen: str

    @property
    def uniques(self) -> float:
        """By the estimate that the rule chooses."""
        value = getattr(self, self.chosen)
        assert isinstance(value, float)
        return value

    @property
    def share(self) -> float:
        """The share of the population that is unique."""
        return self.uniques / self.people

    def to_dict(self) -> dict[str, object]:
        """All estimates, ready for JSON."""
        return asdict(self) | {"uniques": self.uniques, "share": self.share}


def population_uniques(sizes: npt.NDArray[np.int64], fraction: float) -> PopulationUniques:
    """All estimates, from the sizes of the sample's classes, and the one that Dankar et al.'s rule chooses."""
    by_zayatz, by_pitman, by_snb = (model(sizes, fraction) for model in (zayatz, pitman, negative_binomial))
    assert by_zayatz is not None
    chosen = "zayatz"
    if fraction <= _SMALL_FRACTION and by_pitman is not None:
        chosen = "pitman"
    if fraction > _SMALL_FRACTION and by_snb is not None and by_snb <= by_zayatz:
        chosen = "negative_binomial"
    return PopulationUniques(int(np.sum(sizes)) / fraction, by_zayatz, by_pitman, by_snb, chosen)


# ---- Zayatz


def zayatz(sizes: npt.NDArray[np.int64], fraction: float) -> float:
    """s_1 P(F = 1 | f = 1) N / n, with P(f = 1 | F = j) hypergeometric and P(F = j) = s_j / u."""
    size, classes = _histogram(sizes, fraction)
    if size[0] != 1:
        return 0.0
    n = int(sizes.sum())
    chance = np.array([_one_of(int(j), n, round(n / fraction)) for j in size])
    return float(classes[0] * chance[0] * classes[0] / (chance @ classes) / fraction)


def _one_of(j: int, n: int, N: int) -> float:
    """P(f = 1 | F = j): of j people among N exactly one is among the n sampled."""
    if N - j < n - 1:
        return 0.0
    ways = _log_choose(N - j, n - 1) - _log_choose(N, n)
    return math.exp(math.log(j) + ways)


def _log_choose(a: int, b: int) -> float:
    return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)


# ---- Pitman


def pitman(sizes: npt.NDArray[np.int64], fraction: float) -> float | None:
    """E[S_1] = N (theta + a)^[N-1] / (theta + 1)^[N-1], ascending factorials, at the likeliest theta and a in (0, 1).

    None where all records or none are unique: then no such law is likeliest.
    """
    size, classes = _histogram(sizes, fraction)
    n, u = int(sizes.sum()), len(sizes)
    if size[0] != 1:
        return 0.0
    if u == n or u == 1:
        return None

    def slope(a: float) -> float:
        """Of the log likelihood in a, at the theta that is likeliest for it."""
        return _slope_in_a(_likeliest_theta(a, n, u), a, size, classes, u)

    a = _falling_root(slope, 1e-6, 1.0 - 1e-6)
    theta = _likeliest_theta(a, n, u)
    N = n / fraction
    return N * math.exp(_log_rising(theta + a, N - 1) - _log_rising(theta + 1, N - 1))


def _likeliest_theta(a: float, n: int, u: int) -> float:
    """Where sum_{i<u} 1/(theta + i a) = sum_{i<n} 1/(theta + i): from above to below 0 as theta grows from -a on."""

    def slope(x: float) -> float:
        theta = math.exp(x) - a
        classes = (_digamma(theta / a + u) - _digamma(theta / a + 1)) / a
        return classes - (_digamma(theta + n) - _digamma(theta + 1))

    return math.exp(_falling_root(slope, -30.0, 30.0)) - a


def _slope_in_a(theta: float, a: float, size: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], u: int) -> float:
    """sum_{i<u} i/(theta + i a) - sum_j s_j sum_{i<j} 1/(i - a)."""
    x = theta / a
    new = (u - 1 - x * (_digamma(x + u) - _digamma(x + 1))) / a
    old = sum(
        int(c) * (_digamma(j - a) - _digamma(1 - a)) for j, c in zip(size.tolist(), classes.tolist(), strict=True)
    )
    return new - old


# ---- slide negative binomial


def negative_binomial(sizes: npt.NDArray[np.int64], fraction: float) -> float | None:
    """K P(F = 1) = N / (1 + m) (1 + m/a)^-a, with F - 1 negative binomial of mean m and shape a.

    Thinned by the sampling fraction pi, with t = 1 + pi m / a: u / N = (1 - (1 - pi) t^-a) / (1 + m) and
    s_1 / N = pi t^-a (1 + (1 - pi) m / t) / (1 + m). The first gives m for each a, the second then a. None where no
    shape gives as many uniques as there are.
    """
    size, classes = _histogram(sizes, fraction)
    n, u = int(sizes.sum()), len(sizes)
    if size[0] != 1:
        return 0.0
    if u == n or fraction == 1.0:
        return float(classes[0]) if fraction == 1.0 else None
    N = n / fraction
    uniques = int(classes[0]) / N

    def excess(x: float) -> float:
        a = math.exp(x)
        return _snb_uniques(_snb_mean(a, u / N, fraction), a, fraction) - uniques

    low, high = -12.0, 12.0
    if excess(low) < 0.0 or excess(high) > 0.0:
        return None
    a = math.exp(_falling_root(excess, low, high))
    m = _snb_mean(a, u / N, fraction)
    return N / (1.0 + m) * math.exp(-a * math.log1p(m / a))


def _snb_mean(a: float, u: float, pi: float) -> float:
    """m that gives u classes a person."""

    def excess(x: float) -> float:
        m = math.exp(x)
        return (1.0 - (1.0 - pi) * math.exp(-a * math.log1p(pi * m / a))) / (1.0 + m) - u

    return math.exp(_falling_root(excess, -40.0, 40.0))


def _snb_uniques(m: float, a: float, pi: float) -> float:
    """s_1 / N."""
    t = pi * m / a
    return pi * math.exp(-a * math.log1p(t)) * (1.0 + (1.0 - pi) * m / (1.0 + t)) / (1.0 + m)


# ---- numbers


def _histogram(sizes: npt.NDArray[np.int64], fraction: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    require("population uniqueness", "fraction", fraction, "a number above 0, at most 1", holds=0 < fraction <= 1)
    if len(sizes) == 0:
        raise InputError("The table has no records: nothing can be said of the population.")
    return np.unique(sizes, return_counts=True)


def _falling_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f, positive before and negative after, crosses zero; by bisection, at an end if it does not cross."""
    for _ in range(100):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if f(middle) > 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _log_rising(x: float, steps: float) -> float:
    """ln x (x + 1) ... (x + steps - 1)."""
    return math.lgamma(x + steps) - math.lgamma(x)


def _digamma(x: float) -> float:
    """Of x > 0: up to where the asymptotic series has all digits, then the series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series
