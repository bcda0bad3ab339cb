"""What paper 4 measured, measured again: the histories, clustered by each method from each seed (sections 3.3 to 4.3).

k-means is run once for a number of clusters and a seed, from one start; Method 2 balances that clustering for each
s_min. The number of dummies, the similarity with oneself and the re-identification rate follow from the sets of goods
alone, so that records are made only where utility is measured.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.data.purchases import purchases
from shoal.errors import InputError
from shoal.transactions.balanced import balanced_clusters
from shoal.transactions.balancing import balance
from shoal.transactions.characteristics import Characteristics
from shoal.transactions.clustering import Labels, cosine_k_means
from shoal.transactions.dummies import count_dummies, pad, padded_table, unions
from shoal.transactions.histories import Histories, Roles, histories_of, read_histories
from shoal.transactions.similarity import nearest_set
from shoal.transactions.theory import expected_dummies, largest_valid_size
from shoal.transactions.utility import read_people, transaction_utility
from shoal_studies.workers import workers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TRANSACTIONS, CUSTOMERS = "transactions_400.csv", "customers_400.csv"
SEX, COUNTRY = "2", "4"  # columns of the customer table: the cells of U1 and U2
N, PAPER_B, PAPER_MU = 400, 65, 0.03  # of the paper: customers, goods of each, Jaccard coefficient of two

METHOD_1, METHOD_2, SHOAL = "Method 1", "Method 2", "Shoal"
SETTINGS = {50: (2, 3, 4, 5, 8), 100: (2, 3, 4), 125: (2, 3)}  # c -> s_min: Table 2's, and Figure 4's 5
SWEEP = tuple(range(20, 201, 10))  # of c, for Table 1 and Figures 5 and 6
SWEEP_SEEDS = 5
GENERATED = "The data are generated: they are like the paper's, but not the same customers."


@dataclass(frozen=True)
class Shop:
    """The histories studied, the customers' sex and country if known, and where they are from."""

    histories: Histories
    people: pl.DataFrame | None
    source: str
    generated: bool

    @property
    def sets(self) -> csr_array:
        return self.histories.sets


def open_shop(data: Path | None, seed: int) -> Shop:
    """The paper's customers from a folder, `purchases` in SHOAL_DATA if there is one; generated ones otherwise."""
    folder = data or _known_folder()
    if folder is None:
        roles = Roles("customer", "good", time="date", price="price", quantity="quantity", basket="invoice")
        return Shop(histories_of(purchases(N, seed), roles), None, "generated purchases", True)
    if not (folder / TRANSACTIONS).is_file():
        raise InputError(f"{str(folder)!r} holds no {TRANSACTIONS}: give the folder of the paper's files with --data.")
    histories = read_histories(
        folder / TRANSACTIONS, customer="1", basket="2", time="3", item="5", price="6", quantity="7", header=False
    )
    if len(histories.customers) < N:
        raise InputError(
            f"{folder / TRANSACTIONS} has {len(histories.customers)} customers: the study puts them into up to "
            f"{max(SWEEP)} clusters, as the paper does, and needs {N} at least."
        )
    people = folder / CUSTOMERS
    known = read_people(people, (SEX, COUNTRY), header=False) if people.is_file() else None
    return Shop(histories, known, str(folder / TRANSACTIONS), False)


def _known_folder() -> Path | None:
    folder = Path(os.environ.get("SHOAL_DATA") or os.devnull, "purchases")
    return folder if (folder / TRANSACTIONS).is_file() else None


# ---- clusterings


