"""Refusal: a release that would leave somebody with fewer than k over the pool does not get out (paper 2, section 3.2).

What would make it acceptable is found beside it. A class that holds fewer than k of an atom must be merged with another
that holds some of it; where fewer than k of an atom are absent, or present, merging does not help, and records are to
be withheld. Merging never makes an atom smaller, so one pass over the atoms is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.errors import PromiseError
from shoal.releases.atoms import ABSENT, Labels, Pool, atoms, divide, may_stay
from shoal.releases.published import Published


@dataclass(frozen=True)
class Exposure:
    """What a further release would do to the subjects of the pool, and the least change found that avoids it."""

    subjects: int  # pushed below k
    smallest: int  # the fewest who would still be alike
    example: int  # a class that leaves somebody there, ABSENT where she is not shown
    merge: Labels  # class -> the class it becomes, the same where it may stay as it is
    withhold: int  # records to leave out

    @property
    def merging(self) -> tuple[int, int]:
        """How many classes would be merged, and into how many."""
        size = np.bincount(self.merge)
        return int(size[size > 1].sum()), int((size > 1).sum())


def exposure(earlier: Sequence[Published], release: Published, k: int) -> Exposure | None:
    """None where no subject falls below k; one who stood below before, and is not pushed further, is not counted."""
    pool = Pool.of([*(one.members for one in earlier), release.members])
    label, before = pool.labels[-1], atoms(pool.labels[:-1]) if earlier else np.zeros(len(pool.subjects), np.int32)
    seen = np.zeros(len(label), np.bool_)
    for one in pool.labels[:-1]:
        seen |= one != ABSENT
    part = divide(before, label)
    after, size = np.bincount(part)[part], np.bincount(before)[before]
    pushed = (after < k) & (~seen | (after < size))
    if not pushed.any():
        return None
    worst = int(np.where(pushed, after, len(after)).argmin())
    merge, withhold = _least_change(before, label, np.unique(before[pushed]), release.shown.height, k)
    return Exposure(int(pushed.sum()), int(after[worst]), int(label[worst]), merge, withhold)


def _least_change(before: Labels, label: Labels, broken: Labels, classes: int, k: int) -> tuple[Labels, int]:
    """Classes to merge, by class, and how many records to leave out, so that no atom of these is broken."""
    is_broken = np.zeros(before.max() + 1, np.bool_)
    is_broken[broken] = True
    parts = (
        pl.DataFrame({"atom": before, "class": label})
        .filter(pl.Series(is_broken[before]))
        .group_by("atom", "class")
        .len()
        .sort("atom", "len", "class", descending=[False, True, False])
    )
    shown = pl.col("class") != ABSENT
    of_atom = parts.group_by("atom", maintain_order=True).agg(
        absent=pl.col("len").filter(~shown).sum(), present=pl.col("len").filter(shown).sum()
    )
    absent, present = (of_atom[name].to_numpy().astype(np.int64) for name in ("absent", "present"))
    stay = may_stay(absent, present, k)
    fate = of_atom.with_columns(stays=pl.Series(stay > 0), whole=pl.Series(stay == present))
    links = (
        parts.filter(shown)
        .join(fate.filter("stays"), on="atom", maintain_order="left")
        .with_columns(largest=pl.col("class").first().over("atom"))
        .filter((pl.col("len") < k) | ~pl.col("whole"))
    )
    return _joined(links["class"].to_numpy(), links["largest"].to_numpy(), classes), int((present - stay).sum())


def _joined(first: Labels, second: Labels, classes: int) -> Labels:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(classes, classes))
    found: Labels = connected_components(edges, directed=False)[1]
    return found


def refuse_exposed(earlier: Sequence[Published], release: Published, k: int) -> None:
    """Raises where a subject would fall below k over the pool of all releases, and says what would help."""
    found = exposure(earlier, release, k)
    if found is None:
        return
    changes = []
    if found.merging[0]:
        changes.append(f"merge {found.merging[0]:,} of its {len(found.merge):,} classes into {found.merging[1]:,}")
    if found.withhold:
        changes.append(f"leave out {found.withhold:,} record{'s' * (found.withhold > 1)}")
    raise PromiseError(
        f"Together with the {len(earlier)} release{'s' * (len(earlier) != 1)} before it this one would leave "
        f"{found.subjects:,} subject{'s' * (found.subjects > 1)} with fewer than {k} who cannot be told apart, "
        f"{found.smallest} at the least ({_where(release, found.example)}). Nothing was released. The least "
        f"change that would do: {' and '.join(changes)}. Or release with --incremental, "
        "which keeps the classes shown before."
    )


def _where(release: Published, example: int) -> str:
    if example == ABSENT:
        return "who is no longer in it"
    cells = release.shown.row(example, named=True).items()
    return "in the class " + ", ".join(f"{name} {'missing' if text is None else text}" for name, text in cells)
