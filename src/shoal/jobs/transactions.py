"""Purchase histories: released, attacked and measured, each a job."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal import events
from shoal.errors import InputError
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.ledger import LedgerFile
from shoal.jobs.paths import check_paths
from shoal.show.result import Result

if TYPE_CHECKING:
    from shoal.show.sheet import Sheet
    from shoal.transactions.attack import Attack
    from shoal.transactions.characteristics import Characteristics
    from shoal.transactions.dummies import Dummies
    from shoal.transactions.histories import Histories
    from shoal.transactions.k_m import BasketRelease
    from shoal.transactions.pooled import Pooled
    from shoal.transactions.release import TransactionRelease
    from shoal.transactions.trained import Trained
    from shoal.transactions.unicity import Unicity
    from shoal.transactions.utility import TransactionUtility

Clustering = Literal["balanced", "method-2", "method-1"]


@dataclass(frozen=True)
class Columns:
    """Which columns of a table of transactions say what, by name, or by number from 1 without a header.

    With `baskets` the file has a basket a line instead, its goods parted by the delimiter.
    """

    customer: str | None = None
    item: str | None = None
    time: str | None = None
    price: str | None = None
    quantity: str | None = None
    basket: str | None = None
    header: bool = True
    baskets: bool = False
    layout: Layout = field(default_factory=Layout)

    def read(self, source: str | Path, roles: Sequence[str] = ("time", "price", "quantity", "basket")) -> Histories:
        """The histories in a file, with the columns of these roles besides customer and item."""
        from shoal.transactions.histories import read_baskets, read_histories

        if self.baskets:
            return read_baskets(source, self.layout.delimiter or ",")
        if self.customer is None or self.item is None:
            raise InputError(
                "Name the columns of the customer and of the item (--customer, --item), or give --baskets."
            )
        named = {role: getattr(self, role) for role in roles}
        return read_histories(
            source, customer=self.customer, item=self.item, header=self.header, reading=self.layout, **named
        )

    def named(self, columns: Sequence[str]) -> list[str]:
        """Columns by name, or by number from 1 where there is no header."""
        return [f"column_{int(each)}" if not self.header and each.isdecimal() else each for each in columns]


@dataclass(frozen=True)
class AnonymizeTransactions(Job["TransactionRelease"]):
    """Adds dummy records until nobody stands alone with a set of goods, checks the result, and writes it; or refuses.

    `secret_map` says who is who and `log` which records are dummies: both are for the custodian alone.
    """

    source: str | Path
    output: str | Path
    columns: Columns
    show: tuple[str, ...] = ()
    clusters: int | None = None
    min_size: int | None = None
    method: Clustering = "balanced"
    dummies: Dummies = "scattered"
    delete: float = 0.0
    alter: float = 0.0
    key: Path | None = None
    secret_map: Path | None = None
    log: Path | None = None
    ledger: LedgerFile = field(default_factory=LedgerFile)
    incremental: bool = False
    seed: int | None = field(default=None, repr=False)
    overwrite: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        reads = [self.source, self.key, self.ledger.path, self.ledger.key]
        check_paths(reads, self.output, [self.secret_map, self.log], overwrite=self.overwrite)
        if self.ledger.path is None:
            if self.ledger.key is not None or self.incremental:
                raise InputError("--incremental and a key are about a ledger: give --ledger as well.")
            return
        if self.columns.baskets:
            raise InputError("A ledger judges clusters of customers: leave out --ledger, or --k, --m and --baskets.")
        if self.key is not None:
            raise InputError("Releases of a ledger get new numbers each: leave out --key, or --ledger.")
        if self.incremental and self.clusters is not None:
            raise InputError("--incremental keeps the clusters of earlier releases: give --min-size alone.")

    def work(self) -> TransactionRelease:
        """Reads histories, clusters and pads them, attacks what came of it, and writes the release with its papers."""
        from dataclasses import replace

        from shoal.data.pseudonyms import read_key
        from shoal.transactions.release import anonymize_transactions

        events.stage("reading")
        histories = self.columns.read(self.source)
        ledger = None
        if self.ledger.path is not None:
            ledger = replace(self.ledger, subject=histories.roles.customer).opened()
        release = anonymize_transactions(
            histories, clusters=self.clusters, min_size=self.min_size, method=self.method,
            show=self.columns.named(self.show), dummies=self.dummies, delete=self.delete, alter=self.alter,
            key=read_key(self.key) if self.key is not None else None, seed=self.seed,
            after=ledger if self.incremental else None,
        )  # fmt: skip
        if ledger is not None:
            release = replace(release, notes=(*release.notes, *release.strangers(ledger)))
        events.stage("attacking the release")
        release = release.attacked()
        release.write(
            self.output, header=self.columns.header, secret_map=self.secret_map, log=self.log, ledger=ledger,
            overwrite=self.overwrite,
        )  # fmt: skip
        return release


@dataclass(frozen=True)
class AnonymizeBaskets(Job["BasketRelease"]):
    """Recodes goods, or takes them out, until any m of them are those of at least k baskets; or refuses."""

    source: str | Path
    output: str | Path
    columns: Columns
    k: int
    m: int
    taxonomy: Path | None = None
    key: Path | None = None
    overwrite: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        check_paths([self.source, self.key, self.taxonomy], self.output, overwrite=self.overwrite)

    def work(self) -> BasketRelease:
        """Reads histories, recodes goods until the promise holds, and writes the release."""
        from shoal.data.pseudonyms import read_key
        from shoal.transactions.k_m import anonymize_baskets, read_taxonomy

        events.stage("reading")
        histories = self.columns.read(self.source)
        events.stage("recoding goods")
        recoded = anonymize_baskets(
            histories, self.k, self.m, taxonomy=read_taxonomy(self.taxonomy) if self.taxonomy is not None else None,
            key=read_key(self.key) if self.key is not None else None,
        )  # fmt: skip
        return recoded.write(self.output, overwrite=self.overwrite)


@dataclass(frozen=True, repr=False)
class TransactionsExposed(Result):
    """How alike customers are, and whom a few known purchases single out."""

    characteristics: Characteristics
    unicity: Unicity

    def sheets(self) -> list[Sheet]:
        """The tables of both parts."""
        return [*self.characteristics.sheets(), *self.unicity.sheets()]

    def remarks(self) -> tuple[str, ...]:
        """Those of both parts."""
        return (*self.characteristics.remarks(), *self.unicity.remarks())

    def to_dict(self) -> dict[str, Any]:
        """The characteristics' numbers, and those of few purchases under `unicity`."""
        return self.characteristics.to_dict() | {"unicity": self.unicity.to_dict()}


