"""Purchase histories: many records a customer, and the set of goods I(u) of each (paper 4, Definition 1).

Customers and items are coded once, in their order (numbers as numbers), so that ties go to the smallest customer.
The sets are one sparse matrix, customers by items: memory grows with the records, not with customers times items.

Defined in docs/spec.md#histories.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.data.csv_files import read_delimited
from shoal.data.csv_layout import TYPED, TextFile, laid_out, line_of
from shoal.data.files import format_of, read_table
from shoal.data.paths import check_readable, is_sql
from shoal.data.reading import AS_IT_SEEMS, Reading
from shoal.data.text_types import as_dates
from shoal.errors import InputError, did_you_mean
from shoal.transactions.numbering import incidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Codes = npt.NDArray[np.int32]
Where = Callable[[int], str]  # a record's place, in words
_WHOLE = r"^(0|-?[1-9]\d{0,17})$"


@dataclass(frozen=True)
class Roles:
    """What the columns of a transaction table hold."""

    customer: str
    item: str
    time: str | None = None
    price: str | None = None
    quantity: str | None = None
    basket: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """Role -> column, for the roles that some column has."""
        return {role: column for role, column in asdict(self).items() if column is not None}

    def only(self, columns: Collection[str]) -> Roles:
        """The roles of customer, item and these columns."""
        kept = {self.customer, self.item, *columns}
        return Roles(**{role: column for role, column in self.named.items() if column in kept})


@dataclass(frozen=True)
class Histories:
    """The records of a transaction table, coded by customer and by item."""

    table: pl.DataFrame
    roles: Roles
    customers: pl.Series  # code -> customer, in order
    items: pl.Series  # code -> item, in order
    customer: Codes  # record -> customer
    item: Codes  # record -> item
    times: pl.Series | None = None  # record -> when, as date or moment

    def __len__(self) -> int:
        return len(self.customer)

    def numbers(self, column: str) -> npt.NDArray[np.float64]:
        """A column's numbers, 0 where there is none: what a missing price or quantity adds to a sum."""
        return self.table[column].cast(pl.Float64).fill_null(0.0).to_numpy()

    @cached_property
    def days(self) -> npt.NDArray[np.int32]:
        """The day of each record, counted from 1970."""
        if self.times is None:
            raise InputError("There is no column of times: name it as the time (--time).")
        return self.times.dt.date().to_physical().to_numpy()

    def during(self, first: dt.date | None, last: dt.date | None) -> Histories:
        """The records of these days, both included; customers without any are still there, with no items."""
        inside = np.ones(len(self), np.bool_)
        if first is not None:
            inside &= self.days >= _day_number(first)
        if last is not None:
            inside &= self.days <= _day_number(last)
        if not inside.any():
            window = f"from {first or 'the first day'} to {last or 'the last'}"
            raise InputError(f"There are no records {window}: widen the window.")
        times = self.times.filter(inside) if self.times is not None else None
        return replace(
            self, table=self.table.filter(inside), customer=self.customer[inside], item=self.item[inside], times=times
        )

    def of_customers(self, kept: npt.NDArray[np.bool_]) -> Histories:
        """The histories of some customers."""
        inside = kept[self.customer]
        return histories_of(self.table.filter(inside), self.roles)

    def matrix(self, weights: npt.NDArray[np.float64] | None = None) -> csr_array:
        """Customers by items: the number of records of each, or the sum of their weights."""
        from scipy.sparse import coo_array

        values = np.ones(len(self), np.int32) if weights is None else weights
        shape = (len(self.customers), len(self.items))
        summed = coo_array((values, (self.customer, self.item)), shape=shape).tocsr()
        summed.sum_duplicates()  # sorts the items of each customer too
        return summed

    @cached_property
    def sets(self) -> csr_array:
        """I(u), a row a customer: 1 where the customer bought the item; the items of a row ascend."""
        return incidence(self.customer, self.item, (len(self.customers), len(self.items)))

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of goods of each customer, |I(u)|."""
        sizes: npt.NDArray[np.int64] = np.diff(self.sets.indptr).astype(np.int64)
        return sizes


def histories_of(table: pl.DataFrame, roles: Roles, where: Where = lambda record: f"record {record + 1}") -> Histories:
    """The histories in a table of transactions; what cannot be used is told with its place."""
    check_columns(table, roles)
    if table.is_empty():
        raise InputError("The transaction table holds no records: give a table with records.")
    for column in (roles.customer, roles.item):
        missing = table[column].is_null()
        if missing.any():
            place = where(int(missing.arg_true()[0]))
            raise InputError(f"Column {column!r} is empty in {place}: every record needs a customer and an item.")
    _check_numbers(table, roles)
    customers, customer = coded(table[roles.customer])
    items, item = coded(table[roles.item])
    if len(customers) == 1:
        raise InputError(
            f"Column {roles.customer!r} holds one customer only ({customers[0]}): nobody is there to be mistaken for. "
            "Name the column that tells customers apart."
        )
    times = None if roles.time is None else _times(table[roles.time], where)
    return Histories(table, roles, customers, items, customer, item, times)


def read_histories(
    source: str | Path,
    *,
    customer: str,
    item: str,
    time: str | None = None,
    price: str | None = None,
    quantity: str | None = None,
    basket: str | None = None,
    header: bool = True,
    reading: Reading = AS_IT_SEEMS,
) -> Histories:
    """The histories in a file; columns by name, or by number from 1 where there is no header."""
    roles = Roles(customer, item, time, price, quantity, basket)
    if is_sql(source) or format_of(Path(source)).read is not read_delimited:
        return histories_of(read_table(source), roles)
    path = Path(source)
    check_readable(path)
    file = laid_out(path, reading, header)
    if not header:
        roles = _numbered(roles, file)
    check_columns(pl.DataFrame(schema=dict.fromkeys(file.names, pl.String)), roles)
    # as text: codes such as 22728 and POST stand in one column, and times are judged where their lines are known
    text = tuple(name for name in file.names if name not in (roles.price, roles.quantity))
    table = read_table(path, reading.with_text(text), header=header)
    return histories_of(table, roles, lambda record: f"line {line_of(file, record)} of {path}")


def check_customer_table(
    histories: Histories, source: str | Path, *, header: bool = True, reading: Reading = AS_IT_SEEMS
) -> None:
    """Refuses histories in which somebody has no items whom a table lists, in a column named as the customer is."""
    customer = histories.roles.customer
    table = read_table(source, reading.with_text((customer,)), header=header)
    check_bought(histories, table[customer].drop_nulls(), f"{source} lists customers, and of")


def read_baskets(path: str | Path, delimiter: str = ",") -> Histories:
    """The histories in a file with one transaction a line, its items separated; the customer is the line's number."""
    path = Path(path)
    check_readable(path)
    try:
        content = path.read_text(encoding="utf-8-sig").rstrip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: byte {error.start + 1} of the file cannot be read.") from None
    if not content:
        raise InputError(f"{path} is empty: give one basket a line.")
    lines = content.split("\n")  # a form feed within a name ends no line
    listed = pl.DataFrame({"customer": range(1, len(lines) + 1), "item": lines})
    table = listed.with_columns(pl.col("item").str.split(TYPED.get(delimiter, delimiter))).explode("item")
    table = table.with_columns(pl.col("item").str.strip_chars()).filter(pl.col("item") != "")
    histories = histories_of(table, Roles("customer", "item"), lambda record: f"line {table['customer'][record]}")
    check_bought(histories, listed["customer"], f"{path} has a line for each customer, and of")
    return histories


