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
from shoal.masking.partition import ABSENT, Labels, divide
from shoal.releases.atoms import Counts, may_stay, numbered, signatures
from shoal.releases.pieces import Recorded, side_by_side
from shoal.releases.published import persons_of


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


def exposure(earlier: Sequence[Recorded], release: Recorded, k: int) -> Exposure | None:
    """None where no subject falls below k; one who stood below before, and is not pushed further, is not counted."""
    pool = signatures([*earlier, release])
    last, people = len(earlier), pool["people"].to_numpy()
    of_last = [name for name in pool.columns if name.split()[:2] == ["change", str(last)]]
    before = numbered(pool, [n for n in pool.columns if n not in (f"class {last}", *of_last, "people")])
    label, change = pool[f"class {last}"].to_numpy(), numbered(pool, of_last)
    seen = np.zeros(len(label), np.bool_)
    for number in range(last):
        seen |= pool[f"class {number}"].to_numpy() != ABSENT
    by_class = divide(before, label)
    after, size = _counted(divide(by_class, change), people), _counted(before, people)
    pushed = (after < k) & (~seen | (after < size))
    if not pushed.any():
        return None
    changed = pushed & (_counted(by_class, people) >= k)
    worst = int(np.where(pushed, after, after.max() + 1).argmin())
    groups = pl.DataFrame({"atom": before, "class": label, "change": change, "people": people})
    broken = np.isin(before, np.unique(before[pushed]))
    merge, withhold = _least_change(groups.filter(pl.Series(broken)), release.shown.height, k)
    return Exposure(
        int(people[pushed].sum()), int(people[changed].sum()), int(after[worst]), int(label[worst]), merge, withhold
    )


def _counted(group: Labels, people: Counts) -> Counts:
    """row -> how many people its group has."""
    counts: Counts = np.bincount(group, people).astype(np.int64)[group]
    return counts


def _least_change(people: pl.DataFrame, classes: int, k: int) -> tuple[Labels, int]:
    """Classes to merge, by class, and how many records to leave out, so that no atom of these is broken.

    `people` counts those of each broken atom by the class they would stand in and what changed of them.
    """
    people = people.with_columns(atom=pl.col("atom").rank("dense").cast(pl.Int32) - 1)
    counted = pl.col("people").sum()
    shown = people.filter(pl.col("class") != ABSENT)
    absent = people.group_by("atom").agg(pl.col("people").filter(pl.col("class") == ABSENT).sum()).sort("atom")
    groups = shown.group_by("atom", "change", maintain_order=True).agg(counted)
    present = groups["people"].to_numpy()
    stay = may_stay(absent["people"].to_numpy(), groups["atom"].to_numpy(), present, k)
    fate = groups.with_columns(stays=pl.Series(stay > 0), whole=pl.Series(stay == present))
    links = (
        shown.group_by("atom", "change", "class")
        .agg(counted)
        .sort("atom", "change", "people", "class", descending=[False, False, True, False])
        .join(fate.filter("stays").drop("people"), on=["atom", "change"], maintain_order="left")
        .with_columns(largest=pl.col("class").first().over("atom", "change"))
        .filter((pl.col("people") < k) | ~pl.col("whole"))
    )
    return _joined(links["class"].to_numpy(), links["largest"].to_numpy(), classes), int((present - stay).sum())


def _joined(first: Labels, second: Labels, classes: int) -> Labels:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(classes, classes))
    label: Labels = connected_components(edges, directed=False)[1]
    return label


def refuse_exposed(earlier: Sequence[Recorded], release: Recorded, k: int, *, goes_on: bool = True) -> None:
    """Raises where a subject would fall below k over the pool of all releases, and says what would help.

    `goes_on` says that such a release can be made after those before it, class by class.
    """
    exposed = exposure(earlier, release, k)
    if exposed is None:
        return
    changes = []
    if exposed.merging[0]:
        changes.append(
            f"merge {exposed.merging[0]:,} of its {len(exposed.merge):,} classes into {exposed.merging[1]:,}"
        )
    if exposed.withhold:
        changes.append(f"leave out {exposed.withhold:,} record{'s' * (exposed.withhold > 1)}")
    values = (
        f" Of these, {exposed.changed:,} because values changed of fewer than {k} people of a class, or of all but "
        "fewer: whoever compares the releases reads off what they were and are."
        if exposed.changed
        else ""
    )
    after = " Or release with --incremental, which keeps the classes shown before." if goes_on else ""
    raise PromiseError(
        f"Together with the {len(earlier)} release{'s' * (len(earlier) != 1)} before it this one would leave "
        f"{_whom(exposed.subjects, of_people=release.of_people)} with fewer than {k} who cannot be told apart, "
        f"{exposed.smallest} at the least ({_where(release, exposed.example)}).{values} Nothing was released. The "
        f"least change that would do: {' and '.join(changes)}.{after}"
    )


def _whom(number: int, *, of_people: bool) -> str:
    """Of records of people, somebody may be counted once for each group of them."""
    if of_people:
        return f"records of up to {number:,} people" if number > 1 else "records of 1 person"
    return f"{number:,} subject{'s' * (number > 1)}"


def known_again(earlier: Sequence[Recorded], release: Recorded) -> int:
    """How many people of a release are in an earlier one already."""
    again = 0
    for *before, now in side_by_side([*earlier, release]):
        of_people = now.of_people
        known = pl.concat([persons_of(each.members["subject"], of_people=of_people) for each in before])
        people = persons_of(now.members["subject"], of_people=of_people)
        again += _again(people.unique(), known) if of_people else _again(people, known)
    return again


def _again(people: pl.Series, known: pl.Series) -> int:
    return people.to_frame("subject").join(known.to_frame("subject"), on="subject", how="semi").height


def refuse_unpooled(earlier: Sequence[Recorded], release: Recorded) -> None:
    """Raises where somebody is both in this release and in an earlier one, and one of the two is not shown by classes.

    Records that are masked one by one can be averaged over releases, or tied to a class by what both show: what is left
    of a promise then, nobody has judged.
    """
    again = known_again(earlier, release) if earlier else 0
    if again:
        raise PromiseError(
            f"{again:,} of its {release.people:,} people are in an earlier release already, and this one or "
            "that masks records one by one (measured-risk, no k of 2 or more, or purchases with more than customer and "
            "good): such releases can be averaged or linked, and no promise is judged over them. Nothing was released. "
            "Leave these people out, hand out the earlier file again, or begin with releases that are shown by classes."
        )


def _where(release: Recorded, example: int) -> str:
    if example == ABSENT:
        return "who is no longer in it"
    cells = release.shown.row(example, named=True).items()
    return "in the class " + ", ".join(f"{name} {'missing' if text is None else text}" for name, text in cells)
