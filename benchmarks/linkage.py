"""Record linkage of 100,000 records, all of them: against comparing all pairs, and against SciPy's k-d tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Claim, seconds
from shoal.data.schema import Attribute, Kind, Role
from shoal.measure import Pair
from shoal.risk.linkage import both_ranks, correct_links_rank, rank_linkage

_BLOCK = 1_000  # records that the others link; their time is extrapolated to all


def linkage(rows: int) -> list[Claim]:
    n = min(rows, 100_000)
    pair = _correlated(n)
    taken, links = (seconds(lambda m=m: m(pair), repeats=1) for m in (rank_linkage, correct_links_rank))
    plain, tree = _plain(pair), _tree(pair)
    claims = [
        Claim(f"all pairs of {n:,} x 10 by SciPy, extrapolated", f"{plain:.0f} s"),
        Claim("linkage risk", f"{taken:.1f} s, {plain / taken:.0f} x less", "at least 10 x less", plain >= 10 * taken),
        Claim("the same by SciPy's k-d tree on all cores, extrapolated", f"{tree:.1f} s"),
        Claim("share of correct links", f"{links:.1f} s"),
    ]
    sparse = _sparse(n)
    taken, tree = seconds(lambda: rank_linkage(sparse), repeats=1), _tree(sparse)
    less = f"{taken:.1f} s, {tree / taken:.1f} x less than the tree"
    claims.append(Claim("linkage risk of 20 attributes, mostly zero", less, "at least 2 x less", tree >= 2 * taken))
    if rows > n:
        large = _correlated(1_000_000)
        taken = seconds(lambda: rank_linkage(large), repeats=1)
        claims.append(Claim("1,000,000 x 10, 100,000 of them linked", f"{taken:.1f} s", "within 60 s", taken <= 60))
    return claims


def _correlated(n: int) -> Pair:
    """Ten attributes, masked by noise of half their deviations."""
    rng = np.random.default_rng(1)
    original = rng.normal(size=(n, 10)) @ rng.normal(size=(10, 10))
    return _pair(original, original + 0.5 * original.std(axis=0) * rng.normal(size=original.shape))


def _sparse(n: int) -> Pair:
    """Twenty attributes of which a record has a third, masked by factors."""
    rng = np.random.default_rng(1)
    original = rng.lognormal(size=(n, 20)) * (rng.random((n, 20)) < 0.3)
    return _pair(original, original * rng.uniform(0.7, 1.3, size=original.shape))


def _pair(original: npt.NDArray[np.float64], masked: npt.NDArray[np.float64]) -> Pair:
    roles = frozenset({Role.QUASI_IDENTIFIER})
    attributes = (Attribute(f"x{j}", roles, Kind.NUMERIC) for j in range(original.shape[1]))
    return Pair(tuple(attributes), original, masked)


def _plain(pair: Pair) -> float:
    from scipy.spatial.distance import cdist

    original, masked = both_ranks(pair)
    return seconds(lambda: cdist(original[:_BLOCK], masked).min(axis=1), repeats=1) * len(original) / _BLOCK


def _tree(pair: Pair) -> float:
    from scipy.spatial import cKDTree

    original, masked = both_ranks(pair)
    tree = cKDTree(masked)
    return seconds(lambda: tree.query(original[:_BLOCK], workers=-1), repeats=1) * len(original) / _BLOCK
