"""Attacks: what an intruder finds out, beside what she would have guessed anyway.

A number such as "40 % are right" says little by itself. Each attack therefore comes with a **baseline**, the share
right of the same guesses by an intruder who lacks what the attack adds (she guesses by frequency, or blindly), and
with a **control**, the share right where the release cannot help her (people it is not about, or a truth that was
shuffled). An attack that finds something lies above both by more than its interval.

A new attack is one function with a decorator, in a module that `ATTACKS` names; `shoal attack` and the report know it
at once. One's own is named as `module:function`. One that has nothing to attack in a table says why by an InputError:

    @attack
    def blind(scene: Scene) -> list[Outcome]:
        '''Whether anybody is found by guessing blindly.'''
        ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.catalogue import Chunks, Registry
from shoal.data.microdata import Microdata
from shoal.data.parse_cells import read_cells
from shoal.data.people import COUNTED
from shoal.errors import InputError
from shoal.measure import Pair
from shoal.show import Bars, Chart, Result, Series, Sheet

if TYPE_CHECKING:
    from shoal.masking.method import Masked, Method
    from shoal.privacy.model import PrivacyModel

_REPORTED = Chunks("in the report, on some of the people")
_Z = 1.959964  # of an interval that covers 95 %


@dataclass(frozen=True)
class Scene:
    """What an attack is played on: the release, what the intruder knows besides, and the truth to score her by.

    She has the release and knows all quasi-identifiers of everybody in it, the method and the promises; of the original
    she may not use the confidential attributes, which only score her guesses.
    """

    original: Microdata
    released: pl.DataFrame  # in any order
    method: Method
    promises: tuple[PrivacyModel, ...]
    suppression: float = 0.0
    seed: int = 0
    rows: npt.NDArray[np.int64] | None = None  # released record -> original one, where the custodian knows
    made: Masked | None = None  # the release as it was made, where the custodian has it at hand

    def known(self) -> tuple[str, ...]:
        """The quasi-identifiers; refused where the release does not show one of them."""
        quasi = self.original.schema.quasi_identifiers
        for name in quasi:
            if name not in self.released.columns:
                raise InputError(f"The release does not show {name!r}: give the quasi-identifiers it was made with.")
        return tuple(quasi)

    def pair(self) -> Pair:
        """Both tables side by side, to score who was found."""
        if self.rows is None:
            raise InputError(
                "Who was found can only be told where each record is known to be whose: give both tables in the same "
                "order and say so (--paired)."
            )
        original = self.original
        cells = {
            name: read_cells(self.released[name], original.schema[name], original[name].values) for name in self.known()
        }
        return Pair.of(original, cells, self.rows)


BY_PSEUDONYM = "the pseudonym"  # a target by which people are counted, whose records it puts together


@dataclass(frozen=True)
class Outcome:
    """What came of an attack on `people`: of how many it made a guess, and how many of these were right."""

    attack: str
    target: str  # what was guessed: an attribute, or "the record"
    people: int
    guessed: int
    right: float  # expected number where guesses are drawn by lot
    baseline: float  # share right of the same guesses without what the attack adds
    control: float | None = None  # share right where the release cannot help; None where there is no such thing
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """The share of her guesses that are right; 0 where she makes none."""
        return self.right / self.guessed if self.guessed else 0.0

    @property
    def found(self) -> float:
        """The share of all people of whom she guesses right."""
        return self.right / self.people if self.people else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Of the rate, at 95 % (Wilson's score interval); everything is possible where she makes no guess."""
        return wilson(self.right, self.guessed)

    def in_percent(self) -> tuple[str, str, str, str]:
        """Rate, interval, baseline and control, as tables show them."""
        low, high = self.interval
        control = "" if self.control is None else f"{self.control:.1%}"
        return f"{self.rate:.1%}", f"{low:.1%}-{high:.1%}", f"{self.baseline:.1%}", control

    def to_dict(self) -> dict[str, object]:
        """All numbers, ready for JSON."""
        return {
            "attack": self.attack,
            "target": self.target,
            "people": self.people,
            "guessed": self.guessed,
            "right": self.right,
            "rate": self.rate,
            "interval": list(self.interval),
            "found": self.found,
            "baseline": self.baseline,
            "control": self.control,
            "notes": list(self.notes),
        }


