"""Atoms: who can still not be told apart when several releases are pooled (paper 2, section 2.4; SPEC 3.5).

The signature of a subject is her class in each release, or that she is absent from it. Subjects of one signature form
an atom; its size is the effective anonymity of each of them. Two classes with k' subjects in common leave atoms of k'
and of |A| - k': the pool is as safe as each release only where classes are equal or disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

Labels = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]

ABSENT = -1


@dataclass(frozen=True)
class Pool:
    """All subjects of several releases, and the class of each in each."""

    subjects: pl.Series = field(repr=False)
    labels: tuple[Labels, ...] = field(repr=False)  # release -> subject -> class, or ABSENT

    @classmethod
    def of(cls, members: Sequence[pl.DataFrame]) -> Pool:
        """From who stood where (`subject`, `class`) in each release."""
        everyone = pl.concat([frame.select("subject") for frame in members]).unique(maintain_order=True)

        def label(frame: pl.DataFrame) -> Labels:
            found = everyone.join(frame.select("subject", "class"), on="subject", how="left", maintain_order="left")
            return found["class"].cast(pl.Int32).fill_null(ABSENT).to_numpy()

        return cls(everyone["subject"], tuple(label(frame) for frame in members))

    @cached_property
    def atoms(self) -> Labels:
        """subject -> atom, numbered 0, 1, ..."""
        return atoms(self.labels)

    @cached_property
    def sizes(self) -> Counts:
        """atom -> subjects."""
        return np.bincount(self.atoms)

    @property
    def anonymity(self) -> Counts:
        """subject -> effective anonymity over the pool."""
        return self.sizes[self.atoms]


def atoms(labels: Sequence[Labels]) -> Labels:
    """One release after the other divides what the ones before it left together."""
    atom = np.zeros(len(labels[0]), np.int32)
    for label in labels:
        atom = divide(atom, label)
    return atom


def divide(atom: Labels, label: Labels) -> Labels:
    """Those of one atom and one class, numbered anew."""
    signature = atom.astype(np.int64) * (label.max(initial=ABSENT) + 2) + label + 1
    return (pl.Series(signature).rank("dense").cast(pl.Int32) - 1).to_numpy()


def may_stay(absent: Counts, present: Counts, k: int) -> Counts:
    """How many of an atom may be shown again, together, when some of it are absent from the new release.

    Those who are not shown must be none or at least k, and so must those who are: where fewer than k left, others are
    withheld beside them; where fewer than k would remain, all are.
    """
    beside = np.where(absent > 0, np.maximum(k - absent, 0), 0)
    return np.where(present - beside >= k, present - beside, 0)