@dataclass(frozen=True)
class TransactionsRisk(Job[TransactionsExposed]):
    """Measures how exposed customers are; each of those in the table `customers` must have bought something."""

    source: str
    columns: Columns
    customers: str | None = None
    seed: int | None = field(default=None, repr=False)

    def work(self) -> TransactionsExposed:
        """Reads histories, compares customers and draws purchases; writes nothing."""
        from shoal.transactions.characteristics import characteristics
        from shoal.transactions.histories import check_customer_table
        from shoal.transactions.unicity import unicity

        events.stage("reading")
        columns = self.columns
        histories = columns.read(self.source, ("time", "price"))
        if self.customers is not None:
            check_customer_table(histories, self.customers, header=columns.header, reading=columns.layout)
        events.stage("comparing customers")
        alike = events.apart(characteristics)(histories, seed=self.seed)
        events.stage("drawing purchases")
        unique = events.apart(unicity)(histories, seed=self.seed)
        return TransactionsExposed(alike, unique)


@dataclass(frozen=True, repr=False)
class TransactionsAttacked(Result):
    """How many customers were found, by the likest history, and by an intruder who learnt to tell dummies."""

    attack: Attack
    trained: Trained | None

    def sheets(self) -> list[Sheet]:
        """The tables of the attack, then those of the trained one."""
        return [*self.attack.sheets(), *(self.trained.sheets() if self.trained is not None else [])]

    def remarks(self) -> tuple[str, ...]:
        """Those of the attack, then those of the trained one."""
        return (*self.attack.remarks(), *(self.trained.remarks() if self.trained is not None else ()))

    def to_dict(self) -> dict[str, Any]:
        """The attack's numbers, and under `trained` those of the trained one, if there was one."""
        return self.attack.to_dict() | {"trained": None if self.trained is None else self.trained.to_dict()}


