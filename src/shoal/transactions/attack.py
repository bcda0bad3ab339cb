"""Re-identification by the goods bought: each masked customer is linked to the nearest original (paper 4, Algorithm 1).

For every masked customer j the guess is i*(j) = argmax_i J(I(u'_j), I(u_i)); of equally near originals the paper takes
the one with the smallest index. That flatters or blackens a release by the order of its customers, so the expected rate
when ties are decided by lot stands beside it (docs/spec.md#jaccard-attack). Weaker intruders know m items of each
customer, or the purchases of some days; others compare by TF-IDF cosine or by amounts; a stronger one uses that nobody
is two people.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from shoal.data.files import read_table
from shoal.errors import InputError, did_you_mean, require
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.transactions.histories import Histories
from shoal.transactions.numbering import places, renumbered, some_of_each
from shoal.transactions.similarity import Floats, Ints, Nearest, each_block, nearest_row, nearest_set
from shoal.transactions.weights import inverse_frequency

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Similarity = Literal["jaccard", "tfidf", "weighted"]
SIMILARITIES: tuple[Similarity, ...] = ("jaccard", "tfidf", "weighted")
Window = tuple[dt.date | None, dt.date | None]

SECRET_MAP = ["pseudonym", "customer"]
MOST_ASSIGNED = 5_000  # customers on either side of a one-to-one assignment: it needs all similarities at once


@dataclass(frozen=True)
class Attack(Result):
    """What came of linking each masked customer to the nearest of `originals`."""

    originals: int
    similarity: Similarity
    guesses: pl.DataFrame  # customer (masked), guess (original), similarity, ties, own_similarity, correct, chance
    assigned: float | None = None  # rate of correct links when every original may be linked once only

    @property
    def reid(self) -> float:
        """Rate of correct links, ties to the smallest index: the paper's way."""
        return float(self.guesses["correct"].sum()) / self.guesses.height

    @property
    def reid_fair(self) -> float:
        """The rate to be expected when ties are decided by lot."""
        return float(self.guesses["chance"].sum()) / self.guesses.height

    @property
    def baseline(self) -> float:
        """The rate of an intruder who draws an original blindly."""
        return 1 / self.originals

    @property
    def own_similarity(self) -> float:
        """How similar masked customers are to themselves, on average."""
        return float(self.guesses["own_similarity"].sum()) / self.guesses.height

    @property
    def tied(self) -> int:
        """Masked customers with several nearest originals."""
        return int((self.guesses["ties"] > 1).sum())

    def to_dict(self) -> dict[str, object]:
        """All numbers, as JSON takes them."""
        return {
            "customers": self.guesses.height,
            "originals": self.originals,
            "similarity": self.similarity,
            "reid": self.reid,
            "reid_fair": self.reid_fair,
            "reid_assigned": self.assigned,
            "baseline": self.baseline,
            "own_similarity": self.own_similarity,
            "tied": self.tied,
        }

    def charts(self) -> list[Chart]:
        """The rates of correct links, beside a blind guess."""
        rates = {
            "nearest original, first of equals": self.reid,
            "nearest original, ties by lot": self.reid_fair,
            **({} if self.assigned is None else {"each original linked once": self.assigned}),
            "blind guess": self.baseline,
        }
        return [Bars("Correct links", list(rates), (Series("rate", list(rates.values())),))]

    def sheets(self) -> list[Sheet]:
        """The rates of correct links, and how alike the histories are, as tables."""
        rows = [
            ("nearest original, first of equals", f"{self.reid:.2%}", "Algorithm 1"),
            ("nearest original, ties by lot", f"{self.reid_fair:.2%}", "expected value"),
        ]
        if self.assigned is not None:
            rows.append(("each original linked once", f"{self.assigned:.2%}", "optimal assignment"))
        rows.append(("blind guess", f"{self.baseline:.2%}", f"1 of {self.originals:,}"))
        about = [
            ("masked customers", f"{self.guesses.height:,}"),
            ("of them with several nearest originals", f"{self.tied:,}"),
            (f"similarity with oneself ({self.similarity}), mean", f"{self.own_similarity:.4f}"),
        ]
        return [
            Sheet("Correct links", ("intruder", "rate", "how"), rows),
            Sheet("Histories", ("", "value"), about),
        ]


def jaccard_attack(
    original: Histories,
    masked: Histories,
    *,
    truth: pl.DataFrame | None = None,
    known: int | None = None,
    window: Window | None = None,
    similarity: Similarity = "jaccard",
    one_to_one: bool = False,
    seed: int | None = None,
) -> Attack:
    """Algorithm 1: how many masked customers are found again by an intruder who has the original histories.

    `truth` (pseudonym, customer) tells who is who; without it customers kept their names. The intruder knows `known`
    items of each customer, drawn by `seed`, or the records of a `window` of days, first and last included; all
    otherwise. "weighted" Jaccard compares quantities, or numbers of records where no column holds quantities.
    """
    if similarity not in SIMILARITIES:
        hint = did_you_mean(similarity, SIMILARITIES)
        raise InputError(f"There is no similarity {similarity!r}: known are {', '.join(SIMILARITIES)}.{hint}")
    require("the attack", "known", known, "a number of items from 1", holds=known is None or known >= 1)
    own = own_customers(original, masked, truth)
    rng = np.random.default_rng(seed)
    knowledge = original if window is None else original.during(*window)
    sets = _features(knowledge, similarity)
    if known is not None:
        sets = _some_items(sets, known, rng)
    queries = _aligned(_features(masked, similarity), masked.items, original.items)
    sets.resize(sets.shape[0], queries.shape[1])
    if similarity == "tfidf":
        sets, queries = _tf_idf(sets, queries)
    by_product = similarity == "tfidf"
    nearest = (
        nearest_set(queries, sets, own) if similarity == "jaccard" else nearest_row(queries, sets, own, by_product)
    )
    assigned = _assigned(queries, sets, own, by_product, rng) if one_to_one else None
    return Attack(len(original.customers), similarity, _guesses(original, masked, nearest, own), assigned)


