"""Are two attributes independent? Contingency tables, the information in them, and an exact test by permutations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

ALPHA = 0.01  # the level of a test
SEED = 1  # the same table gets the same answer
_ENOUGH = 10  # permutations as large as what was found: no more are needed to see that it is no dependence


def contingency_of(rows: Counts, columns: Counts) -> Counts:
    """[level of the rows, level of the columns] -> records."""
    width = int(columns.max(initial=0)) + 1
    cells = np.bincount(rows * width + columns, minlength=(int(rows.max(initial=0)) + 1) * width)
    return cells.reshape(-1, width)


def contingency(rows: Counts, columns: Counts) -> Counts:
    """How often each level of the rows meets each of the columns; levels that nobody has are left out."""
    table = contingency_of(rows, columns)
    return table[table.any(axis=1)][:, table.any(axis=0)]


def mutual_information(tables: Counts) -> Floats:
    """In bits, of one contingency table or of several."""
    share = tables / tables.sum(axis=(-2, -1), keepdims=True)
    rows, columns = share.sum(axis=-1), share.sum(axis=-2)
    return np.asarray(_entropy(rows, -1) + _entropy(columns, -1) - _entropy(share, (-2, -1)))


def _entropy(share: Floats, axis: int | tuple[int, int]) -> Floats:
    from scipy.special import entr

    return np.asarray(entr(share).sum(axis=axis) / np.log(2))


@dataclass(frozen=True)
class _Meeting:
    """Two attributes at one resolution; who meets whom is permuted, how many have a level is not."""

    left: Counts  # record -> level, times the levels of the right
    right: Counts
    apart: float  # entropies of both, in nats
    free: int
    logs: Floats  # c ln c of every count of records

    @classmethod
    def of(cls, left: Counts, right: Counts) -> _Meeting:
        table = contingency(left, right)
        n = len(left)
        counts = np.arange(n + 1, dtype=np.float64)
        logs = counts * np.log(np.maximum(counts, 1.0))
        apart = 2 * np.log(n) - float(logs[table.sum(axis=0)].sum() + logs[table.sum(axis=1)].sum()) / n
        free = (table.shape[0] - 1) * (table.shape[1] - 1)
        return cls(left * (int(right.max()) + 1), right, apart, free, logs)

    def excess(self, order: Counts | None) -> tuple[float, float]:
        """Information beyond what chance gives, in its standard deviations and in bits, the left permuted."""
        n = len(self.right)
        cells = np.bincount((self.left if order is None else self.left[order]) + self.right)
        information = self.apart - np.log(n) + float(self.logs[cells].sum()) / n
        beyond = information - self.free / (2 * n)  # in nats
        return beyond * 2 * n / np.sqrt(2 * self.free), beyond / np.log(2)


def excess_test(cut: Sequence[tuple[Counts, Counts]], strata: Counts | None, draws: int) -> tuple[float, float]:
    """Of the same two at several resolutions: the information beyond chance where it stands out most, and its p.

    Where nothing is there, 2 n ln 2 times the information is about chi-squared: its distance from the mean, in standard
    deviations, compares resolutions. The permutations, within strata where there are some, make the test exact whatever
    the law is.
    """
    cut = [(left, right) for left, right in cut if left.any() and right.any() and int(right.max()) * 2 < len(right)]
    cut = [(left, right) for left, right in cut if min(np.ptp(left), np.ptp(right)) > 0]
    if not cut:
        return 0.0, 1.0
    random = np.random.default_rng(SEED)
    n = len(cut[0][0])

    resolutions = [_Meeting.of(left, right) for left, right in cut]

    def excess(order: Counts | None) -> tuple[float, float]:
        return max(meeting.excess(order) for meeting in resolutions)

    statistic, information = excess(None)
    as_large = 0
    for drawn in range(1, draws + 1):
        as_large += excess(_permutation(n, strata, random))[0] >= statistic - 1e-9  # rounding
        if as_large >= _ENOUGH:
            return max(0.0, information), as_large / drawn  # Besag and Clifford (1991)
    return max(0.0, information), (1 + as_large) / (1 + draws)


def _permutation(n: int, strata: Counts | None, random: np.random.Generator) -> Counts:
    if strata is None:
        return random.permutation(n)
    order = np.empty(n, np.int64)
    order[np.argsort(strata, kind="stable")] = np.lexsort((random.random(n), strata))
    return order


def detectable(table: Counts, n: int) -> float:
    """Bits that a test at ALPHA on such a table finds nine times in ten: noncentral chi-squared."""
    from scipy.special import chdtri, chndtrinc

    free = (table.shape[0] - 1) * (table.shape[1] - 1)
    if free == 0 or n == 0:
        return 0.0
    bound = float(chdtri(free, ALPHA))
    return float(chndtrinc(bound, free, 0.1)) / (2 * n * float(np.log(2)))
