"""The minimality attack: what merges tell whoever knows the method (Wong et al., 2007).

A method merges no more than it must. An intruder who knows everybody's quasi-identifiers groups them by the class size
alone and sees what became of these classes: that some were merged says that a promise was missed, and so something of
what they held. She works out how much by running the method's own code. Of each released class she knows
the values, not who has which: she deals them out, lets the method merge, and keeps the deals that give the class as it
was released. A random walk goes through all of these alike, for all classes at a time (Metropolis' algorithm); how
often a person has a value on its way is what she believes.

No method leaves out a class for what it holds, so of who is missing she learns nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Microdata
from shoal.errors import InputError
from shoal.masking.enforce import enforce, even_leaves
from shoal.masking.grouped import beyond_size
from shoal.masking.partition import Partition
from shoal.risk.attack import Outcome, Scene, attack
from shoal.risk.guessing import Shares, score
from shoal.risk.standing import Standing, frequencies, guessable, standing

STEPS = 300  # of the walk through the deals that a class's values may have
TRIES = 40  # at a deal to begin with
_DOUBT = 10.0  # steps that class frequencies weigh as much as

Records = npt.NDArray[np.int64]


@attack
def minimality(scene: Scene) -> list[Outcome]:
    """Whether it is known what classes held from which of them the method merged."""
    guarded = list(dict.fromkeys(model.attribute for model in beyond_size(scene.promises) if model.attribute))
    if not guarded:
        raise InputError("No promise is about what classes hold (l-diversity, t-closeness): nothing was merged for it.")
    place = standing(scene)
    if place.base is None:
        raise InputError(
            "Classes do not follow from the quasi-identifiers alone (strata are made of the confidential values: see "
            "the attack definetti), or the method merges none: there is nothing to group again."
        )
    dice = np.random.default_rng(scene.seed)
    believed = {name: frequencies(place.label, guessable(scene.original[name])) for name in guarded}
    _from_merges(scene, place, place.base, believed, dice)
    found: list[Outcome] = []
    for name in guarded:
        target = guessable(scene.original[name])
        found += score("minimality", target, place.label, believed[name])
    return found


# ---- merged classes


@dataclass(frozen=True)
class _Line:
    """The released records class after class, each class in the order of the grouping's line: place by place."""

    record: Records  # place -> record
    group: Records  # place -> class
    leaf: Records  # place -> the part of the grouping that it was in
    first: Records  # class -> its first place
    size: Records  # class -> its places

    @classmethod
    def of(cls, label: Records, leaves: Partition) -> _Line:
        record = leaves.order[np.argsort(label[leaves.order], kind="stable")]
        group = label[record]
        size = np.bincount(group)
        leaf = leaves.class_of(len(label)).astype(np.int64)[record]
        return cls(record, group, leaf, np.cumsum(size) - size, size)


def _from_merges(
    scene: Scene, place: Standing, base: Partition, believed: dict[str, Shares], dice: np.random.Generator
) -> None:
    """What merges tell, by a walk through the deals that give the released classes."""
    kept = place.kept
    rest = scene.original if len(kept) == len(place.label) else scene.original.take(kept)
    base = _among(base, kept, len(place.label))
    label, others = place.label[kept], beyond_size(scene.promises)
    line = _Line.of(label, even_leaves(base))
    released = _starts(enforce(rest, base, others))
    where = label[base.order]

    def same(held: Records) -> npt.NDArray[np.bool_]:
        """Which classes are released as they were where each place holds what `held` says."""
        dealt = np.empty(len(held), np.int64)
        dealt[line.record] = line.record[held]
        return _same_classes(released, _starts(enforce(_holding(rest, dealt), base, others)), where)

    targets = {name: guessable(scene.original[name]) for name in believed}
    codes = {name: target.codes[kept][line.record] for name, target in targets.items()}
    held, begun = _first_deals(line, next(iter(codes.values())), same, dice)
    seen = {name: np.zeros((int(line.leaf.max()) + 1, target.values)) for name, target in targets.items()}
    for _ in range(STEPS):
        proposed = _MOVES[dice.choice(len(_MOVES))](line, held, dice)
        held = np.where((same(proposed) & begun)[line.group], proposed, held)
        for name, code in codes.items():
            np.add.at(seen[name], (line.leaf, code[held]), 1.0)
    records = np.bincount(line.leaf)
    for name in targets:
        share = (seen[name] / records[:, None])[line.leaf]
        who = kept[line.record]
        weighed = (share + _DOUBT * believed[name][who]) / (STEPS + _DOUBT)
        believed[name][who] = np.where(begun[line.group, None], weighed, believed[name][who])


