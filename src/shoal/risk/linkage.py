"""Record linkage: how near the masked records are to the people they came from (paper 5, section 4, Eq. 2).

R = (1 / (n m)) sum_x ln(1 + d(x, Y)), d the Euclidean distance in ranks from x to the masked record nearest to it;
tied values share their average rank. It is for comparing methods: attributes without an order do not count, a missing
value stands at the mean rank, and equal R is not equal re-identification.

So the share of correct links stands beside it: of original records whose nearest masked record is their own; where t
masked records are equally near, an intruder hits it one time in t. All quasi-identifiers count (see `spaces`). Each is
one attack only; what the best of all finds is `found_again`.

All original records are linked up to 100,000 (or as many as the pair says), beyond that so many drawn at random,
always to all masked records.

Defined in docs/spec.md#linkage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Kind
from shoal.errors import require
from shoal.measure import Pair, measure
from shoal.risk.spaces import both_ranks, by_deviations, by_mahalanobis, by_ranks, different

if TYPE_CHECKING:
    from shoal.kernels.linking import Space


def sampled(pair: Pair) -> str:
    """How many records were linked, where not all were."""
    n, most = len(pair.original), pair.linked_at_most
    return f"{most:,} of {n:,} records, drawn at random" if n > most else ""


def by_order(pair: Pair) -> str:
    """Which attributes were left out as they have no order, and how many records were linked."""
    names = ", ".join(repr(a.name) for a in pair.attributes if a.kind is Kind.NOMINAL)
    return "; ".join(note for note in (f"without {names}, which have no order" if names else "", sampled(pair)) if note)


@measure("risk", "safer", how=by_order, promised=False)
def rank_linkage(pair: Pair, *, log: Literal["ln1p", "ln"] = "ln1p") -> float:
    """Distance in ranks to the nearest masked record: mean of ln(1 + distance) / attributes; 0 if nothing was masked.

    `log="ln"` is the paper's own logarithm, of distances of at least 1/2.
    """
    require("rank_linkage", "log", log, "'ln1p' or 'ln'", holds=log in ("ln1p", "ln"))
    distance = nearest_in_ranks(pair)
    damped = np.log1p(distance) if log == "ln1p" else np.log(np.maximum(distance, 0.5))
    return float(damped.mean() / len(pair.ordered.attributes))


@measure("risk", "riskier", needs_pairs=True, how=sampled, promised=False)
def correct_links(pair: Pair) -> float:
    """Share of people whose nearest masked record is their own, by distance in standard deviations."""
    return _correct(pair, by_deviations)


@measure("risk", "riskier", needs_pairs=True, how=sampled, promised=False)
def correct_links_mahalanobis(pair: Pair) -> float:
    """Share of people whose nearest masked record is their own, by Mahalanobis distance."""
    return _correct(pair, by_mahalanobis)


@measure("risk", "riskier", needs_pairs=True, how=sampled, promised=False)
def correct_links_rank(pair: Pair) -> float:
    """Share of people whose nearest masked record is their own, by distance in ranks."""
    return _correct(pair, by_ranks)


# ---- distances


def nearest_in_ranks(pair: Pair, *, largest: bool = False) -> npt.NDArray[np.float64]:
    """d(x, Y) of each record linked; `largest` takes the largest difference of ranks instead of the Euclidean one."""
    from shoal.kernels.neighbours import nearest

    original, masked = both_ranks(pair)
    return np.sqrt(nearest(original[_linked(pair)], masked[different(pair).first], largest=largest))


def _linked(pair: Pair) -> npt.NDArray[np.int64]:
    n, most = len(pair.original), pair.linked_at_most
    return np.arange(n) if n <= most else np.random.default_rng(0).choice(n, most, replace=False)


def _correct(pair: Pair, near: Callable[[Pair, npt.NDArray[np.int64]], Space]) -> float:
    """The expected share of correct links; a suppressed record has none."""
    from shoal.kernels.linking import own_shares

    own = np.full(len(pair.original), -1)
    own[slice(None) if pair.kept is None else pair.kept] = np.arange(len(pair.masked))
    linked = _linked(pair)
    there = linked[own[linked] >= 0]
    return float(own_shares(near(pair, there), different(pair).rows_of(own[there])).sum() / len(linked))
