"""What strata tell whoever knows the method: who of a class has which of its values.

Strata are made of the confidential values, and each class takes one record from each. An intruder who knows everybody's
quasi-identifiers and class knows the values of each class, not who has which. She deals them out, lets the method make
its strata and classes of what she dealt, and looks whether the released classes come out. Few deals at random give all
of a large table, so she goes by small steps, and a step is the likelier to be kept the nearer the people of a class
come to stand together (Metropolis' algorithm): a class that comes out costs nothing, another the more the farther apart
its people are on the line of classes. In one step one class of every few that stand side by side deals anew, each of
these blocks is kept or not by itself; a table of few classes is one block, which deals anew as a whole: there the walk
visits the deals as often as they are likely. She weighs all orders in which records of the same value may have fallen
to strata, since these are drawn by lot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.masking.enforce import enforce
from shoal.masking.method import Strata
from shoal.masking.partition import Partition
from shoal.privacy.model import PrivacyModel
from shoal.risk.dealing import Line, holding, redealt

STEPS = 1_000  # of the walk through the deals
_WORK = 1_500_000  # records that all steps together may group: of large tables fewer are made
_LEAST_STEPS = 100
_BLOCK = 6  # classes side by side that are kept or not together
_HOT, _COLD = 1.0, 0.15  # what a class may cost that is kept every third time: at first, and at the end
_COOLING = 0.4  # share of the steps in which it gets colder, which are not counted

Records = npt.NDArray[np.int64]
Costs = npt.NDArray[np.float64]
Visit = Callable[[Records], None]


@dataclass(frozen=True)
class _Method:
    """The method as the intruder runs it: what becomes of the released classes under a deal."""

    table: Microdata
    line: Line
    strata: Strata
    models: Sequence[PrivacyModel]
    rank: npt.NDArray[np.float64]  # place -> where its value stands among those of its class, from 0 to 1

    def costs(self, held: Records) -> tuple[Costs, Costs]:
        """class -> what is wrong with it where each place holds what `held` says, and where it stands on the line."""
        line = self.line
        dealt, turn = np.empty(len(held), np.int64), np.empty(len(held))
        dealt[line.record] = line.record[held]
        turn[line.record] = self.rank[held]
        again = holding(self.table, dealt)
        base = self.strata.grouping(again, np.argsort(turn, kind="stable"))
        at = base.class_of(len(held))[line.record].astype(np.float64)
        middle = _medians(at, line)
        apart = np.log2(1.0 + np.abs(at - middle[line.group]))
        wrong = 1.0 + np.add.reduceat(apart, line.first) / line.size
        return np.where(_same(enforce(again, base, self.models), line), 0.0, wrong), middle


def walk(
    table: Microdata,
    line: Line,
    strata: Strata,
    models: Sequence[PrivacyModel],
    visit: Visit,
    dice: np.random.Generator,
) -> int:
    """Walks through deals, calls `visit` with those that count, and returns how many these were."""
    method = _Method(table, line, strata, models, _ranks(table, line, strata.attribute))
    few = len(line.size) <= _BLOCK  # then a deal at random has a chance
    steps = int(np.clip(_WORK // len(table), _LEAST_STEPS, 2 * STEPS if few else STEPS))
    held = redealt(line, np.arange(len(line.record)), dice)
    cost, middle = method.costs(held)
    counted = 0
    for step in range(steps):
        cooled = min(1.0, step / (_COOLING * steps))
        heat = _HOT * (_COLD / _HOT) ** cooled
        block = _blocks(middle, dice) if dice.random() < 0.9 else np.zeros(len(cost), np.int64)
        if block.any():
            proposed = _one_a_block(line, held, block, dice)
        elif few and dice.random() < 0.7:
            proposed = redealt(line, held, dice)
        else:
            proposed = _strata_exchanged(line, method.rank, held, dice)
        new, _ = method.costs(proposed)
        worse = np.bincount(block, new) - np.bincount(block, cost)
        keep = dice.random(len(worse)) < np.exp(-np.maximum(worse, 0.0) / heat)
        if keep.any():
            held = np.where(keep[block][line.group], proposed, held)
            cost, middle = method.costs(held)
        if cooled >= 1.0:
            visit(held)
            counted += 1
    return counted


def _ranks(table: Microdata, line: Line, attribute: str) -> npt.NDArray[np.float64]:
    """place -> where its value stands among those of its class: the i-th of k came from the i-th stratum."""
    order = np.lexsort((table[attribute].codes[line.record], line.group))
    rank = np.empty(len(order))
    rank[order] = (np.arange(len(order)) - line.first[line.group]) / line.size[line.group]
    return rank


def _medians(at: Costs, line: Line) -> Costs:
    """class -> where most of its people are on the line of classes that came out."""
    order = np.lexsort((at, line.group))
    return np.asarray(at[order][line.first + line.size // 2])


def _same(again: Partition, line: Line) -> npt.NDArray[np.bool_]:
    """Which released classes came out: all of its people in one class that holds nobody else."""
    label = again.class_of(len(line.record)).astype(np.int64)[line.record]
    first = label[line.first]
    together = np.logical_and.reduceat(label == first[line.group], line.first)
    return np.asarray(together & (again.sizes[first] == line.size))


def _blocks(middle: Costs, dice: np.random.Generator) -> Records:
    """class -> block of classes that stand side by side, bounds drawn anew each time."""
    place = np.empty(len(middle), np.int64)
    place[np.argsort(middle, kind="stable")] = np.arange(len(middle))
    if len(middle) <= _BLOCK:
        return np.zeros_like(place)
    return np.asarray((place + dice.integers(_BLOCK)) // _BLOCK)


def _one_a_block(line: Line, held: Records, block: Records, dice: np.random.Generator) -> Records:
    """One class of each block deals anew: two of its people exchange what they hold, or all do."""
    drawn = np.lexsort((dice.random(len(block)), block))
    chosen = np.zeros(len(block), np.bool_)
    chosen[drawn[np.searchsorted(block[drawn], np.unique(block))]] = True
    if dice.random() < 0.2:
        return np.where(chosen[line.group], redealt(line, held, dice), held)
    first, second = (line.first + (dice.random(len(line.size)) * line.size).astype(np.int64) for _ in range(2))
    proposed = held.copy()
    proposed[first[chosen]], proposed[second[chosen]] = held[second[chosen]], held[first[chosen]]
    return proposed


def _strata_exchanged(line: Line, rank: npt.NDArray[np.float64], held: Records, dice: np.random.Generator) -> Records:
    """In every class, who holds its i-th value exchanges it with who holds the j-th."""
    by_rank = np.lexsort((rank[held], line.group))  # class after class, who holds its first value, its second, ...
    first, second = (line.first + (u * line.size).astype(np.int64) for u in dice.random(2))
    proposed = held.copy()
    proposed[by_rank[first]], proposed[by_rank[second]] = held[by_rank[second]], held[by_rank[first]]
    return proposed
