"""Record linkage: how near the masked records are to the people they came from (paper 5, section 4, Eq. 2; SPEC 6.2).

R = (1 / (n m)) sum_x ln(1 + d(x, Y)), d the Euclidean distance in ranks from x to the masked record nearest to it;
tied values share their average rank. Equal R is not equal re-identification, so the share of correct links stands
beside it: of original records whose nearest masked record is their own; where t masked records are equally near, an
intruder hits it one time in t.

Only attributes in an order count. A missing value stands in the middle, at the mean rank or the mean value: near to
another missing one, far from the extremes. All original records are linked up to 100,000 (or as many as the pair
says), beyond that so many drawn at random, always to all masked records.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import require
from shoal.measure import Matrix, Pair, measure


def sampled(pair: Pair) -> str:
    """How many records were linked, where not all were."""
    n, most = len(pair.original), pair.linked_at_most
    return f"{most:,} of {n:,} records, drawn at random" if n > most else ""


@measure("risk", "safer", how=sampled)
def rank_linkage(pair: Pair, *, log: Literal["ln1p", "ln"] = "ln1p") -> float:
    """Distance in ranks to the nearest masked record: mean of ln(1 + distance) / attributes; 0 if nothing was masked.

    `log="ln"` is the paper's own logarithm, of distances of at least 1/2.
    """
    require("rank_linkage", "log", log, "'ln1p' or 'ln'", holds=log in ("ln1p", "ln"))
    distance = nearest_in_ranks(pair)
    damped = np.log1p(distance) if log == "ln1p" else np.log(np.maximum(distance, 0.5))
    return float(damped.mean() / len(pair.ordered.attributes))


@measure("risk", "riskier", needs_pairs=True, how=sampled)
def correct_links(pair: Pair) -> float:
    """Share of people whose nearest masked record is their own, by distance in standard deviations."""
    return _correct(pair, *pair.standardised)


@measure("risk", "riskier", needs_pairs=True, how=sampled)
def correct_links_mahalanobis(pair: Pair) -> float:
    """Share of people whose nearest masked record is their own, by Mahalanobis distance."""
    original, masked = pair.standardised
    value, direction = np.linalg.eigh(original.T @ original / len(original))
    varies = value > 1e-10 * value[-1]  # what follows from the other attributes tells nothing more
    whiten = direction[:, varies] / np.sqrt(value[varies])
    return _correct(pair, original @ whiten, masked @ whiten)


@measure("risk", "riskier", needs_pairs=True, how=sampled)
def correct_links_rank(pair: Pair) -> float:
    """Share of people whose nearest masked record is their own, by distance in ranks."""
    return _correct(pair, *both_ranks(pair))


# ---- ranks and distances


def both_ranks(pair: Pair) -> tuple[Matrix, Matrix]:
    """Ranks within each table, those of the masked one stretched to as many as the original has records."""
    n = len(pair.original)
    return ranks(pair.ordered.original, n), ranks(pair.ordered.masked, n)


def ranks(values: Matrix, n: int) -> Matrix:
    """Average ranks of each column from 1 to n; what is missing, or a value alone, stands in the middle."""
    import polars as pl

    average = pl.from_numpy(values + 0.0).select(pl.all().fill_nan(None).rank("average")).to_numpy()
    present = (~np.isnan(average)).sum(axis=0)
    stretched = 1.0 + (average - 1.0) * (n - 1) / np.maximum(present - 1, 1)
    return np.where(np.isnan(average) | (present < 2), (n + 1) / 2, stretched)


def nearest_in_ranks(pair: Pair, *, largest: bool = False) -> npt.NDArray[np.float64]:
    """d(x, Y) of each record linked; `largest` takes the largest difference of ranks instead of the Euclidean one."""
    from shoal.kernels.neighbours import nearest

    original, masked = both_ranks(pair)
    return np.sqrt(nearest(original[_linked(pair)], masked, largest=largest))


def _linked(pair: Pair) -> npt.NDArray[np.int64]:
    n, most = len(pair.original), pair.linked_at_most
    return np.arange(n) if n <= most else np.random.default_rng(0).choice(n, most, replace=False)


def _correct(pair: Pair, original: Matrix, masked: Matrix) -> float:
    """The expected share of correct links; a suppressed record has none."""
    from shoal.kernels.neighbours import own_shares

    own = np.full(len(original), -1)
    own[slice(None) if pair.kept is None else pair.kept] = np.arange(len(masked))
    linked = _linked(pair)
    there = linked[own[linked] >= 0]
    people = original[there]
    squares = ((people - masked[own[there]]) ** 2).sum(axis=1)
    return float(own_shares(people, masked, squares).sum() / len(linked))
