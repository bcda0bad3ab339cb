"""Synthetic purchase histories: transactions like paper 4's (section 2.1), with no real customer in them.

400 customers make about 38,000 records of 2,800 goods: 65 goods a customer, any two customers alike by a Jaccard
coefficient of 0.03 on average. What makes them so is long-tailed: how often a customer comes, how much a basket holds
and how popular a good is are lognormal. Customers have favourite aisles, and buy again what they bought before.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.catalogue import Chunks, parameter
from shoal.data.discharges import Conditional
from shoal.data.generators import Generator
from shoal.errors import require

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WORLD_SEED = 2016
FIRST_DAY = np.datetime64("2010-12-01")
FIRST_CUSTOMER, FIRST_INVOICE, FIRST_GOOD = 12_346, 536_365, 20_000

GOODS, GROWTH = 3_150, 0.116  # on sale to 400 customers; ten times as many customers buy 1.3 times as many goods
POPULARITY = 1.26  # deviation of the logarithm
AISLES, FAVOURITES = 40, 4
FROM_FAVOURITES = 0.3  # share of goods that come from a favourite aisle
AGAIN = 0.2  # share of goods in later baskets that the customer bought before

POSTED = 0.72  # share of customers to whom all is sent: postage, the shop's good 0, is on every invoice
VISITS = (0.68, 1.1)  # mean and deviation of the logarithm of a customer's number of baskets
BASKET = (2.68, 0.7, 0.65)  # of a basket's size: mean, deviation among customers, deviation among one's baskets
PRICE = (0.75, 0.85)  # of a good's price
DISCOUNT = 0.15  # share of records below the good's usual price
PACKS = (1, 2, 3, 4, 6, 8, 10, 12, 24, 48)
PACK_SHARES = (0.11, 0.09, 0.05, 0.08, 0.13, 0.05, 0.08, 0.25, 0.12, 0.04)
MONTHS = (1.3, 1.0, 0.8, 1.0, 0.7, 1.0, 1.0, 1.0, 1.1, 1.3, 1.7, 2.2)  # from December to November
HOURS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 17)
HOUR_SHARES = (0.04, 0.1, 0.13, 0.12, 0.16, 0.16, 0.13, 0.1, 0.04, 0.02)


@dataclass(frozen=True)
class Shop:
    """The goods on sale: the same for every seed."""

    draw: Conditional  # row 0: all goods by popularity; row a: those of aisle a
    code: Ints
    price: Floats


class Purchases(Generator):
    """Synthetic purchase histories: customer, invoice, date, time, good, price and quantity."""

    customers: int = parameter("how many customers; about 95 records each", default=400, least=2)

    in_chunks = Chunks(instead="write it to a file", because="purchases are worked on in memory")
    examples = ("--customers 400 --seed 7 -o t.csv", "--customers 100000 -o t.parquet")

    def table(self, seed: int | None = None) -> pl.DataFrame:
        """All records."""
        return purchases(self.customers, seed)

    def made(self, records: int) -> str:
        """What was made, in words."""
        return f"{records:,} records of {self.customers:,} customers"


def purchases(customers: int = 400, seed: int | None = None) -> pl.DataFrame:
    """A year's transactions: customer, invoice, date, time, good, price and quantity, in the order of invoices."""
    require("purchases", "customers", customers, "a number from 2", holds=customers >= 2)
    rng = np.random.default_rng(seed)
    shop = _shop(customers)
    customer, day, size = _baskets(customers, rng)
    basket = np.repeat(np.arange(len(size)), size)
    good = _goods(shop, customer, size, rng)
    records = len(good)
    price = shop.price[good] * np.where(rng.random(records) < DISCOUNT, 0.85, 1.0)
    minute = rng.choice(HOURS, len(size), p=HOUR_SHARES) * 60 + rng.integers(0, 60, len(size))
    invoice = np.empty(len(size), np.int64)
    invoice[np.lexsort((minute, day))] = np.arange(FIRST_INVOICE, FIRST_INVOICE + len(size))
    table = pl.DataFrame(
        {
            "customer": FIRST_CUSTOMER + customer[basket],
            "invoice": invoice[basket],
            "date": (FIRST_DAY + day)[basket],
            "time": minute[basket],
            "good": shop.code[good],
            "price": np.round(price, 2),
            "quantity": rng.choice(PACKS, records, p=PACK_SHARES),
        }
    )
    clock = pl.format("{}:{}", pl.col("time") // 60, (pl.col("time") % 60).cast(pl.String).str.zfill(2))
    return table.sort("invoice", maintain_order=True).with_columns(clock.alias("time"))


def _shop(customers: int) -> Shop:
    rng = np.random.default_rng(WORLD_SEED)
    goods = round(GOODS * (customers / 400) ** GROWTH)
    ranks = (np.arange(goods) + 0.5) / goods
    popularity = np.exp(POPULARITY * np.array([NormalDist().inv_cdf(rank) for rank in ranks]))
    aisle = rng.integers(1, AISLES + 1, goods)
    rows = np.arange(AISLES + 1)[:, None]
    weights = np.where((rows == 0) | (rows == aisle), popularity, 0.0)
    price = np.maximum(np.round(np.exp(rng.normal(*PRICE, goods)) * 20) / 20, 0.1)
    return Shop(Conditional.of(weights), FIRST_GOOD + rng.permutation(goods), price)


def _baskets(customers: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Customer, day and number of goods of each basket, a customer's baskets in the order of days."""
    visits = np.ceil(np.exp(rng.normal(*VISITS, customers))).astype(np.int64)
    customer = np.repeat(np.arange(customers), visits)
    mean, among, within = BASKET
    usual = rng.normal(mean, among, customers)
    size = np.ceil(np.exp(usual[customer] + rng.normal(0, within, len(customer)))).astype(np.int64)
    season = np.repeat(np.array(MONTHS), 31)[:365]
    open_on = np.arange(365) % 7 != 3  # closed on Saturdays
    day = rng.choice(365, len(customer), p=season * open_on / (season * open_on).sum())
    return customer, day[np.lexsort((day, customer))], size


def _goods(shop: Shop, customer: Ints, size: Ints, rng: np.random.Generator) -> Ints:
    """The good of each record: of a favourite aisle, of the whole shop, or one bought in an earlier basket."""
    records = int(size.sum())
    favourites = rng.integers(1, AISLES + 1, (customer[-1] + 1, FAVOURITES))
    buyer = np.repeat(customer, size)
    aisle = favourites[buyer, rng.integers(0, FAVOURITES, records)]
    good = shop.draw.draw(np.where(rng.random(records) < FROM_FAVOURITES, aisle, 0), rng)

    basket_start = np.cumsum(size) - size
    history_start = basket_start[np.searchsorted(customer, customer)]
    before = np.repeat(basket_start - history_start, size)  # goods in earlier baskets
    again = (rng.random(records) < AGAIN) & (before > 0)
    earlier = np.repeat(history_start, size) + (rng.random(records) * before).astype(np.int64)
    source = np.where(again, earlier, np.arange(records))
    while (source[source] != source).any():  # what was bought again may have been bought again
        source = source[source]
    good = good[source]
    posted = rng.random(customer[-1] + 1) < POSTED
    good[basket_start[posted[customer]]] = 0
    return good