def read_truth(source: str | Path) -> pl.DataFrame:
    """The secret map of a release: a table of each pseudonym and its customer."""
    return read_table(source, text=SECRET_MAP).select(SECRET_MAP)


def secret_map(truth: pl.DataFrame) -> pl.DataFrame:
    """The map as texts, one line a pseudonym; refused where it is no such map."""
    if not set(SECRET_MAP) <= set(truth.columns):
        raise InputError(f"The secret map needs columns 'pseudonym' and 'customer', not {', '.join(truth.columns)}.")
    secret = truth.select(pl.col(SECRET_MAP).cast(pl.String)).unique().drop_nulls("pseudonym")
    twice = secret["pseudonym"].filter(secret["pseudonym"].is_duplicated())
    if len(twice):
        raise InputError(f"The secret map gives {twice[0]!r} more than one customer: keep one line a pseudonym.")
    return secret


def own_customers(original: Histories, masked: Histories, truth: pl.DataFrame | None) -> Ints:
    """Masked customer -> the same person among the originals."""
    people = pl.DataFrame({"pseudonym": masked.customers.cast(pl.String)})
    if truth is None:
        named = people.with_columns(customer=pl.col("pseudonym"))
    else:
        named = people.join(secret_map(truth), on="pseudonym", how="left", maintain_order="left")
    own = places(named["customer"], original.customers)
    lost = people["pseudonym"].filter(own < 0)
    if len(lost):
        what = "is not an original customer" if truth is None else "has no original customer in the secret map"
        raise InputError(
            f"The masked customer {lost[0]!r} {what} ({len(lost):,} of {len(own):,} are so): "
            "give the map of pseudonyms to customers (--truth)."
        )
    return own


# What is compared


def _features(histories: Histories, similarity: Similarity) -> csr_array:
    """Customers by items: 1 for each item bought, or how much was bought of it."""
    if similarity != "weighted":
        return histories.sets.astype(np.float64)
    quantity = histories.roles.quantity
    amounts = histories.matrix(None if quantity is None else histories.numbers(quantity)).astype(np.float64)
    amounts.data = np.maximum(amounts.data, 0.0)  # more given back than bought
    return amounts


def _some_items(sets: csr_array, known: int, rng: np.random.Generator) -> csr_array:
    """Of each customer's items as many as are known, drawn at random."""
    from scipy.sparse import csr_array

    drawn, starts = some_of_each(sets, known, rng)
    return csr_array((sets.data[drawn], sets.indices[drawn], starts), shape=sets.shape)


def _aligned(queries: csr_array, items: pl.Series, original_items: pl.Series) -> csr_array:
    """The masked sets with the originals' numbers of items; items that only they hold come after those."""
    place = places(items, original_items)
    new = place < 0
    number = np.where(new, len(original_items) + np.cumsum(new) - 1, place)
    return renumbered(queries, number, len(original_items) + int(new.sum()))


def _tf_idf(sets: csr_array, queries: csr_array) -> tuple[csr_array, csr_array]:
    """Rows of TF-IDF weights (Algorithm 2) of length 1, by the goods that the intruder knows of.

    The length takes the term frequency 1/|I(u)| out again.
    """
    from scipy.sparse import csr_array

    weight = inverse_frequency(sets)

    def unit(rows: csr_array) -> csr_array:
        weights = csr_array((weight[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
        length = np.sqrt(weights.multiply(weights).sum(axis=1))
        weights.data /= np.repeat(length, np.diff(rows.indptr))
        return weights

    return unit(sets), unit(queries)


# What comes of it


def _assigned(queries: csr_array, sets: csr_array, own: Ints, by_product: bool, rng: np.random.Generator) -> float:
    """Rate of correct links in the one-to-one assignment of the greatest total similarity."""
    from scipy.optimize import linear_sum_assignment

    n, originals = queries.shape[0], sets.shape[0]
    if max(n, originals) > MOST_ASSIGNED:
        raise InputError(
            f"A one-to-one assignment is made for {MOST_ASSIGNED:,} customers at most, here are {max(n, originals):,}: "
            "leave it out, or take fewer."
        )
    shuffled = rng.permutation(originals)  # of equally good assignments the solver prefers those near the diagonal
    rows = np.empty((n, originals))

    def keep(start: int, block: Floats) -> None:
        rows[start : start + len(block)] = block[:, shuffled]

    each_block(queries, sets, by_product, keep)
    linked, guess = linear_sum_assignment(rows, maximize=True)
    return float(np.count_nonzero(shuffled[guess] == own[linked]) / n)


def _guesses(original: Histories, masked: Histories, nearest: Nearest, own: Ints) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "customer": masked.customers,
            "guess": original.customers.gather(nearest.guess),
            "similarity": nearest.similarity,
            "ties": nearest.ties,
            "own_similarity": nearest.own,
            "correct": nearest.guess == own,
            "chance": np.where(nearest.own == nearest.similarity, 1 / nearest.ties, 0.0),
        }
    )
