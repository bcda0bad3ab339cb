"""The shapes of histories: how many rows each owner, a person or a household, has in each table.

Only histories of the same shape can be shown alike. Where few people have a shape, their surplus rows are withheld, the
last ones, and they join those who have fewer; of households no member may be missing, so rare sizes are withheld whole.

Defined in docs/spec.md#linked.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
COMMON = 25  # people who make a shape worth having: fewer would be shown in few and coarse classes


def common_shapes(counts: Ints, k: int, *, least: Ints) -> Ints:
    """Owner, table -> rows that are shown; none at all of owners who must be withheld.

    A shape that fewer than `k`, or fewer than 25, people have gives up the last row of the table in which it has most
    and becomes a smaller one, the largest shapes first. `least` are the rows of each table that a shape cannot do
    without: at the end fewer than 25 people may remain, but not fewer than k.
    """
    shown = counts.copy()
    for total in range(int(counts.sum(axis=1).max(initial=0)), -1, -1):
        at = np.flatnonzero(shown.sum(axis=1) == total)
        for shape, owners in shapes_of(shown, at):
            spare = np.where(shape > least, shape, -1)
            if len(owners) >= max(k, COMMON):
                continue
            if spare.max() >= 0:
                shown[owners, int(spare.argmax())] -= 1
            elif len(owners) < k:
                shown[owners] = 0
    return shown


def whole_shapes(counts: Ints, k: int) -> Ints:
    """Owner, table -> rows that are shown: all, or none where fewer than k owners have as many."""
    shown = counts.copy()
    for _, owners in shapes_of(counts, np.arange(len(counts))):
        if len(owners) < k:
            shown[owners] = 0
    return shown


def shapes_of(counts: Ints, among: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Each shape and who has it, of these owners; the shape of nobody's rows aside."""
    if not len(among):
        return
    shapes, which = np.unique(counts[among], axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(which.reshape(-1), minlength=len(shapes))))
    for number, shape in enumerate(shapes):
        if shape.any():
            yield shape, among[order[starts[number] : starts[number + 1]]]
