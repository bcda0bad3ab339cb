"""Perturbing methods as printed, on plain lists: the odds of every outcome of rank swapping, PRAM's matrix, moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import sqrt

Pairing = tuple[int, ...]  # rank -> the rank it swaps with


def pairings(n: int, down: int, up: int, *, ascending: bool = False) -> dict[Pairing, Fraction]:
    """Every outcome of rank swapping and its exact probability, by following all visits and all choices."""
    orders = [tuple(range(n))] if ascending else list(permutations(range(n)))
    odds: Counter[Pairing] = Counter()
    for order in orders:
        _follow(order, down, up, tuple(range(n)), frozenset(range(n)), Fraction(1, len(orders)), odds)
    return dict(odds)


def _follow(
    visits: Sequence[int],
    down: int,
    up: int,
    partner: Pairing,
    free: frozenset[int],
    chance: Fraction,
    odds: Counter[Pairing],
) -> None:
    if not visits:
        odds[partner] += chance
        return
    rank, *rest = visits
    others = [s for s in free if s != rank and rank - down <= s <= rank + up]
    if rank not in free or not others:
        _follow(rest, down, up, partner, free - {rank}, chance, odds)
        return
    for s in others:
        swapped = list(partner)
        swapped[rank], swapped[s] = s, rank
        _follow(rest, down, up, tuple(swapped), free - {rank, s}, chance / len(others), odds)


def transition(shares: Sequence[float], p: float) -> list[list[float]]:
    """PRAM: from category a to category b."""
    return [[(1 - p) * (a == b) + p * share for b, share in enumerate(shares)] for a in range(len(shares))]


def mean(x: Sequence[float]) -> float:
    return sum(x) / len(x)


def covariance(x: Sequence[float], y: Sequence[float]) -> float:
    return sum((a - mean(x)) * (b - mean(y)) for a, b in zip(x, y, strict=True)) / (len(x) - 1)


def hoehne(x: Sequence[float], factors: Sequence[float]) -> list[float]:
    """Each value times its factor, then brought back to the mean and variance there were."""
    xa = [value * factor for value, factor in zip(x, factors, strict=True)]
    ratio = sqrt(covariance(x, x) / covariance(xa, xa))
    return [ratio * (value - mean(xa)) + mean(x) for value in xa]


def resampled(x: Sequence[float], samples: Sequence[Sequence[int]]) -> list[float]:
    """The record of rank r gets the mean of the samples' r-th values; no two values are equal."""
    drawn = [sorted(x[i] for i in sample) for sample in samples]
    rank = {value: r for r, value in enumerate(sorted(x))}
    return [mean([sample[rank[value]] for sample in drawn]) for value in x]
