"""Several releases of the same customers' purchases: what links them, and what a ledger is told of each.

Dummies are drawn anew for each release and real purchases are not, so records that two releases share are real. They
link a customer of the one to himself in the other, however his number changed; and once he is linked, the goods that
both show of him with the same day, price and quantity are his own, and a few known goods find him.

A ledger knows each release by its clusters. Customer and good alone, each pair once, are the same for all of a cluster:
such releases link clusters, and whoever stands together in all of them cannot be told apart. Anything more tells the
members of a cluster apart, and a second release beside it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import InputError, PromiseError, require
from shoal.releases.published import Published
from shoal.risk.attack import Outcome, guesses_chart
from shoal.show import Chart, Result, Sheet
from shoal.transactions.attack import own_customers, secret_map
from shoal.transactions.histories import Histories, Roles
from shoal.transactions.numbering import Ints, incidence, numbered, places, some_of_each

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from shoal.releases.ledger import Ledger
    from shoal.releases.store import Promised
    from shoal.transactions.clustering import Labels

PURCHASES, PURCHASES_IN_FULL = "purchases", "purchases-in-full"  # as promises of a ledger

Floats = npt.NDArray[np.float64]


# ---- the attack


@dataclass(frozen=True)
class Pooled(Result):
    """What two releases of purchases tell together."""

    outcomes: tuple[Outcome, ...]

    def to_dict(self) -> dict[str, Any]:
        """What came of each attack, as JSON takes it."""
        return {"attacks": [each.to_dict() for each in self.outcomes]}

    def charts(self) -> list[Chart]:
        """The rates of both attacks, with baseline and control."""
        return [guesses_chart("Two releases together", {each.attack: each for each in self.outcomes})]

    def sheets(self) -> list[Sheet]:
        """What came of each attack, as a table."""
        header = ("", "right", "rate", "95 %", "baseline", "control")
        rows = [(o.attack, f"{o.right:,.0f} of {o.guessed:,}", *o.in_percent()) for o in self.outcomes]
        return [Sheet("Two releases together", header, rows, numbers=5)]


def pooled_attack(
    original: Histories,
    first: Histories,
    second: Histories,
    truths: tuple[pl.DataFrame, pl.DataFrame],
    *,
    known: int = 5,
    seed: int | None = None,
) -> Pooled:
    """Links the customers of two releases by what both show, then finds them by some known goods.

    `original` holds the purchases that the first release was made of, and `truths` are the secret maps of the two. The
    intruder knows `known` goods that each customer of the first release bought; all else only scores her guesses.
    """
    require("the attack", "known", known, "a number of goods from 1", holds=known >= 1)
    rng = np.random.default_rng(seed)
    here = own_customers(original, first, truths[0])
    customer = _names(truths[0], first), _names(truths[1], second)
    shared = _Shared.of(first, second)
    score = shared.similarity()
    linked = _linked(score, *customer, rng)
    return Pooled((linked, _found(original, first, here, shared.goods_in_both(score.argmax(axis=1)), known, rng)))


def _names(truth: pl.DataFrame, release: Histories) -> pl.Series:
    """Released customer -> who he is."""
    people = pl.DataFrame({"pseudonym": release.customers.cast(pl.String)})
    named = people.join(secret_map(truth), on="pseudonym", how="left", maintain_order="left")
    if named["customer"].null_count():
        lost = named.filter(pl.col("customer").is_null())["pseudonym"][0]
        raise InputError(
            f"The secret map does not say who {lost!r} is: give the map that was written with the release."
        )
    return named["customer"]


@dataclass(frozen=True)
class _Shared:
    """The customers of two releases by the records that occur: the good, and what else both show but baskets."""

    first: csr_array
    second: csr_array
    good: Ints  # record -> its good, as the first release numbers goods; -1 where it has none such
    goods: int

    @classmethod
    def of(cls, first: Histories, second: Histories) -> _Shared:
        shown = [role for role in ("item", "time", "price", "quantity") if role in first.roles.named]
        shown = [role for role in shown if role in second.roles.named]

        def column(role: str) -> pl.Series:
            both = (release.table[release.roles.named[role]].cast(pl.String) for release in (first, second))
            return pl.concat([part.alias(role) for part in both])

        code = numbered([column(role) for role in shown])
        here, there = code[: len(first)], code[len(first) :]
        width = int(code.max()) + 1
        good = np.full(width, -1, np.int64)
        good[here] = first.item
        return cls(
            incidence(first.customer, here, (len(first.customers), width)),
            incidence(second.customer, there, (len(second.customers), width)),
            good,
            len(first.items),
        )

    def similarity(self) -> Floats:
        """Customers by customers: the records they share, each worth the less the more customers have it."""
        holders = np.asarray(self.first.sum(axis=0) + self.second.sum(axis=0)).ravel()
        weighted = self.first.astype(np.float64)
        weighted.data = np.log((self.first.shape[0] + self.second.shape[0]) / holders[self.first.indices]) + 1e-9
        score: Floats = (weighted @ self.second.T).toarray()
        return score

    def goods_in_both(self, link: Ints) -> csr_array:
        """Customers of the first release by the goods that they and their links show with the same records."""
        both = self.first.multiply(self.second[link]).tocoo()
        return incidence(both.row, self.good[both.col], (self.first.shape[0], self.goods))


def _linked(score: Floats, first: pl.Series, second: pl.Series, rng: np.random.Generator) -> Outcome:
    """Each customer of the first release is guessed to be the one of the second who shares most; ties go by lot.

    The control scores the same guesses by a truth that was shuffled.
    """
    here = first.is_in(second.implode()).to_numpy()
    some = here & (score.max(axis=1) > 0)
    nearest = score[some] >= score[some].max(axis=1, keepdims=True) * (1 - 1e-12)
    chance = 1 / nearest.sum(axis=1)

    def right(truth: npt.NDArray[np.str_]) -> float:
        hit = nearest & (truth[None, :] == first.to_numpy()[some][:, None])
        return float(hit.any(axis=1) @ chance)

    guessed, truth = int(some.sum()), second.to_numpy()
    control = right(rng.permutation(truth)) / guessed if guessed else None
    target = "the customer in the other release"
    return Outcome("linked releases", target, int(here.sum()), guessed, right(truth), 1 / len(second), control)


def _found(
    original: Histories, first: Histories, own: Ints, real: csr_array, known: int, rng: np.random.Generator
) -> Outcome:
    """Customers found by known goods among those that they show in both releases, or in the first where nobody fits.

    The baseline is the same intruder with the first release alone; the control has her take one's goods for another's.
    """
    drawn, starts = some_of_each(original.sets, known, rng)
    good = places(original.items, first.items)[original.sets.indices[drawn]]
    alone = first.sets

    def candidates(sets: csr_array, goods: Ints) -> npt.NDArray[np.bool_]:
        if (goods < 0).any() or not len(goods):
            return np.zeros(sets.shape[0], np.bool_)
        return np.asarray(sets[:, goods].sum(axis=1)).ravel() >= len(np.unique(goods))

    first_alone, together, control = np.zeros(len(own)), np.zeros(len(own)), np.zeros(len(own))
    somebody_else = rng.permutation(len(own))
    for j, customer in enumerate(own):
        goods = np.unique(good[starts[customer] : starts[customer + 1]])
        before = candidates(alone, goods)
        after = candidates(real, goods)
        after = after if after.any() else before
        for chance, fit, who in ((first_alone, before, j), (together, after, j), (control, after, somebody_else[j])):
            chance[j] = fit[who] / fit.sum() if fit.any() else 0.0
    target = f"the customer, by {known} goods"
    return Outcome(
        "known goods over two releases", target, len(own), len(own), float(together.sum()), float(first_alone.mean()),
        float(control.mean()),
    )  # fmt: skip


# ---- what a ledger is told


def entry(
    ledger: Ledger, histories: Histories, shown: pl.DataFrame, label: Labels, least: int, seed: int | None
) -> tuple[Published, Promised]:
    """A release as a ledger records it: whose purchases stood in which cluster of at least `least`."""
    from shoal.releases.store import Promised

    subjects = _subjects(ledger, histories)
    clusters = pl.DataFrame({"cluster": [str(number) for number in range(int(label.max()) + 1)]})
    members = pl.DataFrame({"subject": subjects, "class": label.astype(np.int32)})
    name = PURCHASES if shown_alike(shown, histories.roles) else PURCHASES_IN_FULL
    fewest = float(np.bincount(label).min())
    promise = {"name": name, "asked": float(least), "achieved": fewest, "holds": fewest >= least}
    values = ledger.own(subjects, goods_of(histories))
    return Published("The release", members, clusters, values), Promised(least, (promise,), seed)


def shown_alike(shown: pl.DataFrame, roles: Roles) -> bool:
    """Whether nothing tells the members of a cluster apart: customer and good alone, each pair once."""
    return set(shown.columns) == {roles.customer, roles.item} and not shown.is_duplicated().any()


def goods_of(histories: Histories) -> pl.DataFrame:
    """Each customer's goods as one text: a good more or less is a change."""
    bought = pl.DataFrame({"customer": histories.customer, "good": histories.items.cast(pl.String)[histories.item]})
    goods = bought.unique().sort("customer", "good").group_by("customer", maintain_order=True).agg("good")
    text = [json.dumps(each) for each in goods["good"].to_list()]  # whatever a good is called, sets stay apart
    return pl.DataFrame({"goods": text})


