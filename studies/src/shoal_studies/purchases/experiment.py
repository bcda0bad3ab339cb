"""Paper 4's experiments (Ito, Harada and Kikuchi), measured again: histories clustered by each method from each seed.

The paper's 400 customers are those of its competition, from the Online Retail data; where their file cannot be had,
generated histories stand for them. A setting of the paper is one run; here it is the mean of many, with the deviation
from seed to seed. Beside both stands Shoal's own clustering, which minimises the dummies themselves.

Defined in docs/spec.md#histories.

k-means is run once for a number of clusters and a seed, from one start; Method 2 balances that clustering for each
s_min. The number of dummies, the similarity with oneself and the re-identification rate follow from the sets of goods
alone, so that records are made only where utility is measured.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.data.purchases import purchases
from shoal.errors import InputError, require
from shoal.transactions.attack import jaccard_attack
from shoal.transactions.balanced import balanced_clusters
from shoal.transactions.balancing import balance
from shoal.transactions.characteristics import characteristics
from shoal.transactions.clustering import Labels, cosine_k_means
from shoal.transactions.dummies import count_dummies, pad, padded_table, unions
from shoal.transactions.histories import Histories, Roles, histories_of, read_histories
from shoal.transactions.release import TransactionRelease, anonymize_transactions
from shoal.transactions.similarity import nearest_set
from shoal.transactions.unicity import unicity
from shoal.transactions.utility import read_people, transaction_utility
from shoal_studies.driver import DATA, Step
from shoal_studies.workers import workers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TRANSACTIONS, CUSTOMERS = "transactions_400.csv", "customers_400.csv"

SEX, COUNTRY = "2", "4"  # columns of the customer table: the cells of U1 and U2

N, PAPER_RECORDS = 400, 38_087  # customers of the paper, and their records
METHOD_1, METHOD_2, SHOAL = "Method 1", "Method 2", "Shoal"

SETTINGS = {50: (2, 3, 4, 5, 8), 100: (2, 3, 4), 125: (2, 3)}  # c -> s_min: Table 2's, and Figure 4's 5
FULLEST = {c: max(sizes) for c, sizes in SETTINGS.items()}  # c -> n/c for the paper's n
SWEEP = tuple(range(20, 201, 10))  # of c, for Table 1 and Figures 5 and 6

SWEEP_SEEDS = 5
ATTACKED = (50, 8)  # c and s_min of the releases attacked

PSEUDONYMS = "pseudonyms only"

MONTH = dt.timedelta(days=29)  # before the last day: the 30 days that an intruder watched
WHOLE_SET = "all goods (Algorithm 1)"
KNOWLEDGE: dict[str, dict[str, Any]] = {  # what an intruder knows of each customer
    WHOLE_SET: {},
    "10 goods": {"known": 10},
    "3 goods": {"known": 3},
    "1 good": {"known": 1},
    "the goods of the last 30 days": {"window": MONTH},
    "all goods, by TF-IDF cosine": {"similarity": "tfidf"},
    "all goods and quantities": {"similarity": "weighted"},
    "all goods, each customer linked once": {"one_to_one": True},
}


@dataclass(frozen=True)
class Purchases:
    """Repeats the paper's experiments from so many seeds, the first of them `seed`."""

    data: Path | None = None
    seeds: int = 20
    seed: int = 1

    def __post_init__(self) -> None:
        who, spread = "study purchases", "a whole number of at least 2, to show a spread"
        require(who, "seeds", self.seeds, spread, holds=self.seeds >= 2)
        require(who, "seed", self.seed, "a whole number of at least 0", holds=self.seed >= 0)

    @property
    def manner(self) -> str:
        return f"{self.seeds} seeds"

    def steps(self) -> Sequence[Step]:
        seeds = range(self.seed, self.seed + self.seeds)
        few = seeds[:SWEEP_SEEDS]
        return (
            Step(DATA, "the histories", self._data),
            Step("about", "how alike customers are", self._about),
            *(Step("runs", f"Table 2, seed {seed}", partial(self._clusterings, seed)) for seed in seeds),
            *(Step("sweep", f"{c} clusters", partial(self._swept, c, few)) for c in SWEEP),
            Step("unicity", "who is singled out", self._unicity),
            Step("intruders", "intruders", self._intruders),
            Step("utility", "what analysts lose", partial(self._utility, few)),
        )

    @cached_property
    def shop(self) -> Shop:
        return open_shop(self.data, self.seed)

    @cached_property
    def _releases(self) -> dict[str, TransactionRelease]:
        return attacked_releases(self.shop, self.seed)

    def _data(self) -> pl.DataFrame:
        shop = self.shop
        words = f"{len(shop.histories.customers):,} customers of {shop.source}"
        facts = {"records": len(shop.histories), "generated": shop.generated, "people": shop.people is not None}
        return pl.DataFrame([{"table": words, **facts}])

    def _about(self) -> pl.DataFrame:
        return pl.DataFrame([asdict(characteristics(self.shop.histories, seed=self.seed))])

    def _clusterings(self, seed: int) -> pl.DataFrame:
        """Table 2's clusterings and Figure 4's."""
        return _side_by_side(lambda c: clusterings(self.shop.sets, c, seed), SETTINGS)

    def _swept(self, c: int, seeds: Sequence[int]) -> pl.DataFrame:
        """Releases by Method 2 with the largest s_min there can be, with the dummies of the other methods."""
        return _side_by_side(lambda seed: [_swept(self.shop, c, seed, seed == seeds[0])], seeds)

    def _unicity(self) -> pl.DataFrame:
        c, s_min = ATTACKED
        released = {
            PSEUDONYMS: unicity(self.shop.histories, seed=self.seed),
            f"{SHOAL}, c = {c}, s_min = {s_min}": unicity(_shown(self._releases[SHOAL]), seed=self.seed),
        }
        rows = [
            {"release": name, "known": kind, "m": m, "singled_out": share}
            for name, of_release in released.items()
            for kind, shares in of_release.shares.items()
            for m, share in enumerate(shares, 1)
        ]
        return pl.DataFrame(rows)

    def _intruders(self) -> pl.DataFrame:
        """How many customers are found again, by what an intruder knows of all of them."""
        histories = self.shop.histories
        released: dict[str, tuple[Histories, pl.DataFrame | None]] = {PSEUDONYMS: (histories, None)}
        released |= {method: (_shown(release), release.secret_map) for method, release in self._releases.items()}
        last = histories.times.dt.date().max()  # type: ignore[union-attr]
        rows = []
        for known, knowledge in KNOWLEDGE.items():
            since = {"window": (last - MONTH, None)} if "window" in knowledge else {}  # type: ignore[operator]
            for name, (masked, truth) in released.items():
                attack = jaccard_attack(histories, masked, truth=truth, seed=self.seed, **(knowledge | since))
                rate = attack.reid_fair if attack.assigned is None else attack.assigned
                rows.append({"known": known, "release": name, "found": rate, "first_of_equals": attack.reid})
        return pl.DataFrame(rows)

    def _utility(self, seeds: Sequence[int]) -> pl.DataFrame:
        """Means over the draws of the dummies."""
        shop, rows = self.shop, []
        for c, s_min in FULLEST.items():
            clusters = cosine_k_means(shop.sets, c, seed=seeds[0])
            labels = {
                METHOD_1: clusters,
                METHOD_2: balance(shop.sets, clusters, s_min),
                SHOAL: balanced_clusters(shop.sets, c, s_min, seed=seeds[0]),
            }
            for method, label in labels.items():
                masked = [padded(shop.histories, label, seed) for seed in seeds]
                kept = [transaction_utility(shop.histories, draw, people=shop.people).values for draw in masked]
                means = {name: fmean(values[name] for values in kept) for name in kept[0]}
                dummies = count_dummies(shop.sets, label)
                rows.append({"c": c, "method": method, "draws": len(seeds), "dummies": dummies, **means})
        return pl.DataFrame(rows)


