"""Check released histories: whether nobody stands alone, with a set of goods or with a few that are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal import events
from shoal.errors import InputError, require
from shoal.jobs.job import Job
from shoal.show.result import Result
from shoal.show.sheet import Sheet

if TYPE_CHECKING:
    from shoal.jobs.transactions import Columns
    from shoal.transactions.histories import Histories, Roles
    from shoal.transactions.k_m import RareSet


@dataclass(frozen=True, repr=False)
class HistoriesJudged(Result):
    """What was found of released histories; `share` are the fewest customers with one set of goods, one history."""

    asked: CheckTransactions
    customers: int
    records: int
    not_judged: tuple[str, ...]
    fewest: int = 0
    share: tuple[int, int] | None = None
    rare: RareSet | None = None

    @property
    def holds(self) -> bool:
        """Whether every promise is kept, and nothing is shown that nobody judged."""
        judged = self.asked.goods_only or not self.not_judged
        return judged and (self.share is None or self.fewest >= (self.asked.min_size or 0)) and self.rare is None

    def sheets(self) -> list[Sheet]:
        """The facts, a row each."""
        rows = [(name.replace("_", " "), str(fact)) for name, fact in self.to_dict().items()]
        return [Sheet("Judged", ("", ""), rows, numbers=0)]

    def remarks(self) -> tuple[str, ...]:
        """What was left open, and what differs where goods are alike."""
        notes, least = [], self.asked.min_size
        if others := ", ".join(map(repr, self.not_judged)):
            ways = "name the columns to judge whole histories (--time and the like), or say that they do not matter"
            end = "." if self.asked.goods_only else f": {ways} (--goods-only)."
            notes.append(f"Nothing was judged of what {others} tell{end}")
        if least is not None and self.share is not None and self.share[1] < least <= self.share[0]:
            notes.append("Sets of goods are alike, histories are not: what differs may tell real records from dummies.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """The facts, ready for JSON."""
        facts: dict[str, Any] = {
            "customers": self.customers, "records": self.records, "not_judged": list(self.not_judged),
            "holds": self.holds,
        }  # fmt: skip
        if self.share is not None:
            facts |= {"share_a_set": self.share[0], "share_a_history": self.share[1]}
        if self.asked.known is not None:
            rare = self.rare
            facts |= {"rare_goods": list(rare.goods) if rare else [], "baskets_with_them": rare and rare.baskets}
        return facts


@dataclass(frozen=True)
class CheckTransactions(Job[HistoriesJudged]):
    """Judges released histories: `min_size` customers share a set of goods; `known` are k and m of k^m-anonymity.

    With more columns named, whole histories are compared. Columns that are not named do not pass, unless `goods_only`.
    """

    source: str
    columns: Columns
    min_size: int | None = None
    known: tuple[int, int] | None = None
    goods_only: bool = False

    def refuse(self) -> None:
        """Raises, before any work, where nothing was promised, or what cannot be."""
        columns = self.columns
        if self.goods_only and any((columns.time, columns.price, columns.quantity, columns.basket)):
            raise InputError("--goods-only judges the sets of goods alone: leave it out, or the other columns.")
        if self.known is None and self.min_size is None:
            raise InputError("Say what was promised: --min-size, or --k and --m.")
        if self.min_size is not None:
            require("the check", "min_size", self.min_size, "2 or more", holds=self.min_size >= 2)

    def work(self) -> HistoriesJudged:
        """Reads the histories, and compares customers with each other; writes nothing."""
        from shoal.transactions.alike import alike, wholly_alike
        from shoal.transactions.k_m import rare_set

        events.stage("reading")
        histories = self.columns.read(self.source, ())
        roles = self._roles(histories.roles)
        judged = HistoriesJudged(self, len(histories.customers), len(histories), _other_columns(histories, roles))
        if self.min_size is not None:
            events.stage("comparing customers")
            sets, whole = int(alike(histories).min()), int(wholly_alike(histories, roles).min())
            fewest = sets if set(roles.named) == {"customer", "item"} else whole
            judged = replace(judged, share=(sets, whole), fewest=fewest)
        if self.known is not None:
            events.stage("counting goods known")
            judged = replace(judged, rare=rare_set(histories, *self.known))
        return judged

    def _roles(self, roles: Roles) -> Roles:
        """Those of a table that was read by customer and item alone, with those of the other columns named."""
        columns = self.columns
        stated = {"time": columns.time, "price": columns.price, "quantity": columns.quantity, "basket": columns.basket}
        return replace(roles, **{role: columns.named([name])[0] for role, name in stated.items() if name is not None})


def _other_columns(histories: Histories, roles: Roles) -> tuple[str, ...]:
    """Those that show something and were not named."""
    table, named = histories.table, roles.named.values()
    return tuple(name for name in table.columns if name not in named and table[name].null_count() < table.height)
