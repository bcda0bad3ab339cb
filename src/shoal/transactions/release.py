"""A release of purchase histories in which nobody stands alone (paper 4, sections 3.3 and 3.4).

Customers are clustered, every cluster is filled up with dummy records until its members have the same set of goods,
and customers get new numbers. Unless more is asked for, the release shows customer and good alone, a record a pair: the
members of a cluster are then shown alike. With more columns each member is shown with all purchases of the cluster,
which is alike again, in whole "visits" or with days and baskets dealt anew ("scattered"); or with the paper's dummies
("records"), which a trained intruder tells from purchases.

What is promised is judged on the finished output, and again on the written file before it gets its name: every
customer shares the set of goods, and but for the paper's dummies the whole history, with at least s_min - 1 others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.clean_copy import made_anew
from shoal.data.commit import Output, commit, papers
from shoal.data.csv_files import with_short_times, write_delimited
from shoal.data.digests import digest
from shoal.data.files import format_of, write_table
from shoal.data.paths import atomic_write, is_sql
from shoal.data.pseudonyms import fresh_key, pseudonyms
from shoal.errors import InputError, PromiseError, did_you_mean, require
from shoal.show import Bars, Chart, Result, Series, Sheet
from shoal.transactions.alike import refuse_distinct, same_sets, wholly_alike
from shoal.transactions.attack import Attack, jaccard_attack
from shoal.transactions.characteristics import characteristics
from shoal.transactions.cluster_sizes import Clustering, chosen_sizes, cluster_customers
from shoal.transactions.clustering import Labels
from shoal.transactions.dummies import DUMMIES, Dummies, Padded, count_dummies, pad, padded_table, pool
from shoal.transactions.histories import Histories, Roles, histories_of, read_histories
from shoal.transactions.pooled import entry, going_on
from shoal.transactions.theory import expected_dummies
from shoal.transactions.trained import Trained, trained_attack

if TYPE_CHECKING:
    from shoal.releases.ledger import Ledger

RATES = ("reid", "reid_fair", "jaccard", "found_if_alike")
ATTACKED, SAMPLED = 20_000, 2_000  # customers all of whom are attacked; of more than that so many, drawn at random
ALIKE = (
    "All customers of a cluster are shown with the same records: whatever is known of one of them, {least} or more "
    "cannot be told apart. What all of a cluster bought is learnt of each."
)
SCATTERED = (
    "Days and baskets are those of the cluster, dealt anew among its records: they do not say what went together."
)
WHOLE_VISITS = (
    "Visits are whole: where day or basket is shown, who knows a good of a visit reads its other goods. See of how "
    "many customers the trained intruder names one."
)
SUMS = "Each purchase is shown for every customer of its cluster: divide sums by the size of the cluster."
SETS_ALONE = (
    "Only the sets of goods are alike. An intruder who is trained on other customers tells these dummies from "
    "purchases by the columns shown, so that no rate of re-identification is promised: see what she finds. Dummies "
    "that cannot be told are copies of all purchases of a cluster (--dummies scattered, or visits)."
)


@dataclass(frozen=True)
class TransactionRelease(Result):
    """Histories of which at least `least` are alike. Only `table` is for the public."""

    table: pl.DataFrame  # what is released, in random order
    original: Histories = field(repr=False)
    roles: Roles  # of the columns released
    method: Clustering
    dummies: Dummies
    label: Labels = field(repr=False)  # customer -> cluster
    least: int  # customers who are alike: what is promised, and was found again in the table
    padded: Padded = field(repr=False)
    order: npt.NDArray[np.int64] = field(repr=False)  # released record -> record of `padded`
    names: pl.Series = field(repr=False)  # customer -> pseudonym
    notes: tuple[str, ...] = ()
    seed: int | None = field(default=None, repr=False)
    attack: Attack | None = None  # Algorithm 1 against the release; of very many customers a sample is attacked
    trained: Trained | None = None  # the trained intruder, if the columns shown leave her something to learn
    dummies_in_theory: float | None = None  # by Eq. 3, from the size of histories and what two customers share

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of customers of each cluster."""
        return np.bincount(self.label)

    def strangers(self, ledger: Ledger) -> tuple[str, ...]:
        """A word of warning where hardly any customer is known to the ledger."""
        return ledger.strangers(pl.DataFrame({ledger.subject: self.original.customers}))

    @property
    def pairs_only(self) -> bool:
        """Whether customer and good alone are shown, a record a pair."""
        return set(self.roles.named) == {"customer", "item"}

    @property
    def made_up(self) -> npt.NDArray[np.bool_]:
        """Released record -> whether it is a dummy."""
        return self.order >= self.padded.kept + self.padded.altered

    @property
    def secret_map(self) -> pl.DataFrame:
        """Who is who, for the custodian alone."""
        return pl.DataFrame({"pseudonym": self.names, "customer": self.original.customers}).sort("pseudonym")

    @property
    def origins(self) -> pl.DataFrame:
        """What each released record is and which record it comes from, for the custodian alone."""
        kinds = pl.Series(["kept", "altered", "dummy"], dtype=pl.Categorical)
        number = np.repeat([0, 1, 2], [self.padded.kept, self.padded.altered, self.padded.dummies])[self.order]
        source = self.padded.like[self.order].astype(np.int64) + 1
        return pl.DataFrame({"origin": kinds.gather(number), "like_record": source})

    def attacked(self) -> TransactionRelease:
        """The same release with what the intruders found out from it, and what theory says; it takes a while."""
        about = characteristics(self.original, seed=self.seed)
        expected = expected_dummies(about.customers, about.goods_a_customer, about.h, len(self.sizes))
        return replace(self, attack=self._linked(), trained=self._learnt(), dummies_in_theory=expected)

    def _linked(self) -> Attack:
        table, roles = self.table, self.roles
        n = len(self.names)
        if n > ATTACKED:
            drawn = np.random.default_rng(self.seed).choice(n, SAMPLED, replace=False)
            table = table.filter(pl.col(roles.customer).is_in(self.names.gather(drawn).implode()))
        return jaccard_attack(self.original, histories_of(table, roles), truth=self.secret_map)

    def _learnt(self) -> Trained | None:
        if self.pairs_only:
            return None
        shown = histories_of(self.table, self.roles)
        if same_sets(shown).max() == 0:  # nobody else's purchases to learn from
            return None
        return trained_attack(self.original, shown, truth=self.secret_map)

    @property
    def records_of_each(self) -> dict[Dummies, int]:
        """How many records the release would have by whole visits, scattered or not, and by the paper's dummies."""
        whole, sets = self.original, self.original.sets
        if self.pairs_only:
            count = sets.nnz + count_dummies(sets, self.label)
            return {"visits": count, "records": count}
        visits = int(self.sizes[self.label[whole.customer]].sum())
        return {"visits": visits, "records": len(whole) + count_dummies(sets, self.label)}

    @property
    def _rates(self) -> dict[str, float | None]:
        """What Algorithm 1 achieved; None each where it was not tried."""
        if self.attack is None:
            return dict.fromkeys(("reid", "reid_fair", "attacked", "jaccard"))
        attack = self.attack
        rates = (attack.reid, attack.reid_fair, attack.guesses.height, attack.own_similarity)
        return dict(zip(("reid", "reid_fair", "attacked", "jaccard"), rates, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """All facts of the release for the custodian, as JSON takes them; what intruders found, if it was attacked."""
        return {
            "customers": len(self.names),
            "records": self.table.height,
            "original_records": len(self.original),
            "columns": list(self.roles.named.values()),
            "method": self.method,
            "made_of": self.dummies,
            "clusters": len(self.sizes),
            "smallest_cluster": int(self.sizes.min()),
            "largest_cluster": int(self.sizes.max()),
            "dummies": int(self.made_up.sum()),
            "records_with_visits": self.records_of_each["visits"],
            "records_with_records": self.records_of_each["records"],
            "altered": self.padded.altered,
            "deleted": self.padded.deleted,
            "dummies_in_theory": self.dummies_in_theory,
            **self._rates,
            "found_if_alike": len(self.sizes) / len(self.names),
            "trained": None if self.trained is None else self.trained.to_dict(),
            "notes": list(self.notes),
        }

    def remarks(self) -> tuple[str, ...]:
        """What is promised, what is left open, and what was left out."""
        return self.notes

    def charts(self) -> list[Chart]:
        """How many clusters there are of each size."""
        sizes, clusters = np.unique(self.sizes, return_counts=True)
        labels = [f"{size:,} customers" for size in sizes]
        return [Bars("Clusters by their size", labels, (Series("clusters", clusters.astype(float)),), "number")]

    def sheets(self) -> list[Sheet]:
        """What the release came to, and what a trained intruder finds, as tables."""
        facts = self.to_dict()
        shown = [
            (name.replace("_", " "), f"{value:,.4f}" if name in RATES else f"{value:,.0f}")
            for name, value in facts.items()
            if isinstance(value, int | float)
        ]
        title = f"Purchase histories, {self.method}, dummies made of {self.dummies}"
        return [Sheet(title, ("", "value"), shown), *(self.trained.sheets() if self.trained else [])]

    def write(
        self,
        path: str | Path,
        *,
        header: bool = True,
        secret_map: str | Path | None = None,
        log: str | Path | None = None,
        ledger: Ledger | None = None,
        overwrite: bool = False,
    ) -> TransactionRelease:
        """Writes the release once the file holds what is promised; the map and the log after it, if it got its name.

        Files that are there already are refused, or with `overwrite` replaced, all of them or none.

        Without a header, columns that are left out stay as empty ones, so that the others keep their numbers. With a
        ledger it is recorded there, and refused where it would expose somebody beside earlier releases.
        """
        if ledger is not None and is_sql(path):
            raise InputError("A ledger knows a release by its file's digest: write the release to a file.")
        plain_text = not is_sql(path) and format_of(Path(path)).write is write_delimited
        header = header or not plain_text

        def write(before_name: Callable[[Path], None]) -> None:
            if header:
                write_table(self.table, path, overwrite=overwrite, before_commit=before_name)
                return
            with atomic_write(path, private=False, overwrite=overwrite) as partial:
                with_short_times(self._in_place).write_csv(partial, include_header=False)
                before_name(partial)

        def record(written: Path, _: None) -> AbstractContextManager[None]:
            assert ledger is not None
            recorded = entry(ledger, self.original, self.table, self.label, self.least, self.seed)
            return ledger.entering(*recorded, path, digest(written))

        file: Output[Path, None] = Output(
            None if is_sql(path) else Path(path),
            write,
            lambda written: self._judge_file(written, header),
            papers(
                (secret_map, lambda partial, *_: self.secret_map.write_csv(partial), True),
                (log, lambda partial, *_: self.origins.write_csv(partial), True),
            ),
            record if ledger is not None else None,
        )
        commit([file], overwrite=overwrite)
        return self

    @property
    def _in_place(self) -> pl.DataFrame:
        """The released columns among empty ones, as the source had them."""
        names = self.original.table.columns
        return self.table.select(pl.col(n) if n in self.table.columns else pl.lit(None).alias(n) for n in names)

    def _judge_file(self, written: Path, header: bool = True) -> None:
        """Reads a file back, as text wherever it is text, and judges what stands there."""
        names, roles = self.original.table.columns, self.roles
        customer, item = (name if header else str(names.index(name) + 1) for name in (roles.customer, roles.item))
        self.judge(read_histories(written, customer=customer, item=item, header=header))

    def judge(self, released: Histories) -> None:
        """Raises unless the histories hold what is promised; without a header their columns are numbered as before."""
        refuse_distinct(released, self.least)
        if self.pairs_only or self.dummies != "records":
            fewest = int(wholly_alike(released, self.roles).min())
            if fewest < self.least:
                raise PromiseError(
                    f"A whole history is that of {fewest} customer{'s' * (fewest > 1)} only, {self.least} were "
                    "promised: nothing is released."
                )


def anonymize_transactions(
    histories: Histories,
    *,
    clusters: int | None = None,
    min_size: int | None = None,
    method: Clustering = "balanced",
    show: Collection[str] = (),
    dummies: Dummies = "scattered",
    delete: float = 0.0,
    alter: float = 0.0,
    key: bytes | None = None,
    seed: int | None = None,
    after: Ledger | None = None,
) -> TransactionRelease:
    """Masks the histories, and hands out the release only if every customer shares his set of goods with enough others.

    Customer and good are shown, and those of the other columns with a role that `show` names. Without any, a pair is
    one record; with some, `dummies` are all purchases of the cluster, in whole "visits" or "scattered" over its days
    and baskets, or "records" as in the paper.

    Of `clusters` and `min_size` either may be left out: as many clusters as have room, or the largest size that is
    possible; if both are, the paper's best number of clusters. `delete` and `alter` are the largest shares of records
    that may be deleted or altered where that costs less than dummies. Without a `key` pseudonyms are new in every run.
    `after` a ledger, customers stand together as they did in its releases, and whom that would expose is left out.
    """
    for name, share in (("delete", delete), ("alter", alter)):
        require("the release", name, share, "a share of records from 0 to 1", holds=0 <= share <= 1)
    roles = _roles_shown(histories.roles, show)
    more = len(roles.named) > 2  # than customer and item
    _check_dummies(dummies, alter, more)
    events.stage("clustering customers")
    clusters, least = chosen_sizes(histories, clusters, min_size, method)
    withheld: tuple[str, ...] = ()
    if after is None:
        label = cluster_customers(histories.sets, clusters, least, method=method, seed=seed)
    else:

        def cluster(new: Histories) -> Labels:
            return cluster_customers(new.sets, len(new.customers) // least, least, method=method, seed=seed)

        histories, label, withheld = going_on(histories, after, least, cluster)
    events.stage("adding dummies")
    if more and dummies != "records":
        padded = pool(histories, label, delete=delete, scattered=dummies == "scattered")
    else:
        padded = pad(histories, label, delete=delete, alter=alter, seed=seed)
    names = pseudonyms(histories.customers, key or fresh_key())
    records = np.arange(len(padded.customer)) if more else _one_of_each_pair(histories, padded)
    order = np.random.default_rng().permutation(records)  # never by the seed: who guessed it could undo it
    table = made_anew(padded_table(replace(histories, roles=roles), padded, names)[order])
    events.stage("judging the result")
    notes = (*_notes(histories, roles, method, label), *withheld, *_promises(least, more, dummies))
    release = TransactionRelease(
        table, histories, roles, method, dummies, label, least, padded, order, names, notes, seed
    )
    release.judge(histories_of(table, roles))
    return release


def _roles_shown(roles: Roles, show: Collection[str]) -> Roles:
    for column in show:
        if column not in roles.named.values():
            others = [name for role, name in roles.named.items() if role not in ("customer", "item")]
            hint = did_you_mean(column, others) or f" Columns with a role are {', '.join(others) or 'none but those'}."
            raise InputError(f"{column!r} cannot be shown beside customer and item: it has no role.{hint}")
    return roles.only(show)


def _check_dummies(dummies: Dummies, alter: float, shows_more: bool) -> None:
    if dummies not in DUMMIES:
        hint = did_you_mean(dummies, DUMMIES)
        raise InputError(f"There are no dummies {dummies!r}: known are {', '.join(DUMMIES)}.{hint}")
    if shows_more and dummies != "records" and alter > 0:
        raise InputError("Purchases of a cluster are shown as they are: leave 'alter' out, or make dummies of records.")


def _one_of_each_pair(histories: Histories, padded: Padded) -> npt.NDArray[np.int64]:
    """A record of each customer and good, a real one where there is one."""
    pairs = padded.customer.astype(np.int64) * len(histories.items) + histories.item[padded.like]
    first: npt.NDArray[np.int64] = np.unique(pairs, return_index=True)[1]
    return first


def _promises(least: int, shows_more: bool, dummies: Dummies) -> tuple[str, ...]:
    """What the release promises, and what it leaves open."""
    if shows_more and dummies == "records":
        return (SETS_ALONE,)
    alike = ALIKE.format(least=least) if least > 1 else "No number of customers who are shown alike is promised."
    if not shows_more:
        return (alike,)
    return (alike, SCATTERED if dummies == "scattered" else WHOLE_VISITS, SUMS)


def _notes(histories: Histories, shown: Roles, method: Clustering, label: Labels) -> tuple[str, ...]:
    named, released = histories.roles.named.values(), shown.named.values()
    unnamed = ", ".join(repr(name) for name in histories.table.columns if name not in named)
    notes = [f"No role names {unnamed}: left out of the release."] if unnamed else []
    hidden = ", ".join(repr(name) for name in named if name not in released)
    if hidden:
        notes.append(f"Nothing asks for {hidden}: left out of the release (--show).")
    alone = int((np.bincount(label) == 1).sum())
    if method == "method-1" and alone:
        notes.append(
            f"Method 1 leaves {alone:,} customer{'s' * (alone > 1)} alone in a cluster, whom anybody can find."
        )
    return tuple(notes)
