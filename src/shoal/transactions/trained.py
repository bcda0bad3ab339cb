"""The trained intruder: dummies told from purchases by a classifier, and customers found by it.

She has the code and customers of her own, makes a release of them in which she knows what is a dummy, and lets a
classifier learn what dummies look like: not by one column, but by how quantity, price, day and basket go together
(`appearance`). Here half of the clusters are her own and the other half the ones attacked, then the other way round:
no customer is attacked by what was learnt from him or from anybody of his cluster.

From some goods of a customer she then says who he is, and names one more good of his (`guessing`).

Baseline: what clusters alone give, one of those who are shown with all of the goods, by lot; for the other good, the
one that most customers are shown with. Control: a classifier whose labels were shuffled; her guesses scored after the
numbers of each cluster's customers were shuffled; for the other good, whether somebody else bought it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import InputError, require
from shoal.risk.attack import Outcome, guesses_chart
from shoal.show import Chart, Result, Sheet
from shoal.transactions.alike import same_sets
from shoal.transactions.appearance import features
from shoal.transactions.attack import own_customers
from shoal.transactions.guessing import Scene
from shoal.transactions.histories import Histories, histories_of
from shoal.transactions.numbering import Ints
from shoal.transactions.similarity import Floats

Bools = npt.NDArray[np.bool_]
KNOWN = 10  # goods of each customer
MOST_RECORDS = 200_000  # of more, clusters drawn at random are attacked
LEARNT_FROM, LEARNT_FOR_CONTROL = 40_000, 10_000  # records
ROUNDS, BINS = 100, 127  # of boosting


@dataclass(frozen=True)
class Trained(Result):
    """What a trained intruder made of a release."""

    records: int  # looked at
    dummies: int  # among them
    auc: float | None  # chance that a real record looks more real than a dummy; None where either is missing
    auc_same_good: float | None  # of a record and a dummy of the same good in the same cluster
    auc_control: float | None  # with shuffled labels
    known: int  # goods
    customer: Outcome  # who is who
    good: Outcome  # what else was bought
    surest: float  # share right among the surest tenth of her guesses of a customer

    def to_dict(self) -> dict[str, object]:
        """All numbers, as JSON takes them."""
        return asdict(self) | {"customer": self.customer.to_dict(), "good": self.good.to_dict()}

    def charts(self) -> list[Chart]:
        """Her rates, with baseline and control."""
        guesses = {f"customers found by {self.known} goods": self.customer, "another good named": self.good}
        return [guesses_chart("Trained intruder", guesses)]

    def sheets(self) -> list[Sheet]:
        """What she made of the release, as a table."""
        rows = []
        for what, auc, shuffled in (
            ("dummies told from purchases (AUC)", self.auc, self.auc_control),
            ("of the same good in the same cluster (AUC)", self.auc_same_good, None),
        ):
            if auc is not None:
                rows.append((what, f"{auc:.2f}", "", "0.50", "" if shuffled is None else f"{shuffled:.2f}"))
        rows.append((f"customers found by {self.known} goods", *self.customer.in_percent()))
        rows.append(("another good named", *self.good.in_percent()))
        rows.append(("customers, her surest tenth", f"{self.surest:.1%}", "", "", ""))
        return [Sheet("Trained intruder", ("", "right", "95 %", "baseline", "control"), rows, numbers=4)]


def trained_attack(
    original: Histories,
    released: Histories,
    *,
    truth: pl.DataFrame | None = None,
    known: int = KNOWN,
    seed: int | None = 0,
) -> Trained:
    """Attacks a release with all columns that have a role in it; the original only scores what she says.

    `truth` (pseudonym, customer) tells who is who; without it customers kept their names.
    """
    require("the trained attack", "known", known, "a number of goods from 1", holds=known >= 1)
    rng = np.random.default_rng(seed)
    released = _some_groups(released, rng)
    group = same_sets(released)
    if group.max() == 0:
        raise InputError(
            "All customers are shown with the same goods: there are no other clusters to train an intruder on."
        )
    own = own_customers(original, released, truth)
    real = real_records(original, released, own)
    side = (rng.permutation(int(group.max()) + 1) % 2)[group][released.customer].astype(np.bool_)
    look = features(released)
    score = _scores(look, real, side, LEARNT_FROM, rng)
    blind = _scores(look, rng.permutation(real), side, LEARNT_FOR_CONTROL, rng)
    scene = Scene.of(original, released, own, group, known, rng)
    customer, surest, chosen = scene.find(score)
    return Trained(
        records=len(real),
        dummies=int((~real).sum()),
        auc=area(score, real),
        auc_same_good=area(
            score, real, group[released.customer].astype(np.int64) * len(released.items) + released.item
        ),
        auc_control=area(blind, real),
        known=known,
        customer=customer,
        good=scene.name_a_good(score, chosen),
        surest=surest,
    )


def real_records(original: Histories, released: Histories, own: Ints) -> Bools:
    """Which released records their customer really bought, by all columns that both show; equal ones by number.

    Where days were dealt anew, a purchase is the record of its good, price and quantity.
    """
    after = _comparable(released, own[released.customer], released, original)
    before = _comparable(original, original.customer.astype(np.int64), released, original)
    keys = after.columns
    real = _also_in(after, before, keys)
    if "time" in keys:
        left = before.filter(~_also_in(before, after, keys))
        keys.remove("time")
        real[~real] = _also_in(after.filter(~real), left, keys)
    return real


def _also_in(records: pl.DataFrame, others: pl.DataFrame, keys: list[str]) -> Bools:
    """Which records have an equal one among the others, as many of equal ones as there are."""
    numbered = records.select(keys).with_columns(number=pl.int_range(pl.len()).over(keys))
    present = others.select(keys).with_columns(number=pl.int_range(pl.len()).over(keys), found=pl.lit(True))
    joined = numbered.join(present, on=[*keys, "number"], how="left", maintain_order="left", nulls_equal=True)
    return joined["found"].fill_null(False).to_numpy().copy()


def area(score: Floats, real: Bools, within: Ints | None = None) -> float | None:
    """Area under the ROC curve: the chance that a real record has the higher score, half where both are equal.

    With `within`, a number a record, only of records and dummies of the same number.
    """
    cell = np.zeros(len(real), np.int64) if within is None else within
    frame = pl.DataFrame({"score": np.round(score, 9), "real": real, "cell": cell})
    ranked = frame.with_columns(rank=pl.col("score").rank("average").over("cell"))
    positive = pl.col("real").sum().cast(pl.Float64)
    counted = ranked.group_by("cell").agg(
        above=pl.col("rank").filter("real").sum() - positive * (positive + 1) / 2,
        pairs=positive * (pl.len() - positive),
    )
    pairs = float(counted["pairs"].sum())
    return float(counted["above"].sum()) / pairs if pairs else None


def _comparable(histories: Histories, customer: Ints, released: Histories, original: Histories) -> pl.DataFrame:
    columns = [pl.Series("customer", customer), histories.items.cast(pl.String).gather(histories.item).alias("item")]
    if released.times is not None and original.times is not None and histories.times is not None:
        columns.append(histories.times.cast(pl.Datetime("us")).alias("time"))
    for role in ("price", "quantity"):
        if role in released.roles.named and role in original.roles.named:
            columns.append(histories.table[histories.roles.named[role]].cast(pl.Float64).alias(role))
    return pl.DataFrame(columns)


def _some_groups(released: Histories, rng: np.random.Generator) -> Histories:
    """The release, or as many of its clusters, drawn at random, as have the most records that are looked at."""
    if len(released) <= MOST_RECORDS:
        return released
    group = same_sets(released)[released.customer]
    order = rng.permutation(int(group.max()) + 1)
    records = np.cumsum(np.bincount(group)[order])
    drawn = order[: max(2, int(np.searchsorted(records, MOST_RECORDS, side="right")))]
    return histories_of(released.table.filter(np.isin(group, drawn)), released.roles)


def _scores(look: npt.NDArray[np.float32], real: Bools, side: Bools, records: int, rng: np.random.Generator) -> Floats:
    """Of each record the log-odds that it is real, learnt from the clusters of the other side."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    score = np.zeros(len(real))
    for attacked in (side, ~side):
        learnt = rng.permutation(np.flatnonzero(~attacked))[:records]
        if len(np.unique(real[learnt])) < 2 or not _differs(look[learnt]).any():  # nothing to tell apart, or by
            continue
        telling = _differs(look[learnt])
        model = HistGradientBoostingClassifier(
            max_iter=ROUNDS, max_bins=BINS, early_stopping=False, random_state=int(rng.integers(2**31))
        )
        with threadpool_limits(1):  # threads that wait for each other cost more than they give on a busy machine
            model.fit(look[learnt][:, telling], real[learnt])
            score[attacked] = model.decision_function(look[attacked][:, telling])
    return score


def _differs(look: npt.NDArray[np.float32]) -> Bools:
    """Which features have more than one value; a missing one is none."""
    least = np.where(np.isnan(look), np.inf, look).min(axis=0)
    most = np.where(np.isnan(look), -np.inf, look).max(axis=0)
    differs: Bools = least < most
    return differs
