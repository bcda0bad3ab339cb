"""Groupings as printed, on plain lists of numbers: paper 1's Algorithms S2 and S4, the best cuts, Mondrian."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from tests.oracles.measures import deviation, farther_end

Record = Sequence[float]


def distances_to_zero(records: Sequence[Record]) -> list[float]:
    """Eq. 2, to the record of zeros; an attribute that does not vary does not count."""
    sigma = [deviation(column) for column in zip(*records, strict=True)]
    return [sqrt(sum((x / s) ** 2 for x, s in zip(record, sigma, strict=True) if s > 0)) for record in records]


def algorithm_s2(records: Sequence[Record], k: int) -> list[list[int]]:
    """Lines 1 to 7: the clusters, by record number."""
    z = distances_to_zero(records)
    ordered = sorted(range(len(records)), key=lambda i: z[i])
    clusters = []
    while len(ordered) >= 2 * k:
        clusters.append(ordered[:k])
        ordered = ordered[k:]
    return [*clusters, ordered]


def algorithm_s4(records: Sequence[Record], confidential: Sequence[float], k: int) -> list[list[int]]:
    """Lines 2 to 10, for a k that already holds Eq. 8; what does not fill a subset is one more, of the greatest."""
    n = len(records)
    size = n // k  # of each subset
    subsets_wanted = k + n % k // size
    by_value = sorted(range(n), key=lambda i: confidential[i])
    subsets = [by_value[i * size : (i + 1) * size] for i in range(subsets_wanted)]
    subsets.append(by_value[subsets_wanted * size :])
    z = distances_to_zero(records)
    subsets = [sorted(sorted(subset), key=lambda i: z[i]) for subset in subsets]
    clusters = []
    while any(subsets):
        clusters.append([subset[0] for subset in subsets if subset])
        subsets = [subset[1:] for subset in subsets]
    return clusters


# ---- cuts of a line


def loss(records: Sequence[Record]) -> float:
    """What one class loses: each record's distance to the farthest corner of the box around all (Eq. 4)."""
    low, high = ([end(column) for column in zip(*records, strict=True)] for end in (min, max))
    return sum(
        sqrt(sum(farther_end(x, a, b) ** 2 for x, a, b in zip(record, low, high, strict=True))) for record in records
    )


def sizes_of_classes(n: int, k: int) -> Iterator[list[int]]:
    """Every way to cut n records into classes of k to 2k - 1."""
    if n == 0:
        yield []
    for size in range(k, min(2 * k - 1, n) + 1):
        for others in sizes_of_classes(n - size, k):
            yield [size, *others]


def loss_of_cuts(line: Sequence[Record], sizes: Sequence[int]) -> float:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return sum(loss(line[end - size : end]) for end, size in zip(ends, sizes, strict=True))


def least_loss(line: Sequence[Record], k: int) -> float:
    """Of all ways to cut the line."""
    return min(loss_of_cuts(line, sizes) for sizes in sizes_of_classes(len(line), k))


# ---- Mondrian


def middle_cut(values: Sequence[float]) -> float:
    return min(values) + 0.5 * (max(values) - min(values))


def median_cut(values: Sequence[float]) -> float:
    """The value whose cut leaves the two sides most nearly equal, the lesser one where two do."""
    below = [v for v in sorted(set(values)) if v < max(values)]
    return min(below, key=lambda v: abs(2 * sum(x <= v for x in values) - len(values)))


def mondrian(records: Sequence[Record], members: list[int], k: int, *, by_median: bool) -> list[list[int]]:
    """Divides at the widest attribute that allows it, at its middle or else at its median, and then either side."""
    columns = list(zip(*(records[i] for i in members), strict=True))
    widest = sorted(range(len(columns)), key=lambda a: min(columns[a]) - max(columns[a]))
    for cut in (median_cut,) if by_median else (middle_cut, median_cut):
        for a in widest:
            if max(columns[a]) == min(columns[a]):
                continue
            at = cut(columns[a])
            left = [i for i in members if records[i][a] <= at]
            right = [i for i in members if records[i][a] > at]
            if len(left) >= k and len(right) >= k:
                return mondrian(records, left, k, by_median=by_median) + mondrian(
                    records, right, k, by_median=by_median
                )
    return [members]