# ---- the histories


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
    own = "the paper's own file" if len(histories) == PAPER_RECORDS else "the file"
    return Shop(histories, known, f"{own} {folder / TRANSACTIONS}", False)


def _known_folder() -> Path | None:
    folder = Path(os.environ.get("SHOAL_DATA") or os.devnull, "purchases")
    return folder if (folder / TRANSACTIONS).is_file() else None


# ---- clusterings


def clusterings(sets: csr_array, c: int, seed: int) -> list[dict[str, Any]]:
    """Of c clusters: by Method 1, and for each s_min by Method 2 and by Shoal."""
    clusters = cosine_k_means(sets, c, seed=seed)
    rows = [{"method": METHOD_1, "c": c, "s_min": None, "seed": seed} | judged(sets, clusters)]
    for s_min in SETTINGS[c]:
        for method, label in (
            (METHOD_2, balance(sets, clusters, s_min)),
            (SHOAL, balanced_clusters(sets, c, s_min, seed=seed)),
        ):
            rows.append({"method": method, "c": c, "s_min": s_min, "seed": seed} | judged(sets, label))
    return rows


def judged(sets: csr_array, label: Labels) -> dict[str, Any]:
    """Table 2's columns: dummies, mean J(I(u'), I(u)) and the rate of Algorithm 1; and the sizes of the clusters."""
    masked = (unions(sets, label) > 0)[label].astype(np.float64)
    own = np.arange(len(label))
    nearest = nearest_set(masked, sets.astype(np.float64), own)
    return {
        "dummies": count_dummies(sets, label),
        "jaccard": float(nearest.own.mean()),
        "reid": float((nearest.guess == own).mean()),
        "sizes": np.bincount(label).tolist(),
    }


