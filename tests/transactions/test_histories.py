"""Transaction tables and baskets as histories; and each way in which they cannot be used."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError
from shoal.transactions.histories import Roles, check_customer_table, coded, histories_of, read_baskets, read_histories
from shoal.transactions.numbering import in_random_order

DATA = os.environ.get("SHOAL_DATA")
TABLE = pl.DataFrame(
    {
        "who": ["10", "9", "10", "9", "10"],
        "what": ["tea", "7", "tea", "cup", "cup"],
        "day": ["2011-01-31", "2011/1/5", "2011/12/1 8:45", "2011-01-07T10:00:00", "2011-02-01"],
        "each": [1.5, None, 1.5, 2.0, 3.0],
        "many": [1, 2, 3, 4, 5],
    }
)
ROLES = Roles("who", "what", "day", "each", "many")


def test_customers_and_items_are_coded_in_their_order() -> None:
    found = histories_of(TABLE, ROLES)
    assert found.customers.to_list() == ["9", "10"]  # numbers as numbers
    assert found.items.to_list() == ["7", "cup", "tea"]
    assert found.customer.tolist() == [1, 0, 1, 0, 1]
    assert found.item.tolist() == [2, 0, 2, 1, 1]
    assert found.sets.toarray().tolist() == [[1, 1, 0], [0, 1, 1]]
    assert found.sizes.tolist() == [2, 2]
    assert found.matrix(found.numbers("many")).toarray().tolist() == [[2, 4, 0], [0, 5, 4]]
    assert found.numbers("each").tolist() == [1.5, 0, 1.5, 2, 3]


def test_codes_with_leading_zeros_are_not_numbers() -> None:
    values, codes = coded(pl.Series(["10", "9", "09", "10"]))
    assert values.to_list() == ["09", "10", "9"]
    assert codes.tolist() == [1, 2, 0, 1]


def test_times_are_read_in_several_ways_and_make_windows() -> None:
    found = histories_of(TABLE, ROLES)
    assert found.times is not None
    assert found.times.dt.date().to_list() == [
        dt.date(2011, 1, 31),
        dt.date(2011, 1, 5),
        dt.date(2011, 12, 1),
        dt.date(2011, 1, 7),
        dt.date(2011, 2, 1),
    ]
    january = found.during(dt.date(2011, 1, 6), dt.date(2011, 1, 31))
    assert january.table["many"].to_list() == [1, 4]
    assert january.sets.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert len(found.during(None, dt.date(2011, 1, 5))) == 1
    with pytest.raises(InputError, match="no records from 2012-01-01 to the last"):
        found.during(dt.date(2012, 1, 1), None)
    with pytest.raises(InputError, match="no column of times"):
        histories_of(TABLE, Roles("who", "what")).during(dt.date(2012, 1, 1), None)


@pytest.mark.parametrize(
    ("change", "roles", "words"),
    [
        ({}, Roles("who", "wat"), "There is no column 'wat' to be the item. Did you mean 'what'?"),
        ({}, Roles("who", "who"), "'who' cannot be both the customer and the item"),
        ({"what": ["a", None, "b", "c", "d"]}, Roles("who", "what"), "Column 'what' is empty in record 2"),
        ({"who": ["a"] * 5}, Roles("who", "what"), "one customer only"),
        ({"day": ["2011-01-31", "31.13.2011", "2011-01-01", "", ""]}, ROLES, "'day' holds '31.13.2011' in record 2"),
        ({"day": [1, 2, 3, 4, 5]}, ROLES, "Column 'day' holds no times"),
        ({"day": ["2011-01-31", None, None, None, None]}, ROLES, "'day' is empty in record 2"),
        ({"many": list("abcde")}, ROLES, "Column 'many' holds no numbers"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(change: dict[str, list[object]], roles: Roles, words: str) -> None:
    with pytest.raises(InputError) as told:
        histories_of(TABLE.with_columns(pl.Series(name, values) for name, values in change.items()), roles)
    assert words in str(told.value)


def test_a_table_without_records_is_told() -> None:
    with pytest.raises(InputError, match="no records"):
        histories_of(TABLE.clear(), ROLES)


def test_files_with_and_without_header_hold_the_same(tmp_path: Path) -> None:
    text = "12,001,2011/1/5,x\n7,POST,2011/1/6,3\n12,22728,2011/1/7,4\n"  # the last column mixes, and is nobody's role
    (tmp_path / "bare.csv").write_text(text)
    (tmp_path / "named.csv").write_text("who,what,day,other\n" + text)
    bare = read_histories(tmp_path / "bare.csv", customer="1", item="2", time="3", header=False)
    named = read_histories(tmp_path / "named.csv", customer="who", item="what", time="day")
    assert bare.items.to_list() == named.items.to_list() == ["001", "22728", "POST"]
    assert bare.customers.to_list() == ["7", "12"]
    assert bare.table.rows() == named.table.rows()
    named.table.write_parquet(tmp_path / "t.parquet")
    again = read_histories(tmp_path / "t.parquet", customer="who", item="what", time="day")
    assert again.customer.tolist() == named.customer.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"customer": "1", "item": "4"}, "the item is a column's number from 1 to 3. Got '4' instead"),
        ({"customer": "who", "item": "2"}, "the customer is a column's number"),
        ({"customer": "1", "item": "2", "time": "3"}, "'column_3' holds 'soon' in line 2"),
    ],
)
def test_a_files_faults_are_told_with_their_line(tmp_path: Path, options: dict[str, str], words: str) -> None:
    (tmp_path / "t.csv").write_text("1,a,2011-01-01\n2,b,soon\n")
    with pytest.raises(InputError) as told:
        read_histories(tmp_path / "t.csv", header=False, **options)
    assert words in str(told.value)


def test_an_empty_cell_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('who,what\n1,"a\nb"\n2,\n')
    with pytest.raises(InputError, match="'what' is empty in line 4"):
        read_histories(tmp_path / "t.csv", customer="who", item="what")


def test_baskets_are_a_customer_a_line(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("tea, cup\ncup,tea,cup\npot\n\n")
    found = read_baskets(tmp_path / "b.txt")
    assert found.customers.to_list() == [1, 2, 3]
    assert found.items.to_list() == ["cup", "pot", "tea"]
    assert found.sizes.tolist() == [2, 2, 1]
    (tmp_path / "s.txt").write_text("3 1\n1\n")
    assert read_baskets(tmp_path / "s.txt", " ").items.to_list() == ["1", "3"]


def test_nothing_but_a_line_end_parts_two_customers(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes("tea\x0cpot,cup\r\ntea\u2028cup\n".encode())
    found = read_baskets(tmp_path / "b.txt")
    assert found.customers.to_list() == [1, 2]
    assert set(found.items) == {"tea\x0cpot", "cup", "tea\u2028cup"}


@pytest.mark.parametrize(("text", "words"), [("a\n\nb\nc\n", "customer 2 there are no items"), ("\n\n", "is empty")])
def test_baskets_without_items_are_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "b.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        read_baskets(tmp_path / "b.txt")


def test_a_listed_customer_without_items_is_told(tmp_path: Path) -> None:
    found = histories_of(TABLE, ROLES)
    (tmp_path / "c.csv").write_text("who,sex\n9,f\n10,m\n")
    check_customer_table(found, tmp_path / "c.csv")
    (tmp_path / "c.csv").write_text("who,sex\n9,f\n8,m\n10,f\n11,m\n")
    with pytest.raises(InputError, match="customer 8 and 1 others there are no items"):
        check_customer_table(found, tmp_path / "c.csv")


def test_a_random_order_keeps_rows_and_depends_on_the_seed() -> None:
    sets = histories_of(pl.DataFrame({"c": np.repeat([1, 2], 50), "i": np.arange(100)}), Roles("c", "i")).sets
    first, same, other = (in_random_order(sets, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert sorted(first[:50]) == list(range(50))
    assert sorted(first[50:]) == list(range(50, 100))
    assert first.tolist() == same.tolist() != other.tolist()
    assert first[:50].tolist() != list(range(50))


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA does not name the folder of data sets")
def test_the_papers_file_has_the_papers_numbers() -> None:
    path = Path(DATA or "", "purchases", "transactions_400.csv")
    found = read_histories(path, customer="1", item="5", time="3", header=False)
    assert (len(found.customers), len(found), len(found.items)) == (400, 38_087, 2_781)
    assert found.sizes.mean() == 65.725
    check_customer_table(found, path.with_name("customers_400.csv"), header=False)
