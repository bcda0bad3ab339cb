"""Finds the parameter at which a method reaches a level of risk or utility (paper 5, Section 4).

The level is asked at a few values along the whole range; the isotonic fit (pool adjacent violators) of all that was
asked says between which two neighbours the target lies, and the middle of these is asked next. So chance that makes
the levels rise and fall a little misleads nobody; without chance it is plain bisection. Whether the level rises or
falls with the parameter is read off its ends: any measure and any parameter will do.

Defined in docs/spec.md#equal-risk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, sqrt

import numpy as np
import numpy.typing as npt

from shoal.masking.method import Strength

Levels = Callable[[Sequence[float]], Sequence[float]]

START = 5  # values along the range to begin with
MOST = 40  # values asked at most
TYPICAL = 16  # values asked as a rule: for a progress bar
TOLERANCE = (
    0.01  # of the target or the reach: a level that near is attained (the paper's own matches are ±0.006 of .45)
)
_MET = 1e-4  # of the reach: a level that near cannot be told from the target
_FINE = 1e-3  # of the range: no finer parameter is looked for
_DECADES = 100.0  # a range of this ratio is walked by factors
_STEP, _STEPS = 4.0, 12  # how fast and how often a range without end is widened


@dataclass(frozen=True)
class Calibrated:
    """The parameter found, the level there, and the least and greatest level that were met on the way."""

    value: float
    level: float
    reach: tuple[float, float]
    target: float
    rising: bool  # whether the level rises with the parameter

    @property
    def attainable(self) -> bool:
        """Whether the target lies within what the method can reach; a whole parameter may still step over it."""
        return self.reach[0] <= self.target <= self.reach[1] or self.attained

    @property
    def attained(self) -> bool:
        """Whether the level came within the tolerance of the target."""
        unit = max(abs(self.target), 0.1 * (self.reach[1] - self.reach[0]))  # a target of 0 has none of its own
        return abs(self.level - self.target) <= TOLERANCE * unit


def calibrate(levels: Levels, parameter: Strength, target: float) -> Calibrated:
    """The value whose level is nearest to the target; `levels` answers for several values at once."""
    tried: dict[float, float] = {}

    def ask(values: Sequence[float]) -> None:
        new = [value for value in dict.fromkeys(values) if value not in tried]
        tried.update(zip(new, map(float, levels(new)), strict=True))

    if isfinite(parameter.most):
        ask(grid(parameter, START))
    else:
        for values in _widening(parameter):
            ask(values)
            if min(tried.values()) <= target <= max(tried.values()):
                break
    while len(tried) < MOST and (value := _next(tried, parameter, target)) is not None:
        ask([value])
    return _nearest(tried, target)


def grid(parameter: Strength, points: int) -> list[float]:
    """Values along the whole range: evenly, or by equal factors where it spans decades."""
    space = np.geomspace if _by_factors(parameter) else np.linspace
    values = space(parameter.least, parameter.most, points)
    return sorted({_allowed(value, parameter) for value in values.tolist()})


def _by_factors(parameter: Strength) -> bool:
    return not isfinite(parameter.most) or (parameter.least > 0 and parameter.most / parameter.least >= _DECADES)


def _widening(parameter: Strength) -> Iterator[list[float]]:
    """Values ever farther from 1, or from the least, where nothing says how far the range goes."""
    start = max(parameter.least, 1.0)
    yield [_allowed(start, parameter)]
    for step in range(1, _STEPS + 1):
        yield [_allowed(start / _STEP**step, parameter), _allowed(start * _STEP**step, parameter)]


def _allowed(value: float, parameter: Strength) -> float:
    value = min(max(value, parameter.least), parameter.most)
    return round(value) if parameter.whole else value


def _next(tried: dict[float, float], parameter: Strength, target: float) -> float | None:
    """The middle of the two neighbours between which the fit passes the target; None when there is no need."""
    values, fit = _isotonic(tried)
    if np.abs(fit - target).min() <= _MET * abs(target):
        return None
    for (low, below), (high, above) in pairwise(zip(values, fit, strict=True)):
        if min(below, above) < target < max(below, above):
            return _middle(low, high, parameter)
    return None


def _middle(low: float, high: float, parameter: Strength) -> float | None:
    if parameter.whole and high - low < 2:
        return None
    by_factors = _by_factors(parameter)
    middle = sqrt(low * high) if by_factors else (low + high) / 2
    if parameter.whole:
        return min(max(round(middle), low + 1), high - 1)
    return middle if high - low > _FINE * (low if by_factors else parameter.most - parameter.least) else None


def _isotonic(tried: dict[float, float]) -> tuple[list[float], npt.NDArray[np.float64]]:
    """The values in order and the monotone levels nearest to those found."""
    from scipy.optimize import isotonic_regression

    values = sorted(tried)
    return values, isotonic_regression([tried[value] for value in values], increasing=_rising(tried)).x


def _rising(tried: dict[float, float]) -> bool:
    return tried[max(tried)] >= tried[min(tried)]


def _nearest(tried: dict[float, float], target: float) -> Calibrated:
    """By the fit; among those that the fit has alike, by the level itself."""
    values, fit = _isotonic(tried)
    away = [
        (abs(fitted - target), abs(tried[value] - target), value) for value, fitted in zip(values, fit, strict=True)
    ]
    value = min(away)[-1]
    return Calibrated(value, tried[value], (min(tried.values()), max(tried.values())), target, _rising(tried))