def of_each_seed(shop: Shop, seeds: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    """Table 2's clusterings and Figure 4's, a list of them for each seed."""
    return _side_by_side(lambda seed: _clusterings(shop.sets, seed), seeds)


def _clusterings(sets: csr_array, seed: int) -> list[dict[str, Any]]:
    rows = []
    for c, sizes in SETTINGS.items():
        found = cosine_k_means(sets, c, seed=seed)
        rows.append({"method": METHOD_1, "c": c, "s_min": None, "seed": seed} | judged(sets, found))
        for s_min in sizes:
            for method, label in (
                (METHOD_2, balance(sets, found, s_min)),
                (SHOAL, balanced_clusters(sets, c, s_min, seed=seed)),
            ):
                rows.append({"method": method, "c": c, "s_min": s_min, "seed": seed} | judged(sets, label))
    return rows


def judged(sets: csr_array, label: Labels) -> dict[str, Any]:
    """Table 2's columns: dummies, mean J(I(u'), I(u)) and the rate of Algorithm 1; and the sizes of the clusters."""
    masked = (unions(sets, label) > 0)[label].astype(np.float64)
    own = np.arange(len(label))
    found = nearest_set(masked, sets.astype(np.float64), own)
    return {
        "dummies": count_dummies(sets, label),
        "jaccard": float(found.own.mean()),
        "reid": float((found.guess == own).mean()),
        "sizes": np.bincount(label).tolist(),
    }


# ---- numbers of clusters


def of_each_c(shop: Shop, seeds: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    """Releases by Method 2 with the largest s_min there can be, with the dummies of the other methods beside theirs."""
    return _side_by_side(lambda c: [_swept(shop, c, seed, seed == seeds[0]) for seed in seeds], SWEEP)


def _swept(shop: Shop, c: int, seed: int, with_shoal: bool) -> dict[str, Any]:
    sets = shop.sets
    s_min = sets.shape[0] // c
    found = cosine_k_means(sets, c, seed=seed)
    label = balance(sets, found, s_min)
    utility = transaction_utility(shop.histories, padded(shop.histories, label, seed), people=shop.people).values
    facts = judged(sets, label)
    return {
        "c": c,
        "seed": seed,
        "dummies": facts["dummies"],
        **{name.upper(): utility[name] for name in ("u1", "u2", "u3")},
        "jaccard": facts["jaccard"],
        "Reid": facts["reid"],
        METHOD_1: count_dummies(sets, found),
        SHOAL: count_dummies(sets, balanced_clusters(sets, c, s_min, seed=seed)) if with_shoal else None,
    }


def padded(histories: Histories, label: Labels, seed: int) -> Histories:
    """The histories with dummies, customers under their own names."""
    filled = pad(histories, label, seed=seed)
    return histories_of(padded_table(histories, filled, histories.customers), histories.roles)


def _side_by_side(work: Callable[[int], list[dict[str, Any]]], over: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    with workers() as pool:
        yield from pool.map(work, over)


# ---- looking all of it up


@dataclass(frozen=True)
class Spread:
    """A mean over the seeds and the deviation from seed to seed."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:,.0f} ± {self.deviation:,.0f}"


@dataclass(frozen=True)
class Measured:
    shop: Shop
    about: Characteristics
    runs: pl.DataFrame  # a row a seed, method, c and s_min
    sweep: pl.DataFrame  # a row a seed and c

    def rows(self, method: str, c: int, s_min: int | None) -> pl.DataFrame:
        return self.runs.filter(method=method, c=c).filter(pl.col("s_min").eq_missing(s_min))

    def of(self, column: str, method: str, c: int, s_min: int | None) -> Spread:
        values = self.rows(method, c, s_min)[column].to_numpy()
        return Spread(float(values.mean()), float(values.std(ddof=1)))

    def row(self, column: str, c: int, s_min: int | None) -> Spread:
        """Of Table 2: Method 1, or Method 2 with an s_min."""
        return self.of(column, METHOD_1 if s_min is None else METHOD_2, c, s_min)

    def saving(self, c: int, s_min: int) -> float:
        """The share of Method 2's dummies that Shoal's clustering does without."""
        return 1 - self.of("dummies", SHOAL, c, s_min).mean / self.of("dummies", METHOD_2, c, s_min).mean

    @cached_property
    def by_c(self) -> pl.DataFrame:
        """Means over the seeds: c and the dummies of each method."""
        means = self.sweep.rename({"dummies": METHOD_2}).group_by("c", maintain_order=True)
        return means.agg(pl.col(METHOD_1, METHOD_2, SHOAL).mean())

    def dummies(self, method: str) -> dict[int, float]:
        """c -> mean number of dummies."""
        return dict(self.by_c["c", method].iter_rows())

    def eq_3(self, c: int) -> float:
        return expected_dummies(self.about.customers, self.about.goods_a_customer, self.about.h, c)

    @property
    def fewest_valid(self) -> int:
        """Clusters from which on Eq. 3 may be asked."""
        return ceil(self.about.customers / largest_valid_size(self.about.goods_a_customer, self.about.h))

    def otherwise(self, reason: str) -> str:
        """Why a number of the paper's own is not found."""
        return GENERATED if self.shop.generated else reason


def decimals(values: Iterable[float]) -> str:
    """As the paper's tables show them."""
    return ", ".join(f"{value:.4f}" for value in values)
