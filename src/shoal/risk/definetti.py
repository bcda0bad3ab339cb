"""The deFinetti attack: who in a class has which of its values, learnt from the release itself (Kifer, 2009).

A class hides who of its people has which value. But all classes together show how values go with quasi-identifiers:
older people are dearer, whatever class they stand in. An intruder who knows everybody's quasi-identifiers learns it
from the classes' counts and applies it within each class. Here by naive Bayes: everybody begins with the frequencies
of her class; from these it is learnt how each quasi-identifier goes with the value; from that, who of a class is
likelier to have which, such that the class's counts come out; and so on.

No promise about each class by itself prevents it: what makes a release useful, that it shows how attributes go
together, is what is learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.data.microdata import Coded
from shoal.errors import InputError
from shoal.risk.attack import Outcome, Scene, attack
from shoal.risk.guessing import Shares, score
from shoal.risk.standing import SUPPRESSED, Guessable, frequencies, guessable, standing

ROUNDS = 12
_BALANCING = 12  # times that a class's shares are brought to its counts
_BINS = 24  # of a quasi-identifier

Codes = npt.NDArray[np.int64]


@attack
def definetti(scene: Scene) -> list[Outcome]:
    """Whether it is learnt from all classes together who in a class has which of its values."""
    quasi = scene.original.schema.quasi_identifiers
    secrets = [name for name in scene.original.schema.confidential if name not in quasi]
    if not secrets:
        raise InputError("No confidential attribute is named: there is nothing to be learnt of anybody.")
    place = standing(scene)
    label = place.label
    kept = np.flatnonzero(label != SUPPRESSED)
    known = [_Groups.of(_binned(coded)[kept]) for coded in scene.original.quasi]
    outcomes: list[Outcome] = []
    for name in secrets:
        whole = guessable(scene.original[name])
        target = replace(whole, codes=whole.codes[kept])
        outcomes += score("definetti", target, label[kept], _learnt(known, label[kept], target), place.notes)
    return outcomes


def _binned(coded: Coded) -> Codes:
    """record -> bin of like values of about as many records each; missing apart."""
    counts = np.append(coded.counts, coded.missing)
    up_to = np.cumsum(counts) - counts
    bins = up_to * _BINS // max(1, int(counts.sum())) if len(counts) > _BINS else np.arange(len(counts))
    bins[-1] = bins.max() + 1
    return np.asarray(bins[coded.codes], np.int64)


@dataclass(frozen=True)
class _Groups:
    """Records that are alike, ready to be summed up."""

    code: Codes  # record -> group, none empty
    order: Codes
    starts: Codes

    @classmethod
    def of(cls, codes: Codes) -> _Groups:
        _, code = np.unique(codes, return_inverse=True)
        return cls(code, np.argsort(code, kind="stable"), np.searchsorted(np.sort(code), np.arange(code.max() + 1)))

    def sums(self, shares: Shares) -> Shares:
        """[group, value] -> the sum over its records."""
        return np.asarray(np.add.reduceat(shares[self.order], self.starts, axis=0))


def _learnt(known: list[_Groups], label: Codes, target: Guessable) -> Shares:
    """[record, value] -> how likely she takes it to be."""
    believed = frequencies(label, target)
    classes = _Groups.of(label)
    counts = classes.sums(np.eye(target.values)[target.codes])
    for _ in range(ROUNDS):
        likely = np.zeros_like(believed)
        for alike in known:
            together = alike.sums(believed) + 1.0  # one of each beforehand: nothing is impossible
            likely += np.log(together / together.sum(axis=0))[alike.code]
        believed = _balanced(np.exp(likely - likely.max(axis=1, keepdims=True)), classes, counts)
    return believed


def _balanced(weights: Shares, classes: _Groups, counts: Shares) -> Shares:
    """Everybody's shares brought to one, and each class's to its counts, in turn."""
    shares = np.maximum(weights, 1e-30)
    for _ in range(_BALANCING):
        shares /= shares.sum(axis=1, keepdims=True)
        shares *= (counts / np.maximum(classes.sums(shares), 1e-30))[classes.code]
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
