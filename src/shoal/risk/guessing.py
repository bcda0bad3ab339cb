"""How an intruder's guesses of a confidential value are scored beside guesses by class frequencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.risk.attack import Outcome
from shoal.risk.standing import Guessable, frequencies

SURE = 0.9  # from here on she takes a value for known

Shares = npt.NDArray[np.float64]  # [record, value] -> probability


def score(
    attack: str, target: Guessable, label: npt.NDArray[np.int64], believed: Shares, notes: tuple[str, ...] = ()
) -> list[Outcome]:
    """Two outcomes: of the people whose value she takes for known where class frequencies leave it open; of everybody.

    `believed` is how likely she takes each value to be. The baseline is how often the most frequent value of each
    class is right if all of the class are as likely to have it. The control is how often her own guesses are right
    then: where the values of each class are shuffled, so that nothing but its counts can be known.
    """
    known = frequencies(label, target)
    everybody = np.arange(len(label))
    guess = believed.argmax(axis=1)
    right = guess == target.codes
    open_by_frequency = known.max(axis=1) < SURE
    sure = np.flatnonzero((believed.max(axis=1) >= SURE) & open_by_frequency)

    def outcome(who: npt.NDArray[np.int64], of: str) -> Outcome:
        some = len(who) > 0
        return Outcome(
            attack,
            f"{target.name}, {of}",
            people=len(label),
            guessed=len(who),
            right=float(right[who].sum()),
            baseline=float(known[who].max(axis=1).mean()) if some else 0.0,
            control=float(known[who, guess[who]].mean()) if some else None,
            notes=notes,
        )

    return [outcome(sure, "taken for known"), outcome(everybody, "everybody")]
