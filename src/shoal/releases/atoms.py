"""Atoms: who can still not be told apart when several releases are pooled (paper 2, section 2.4; docs/spec.md#atoms).

The signature of a subject is her class in each release, or that she is absent from it. Subjects of one signature form
an atom; its size is the effective anonymity of each of them. Two classes with k' subjects in common leave atoms of k'
and of |A| - k': the pool is as safe as each release only where classes are equal or disjoint.

Ours: a value that changed between two releases tells its subject apart as well. Two classes of the same people show the
values of both times; what one shows and the other does not are the old and the new values of those who changed, and
whoever knows who came again reads them off. So a signature also says with which earlier release each of her values
agrees, and atoms hold those whose values changed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.masking.partition import ABSENT, Labels, together
from shoal.releases.pieces import Recorded, side_by_side
from shoal.releases.published import Published, persons_of

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """All subjects of several releases, and the class of each in each."""

    subjects: pl.Series = field(repr=False)
    labels: tuple[Labels, ...] = field(repr=False)  # release -> subject -> class, or ABSENT
    firsts: tuple[list[Labels], ...] = field(repr=False)
    # release -> attribute -> subject -> the first release with which her value agrees, or ABSENT
    persons: Labels | None = field(default=None, repr=False)  # of records of people: subject -> whose it is

    @classmethod
    def of(cls, releases: Sequence[Published]) -> Pool:
        """The pool of these releases: all subjects, where each stood, and with which release her values agree."""
        everyone = pl.concat([published.members.select("subject") for published in releases]).unique(
            maintain_order=True
        )
        everyone = everyone.with_row_index("person")

        def label(release: Published) -> Labels:
            joined = everyone.join(
                release.members.select("subject", "class"), on="subject", how="left", maintain_order="left"
            )
            return joined["class"].cast(pl.Int32).fill_null(ABSENT).to_numpy()

        persons = None
        if any(published.of_people for published in releases):
            persons = (persons_of(everyone["subject"], of_people=True).rank("dense").cast(pl.Int32) - 1).to_numpy()
        return cls(everyone["subject"], tuple(map(label, releases)), _firsts(releases, everyone), persons)

    @cached_property
    def changes(self) -> tuple[Labels, ...]:
        """release -> subject -> which of her values changed when, one number a pattern."""
        return tuple(together([np.zeros(len(self.subjects), np.int32), *firsts]) for firsts in self.firsts)

    def signed(self) -> pl.DataFrame:
        """The signature of each subject: `class i` and what changed (`change i ...`) in each release i."""
        labels = {f"class {i}": label for i, label in enumerate(self.labels)}
        changes = {
            f"change {i} {word}": number
            for i, firsts in enumerate(self.firsts)
            for word, number in enumerate(_in_words(firsts, len(self.labels)))
        }
        return pl.DataFrame(labels | changes)

    def signatures(self) -> pl.DataFrame:
        """How many `people` have each signature."""
        frame = self.signed()
        people = pl.len()
        groups = frame.columns
        if self.persons is not None:
            frame, people = frame.with_columns(pl.Series("person", self.persons)), pl.col("person").n_unique()
        return frame.group_by(groups, maintain_order=True).agg(people.cast(pl.Int64).alias("people"))

    @cached_property
    def atoms(self) -> Labels:
        """subject -> atom, numbered 0, 1, ..."""
        return together([*self.labels, *self.changes])

    def before(self, release: int) -> Labels:
        """subject -> atom of the releases before that one."""
        return together([np.zeros(len(self.subjects), np.int32), *self.labels[:release], *self.changes[:release]])

    @cached_property
    def sizes(self) -> Counts:
        """The number of people of each atom."""
        if self.persons is None:
            return np.bincount(self.atoms)
        return np.bincount(pl.DataFrame({"atom": self.atoms, "person": self.persons}).unique()["atom"].to_numpy())

    @property
    def anonymity(self) -> Counts:
        """subject -> effective anonymity over the pool."""
        return self.sizes[self.atoms]

    @property
    def least(self) -> Counts:
        """person -> effective anonymity by the record that tells most."""
        if self.persons is None:
            return self.anonymity
        least = np.full(int(self.persons.max(initial=-1)) + 1, len(self.persons), np.int64)
        np.minimum.at(least, self.persons, self.anonymity)
        return least


def signatures(releases: Sequence[Recorded]) -> pl.DataFrame:
    """The signatures of all people, and how many have each, however many they are (`Pool.signatures`)."""
    counted = pl.concat([Pool.of(side).signatures() for side in side_by_side(releases)], how="diagonal")
    return counted.group_by(pl.exclude("people"), maintain_order=True).agg(pl.col("people").sum())


def numbered(frame: pl.DataFrame, columns: Sequence[str]) -> Labels:
    """row -> a number, the same where all these columns are the same."""
    ranks = (frame[name].rank("dense").cast(pl.Int32).to_numpy() - 1 for name in columns)
    return together([np.zeros(frame.height, np.int32), *ranks])


def _firsts(releases: Sequence[Published], everyone: pl.DataFrame) -> tuple[list[Labels], ...]:
    """For each release and attribute, the first with which a subject's value agrees; ABSENT where she is not."""
    firsts: tuple[list[Labels], ...] = tuple([] for _ in releases)
    for name in dict.fromkeys(name for release in releases for name in release.values.columns):
        showing = [i for i, release in enumerate(releases) if name in release.values.columns]
        if len(showing) < 2:
            continue
        rows = pl.concat(
            [releases[i].members.select("subject", value=releases[i].values[name], release=i) for i in showing],
            how="vertical_relaxed",
        ).join(everyone, on="subject")
        rows = rows.with_columns(first=pl.col("release").min().over("person", "value"))
        for number in showing:  # also where nobody of a piece is in it: signatures say the same in every piece
            part = rows.filter(pl.col("release") == number)
            first = np.full(everyone.height, ABSENT, np.int32)
            first[part["person"].to_numpy()] = part["first"].to_numpy()
            firsts[number].append(first)
    return firsts


