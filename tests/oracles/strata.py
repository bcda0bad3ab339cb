"""What strata tell, by trying every table: of people whose classes and whose classes' values are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product

import numpy as np

Classes = frozenset[frozenset[int]]
Group = Callable[[list[int]], Classes]


def by_values(classes: Sequence[Sequence[int]], values: Sequence[int], group: Group) -> np.ndarray:
    """[record, value] -> how likely, where `group` makes classes of everybody's values, and of nothing hidden besides.

    All ways to deal each class's values to its people are tried; those that give the classes are as likely.
    """
    held = [[values[i] for i in members] for members in classes]
    seen, released = np.zeros((len(values), max(values) + 1)), frozenset(map(frozenset, classes))
    for deal in product(*(sorted(set(permutations(some))) for some in held)):
        dealt = [0] * len(values)
        for members, some in zip(classes, deal, strict=True):
            for i, value in zip(members, some, strict=True):
                dealt[i] = value
        if group(dealt) == released:
            seen[np.arange(len(values)), dealt] += 1
    return np.asarray(seen / seen.sum(axis=1, keepdims=True))


def by_lots(classes: Sequence[Sequence[int]], values: Sequence[int], group: Group) -> np.ndarray:
    """The same where records of like values are dealt to strata by lot, each class having one in each stratum.

    `group` gets numbers that are all different: who of a class has its least value is in the first stratum.
    """
    seen, released = np.zeros((len(values), max(values) + 1)), frozenset(map(frozenset, classes))
    held = [sorted(values[i] for i in members) for members in classes]
    for deal in product(*(permutations(members) for members in classes)):
        rank = [0] * len(values)
        for place, i in enumerate(i for stratum in zip(*deal, strict=True) for i in stratum):
            rank[i] = place
        if group(rank) == released:
            for members, some in zip(deal, held, strict=True):
                seen[list(members), some] += 1
    return np.asarray(seen / seen.sum(axis=1, keepdims=True))