def check_columns(table: pl.DataFrame, roles: Roles) -> None:
    """Refuses roles of columns that are not there, and two of one column."""
    for role, column in roles.named.items():
        if column not in table.columns:
            hint = did_you_mean(column, table.columns) or f" There are {', '.join(table.columns)}."
            raise InputError(f"There is no column {column!r} to be the {role}.{hint}")
    taken: dict[str, str] = {}
    for role, column in roles.named.items():
        if taken.setdefault(column, role) != role:
            raise InputError(f"Column {column!r} cannot be both the {taken[column]} and the {role}: name another.")


def check_bought(histories: Histories, listed: pl.Series, source: str) -> None:
    """Refuses a list of customers, such as a customer table, of whom some have bought nothing."""
    known = histories.customers.cast(pl.String)
    without = listed.filter(~listed.cast(pl.String).is_in(known.implode()))
    if len(without):
        others = f" and {len(without) - 1:,} others" if len(without) > 1 else ""
        raise InputError(
            f"{source} customer {without[0]}{others} there are no items: a customer without items cannot be hidden "
            "among others. Remove the customer, or add the records."
        )


def coded(column: pl.Series) -> tuple[pl.Series, Codes]:
    """The distinct values in order, texts that are whole numbers as numbers, and which of them each record holds."""
    distinct = column.unique()
    if distinct.dtype == pl.String and distinct.str.contains(_WHOLE).all():
        distinct = distinct.gather(distinct.cast(pl.Int64).arg_sort())
    else:
        distinct = distinct.sort()
    codes = pl.DataFrame({"value": distinct, "code": np.arange(len(distinct), dtype=np.int32)})
    records = pl.DataFrame({"value": column})
    return distinct, records.join(codes, on="value", how="left", maintain_order="left")["code"].to_numpy()


def _numbered(roles: Roles, file: TextFile) -> Roles:
    """Roles by the numbers of columns, as names."""
    for role, number in roles.named.items():
        if not (number.isdecimal() and 1 <= int(number) <= len(file.names)):
            raise InputError(
                f"Without a header the {role} is a column's number from 1 to {len(file.names)}. Got {number!r} instead."
            )
    return Roles(**{role: f"column_{int(number)}" for role, number in roles.named.items()})


def _day_number(day: dt.date) -> int:
    return (day - dt.date(1970, 1, 1)).days


def _check_numbers(table: pl.DataFrame, roles: Roles) -> None:
    for role in ("price", "quantity"):
        column = roles.named.get(role)
        if column is not None and not table[column].dtype.is_numeric():
            raise InputError(f"Column {column!r} holds no numbers: it cannot be the {role}.")


def _times(column: pl.Series, where: Where) -> pl.Series:
    """Dates or moments; texts such as 2010-12-01, 2010/12/1 8:45 or 2010-12-01T08:45:00."""
    if column.dtype in (pl.Date, pl.Datetime):
        times = column
    elif column.dtype == pl.String:
        times = as_dates(column.str.strip_chars().str.replace_all("/", "-", literal=True))
    else:
        raise InputError(f"Column {column.name!r} holds no times but {column.dtype}: name a column of dates.")
    unknown = times.is_null()
    if unknown.any():
        record = int(unknown.arg_true()[0])
        value = "is empty" if column[record] is None else f"holds {column[record]!r}"
        raise InputError(
            f"Column {column.name!r} {value} in {where(record)}: write times as 2010-12-01 or 2010-12-01 08:45."
        )
    return times