def _in_words(firsts: Sequence[Labels], releases: int) -> Iterator[npt.NDArray[np.int64]]:
    """What a signature says of changed values as few whole numbers: the same wherever the same releases are pooled."""
    room = releases + 1  # ABSENT, or one of the releases
    digits = int(63 / np.log2(room))
    for begin in range(0, len(firsts), digits):
        word = np.zeros(len(firsts[begin]), np.int64)
        for first in firsts[begin : begin + digits]:
            word = word * room + (first + 1)
        yield word


def may_stay(absent: Counts, atom: Labels, present: Counts, k: int) -> Counts:
    """How many of each group may be shown again; the groups of an atom are those whose values changed alike.

    `absent` counts by atom who is not in the table, `present` by group who is, and `atom` says whose part a group is.
    Shown are none of a group or at least k; and those of an atom who are not shown must be none or at least k as
    well: where they are fewer, others are withheld beside them, a whole group where fewer than k of it would remain.
    """
    stay = np.where(present >= k, present, 0)
    hidden = absent + np.bincount(atom, present - stay, minlength=len(absent)).astype(np.int64)
    lacking = np.where(hidden > 0, np.maximum(k - hidden, 0), 0)[atom]
    groups = pl.DataFrame({"atom": atom, "stay": stay, "lacking": lacking}).with_row_index("group")
    groups = groups.filter(pl.col("stay") > 0, pl.col("lacking") > 0).sort("atom", "stay", "group", descending=True)
    spare = pl.col("stay") - k  # what a group can do without
    needed = pl.col("lacking") - (spare.cum_sum().over("atom") - spare)  # of it, after those before it gave theirs
    given = pl.min_horizontal(spare, needed).clip(0)
    smallest = pl.int_range(pl.len()).over("atom") == pl.len().over("atom") - 1
    goes = pl.when(smallest).then("stay").otherwise(0)  # the whole of it, where all together have too little to spare
    groups = groups.with_columns(
        less=pl.when(spare.sum().over("atom") >= pl.col("lacking")).then(given).otherwise(goes)
    )
    np.subtract.at(stay, groups["group"].to_numpy(), groups["less"].to_numpy())
    return stay
