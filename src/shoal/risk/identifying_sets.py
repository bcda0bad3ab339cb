"""The few attributes that together single people out.

A set of attributes singles a record out if no other record agrees with it on all of them. Adding an attribute never
lowers the number singled out, which bounds the search. Missing is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

SEARCH_ROWS = 100_000  # records the search for identifying sets looks at; the winners are counted on all
EXHAUSTIVE_UP_TO = 15  # attributes; beyond, only the leading sets of one size are extended to the next
LEADERS = 3  # sets of each size that are ranked, and grown from where not all sets are tried
RANKED = 3  # attributes: beyond, the best set of each size is enough to read
ENOUGH = 0.9  # of the records that all attributes together single out: larger sets are not looked for

_Set = tuple[int, ...]  # positions of attributes, ascending


@dataclass(frozen=True)
class IdentifyingSet:
    """Attributes that together single out `uniques` records.

    `people` are those of whom some of their values are nobody else's; None where each record is somebody else's.
    """

    attributes: tuple[str, ...]
    uniques: int
    unique_share: float
    people: int | None = None


@dataclass(frozen=True)
class SinglingOut:
    """What singles people out: how many records all attributes do, and which few together do it best.

    `best` has the best set of each size, `ranked` the leading ones of each small size, best first.
    """

    uniques: int
    best: tuple[IdentifyingSet, ...]
    ranked: tuple[IdentifyingSet, ...]
    people: int | None = None


@dataclass(frozen=True)
class Codes:
    """An attribute as numbers: equal values have equal codes, from 0 to `size` - 1, all in use."""

    values: npt.NDArray[np.unsignedinteger]
    size: int

    def take(self, rows: npt.NDArray[np.int64]) -> Codes:
        """The codes of these rows, numbered anew."""
        present, values = np.unique(self.values[rows], return_inverse=True)
        return Codes(values.astype(self.values.dtype), len(present))


@dataclass(frozen=True)
class _Classes:
    """The classes of records that agree on some attributes: `counts` of them have `sizes` records."""

    sizes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @property
    def uniques(self) -> int:
        return int(self.counts[self.sizes == 1].sum())

    def uniques_at_most(self, values: int) -> int:
        """How many records one more attribute of so many values can single out.

        All of a class with no more records than values; otherwise two records share a value, and at most the others
        have one each.
        """
        return int((self.counts * np.where(self.sizes <= values, self.sizes, values - 1)).sum())


def _classes(attributes: Iterable[Codes], records: int) -> _Classes:
    """The classes of records that agree on all these attributes, by joining their codes to one number a record.

    Before it outgrows 64 bits it is numbered anew, and the records already alone are set aside: they stay alone.
    """
    key, space = np.zeros(records, dtype=np.uint64), 1
    rows, alone = np.arange(records), 0
    for codes in sorted(attributes, key=lambda codes: -codes.size):
        if space * codes.size >= 2**64:
            _, classes, sizes = np.unique(key, return_inverse=True, return_counts=True)
            shared = sizes[classes] > 1
            alone += int(np.count_nonzero(~shared))
            rows, key, space = rows[shared], classes[shared].astype(np.uint64), len(sizes)
        added = codes.values if len(rows) == records else codes.values[rows]
        key = key * np.uint64(codes.size) + added
        space *= codes.size
    histogram = np.bincount(_class_sizes(key, space), minlength=2)
    histogram[1] += alone
    sizes = np.flatnonzero(histogram)
    return _Classes(sizes, histogram[sizes])


def _class_sizes(key: npt.NDArray[np.uint64], space: int) -> npt.NDArray[np.int64]:
    if space <= 4 * len(key):
        sizes = np.bincount(key.astype(np.int64))
        return sizes[sizes > 0]
    ordered = pl.Series(key).sort().to_numpy()
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] + np.uint64(1)))
    return np.diff(starts, append=len(key))


def singling_out(attributes: dict[str, Codes], records: int, most: int, person: Codes | None = None) -> SinglingOut:
    """How many records all attributes single out, and which sets of up to `most` attributes do it best.

    Of the best only sets that single out more than the smaller ones, until one does nearly what all do together.
    `person` says whose each record is, where one person may have several.
    """
    names, codes = list(attributes), list(attributes.values())
    uniques = _classes(codes, records).uniques
    best: list[IdentifyingSet] = []
    ranked: list[IdentifyingSet] = []
    for leaders in _leaders_of_each_size(_sample(codes, records), min(most, len(codes))):
        counted = [_counted(positions, names, codes, person, records) for positions in leaders]
        counted.sort(key=lambda each: -each.uniques)
        ranked += [each for each in counted if each.uniques and len(each.attributes) <= RANKED]
        if counted[0].uniques > (best[-1].uniques if best else 0):
            best.append(counted[0])
        if counted[0].uniques >= ENOUGH * uniques:
            break
    people = None if person is None else _people(codes, person, records)
    return SinglingOut(uniques, tuple(best), tuple(ranked), people)


def _counted(
    positions: _Set, names: Sequence[str], codes: Sequence[Codes], person: Codes | None, records: int
) -> IdentifyingSet:
    chosen = [codes[i] for i in positions]
    uniques = _classes(chosen, records).uniques
    people = None if person is None else _people(chosen, person, records)
    return IdentifyingSet(tuple(names[i] for i in positions), uniques, uniques / records, people)


def _people(attributes: Sequence[Codes], person: Codes, records: int) -> int:
    """The people of whom some record agrees with nobody else's on all these attributes."""
    shown = {str(j): codes.values for j, codes in enumerate(attributes)} | {"all": np.zeros(records, np.uint8)}
    whose = pl.DataFrame(shown | {"person": person.values}).unique()
    classes = whose.group_by([*shown]).agg(pl.len(), pl.col("person").first())
    return classes.filter(pl.col("len") == 1)["person"].n_unique()


