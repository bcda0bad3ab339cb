"""Tables of the same people with partitions of their own, laid side by side by an intruder.

Each of two tables shows one confidential attribute by itself. Whoever knows in which class of each somebody stands is
told by the second of the attribute of the first, as far as the two go together: of the values w that class A of the
first holds,

    P(w | A, B) is proportional to n_A(w) * sum over b of q_B(b) P(b | w) / P(b),

n_A counting w in A, q_B the distribution of the second attribute in B, and P(b | w) what goes together in the whole
table, at tenths of numbers and the most frequent categories. That is known to everybody who knows the field, and here
taken from the table itself. Each further table multiplies its own sum. So a promise about the first attribute must hold
of what is left by all tables, not of each alone: an l-diverse class of which the others rule out all values but one is
not diverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.microdata import Coded
from shoal.privacy.model import PrivacyModel
from shoal.risk.attack import Outcome
from shoal.risk.contingency import contingency_of
from shoal.risk.dependence import levels_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CERTAIN = 0.99  # of what is left: a guess is made from here on
_UNITS = 10  # what is left of a class is counted in so many units a record


@dataclass(frozen=True)
class Standing:
    """One attribute and its table: of each person, the value and the class; `partition` is shared by some tables."""

    attribute: Coded
    label: Ints
    partition: int


@dataclass(frozen=True)
class Left:
    """What is left to an intruder: combinations of classes in which people stand, and the values of each."""

    combination: Ints  # person -> combination
    values: pl.DataFrame  # combination, code, share: shares of a combination add up to 1


def left_by_all(standings: Sequence[Standing], target: int, *, classes: Sequence[Ints] | None = None) -> Left:
    """What all tables leave of one attribute; `classes` are others than people's own, to see what chance does."""
    own = standings[target]
    others = [(i, s) for i, s in enumerate(standings) if s.partition != own.partition]
    labels = [own.label, *(s.label if classes is None else classes[i] for i, s in others)]
    combination = np.unique(np.stack(labels, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    first = np.unique(combination, return_index=True)[1]
    rows = pl.DataFrame({"combination": np.arange(len(first)), "label": own.label[first]}).join(
        pl.DataFrame({"label": own.label, "code": own.attribute.codes, "level": levels_of(own.attribute)}), on="label"
    )
    weight = np.ones(rows.height)
    for place, (_, standing) in enumerate(others, 1):
        ratio = _ratios(standing, own.attribute)
        shown = labels[place][first]
        weight *= ratio[shown[rows["combination"].to_numpy()], rows["level"].to_numpy()]
    shares = rows.with_columns(weight=weight).group_by("combination", "code").agg(pl.col("weight").sum())
    total = pl.col("weight").sum().over("combination")
    return Left(
        combination,
        shares.with_columns(share=pl.when(total > 0).then(pl.col("weight") / total).otherwise(0.0)).sort(
            "combination", "code"
        ),
    )


def _ratios(standing: Standing, target: Coded) -> Floats:
    """[class of the other table, level of the target] -> how much likelier the level is, by what the class shows."""
    b, w = levels_of(standing.attribute), levels_of(target)
    both = contingency_of(b, w)
    share = both / both.sum()
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    lift = np.divide(share, expected, out=np.zeros_like(share), where=expected > 0)
    within = contingency_of(standing.label, b).astype(np.float64)
    held = within / np.maximum(within.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(held @ lift)


def broken_together(standings: Sequence[Standing], target: int, model: PrivacyModel) -> int:
    """Of how many people a promise about the attribute fails, judged on what all tables leave."""
    left = left_by_all(standings, target)
    size = np.bincount(left.values["combination"].to_numpy())
    values = left.values.with_columns(
        units=(pl.col("share") * _UNITS * pl.Series(size)[left.values["combination"]]).round().cast(pl.Int64)
    )
    codes = np.repeat(values["code"].to_numpy(), values["units"].to_numpy())
    of = np.repeat(values["combination"].to_numpy(), values["units"].to_numpy())
    starts = np.searchsorted(of, np.arange(len(size) + 1))
    pseudo = replace(standings[target].attribute, codes=codes.astype(np.int32))
    levels = model.levels(pseudo, np.arange(len(codes)), starts.astype(np.int64))
    failing = ~model.meets(levels)
    return int(failing[left.combination].sum())


def attack_joined(standings: Sequence[Standing], target: int, seed: int = 0) -> Outcome:
    """The value of everybody of whom all tables together leave one, nearly; without the others, by the class alone."""
    own = standings[target]
    guess, sure = _guesses(left_by_all(standings, target))
    alone, _ = _guesses(left_by_all([own], 0))
    truth = own.attribute.codes
    random = np.random.default_rng(seed)
    mixed = [each.label[random.permutation(len(truth))] for each in standings]
    blind, decided = _guesses(left_by_all(standings, target, classes=mixed))
    guessed = int(sure.sum())
    return Outcome(
        "joined-tables",
        own.attribute.name,
        len(truth),
        guessed,
        float((guess == truth)[sure].sum()),
        baseline=float((alone == truth)[sure].mean()) if guessed else 0.0,
        control=float((blind == truth)[decided].mean()) if decided.any() else None,
        notes=("Known: in which class of each table everybody stands, and what goes together in general.",),
    )


def _guesses(left: Left) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Person -> the likeliest value, and whether hardly anything else is left."""
    best = left.values.sort("share", descending=True).group_by("combination", maintain_order=True).first()
    best = best.sort("combination")
    code, share = best["code"].to_numpy(), best["share"].to_numpy()
    return code[left.combination].astype(np.int32), (share >= _CERTAIN)[left.combination]
