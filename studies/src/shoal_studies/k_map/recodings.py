"""Global recodings of samples from a known population, and what is at risk then (paper 3, Methods).

All samples of a population share its lattice of recodings. So each recoding's classes are found once, as merged classes
of a finer recoding, and a sample is no more than a count for each distinct row. Adding these up along the lattice
gives every recoding's class sizes f_j; and since classes below k* are suppressed, every recoding's discernibility for
every k* at once. The best recoding for k* is the least of them, the one that `recoding.lattice.search` finds.

Defined in docs/spec.md#scenarios, #discernibility.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking.recoding.lattice import Lattice, Levels, lattice_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST = 100_000_000  # distinct rows x recodings: some hundred megabytes


@dataclass(frozen=True)
class Recoding:
    """One node of the lattice; a class here is a run of the finer node's classes in `order`."""

    levels: Levels  # in the lattice's order of attributes
    finer: int  # the node it is counted from; the finest, number 0, is not counted
    order: npt.NDArray[np.int32]
    starts: Ints
    F: Ints  # each class's records in the population

    def merged(self, finer: Ints) -> Ints:
        """Sizes of the classes, given those of the finer node."""
        return np.add.reduceat(finer[self.order], self.starts)


def recodings_of(lattice: Lattice) -> list[Recoding]:
    """Every node, after all that are finer than it."""
    nothing = np.zeros(0, np.int32)
    recodings, rows = [Recoding((0,) * len(lattice.trees), 0, nothing, np.zeros(0, np.int64), lattice.counts)], {}
    number = {recodings[0].levels: 0}
    rows[0] = np.arange(len(lattice.keys))  # one distinct row of each class
    for levels in sorted(product(*map(range, lattice.levels)), key=sum)[1:]:
        finer = min(_one_finer(levels, number), key=lambda node: len(recodings[node].F))
        _, first, label = np.unique(lattice.lifted(levels, rows[finer]), return_index=True, return_inverse=True)
        order = np.argsort(label, kind="stable").astype(np.int32)
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        number[levels] = len(recodings)
        rows[len(recodings)] = rows[finer][first]
        recodings.append(Recoding(levels, finer, order, starts, np.add.reduceat(recodings[finer].F[order], starts)))
    return recodings


def _one_finer(levels: Levels, number: dict[Levels, int]) -> list[int]:
    return [number[(*levels[:a], level - 1, *levels[a + 1 :])] for a, level in enumerate(levels) if level]


@dataclass(frozen=True)
class Population:
    """The identification database Z, and how its attributes may be recoded."""

    name: str
    microdata: Microdata

    def __len__(self) -> int:
        return len(self.microdata)

    @cached_property
    def lattice(self) -> Lattice:
        lattice = lattice_of(self.microdata)
        if lattice.nodes * len(lattice.keys) > MOST:
            raise InputError(
                f"{self.name} has {len(lattice.keys):,} distinct rows and {lattice.nodes:,} recodings, too many to "
                "try all on every sample: leave out columns, those that intruders are least likely to know."
            )
        return lattice

    @cached_property
    def recodings(self) -> list[Recoding]:
        return recodings_of(self.lattice)

    def in_words(self, node: int) -> str:
        levels = self.lattice.by_attribute(self.recodings[node].levels)
        return "; ".join(
            f"{coded.name} {coded.attribute.hierarchy.level_name(level)}"  # type: ignore[union-attr]
            for coded, level in zip(self.microdata.quasi, levels, strict=True)
        )

    def sample(self, fraction: float, rng: np.random.Generator) -> Sample:
        """A simple random sample, as counts of the distinct rows."""
        n = round(fraction * len(self))
        return Sample(self, rng.multivariate_hypergeometric(self.lattice.counts, n, method="count").astype(np.int64))

    def suppressing(self, share: float, k: int, fraction: float) -> int:
        """The recoding at which k-anonymity suppresses about that share of a sample."""
        expected = [expected_suppression(recoding.F, k, fraction) for recoding in self.recodings]
        return int(np.abs(np.array(expected) - share).argmin())


def expected_suppression(F: Ints, k: int, fraction: float) -> float:
    """Expected share of a sample's records in classes below k, when f_j ~ Binomial(F_j, fraction)."""
    suppressed, ways = 0.0, np.ones(len(F))
    for f in range(1, k):
        ways = ways * (F - f + 1) / f  # F over f, 0 where F < f
        suppressed += f * float((ways * fraction**f * (1 - fraction) ** np.maximum(F - f, 0)).sum())
    return suppressed / (fraction * float(F.sum()))


class Outcome(NamedTuple):
    """What one sample's release comes to."""

    risk: float  # the highest journalist risk, theta_max
    discernibility: int
    suppressed: int


@dataclass(frozen=True)
class Sample:
    population: Population
    counts: Ints  # of each distinct row of the population

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def sizes(self) -> list[Ints]:
        """f_j of each recoding; 0 for classes that the sample does not have."""
        sizes = [self.counts]
        for recoding in self.population.recodings[1:]:
            sizes.append(recoding.merged(sizes[recoding.finer]))
        return sizes

    def best(self, thresholds: Sequence[int]) -> dict[int, int]:
        """The recoding of least discernibility for each k*."""
        top = max(thresholds)
        cost = np.array([self._costs(f, top)[0] for f in self.sizes])
        return {k: int(cost[:, k].argmin()) for k in thresholds}

    def release(self, node: int, k: int) -> Outcome:
        """Recoded, with classes below k suppressed; an empty release puts nobody at risk."""
        f, F = self.sizes[node], self.population.recodings[node].F
        assert (f <= F).all()
        kept = F[f >= k]
        cost, suppressed = self._costs(f, k)
        return Outcome(1.0 / float(kept.min()) if len(kept) else 0.0, int(cost[k]), int(suppressed[k]))

    def _costs(self, f: Ints, top: int) -> tuple[Ints, Ints]:
        """Discernibility and suppressed records for each k* from 0 to `top`."""
        size = np.arange(top)
        classes = np.bincount(f[f < top], minlength=top)
        suppressed, squares = (np.append(0, np.cumsum(classes * each)) for each in (size, size**2))
        return int(f @ f) - squares + self.records * suppressed, suppressed