def _sample(attributes: Sequence[Codes], records: int) -> list[Codes]:
    """The records searched: a random sample that is the same in every run, of a large table."""
    if records <= SEARCH_ROWS:
        return list(attributes)
    rows = np.sort(np.random.default_rng(0).choice(records, SEARCH_ROWS, replace=False))
    return [codes.take(rows) for codes in attributes]


def _leaders_of_each_size(attributes: Sequence[Codes], most: int) -> Iterator[list[_Set]]:
    """For each size the few sets that single out most records, best first.

    Of all sets if the attributes are few, otherwise of those that add one attribute to a leading set.
    """
    if not attributes:
        return
    records = len(attributes[0].values)
    known: dict[_Set, _Classes] = {(): _Classes(np.array([records]), np.array([1]))}
    positions = range(len(attributes))
    leaders: list[_Set] = [()]
    for size in range(1, most + 1):
        if len(attributes) <= EXHAUSTIVE_UP_TO:
            candidates = set(combinations(positions, size))
        else:
            candidates = {tuple(sorted((*s, i))) for s in leaders for i in positions if i not in s}
        leaders = _leaders(attributes, candidates, known)
        yield leaders


def _leaders(attributes: Sequence[Codes], candidates: Iterable[_Set], known: dict[_Set, _Classes]) -> list[_Set]:
    """The candidates that single out most records, best first.

    Those that cannot do better than the leading ones so far are not counted, so the most promising come first: sets
    with many possible combinations. Beyond RANKED attributes only the best of all must be right.
    """
    records = len(attributes[0].values)
    leaders: list[_Set] = []
    for candidate in sorted(candidates, key=lambda s: (-prod(attributes[i].size for i in s), s)):
        needed = LEADERS if len(candidate) <= RANKED else 1
        least = known[leaders[needed - 1]].uniques if len(leaders) >= needed else -1
        if _uniques_at_most(candidate, attributes, known) > least:
            known[candidate] = _classes((attributes[i] for i in candidate), records)
            leaders = sorted([*leaders, candidate], key=lambda s: -known[s].uniques)[:LEADERS]
    return leaders


def _uniques_at_most(candidate: _Set, attributes: Sequence[Codes], known: dict[_Set, _Classes]) -> int:
    """The least bound that the sets counted so far give for a larger one."""
    bound = known[()].uniques_at_most(prod(attributes[i].size for i in candidate))
    for i in candidate:
        smaller = known.get(tuple(j for j in candidate if j != i))
        if smaller is not None:
            bound = min(bound, smaller.uniques_at_most(attributes[i].size))
    return bound
