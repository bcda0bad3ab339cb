"""The share of people found again by the best of the attacks that are built in: what a measured risk promises.

Each attack looks for everybody in one of the `spaces`, and links them to the nearest record; where t records are
equally near, the own one is hit one time in t. In the two spaces in which most are found this way, people are also
linked one to one, so that a record that many are near to goes to whom it fits best: where tails are heavy that finds
several times as many. The intruder knows all quasi-identifiers of all people who are in the release, the method and how
strongly it masks; she knows of no link.

Of more than 5,000 people, so many drawn at random are looked for among all records; one to one, only among their own:
who is found among all is found among fewer, where there are fewer to be taken for, so the share errs on the safe side.
The upper end of its interval is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.catalogue import Chunks
from shoal.measure import Pair, measure
from shoal.risk.attack import Outcome, Scene, attack, wilson
from shoal.risk.spaces import BY, different

if TYPE_CHECKING:
    from shoal.kernels.linking import Space

PART = 5_000  # people who are looked for
_ASSIGNED = 2  # spaces in which people are linked one to one
_STEP = 0.05  # of the median distance of people to their own records: what every bid adds
_BIDS = 60  # a person, at most
_NEAREST, _ONE_TO_ONE = "nearest by ", "one to one by "


@dataclass(frozen=True)
class Links:
    """What one attack found: the chance of each person to be linked to the own record."""

    attack: str
    chances: npt.NDArray[np.float64]

    @property
    def share(self) -> float:
        """The share of people found, on the average."""
        return float(self.chances.mean())


def in_part(pair: Pair) -> str:
    """How many people were looked for, where not all were."""
    n, most = len(pair.masked), _most(pair)
    return f"{most:,} of {n:,} people, drawn at random: upper end of the 95 % interval" if n > most else ""


@measure("risk", "riskier", needs_pairs=True, how=in_part, in_chunks=Chunks("as a promise, in random chunks"))
def found_again(pair: Pair) -> float:
    """Share of people found by the best of the built-in linkage attacks, counting every quasi-identifier."""
    best = best_links(pair)
    people = len(best.chances)
    return best.share if people == len(pair.masked) else wilson(float(best.chances.sum()), people)[1]


def best_links(pair: Pair) -> Links:
    """Of the attack that finds most."""
    return max(all_links(pair), key=lambda links: links.share)


def all_links(pair: Pair, one_to_one: Sequence[str] = ()) -> list[Links]:
    """Of every attack, on the people released or as many of them as are looked for.

    People are linked one to one in the spaces named, or else in those in which most are found.
    """
    from shoal.kernels.linking import own_shares

    some = _drawn(pair)
    pair = pair.sample(len(pair.masked))  # whoever is in the release, beside what is shown of them
    own = different(pair).rows_of(some)
    spaces = {name: make(pair, some) for name, make in BY.items()}
    nearest = [Links(_NEAREST + name, own_shares(space, own)) for name, space in _different(spaces)]
    nearest.sort(key=lambda links: -links.share)
    if nearest[0].share == 1.0:
        return nearest
    best = [links.attack.removeprefix(_NEAREST) for links in nearest[:_ASSIGNED]]
    return nearest + [Links(_ONE_TO_ONE + name, _one_to_one(spaces[name], own)) for name in one_to_one or best]


def _most(pair: Pair) -> int:
    return min(PART, pair.linked_at_most)


def _drawn(pair: Pair) -> npt.NDArray[np.int64]:
    n, most = len(pair.masked), _most(pair)
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _different(spaces: dict[str, Space]) -> Iterator[tuple[str, Space]]:
    """Without those that are the same as one before, as where no attribute has an order."""
    met: list[Space] = []
    for name, space in spaces.items():
        if not any(space.same(seen) for seen in met):
            yield name, space
            met.append(space)


def _one_to_one(space: Space, own: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """1 / the records that show the same where a person gets one that shows what the `own` one does, else 0."""
    from shoal.kernels.linking import assigned

    distance = space.distances(own)
    step = _STEP * float(np.median(distance) or distance.mean())
    if step == 0.0:  # all are at their own records
        return np.zeros(len(own))
    anew = np.random.default_rng(0).permutation(own)  # who is like somebody else is not told from them by the order
    got = assigned(space.among(anew), step, _BIDS * len(own))
    right = (got >= 0) & (anew[got] == own)
    chances: npt.NDArray[np.float64] = np.where(right, 1.0 / space.often[own], 0.0)
    return chances


@attack
def linkage(scene: Scene) -> list[Outcome]:
    """People are looked for among the masked records by all their quasi-identifiers, in several ways.

    The baseline takes a record blindly. The control looks among the same records after they were dealt out anew, so
    that what was learnt of how masking changes values tells of nobody.
    """
    pair = scene.pair()
    attacks = all_links(pair)
    tried = [links.attack.removeprefix(_ONE_TO_ONE) for links in attacks if links.attack.startswith(_ONE_TO_ONE)]
    nobody = all_links(_dealt_anew(pair, scene.seed), tried)
    control = {links.attack: links.share for links in nobody}
    people = len(attacks[0].chances)
    notes = (f"{people:,} of {len(pair.masked):,} people, drawn at random.",) if people < len(pair.masked) else ()
    return [
        Outcome(
            "linkage",
            f"the record, {links.attack}",
            people,
            people,
            float(links.chances.sum()),
            1 / len(pair.masked),
            control.get(links.attack),
            notes,
        )
        for links in sorted(attacks, key=lambda links: -links.share)
    ]


def _dealt_anew(pair: Pair, seed: int) -> Pair:
    """The same people and the same records, of which nobody knows whose they are."""
    anew = np.random.default_rng(seed).permutation(len(pair.masked))
    several = {name: replace(column, index=column.index[anew]) for name, column in pair.several.items()}
    return replace(pair, masked=pair.masked[anew], several=several)
