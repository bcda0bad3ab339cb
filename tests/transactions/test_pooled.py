"""Two releases of the same customers: what links them is found, and a ledger refuses or goes on without it."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.data.purchases import purchases
from shoal.errors import InputError, PromiseError
from shoal.releases.atoms import Pool
from shoal.releases.ledger import Ledger, entries
from shoal.transactions.dummies import DUMMIES, Dummies
from shoal.transactions.histories import Histories, Roles, histories_of
from shoal.transactions.pooled import Pooled, goods_of, pooled_attack
from shoal.transactions.release import anonymize_transactions

FULL = Roles("customer", "good", "date", "price", "quantity", "invoice")
GOODS = Roles("customer", "good")
ALL_COLUMNS = ("date", "price", "quantity", "invoice")
DATA = Path(os.environ.get("SHOAL_DATA") or os.devnull, "purchases", "transactions_400.csv")


def of_pairs(table: pl.DataFrame) -> Histories:
    return histories_of(table.select("customer", "good").unique(maintain_order=True), GOODS)


def month_apart(table: pl.DataFrame, last: dt.date, size: int, *, full: bool) -> Pooled:
    """Everything until a day, and everything, each released by itself; then both attacked."""
    nights = table.filter(pl.col("date") < last), table
    made = [histories_of(night, FULL) if full else of_pairs(night) for night in nights]
    show = ALL_COLUMNS if full else ()
    first, second = (
        anonymize_transactions(each, min_size=size, show=show, dummies="records", seed=i) for i, each in enumerate(made)
    )
    shown = [histories_of(each.table, FULL if full else GOODS) for each in (first, second)]
    return pooled_attack(made[0], shown[0], shown[1], (first.secret_map, second.secret_map), known=5, seed=1)


def generated() -> pl.DataFrame:
    table = purchases(120, seed=7)
    return table.with_columns(pl.col("date").cast(pl.String).str.to_date())


def test_two_full_releases_are_linked_and_known_goods_find_customers() -> None:
    table = generated()
    last = table["date"].sort()[table.height * 9 // 10]
    linked, found = month_apart(table, last, 6, full=True).outcomes
    assert linked.rate > 0.8
    assert linked.interval[0] > max(linked.baseline, linked.control or 0)
    assert found.rate > 3 * found.baseline
    assert found.control is not None
    assert found.control < found.baseline
    linked, found = month_apart(table, last, 6, full=False).outcomes
    assert linked.rate < 0.1
    assert found.rate < 1.2 * found.baseline


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="SHOAL_DATA names no folder with the paper's purchases")
def test_a_month_apart_nearly_all_of_the_papers_customers_are_linked() -> None:
    names = ["customer", "invoice", "date", "time", "good", "price", "quantity"]
    table = pl.read_csv(DATA, has_header=False, new_columns=names, schema_overrides={"good": pl.String})
    table = table.with_columns(pl.col("date").str.to_date("%Y/%m/%d")).drop("time")
    linked, found = month_apart(table, dt.date(2011, 11, 10), 8, full=True).outcomes
    assert linked.people == 372
    assert linked.right > 350
    assert found.rate > 0.7
    assert found.baseline < 0.1


def test_a_map_that_is_not_the_releases_is_refused() -> None:
    histories = histories_of(generated(), FULL)
    made = anonymize_transactions(histories, min_size=4, show=ALL_COLUMNS, dummies="records", seed=1)
    shown = histories_of(made.table, FULL)
    with pytest.raises(InputError, match="does not say who"):
        pooled_attack(histories, shown, shown, (made.secret_map, made.secret_map[1:]), known=2)
    with pytest.raises(InputError, match="a number of goods from 1"):
        pooled_attack(histories, shown, shown, (made.secret_map, made.secret_map), known=0)


# ---- the ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", b"k" * 32, "customer")


def shop(bought: dict[int, str]) -> Histories:
    """Customers and the goods of each, a letter a good."""
    rows = [(customer, good) for customer, goods in bought.items() for good in goods]
    return histories_of(pl.DataFrame(rows, schema=["customer", "good"], orient="row"), GOODS)


BOUGHT = {i: "abc"[i % 3] + "xyz"[i % 2] for i in range(24)}


def release(histories: Histories, ledger: Ledger, target: Path, *, incremental: bool = False, size: int = 4) -> None:
    made = anonymize_transactions(histories, min_size=size, seed=1, after=ledger if incremental else None)
    made.write(target, ledger=ledger)


def test_clusters_of_a_release_are_recorded_by_digests(ledger: Ledger, tmp_path: Path) -> None:
    release(shop(BOUGHT), ledger, tmp_path / "a.csv")
    (entry,) = entries(ledger.path)
    assert (entry.k, entry.published.members.height, entry.by_classes) == (4, 24, True)
    assert [promise["name"] for promise in entry.promises] == ["purchases"]
    assert entry.published.sizes.min() >= 4
    assert entry.published.values.columns == ["goods"]


def test_other_clusters_of_the_same_customers_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    release(shop(BOUGHT), ledger, tmp_path / "a.csv")
    release(shop(BOUGHT), ledger, tmp_path / "again.csv")  # the same clusters tell nothing new
    made = anonymize_transactions(shop(BOUGHT), min_size=4, seed=1)
    shuffled = np.random.default_rng(3).permutation(made.label)
    moved = anonymize_transactions(shop(dict.fromkeys(BOUGHT, "abc")), min_size=4, seed=1)
    with pytest.raises(PromiseError, match="fewer than 4"):
        type(moved)(**{**vars(moved), "label": shuffled}).write(tmp_path / "b.csv", ledger=ledger)
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize("dummies", DUMMIES)
def test_a_second_release_with_dates_of_anybody_is_refused(ledger: Ledger, tmp_path: Path, dummies: Dummies) -> None:
    histories = histories_of(generated(), FULL)
    made = anonymize_transactions(histories, min_size=6, show=ALL_COLUMNS, dummies=dummies, seed=1)
    made.write(tmp_path / "a.csv", ledger=ledger)
    assert [promise["name"] for promise in entries(ledger.path)[0].promises] == ["purchases-in-full"]
    with pytest.raises(PromiseError, match=r"120 of its 120 people.*purchases with more than customer and good"):
        made.write(tmp_path / "b.csv", ledger=ledger)
    with pytest.raises(PromiseError, match="averaged or linked"):
        release(of_pairs(generated()), ledger, tmp_path / "b.csv", size=6)
    assert not (tmp_path / "b.csv").exists()


def test_clusters_go_on_where_nobody_or_enough_have_bought_anew(ledger: Ledger, tmp_path: Path) -> None:
    release(shop(BOUGHT), ledger, tmp_path / "a.csv")
    (first,) = ledger.releases()
    stood = dict(zip(ledger.digests(pl.DataFrame({"customer": list(BOUGHT)})).to_list(), BOUGHT, strict=True))
    clusters: dict[int, list[int]] = {}
    for subject, label in first.members.select("subject", "class").iter_rows():
        clusters.setdefault(label, []).append(stood[subject])
    whole, few = list(clusters.values())[:2]
    later = BOUGHT | {i: BOUGHT[i] + "n" for i in whole} | {few[0]: BOUGHT[few[0]] + "m"}
    later |= dict.fromkeys(range(100, 104), "q")
    with pytest.raises(PromiseError, match="values changed of fewer than 4"):
        release(shop({i: later[i] for i in BOUGHT}), ledger, tmp_path / "b.csv")
    made = anonymize_transactions(shop(later), min_size=4, seed=1, after=ledger)
    made.write(tmp_path / "b.csv", ledger=ledger)
    shown = set(made.original.customers.to_list())
    assert shown == set(later) - set(few)
    assert any(f"{len(few)} customers are withheld" in note for note in made.notes)
    assert Pool.of(ledger.releases()).anonymity.min() >= 4


def test_where_nobody_can_be_shown_again_nothing_is(ledger: Ledger, tmp_path: Path) -> None:
    release(shop(BOUGHT), ledger, tmp_path / "a.csv")
    later = {i: goods + ("n" if i % 5 == 0 or i % 7 == 0 else "") for i, goods in BOUGHT.items()}
    (first,) = ledger.releases()
    if first.sizes.max() >= 8:
        pytest.skip("a cluster may lose some")
    with pytest.raises(PromiseError, match="No customer can be shown again"):
        release(shop(later), ledger, tmp_path / "b.csv", incremental=True)


def test_sets_of_goods_are_told_apart_whatever_goods_are_called() -> None:
    rows = [(1, 'a", "b'), (2, "a"), (2, "b"), (3, "b"), (3, "a")]
    table = pl.DataFrame(rows, schema=["customer", "good"], orient="row")
    one, two, three = goods_of(histories_of(table, GOODS))["goods"]
    assert two == three
    assert one != two


def test_a_database_table_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    made = anonymize_transactions(shop(BOUGHT), min_size=4)
    with pytest.raises(InputError, match="digest"):
        made.write(f"sqlite:///{tmp_path}/x.db#t", ledger=ledger)