def wilson(right: float, tried: int) -> tuple[float, float]:
    """Wilson's score interval of a share, at 95 %."""
    if tried == 0:
        return 0.0, 1.0
    share, z2 = right / tried, _Z * _Z
    centre = (share + z2 / (2 * tried)) / (1 + z2 / tried)
    half = _Z * sqrt(share * (1 - share) / tried + z2 / (4 * tried * tried)) / (1 + z2 / tried)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class Attack:
    """An attack by its name; `meaning` is its function's first line."""

    name: str
    meaning: str
    function: Callable[[Scene], Sequence[Outcome]]
    in_chunks: Chunks = _REPORTED

    def listing(self) -> dict[str, Any]:
        """What it says of itself, for a listing."""
        return {"name": self.name, "sentence": self.meaning, "in_chunks": self.in_chunks.how or None}


ATTACKS: Registry[Attack] = Registry(
    "attack",
    ("shoal.risk.minimality", "shoal.risk.definetti", "shoal.risk.found_again", "shoal.risk.histories"),
    "shoal.risk.attack.attack",
)


def attack(function: Callable[[Scene], Sequence[Outcome]]) -> Callable[[Scene], Sequence[Outcome]]:
    """Makes a function of a scene an attack of that name, words joined by hyphens."""
    meaning = (function.__doc__ or "").strip().split("\n")[0]
    if not meaning:
        raise InputError(f"The attack {function.__name__!r} says nothing of itself: give it a line of words.")
    ATTACKS.add(Attack(function.__name__.replace("_", "-"), meaning, function), function.__module__)
    return function


@dataclass(frozen=True)
class Attacked(Result):
    """What the attacks found; `left_out` says of the others why there was nothing to attack."""

    outcomes: tuple[Outcome, ...]
    meanings: Mapping[str, str]
    left_out: Mapping[str, str]

    def to_dict(self) -> dict[str, object]:
        """All outcomes, and what was left out, ready for JSON."""
        return {
            "attacks": [{"meaning": self.meanings[each.attack], **each.to_dict()} for each in self.outcomes],
            "left_out": dict(self.left_out),
        }

    def remarks(self) -> list[str]:
        """The notes of all attacks, each once."""
        return list(dict.fromkeys(note for each in self.outcomes for note in each.notes))

    def charts(self) -> list[Chart]:
        """How often each attack is right."""
        return [guesses_chart("Attacks", {f"{each.attack}: {each.target}": each for each in self.outcomes})]

    def sheets(self) -> list[Sheet]:
        """As tables: what each attack guessed, and what it means."""
        rows = [_row(each) for each in self.outcomes]
        met = {each.attack for each in self.outcomes}
        return [
            Sheet("Attacks", ("", "guessed", "right", "95 %", "baseline", "control"), rows, numbers=5),
            Sheet("What they are", ("", ""), [(name, self.meanings[name]) for name in self.meanings if name in met], 0),
            Sheet("Nothing to attack", ("attack", "reason"), list(self.left_out.items()), numbers=0),
        ]


def guesses_chart(title: str, outcomes: Mapping[str, Outcome]) -> Chart:
    """How often each guess is right, beside its baseline."""
    rates = [each.rate for each in outcomes.values()]
    baselines = [each.baseline for each in outcomes.values()]
    return Bars(title, list(outcomes), (Series("right", rates), Series("baseline", baselines)))


def _row(each: Outcome) -> tuple[str, ...]:
    return f"{each.attack}: {each.target}", f"{each.guessed:,} of {each.people:,}", *each.in_percent()


def run_attacks(scene: Scene, names: Sequence[str] = ("all",)) -> Attacked:
    """The attacks of these names, or `all`."""
    chosen = list(ATTACKS.loaded().values()) if list(names) == ["all"] else [ATTACKS.find(name) for name in names]
    outcomes: list[Outcome] = []
    left_out: dict[str, str] = {}
    for each in events.ticking(chosen):
        try:
            outcomes.extend(_counted(outcome, scene) for outcome in each.function(scene))
        except InputError as error:
            left_out[each.name] = str(error)
    return Attacked(tuple(outcomes), {each.name: each.meaning for each in chosen}, left_out)


def _counted(outcome: Outcome, scene: Scene) -> Outcome:
    """The outcome; where somebody may have several records it says that records were counted, unless people were."""
    if scene.original.schema.person is None or outcome.target == BY_PSEUDONYM:
        return outcome
    return replace(outcome, notes=(*outcome.notes, f"Counted are {COUNTED}."))
