"""Whether whole histories single people out, where a release shows a pseudonym.

The intruder knows every row of everybody, hence in which classes they stand, and looks for the pseudonyms whose rows
stand in the same classes, as often. Of several she takes one blindly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.data.person import numbered
from shoal.errors import InputError
from shoal.privacy.check import released_classes
from shoal.privacy.histories import WholeHistories, same_history
from shoal.risk.attack import BY_PSEUDONYM, Outcome, Scene, attack

Ints = npt.NDArray[np.int64]


@attack
def histories(scene: Scene) -> list[Outcome]:
    """Whether people are found by all of their rows together, where a release shows whose rows belong together.

    The baseline knows one row of each person. The control looks among the same rows with pseudonyms dealt out anew.
    """
    column = _pseudonym(scene)
    key = released_classes(scene.released, scene.original.schema).key.to_numpy()
    person = numbered(scene.released[column], one_each=True)
    people = int(person.max()) + 1
    history = same_history([(key, person)], people)
    right = float((1 / np.bincount(history)[history]).sum())
    several = int((np.bincount(person) > 1).sum())
    alone = int((np.bincount(history)[history][np.bincount(person) > 1] == 1).sum())
    return [
        Outcome(
            "histories",
            BY_PSEUDONYM,
            people,
            people,
            right,
            baseline=_by_one_row(key, person),
            control=_dealt_anew(key, person, scene.seed),
            notes=(
                f"Known: all rows of everybody. Of {several:,} people with several rows, {alone:,} have a history that "
                "nobody else has.",
            ),
        )
    ]


def _pseudonym(scene: Scene) -> str:
    person = scene.original.schema.person
    homes = [model.column for model in scene.promises if isinstance(model, WholeHistories)]
    for name in (*homes, None if person is None else person.column):
        if name is not None and name in scene.released.columns:
            return str(name)
    raise InputError("The release does not show whose rows belong together: there are no histories to compare.")


def _by_one_row(key: Ints, person: Ints) -> float:
    """The share found by the class of one row: one of the people who have a row there, taken blindly."""
    first = np.unique(person, return_index=True)[1]
    pairs = np.unique(np.stack([key, person]), axis=1)[0]
    return float((1 / np.bincount(pairs)[key[first]]).mean())


def _dealt_anew(key: Ints, person: Ints, seed: int) -> float:
    """The share found where pseudonyms say nothing of whose rows they are."""
    people = int(person.max()) + 1
    dealt = np.random.default_rng(seed).permutation(person)
    history = same_history([(np.append(key, key), np.append(person, dealt + people))], 2 * people)
    own, shown = history[:people], history[people:]
    counts = np.bincount(shown, minlength=int(history.max()) + 1)
    return float(np.where(own == shown, 1 / np.maximum(counts[own], 1), 0.0).mean())
