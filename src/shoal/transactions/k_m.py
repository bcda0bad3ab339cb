"""k^m-anonymity of baskets: whoever knows any m goods of a basket finds at least k baskets that hold them.

M. Terrovitis, N. Mamoulis, P. Kalnis: Privacy-preserving anonymization of set-valued data (VLDB 2008). Goods are
recoded along a taxonomy, alike in all baskets and whole subtrees at a time: while some set of at most m goods is rare,
one of its goods is shown as its parent, the one that loses least (small sets first, from which larger ones profit: the
Apriori order). Without a taxonomy the good of a rare set that has the fewest records is taken out of all baskets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal import events
from shoal.data.clean_copy import made_anew
from shoal.data.commit import Output, commit
from shoal.data.files import write_table
from shoal.data.hierarchy import Hierarchy, hierarchy_of
from shoal.data.hierarchy_files import read_rows
from shoal.data.paths import is_sql
from shoal.data.pseudonyms import fresh_key, pseudonyms
from shoal.errors import InputError, PromiseError, require
from shoal.show import Result, Sheet
from shoal.transactions.histories import Histories, Roles, histories_of, read_histories
from shoal.transactions.numbering import renumbered

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RareSet:
    """Goods that too few baskets hold together."""

    goods: tuple[str, ...]
    baskets: int


@dataclass(frozen=True)
class BasketRelease(Result):
    """Baskets any m goods of which are held by at least k. Only `table` is for the public."""

    table: pl.DataFrame
    roles: Roles
    k: int
    m: int
    original: Histories = field(repr=False)
    shown_as: pl.Series = field(repr=False)  # good -> what it is shown as, missing where it is taken out
    loss: float  # mean share of all goods that what a record shows may stand for; a record taken out counts 1

    def to_dict(self) -> dict[str, object]:
        """All numbers, as JSON takes them."""
        baskets = self.table[self.roles.customer].n_unique()
        return {
            "baskets": baskets,
            "suppressed_baskets": len(self.original.customers) - baskets,
            "records": self.table.height,
            "k": self.k,
            "m": self.m,
            "goods": self.table[self.roles.item].n_unique(),
            "suppressed_goods": self.shown_as.null_count(),
            "information_loss": self.loss,
        }

    def sheets(self) -> list[Sheet]:
        """What the release came to, as a table."""
        rows = [(name.replace("_", " "), f"{value:,.4g}") for name, value in self.to_dict().items()]
        return [Sheet("Baskets", ("", "value"), rows)]

    def write(self, path: str | Path, *, overwrite: bool = False) -> BasketRelease:
        """Writes the baskets, a line a good; the promise is judged again on the written file."""

        def write_file(before_name: Callable[[Path], None]) -> None:
            write_table(self.table, path, overwrite=overwrite, before_commit=before_name)

        def judge_file(written: Path) -> None:
            refuse_rare(read_histories(written, customer=self.roles.customer, item=self.roles.item), self.k, self.m)

        commit([Output(None if is_sql(path) else Path(path), write_file, judge_file)], overwrite=overwrite)
        return self


def rare_set(baskets: Histories, k: int, m: int) -> RareSet | None:
    """A set of at most m goods that at least one basket holds, but fewer than k; small ones first."""
    _check_parameters(baskets, k, m)
    for size in range(1, min(m, int(baskets.sizes.max())) + 1):
        if rare := _rare(baskets.sets, k, size):
            count, goods = rare
            return RareSet(tuple(baskets.items.gather(goods).cast(pl.String)), count)
    return None


def refuse_rare(baskets: Histories, k: int, m: int) -> None:
    """Raises unless the baskets are k^m-anonymous."""
    if rare := rare_set(baskets, k, m):
        raise PromiseError(
            f"Only {rare.baskets} basket{'s' * (rare.baskets > 1)} hold {', '.join(rare.goods)}: "
            f"less than the {k} that were promised to whoever knows {m} goods."
        )


def anonymize_baskets(
    baskets: Histories, k: int, m: int, *, taxonomy: Hierarchy | None = None, key: bytes | None = None
) -> BasketRelease:
    """Recodes goods along the taxonomy, or takes goods out, until the baskets are k^m-anonymous; or refuses.

    Only baskets, under new numbers in their order, and goods are released: a price would tell what was recoded.
    """
    _check_parameters(baskets, k, m)
    if taxonomy is None:
        shown_as = _suppressed(baskets, k, m)
        loss = float(shown_as.is_null().to_numpy()[baskets.item].mean())
    else:
        shown_as, loss = _generalized(baskets, taxonomy, k, m)
    roles = Roles(baskets.roles.customer, baskets.roles.item)
    names = pseudonyms(baskets.customers, key or fresh_key())
    records = pl.DataFrame({roles.customer: names.gather(baskets.customer), roles.item: shown_as.gather(baskets.item)})
    table = made_anew(records.drop_nulls().unique().sort(roles.customer, roles.item))
    if table[roles.customer].n_unique() < 2:
        raise PromiseError(f"No good would be left in the baskets for k = {k} and m = {m}: give a taxonomy of goods.")
    refuse_rare(histories_of(table, roles), k, m)
    return BasketRelease(table, roles, k, m, baskets, shown_as, loss)


def read_taxonomy(path: str | Path) -> Hierarchy:
    """A taxonomy of goods: one line a good, `good;group;...`; blanks around the words say nothing."""
    return hierarchy_of([[cell.strip() for cell in row] for row in read_rows(path)], "goods")


def _check_parameters(baskets: Histories, k: int, m: int) -> None:
    require("k^m-anonymity", "k", k, "2 or more", holds=k >= 2)
    require("k^m-anonymity", "m", m, "1 or more", holds=m >= 1)
    if k > len(baskets.customers):
        raise InputError(f"k = {k} is more than the {len(baskets.customers):,} baskets there are: ask for less.")


def _rare(sets: csr_array, k: int, m: int, first: int = 0) -> tuple[int, Ints] | None:
    """How many baskets hold a rare set of at most m goods, and which goods; those after `first` only."""
    from shoal.kernels import k_m

    starts, items = sets.indptr.astype(np.int64), sets.indices.astype(np.int32)
    count, goods = k_m.rare_set(starts, items, sets.shape[1], k, m, first)
    return (int(count), goods[goods >= 0]) if count else None


def _suppressed(baskets: Histories, k: int, m: int) -> pl.Series:
    """Each good as it is, or missing where it has to be taken out.

    Taking goods out changes no other set, so that the search goes on from where the rare set was found.
    """
    common_first = np.argsort(-np.bincount(baskets.item), kind="stable")  # they keep their company
    rank = np.argsort(common_first)
    sets = renumbered(baskets.sets, rank, len(rank))
    out = np.zeros(len(rank), np.bool_)
    for size in range(1, m + 1):
        first = 0
        while rare := _rare(sets, k, size, first):
            events.tick(int(out.sum()))
            goods = rare[1]
            if len(goods) > 1:  # below the smaller ones nothing is rare
                first = int(goods[0])
            rarest = int(goods.max())
            out[rarest] = True
            sets.data[sets.indices == rarest] = 0
            sets.eliminate_zeros()
    return baskets.items.cast(pl.String).set(pl.Series(out[rank]), None)


def _generalized(baskets: Histories, taxonomy: Hierarchy, k: int, m: int) -> tuple[pl.Series, float]:
    """Each good as the node it is shown as, and the loss."""
    leaf = taxonomy.encode(baskets.items)
    leaves = taxonomy.ancestors.shape[1]
    records = np.bincount(leaf[baskets.item], minlength=leaves)
    level = np.zeros(leaves, np.int64)
    for size in range(1, m + 1):
        while rare := _rare(renumbered(baskets.sets, _nodes(taxonomy, level)[leaf], leaves), k, size):
            events.tick(int(level.sum()))
            raised = (_raised(taxonomy, level, int(node)) for node in rare[1])
            choices = [choice for choice in raised if choice is not None]  # never none: every basket holds the top
            level = min(choices, key=lambda choice: _loss(taxonomy, choice, records))
    shown = [taxonomy.labels(int(level[each]))[int(taxonomy.ancestors[level[each], each])] for each in leaf]
    return pl.Series(shown, dtype=pl.String), _loss(taxonomy, level, records)


def _nodes(taxonomy: Hierarchy, level: Ints) -> Ints:
    """leaf -> the first leaf below the node that it is shown as, which stands for the node."""
    leaves = np.arange(len(level))
    starts = [taxonomy.starts(each) for each in range(taxonomy.levels)]
    return np.array([starts[level[x]][taxonomy.ancestors[level[x], x]] for x in leaves], np.int64)


def _raised(taxonomy: Hierarchy, level: Ints, leaf: int) -> Ints | None:
    """The levels once the node that a leaf is shown as is shown as its parent, and all below that; None at the top."""
    above = int(level[leaf]) + 1
    if above == taxonomy.levels:
        return None
    node = taxonomy.ancestors[above, leaf]
    return np.where(taxonomy.ancestors[above] == node, np.maximum(level, above), level)


def _loss(taxonomy: Hierarchy, level: Ints, records: Ints) -> float:
    """Mean share of the other goods that a record's label may stand for (normalised certainty penalty)."""
    below = np.array([np.diff(taxonomy.starts(each))[taxonomy.ancestors[each]] for each in range(taxonomy.levels)])
    width = below[level, np.arange(len(level))]
    return float(((width - 1) * records).sum() / max(len(level) - 1, 1) / records.sum())