def _first_deals(
    line: _Line, code: Records, same: Callable[[Records], npt.NDArray[np.bool_]], dice: np.random.Generator
) -> tuple[Records, npt.NDArray[np.bool_]]:
    """Place -> the place whose values it holds, in a deal that gives the class; and which classes have found one.

    Deals at random, and deals of like values to the same part: these fail as parts must that were merged.
    """
    places = np.arange(len(line.record))
    held, begun = places.copy(), np.zeros(len(line.size), np.bool_)
    for turn in range(TRIES):
        if turn % 2:
            drawn = dice.permutation(int(line.leaf.max()) + 1)[line.leaf]
            alike = dice.permutation(int(code.max()) + 1)[code]
            proposed = np.empty_like(places)
            proposed[np.lexsort((drawn, line.group))] = np.lexsort((dice.random(len(code)), alike, line.group))
        else:
            proposed = _redealt(line, places, dice)
        new = same(proposed) & ~begun
        held = np.where(new[line.group], proposed, held)
        begun |= new
    return held, begun


def _redealt(line: _Line, held: Records, dice: np.random.Generator) -> Records:
    """All of every class anew."""
    return held[np.lexsort((dice.random(len(held)), line.group))]


def _swapped(line: _Line, held: Records, dice: np.random.Generator) -> Records:
    """Two of every class exchange what they hold."""
    one, other = (line.first + (dice.random(len(line.size)) * line.size).astype(np.int64) for _ in range(2))
    proposed = held.copy()
    proposed[one], proposed[other] = held[other], held[one]
    return proposed


def _halves_exchanged(line: _Line, held: Records, dice: np.random.Generator) -> Records:
    """The first half of every class exchanges what it holds with the second."""
    within = np.arange(len(held)) - line.first[line.group]
    half = line.size[line.group] // 2
    shift = np.where(within < half, half, np.where(within < 2 * half, -half, 0))
    return held[np.arange(len(held)) + shift]


_MOVES = (_redealt, _swapped, _swapped, _halves_exchanged)  # as likely one way as back: no deal is favoured


def _among(base: Partition, kept: Records, records: int) -> Partition:
    """The classes of the records kept, which stay whole."""
    if len(kept) == records:
        return base
    there = np.zeros(records, np.bool_)
    there[kept] = True
    order = base.order[there[base.order]]
    sizes = np.bincount(base.class_of(records)[order])
    return Partition(np.searchsorted(kept, order), np.append(0, np.cumsum(sizes[sizes > 0])))


def _starts(partition: Partition) -> npt.NDArray[np.bool_]:
    """place on the line -> whether a class starts there."""
    starts = np.zeros(len(partition.order), np.bool_)
    starts[partition.starts[:-1]] = True
    return starts


def _holding(table: Microdata, dealt: Records) -> Microdata:
    """The table with confidential values dealt out anew: record -> whose values she has."""
    anew = Microdata(table.frame, table.schema, table.whole)
    for name in table.schema.confidential:
        anew.coded[name] = replace(table[name], codes=table[name].codes[dealt])
    return anew


def _same_classes(
    released: npt.NDArray[np.bool_], again: npt.NDArray[np.bool_], where: Records
) -> npt.NDArray[np.bool_]:
    """Which released classes come out again: no start differs within them, nor right after."""
    differs = np.flatnonzero(released != again)
    same = np.ones(int(where.max()) + 1, np.bool_)
    same[where[differs]] = False
    same[where[differs - 1]] = False  # the first place on the line always starts a class
    return same
