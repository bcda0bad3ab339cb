"""Refusal: a release that would leave somebody with fewer than k over the pool does not get out (paper 2, section 3.2).

What would make it acceptable is found beside it. A class that holds fewer than k of an atom must be merged with another
that holds some of it; where fewer than k of an atom are absent, or present, merging does not help, and records are to
be withheld; the same where fewer than k of an atom changed in a value. Merging never makes an atom smaller, so one pass
over the atoms is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.errors import PromiseError
from shoal.releases.atoms import ABSENT, Labels, Pool, divide, may_stay
from shoal.releases.published import Published


@dataclass(frozen=True)
class Exposure:
    """What a further release would do to the subjects of the pool, and the least change found that avoids it."""

    subjects: int  # pushed below k
    changed: int  # of these, because fewer than k of those about them changed in the same values
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
    pool = Pool.of([*earlier, release])
    label, change, before = pool.labels[-1], pool.changes[-1], pool.before(len(earlier))
    seen = np.zeros(len(label), np.bool_)
    for one in pool.labels[:-1]:
        seen |= one != ABSENT
    by_class = divide(before, label)
    part = divide(by_class, change)
    after, size = np.bincount(part)[part], np.bincount(before)[before]
    pushed = (after < k) & (~seen | (after < size))
    if not pushed.any():
        return None
    changed = pushed & (np.bincount(by_class)[by_class] >= k)
    worst = int(np.where(pushed, after, len(after)).argmin())
    merge, withhold = _least_change(before, label, change, np.unique(before[pushed]), release.shown.height, k)
    return Exposure(int(pushed.sum()), int(changed.sum()), int(after[worst]), int(label[worst]), merge, withhold)


def _least_change(
    before: Labels, label: Labels, change: Labels, broken: Labels, classes: int, k: int
) -> tuple[Labels, int]:
    """Classes to merge, by class, and how many records to leave out, so that no atom of these is broken."""
    is_broken = np.zeros(before.max() + 1, np.bool_)
    is_broken[broken] = True
    people = pl.DataFrame({"atom": before, "class": label, "change": change}).filter(pl.Series(is_broken[before]))
    people = people.with_columns(atom=pl.col("atom").rank("dense").cast(pl.Int32) - 1)
    shown = pl.col("class") != ABSENT
    absent = people.group_by("atom").agg((~shown).sum()).sort("atom")["class"].to_numpy().astype(np.int64)
    groups = people.filter(shown).group_by("atom", "change", maintain_order=True).len()
    present = groups["len"].to_numpy().astype(np.int64)
    stay = may_stay(absent, groups["atom"].to_numpy(), present, k)
    fate = groups.with_columns(stays=pl.Series(stay > 0), whole=pl.Series(stay == present))
    links = (
        people.filter(shown)
        .group_by("atom", "change", "class")
        .len()
        .sort("atom", "change", "len", "class", descending=[False, False, True, False])
        .join(fate.filter("stays").drop("len"), on=["atom", "change"], maintain_order="left")
        .with_columns(largest=pl.col("class").first().over("atom", "change"))
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
    values = (
        f" Of these, {found.changed:,} because values changed of fewer than {k} people of a class, or of all but "
        "fewer: whoever compares the releases reads off what they were and are."
        if found.changed
        else ""
    )
    raise PromiseError(
        f"Together with the {len(earlier)} release{'s' * (len(earlier) != 1)} before it this one would leave "
        f"{found.subjects:,} subject{'s' * (found.subjects > 1)} with fewer than {k} who cannot be told apart, "
        f"{found.smallest} at the least ({_where(release, found.example)}).{values} Nothing was released. The least "
        f"change that would do: {' and '.join(changes)}. Or release with --incremental, "
        "which keeps the classes shown before."
    )


def refuse_unpooled(earlier: Sequence[Published], release: Published) -> None:
    """Raises where somebody is both in this release and in an earlier one, and one of the two is not shown by classes.

    Records that are masked one by one can be averaged over releases, or tied to a class by what both show: what is left
    of a promise then, nobody has judged.
    """
    before = [one.members.select("subject") for one in earlier]
    again = release.members.join(pl.concat(before), on="subject", how="semi").height if before else 0
    if again:
        raise PromiseError(
            f"{again:,} of its {release.members.height:,} people are in an earlier release already, and this one or "
            "that masks records one by one (measured-risk, no k of 2 or more, or purchases with more than customer and "
            "good): such releases can be averaged or linked, and no promise is judged over them. Nothing was released. "
            "Leave these people out, hand out the earlier file again, or begin with releases that are shown by classes."
        )


def _where(release: Published, example: int) -> str:
    if example == ABSENT:
        return "who is no longer in it"
    cells = release.shown.row(example, named=True).items()
    return "in the class " + ", ".join(f"{name} {'missing' if text is None else text}" for name, text in cells)