def _swept(shop: Shop, c: int, seed: int, with_shoal: bool) -> dict[str, Any]:
    sets = shop.sets
    s_min = sets.shape[0] // c
    clusters = cosine_k_means(sets, c, seed=seed)
    label = balance(sets, clusters, s_min)
    utility = transaction_utility(shop.histories, padded(shop.histories, label, seed), people=shop.people).values
    facts = judged(sets, label)
    return {
        "c": c,
        "seed": seed,
        "dummies": facts["dummies"],
        **{name.upper(): utility[name] for name in ("u1", "u2", "u3")},
        "jaccard": facts["jaccard"],
        "Reid": facts["reid"],
        METHOD_1: count_dummies(sets, clusters),
        SHOAL: count_dummies(sets, balanced_clusters(sets, c, s_min, seed=seed)) if with_shoal else None,
    }


def padded(histories: Histories, label: Labels, seed: int) -> Histories:
    """The histories with dummies, customers under their own names."""
    filled = pad(histories, label, seed=seed)
    return histories_of(padded_table(histories, filled, histories.customers), histories.roles)


def _side_by_side(work: Callable[[int], list[dict[str, Any]]], over: Iterable[int]) -> pl.DataFrame:
    with workers() as pool:
        rows = [row for rows in pool.map(work, over) for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None)


# ---- the releases attacked


def attacked_releases(shop: Shop, seed: int) -> dict[str, TransactionRelease]:
    """Nothing of them is published: the key of their pseudonyms is no secret, so that a run can be repeated."""
    c, s_min = ATTACKED
    key = f"{seed:032d}".encode()
    shown = [column for role, column in shop.histories.roles.named.items() if role not in ("customer", "item")]
    release = partial(anonymize_transactions, shop.histories, clusters=c, min_size=s_min, key=key, seed=seed)
    release = partial(release, show=shown, dummies="records")  # as the paper makes them
    return {METHOD_2: release(method="method-2"), SHOAL: release(method="balanced")}


def _shown(release: TransactionRelease) -> Histories:
    return histories_of(release.table, release.original.roles)
