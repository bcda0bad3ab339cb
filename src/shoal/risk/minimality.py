"""The minimality attack: what merges and strata tell whoever knows the method (Wong et al., 2007).

A method merges no more than it must. An intruder who knows everybody's quasi-identifiers groups them by the class size
alone and sees what became of these classes: that some were merged says that a promise was missed, and so something of
what they held. She works out how much by running the method's own code. Of each released class she knows
the values, not who has which: she deals them out, lets the method merge, and keeps the deals that give the class as it
was released. A random walk goes through all of these alike, for all classes at a time (Metropolis' algorithm); how
often a person has a value on its way is what she believes. Of strata, which are made of the values themselves, she
does the same with the whole grouping (`shoal.risk.strata`).

No method leaves out a class for what it holds, so of who is missing she learns nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.masking.enforce import enforce, even_leaves
from shoal.masking.method import Strata, beyond_size
from shoal.masking.partition import Partition
from shoal.risk.attack import Outcome, Scene, attack
from shoal.risk.dealing import Line, holding, redealt
from shoal.risk.guessing import Shares, score
from shoal.risk.standing import Standing, frequencies, guessable, standing
from shoal.risk.strata import walk

STEPS = 300  # of the walk through the deals that a class's values may have
TRIES = 40  # at a deal to begin with
_DOUBT = 10.0  # steps that class frequencies weigh as much as

Records = npt.NDArray[np.int64]


@attack
def minimality(scene: Scene) -> list[Outcome]:
    """Whether it is known who has what from how the method, run again, merges classes or makes them of strata."""
    guarded = list(dict.fromkeys(model.attribute for model in beyond_size(scene.promises) if model.attribute))
    place = standing(scene)
    if place.strata is not None:
        guarded = list(dict.fromkeys([place.strata.attribute, *guarded]))
        if known := [name for name in guarded if name in scene.original.schema.quasi_identifiers]:
            raise InputError(
                f"{known[0]!r} is a quasi-identifier, too, and so known to her: there is nothing to learn."
            )
    elif not guarded:
        raise InputError("No promise is about what classes hold (l-diversity, t-closeness): nothing was merged for it.")
    elif place.base is None:
        raise InputError(
            "Classes do not follow from the quasi-identifiers alone, or the method merges none: there is nothing to "
            "group again."
        )
    dice = np.random.default_rng(scene.seed)
    believed = {name: frequencies(place.label, guessable(scene.original[name])) for name in guarded}
    if place.strata is not None:
        _from_strata(scene, place, place.strata, believed, dice)
    elif place.base is not None:
        _from_merges(scene, place, place.base, believed, dice)
    outcomes: list[Outcome] = []
    for name in guarded:
        target = guessable(scene.original[name])
        outcomes += score("minimality", target, place.label, believed[name], place.notes)
    return outcomes


# ---- strata


def _from_strata(
    scene: Scene, place: Standing, strata: Strata, believed: dict[str, Shares], dice: np.random.Generator
) -> None:
    """What strata tell, by a walk through the deals that give the released classes."""
    kept = place.kept
    rest = scene.original if len(kept) == len(place.label) else scene.original.take(kept)
    line = Line.of(place.label[kept], np.arange(len(kept)))
    codes = {name: guessable(scene.original[name]).codes[kept][line.record] for name in believed}
    who = kept[line.record]
    seen = {name: _DOUBT * shares[who] for name, shares in believed.items()}
    places = np.arange(len(who))

    def visit(held: Records) -> None:
        for name, code in codes.items():
            seen[name][places, code[held]] += 1.0

    counted = walk(rest, line, strata, beyond_size(scene.promises), visit, dice)
    for name, shares in believed.items():
        shares[who] = seen[name] / (counted + _DOUBT)


# ---- merged classes


def _from_merges(
    scene: Scene, place: Standing, base: Partition, believed: dict[str, Shares], dice: np.random.Generator
) -> None:
    """What merges tell, by a walk through the deals that give the released classes."""
    kept = place.kept
    rest = scene.original if len(kept) == len(place.label) else scene.original.take(kept)
    base = _among(base, kept, len(place.label))
    label, others = place.label[kept], beyond_size(scene.promises)
    leaves = even_leaves(base)
    line = Line.of(label, leaves.order)
    leaf = leaves.class_of(len(label)).astype(np.int64)[line.record]  # place -> the part of the grouping it was in
    released = _starts(enforce(rest, base, others))
    where = label[base.order]

    def same(held: Records) -> npt.NDArray[np.bool_]:
        """Which classes are released as they were where each place holds what `held` says."""
        dealt = np.empty(len(held), np.int64)
        dealt[line.record] = line.record[held]
        return _same_classes(released, _starts(enforce(holding(rest, dealt), base, others)), where)

    targets = {name: guessable(scene.original[name]) for name in believed}
    codes = {name: target.codes[kept][line.record] for name, target in targets.items()}
    held, begun = _first_deals(line, leaf, next(iter(codes.values())), same, dice)
    seen = {name: np.zeros((int(leaf.max()) + 1, target.values)) for name, target in targets.items()}
    for _ in range(STEPS):
        proposed = _MOVES[dice.choice(len(_MOVES))](line, held, dice)
        held = np.where((same(proposed) & begun)[line.group], proposed, held)
        for name, code in codes.items():
            np.add.at(seen[name], (leaf, code[held]), 1.0)
    records = np.bincount(leaf)
    for name in targets:
        share = (seen[name] / records[:, None])[leaf]
        who = kept[line.record]
        weighed = (share + _DOUBT * believed[name][who]) / (STEPS + _DOUBT)
        believed[name][who] = np.where(begun[line.group, None], weighed, believed[name][who])


def _first_deals(
    line: Line,
    leaf: Records,
    code: Records,
    same: Callable[[Records], npt.NDArray[np.bool_]],
    dice: np.random.Generator,
) -> tuple[Records, npt.NDArray[np.bool_]]:
    """Place -> the place whose values it holds, in a deal that gives the class; and which classes have found one.

    Deals at random, and deals of like values to the same part: these fail as parts must that were merged.
    """
    places = np.arange(len(line.record))
    held, begun = places.copy(), np.zeros(len(line.size), np.bool_)
    for turn in range(TRIES):
        if turn % 2:
            drawn = dice.permutation(int(leaf.max()) + 1)[leaf]
            alike = dice.permutation(int(code.max()) + 1)[code]
            proposed = np.empty_like(places)
            proposed[np.lexsort((drawn, line.group))] = np.lexsort((dice.random(len(code)), alike, line.group))
        else:
            proposed = redealt(line, places, dice)
        new = same(proposed) & ~begun
        held = np.where(new[line.group], proposed, held)
        begun |= new
    return held, begun


def _swapped(line: Line, held: Records, dice: np.random.Generator) -> Records:
    """Two of every class exchange what they hold."""
    first, second = (line.first + (dice.random(len(line.size)) * line.size).astype(np.int64) for _ in range(2))
    proposed = held.copy()
    proposed[first], proposed[second] = held[second], held[first]
    return proposed


def _halves_exchanged(line: Line, held: Records, dice: np.random.Generator) -> Records:
    """The first half of every class exchanges what it holds with the second."""
    within = np.arange(len(held)) - line.first[line.group]
    half = line.size[line.group] // 2
    shift = np.where(within < half, half, np.where(within < 2 * half, -half, 0))
    return held[np.arange(len(held)) + shift]


_MOVES = (redealt, _swapped, _swapped, _halves_exchanged)  # as likely one way as back: no deal is favoured


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


def _same_classes(
    released: npt.NDArray[np.bool_], again: npt.NDArray[np.bool_], where: Records
) -> npt.NDArray[np.bool_]:
    """Which released classes come out again: no start differs within them, nor right after."""
    differs = np.flatnonzero(released != again)
    same = np.ones(int(where.max()) + 1, np.bool_)
    same[where[differs]] = False
    same[where[differs - 1]] = False  # the first place on the line always starts a class
    return same