def _subjects(ledger: Ledger, histories: Histories) -> pl.Series:
    return ledger.digests(pl.DataFrame({ledger.subject: histories.customers}))


def going_on(
    histories: Histories, ledger: Ledger, least: int, cluster: Callable[[Histories], Labels]
) -> tuple[Histories, Labels, tuple[str, ...]]:
    """The customers who may be shown again, their clusters, which go on from the ledger's, and notes about it.

    Who stood together in all of them stands together again; new customers stand among new ones, which `cluster` finds.
    """
    from shoal.releases.incremental import NEW, staying

    subjects = _subjects(ledger, histories)
    atom, stays = staying(ledger.releases(), subjects, ledger.own(subjects, goods_of(histories)), least)
    if not stays.any():
        raise PromiseError(
            f"No customer can be shown again without exposing somebody over all releases at clusters of {least}: of "
            "each cluster of before none or at least so many must have left, and none or at least so many have bought "
            "other goods. Nothing was released: begin with larger clusters, or release these customers once."
        )
    kept = histories.of_customers(stays)
    label = atom[stays].astype(np.int32)
    new = label == NEW
    if new.any():
        label[new] = label.max() + 1 + cluster(histories.of_customers(stays & (atom == NEW)))
    notes = () if stays.all() else (_withheld(int((~stays).sum())),)
    return kept, np.unique(label, return_inverse=True)[1].astype(np.int32), notes


def _withheld(customers: int) -> str:
    return (
        f"{customers:,} customers are withheld: too few about them have left, have come or have bought other goods, "
        "and shown they would tell who or what."
    )