@dataclass(frozen=True)
class AttackTransactions(Job[TransactionsAttacked]):
    """Links each released customer to the most similar original, and counts how many are found.

    `truth` is a table of who is who, `known` how many goods the intruder knows, or she knows what was bought in a
    `window` of days. Each customer's guess goes to `output`.
    """

    original: str
    masked: str
    columns: Columns
    truth: str | None = None
    known: int | None = None
    window: tuple[dt.date | None, dt.date | None] | None = None
    similarity: Literal["jaccard", "tfidf", "weighted"] = "jaccard"
    one_to_one: bool = False
    trained: bool = False
    output: str | None = None
    seed: int | None = field(default=None, repr=False)
    overwrite: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where these choices and files cannot be meant."""
        check_paths([self.original, self.masked, self.truth], self.output, overwrite=self.overwrite)

    def work(self) -> TransactionsAttacked:
        """Reads both, attacks, and writes each customer's guess where a file is named."""
        from shoal.data.files import write_table
        from shoal.transactions.attack import jaccard_attack, read_truth
        from shoal.transactions.trained import KNOWN, trained_attack

        events.stage("reading")
        truth = read_truth(self.truth) if self.truth is not None else None
        before = self.columns.read(self.original, ("time", "price", "quantity"))
        shown = ("time", "price", "quantity", "basket") if self.trained else ("quantity",)
        after = self.columns.read(self.masked, shown)
        events.stage("attacking")
        attack = jaccard_attack(
            before, after, truth=truth, known=self.known, window=self.window, similarity=self.similarity,
            one_to_one=self.one_to_one, seed=self.seed,
        )  # fmt: skip
        learnt = None
        if self.trained:
            learnt = trained_attack(before, after, truth=truth, known=self.known or KNOWN, seed=self.seed)
        if self.output is not None:
            events.check()
            write_table(attack.guesses, self.output, private=True, overwrite=self.overwrite)
        return TransactionsAttacked(attack, learnt)


@dataclass(frozen=True)
class TransactionsUtility(Job["TransactionUtility"]):
    """Measures what released histories kept; `people` is a table of customers whose columns `by` make the cells."""

    original: str
    masked: str
    columns: Columns
    truth: str | None = None
    people: str | None = None
    by: tuple[str, ...] = ()

    def work(self) -> TransactionUtility:
        """Reads both and measures what was kept; writes nothing."""
        from shoal.transactions.attack import read_truth
        from shoal.transactions.utility import read_people, transaction_utility

        events.stage("reading")
        truth = read_truth(self.truth) if self.truth is not None else None
        people = read_people(self.people, list(self.by), header=self.columns.header) if self.people else None
        roles = ("time", "price", "quantity")
        before, after = self.columns.read(self.original, roles), self.columns.read(self.masked, roles)
        events.stage("measuring")
        return transaction_utility(before, after, truth=truth, people=people)


@dataclass(frozen=True)
class AuditTransactions(Job["Pooled"]):
    """Attacks two releases of the same customers together; `maps` say who is who in each."""

    original: str
    releases: tuple[str, str]
    maps: tuple[str, str]
    columns: Columns
    known: int = 5
    seed: int | None = field(default=None, repr=False)

    def work(self) -> Pooled:
        """Reads original and releases, links the two, and finds customers in what both tell; writes nothing."""
        from shoal.transactions.attack import read_truth
        from shoal.transactions.pooled import pooled_attack

        events.stage("reading")
        roles = ("time", "price", "quantity")
        first, second = (self.columns.read(path, roles) for path in self.releases)
        truths = read_truth(self.maps[0]), read_truth(self.maps[1])
        events.stage("linking and finding")
        original = self.columns.read(self.original, ())
        return pooled_attack(original, first, second, truths, known=self.known, seed=self.seed)
